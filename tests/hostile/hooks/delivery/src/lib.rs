//! A hook of deliveries that does what `do` of its configuration says: `spin`, `grow`, `trap`, `error`,
//! `no-json`, `big`; otherwise it wraps the payload with its event, run and number of calls.

use std::sync::atomic::{AtomicU32, Ordering};

use hostile_support::delivery_hook::exports::orbweaver::plugin::delivering::{Delivery, Guest};
use hostile_support::{Error, error};
use serde_json::{Value, json};

hostile_support::manifest!();

struct Plugin;

static CALLS: AtomicU32 = AtomicU32::new(0);

impl Guest for Plugin {
    fn deliver(config: String, delivery: Delivery, payload: String) -> Result<String, Error> {
        let calls = CALLS.fetch_add(1, Ordering::Relaxed) + 1;
        let config: Value = serde_json::from_str(&config).unwrap();
        match config["do"].as_str() {
            Some("spin") => loop {
                std::hint::black_box(0);
            },
            Some("grow") => {
                let mut held = Vec::new();
                loop {
                    held.push(vec![1_u8; 1 << 20]);
                    std::hint::black_box(&held);
                }
            }
            Some("trap") => panic!("as told"),
            Some("error") => return Err(error("failed", "as told\u{1b}[2J")),
            Some("no-json") => return Ok("{".to_owned()),
            Some("big") => return Ok(format!("\"{}\"", "x".repeat(2 << 20))),
            _ => {}
        }
        let payload: Value = serde_json::from_str(&payload).unwrap();
        Ok(json!({
            "event": delivery.event,
            "run": delivery.run_id,
            "url": delivery.run_url,
            "calls": calls,
            "payload": payload,
        })
        .to_string())
    }
}

hostile_support::delivery_hook::export_delivery_hook!(Plugin with_types_in hostile_support::delivery_hook);
