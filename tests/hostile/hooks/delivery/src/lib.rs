//! A hook of deliveries that does what `do` of its configuration says: `big`, or a bad deed;
//! otherwise it wraps the payload with its event, run and number of calls.

use std::sync::atomic::{AtomicU32, Ordering};

use hostile_support::delivery_hook::exports::orbweaver::plugin::delivering::{Delivery, Guest};
use hostile_support::{Error, deeds};
use serde_json::{Value, json};

hostile_support::manifest!();

struct Plugin;

static CALLS: AtomicU32 = AtomicU32::new(0);

impl Guest for Plugin {
    fn deliver(config: String, delivery: Delivery, payload: String) -> Result<String, Error> {
        let calls = CALLS.fetch_add(1, Ordering::Relaxed) + 1;
        let config: Value = serde_json::from_str(&config).unwrap();
        match config["do"].as_str() {
            Some("big") => return Ok(format!("\"{}\"", "x".repeat(2 << 20))),
            Some(what) => {
                if let Some(done) = deeds::act(what) {
                    return done;
                }
            }
            None => {}
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
