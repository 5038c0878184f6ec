//! Hardening 14. `good-again` returns how often this instance was called: 1 after a trap.

use std::sync::atomic::{AtomicU32, Ordering};

static CALLS: AtomicU32 = AtomicU32::new(0);

hostile_support::extractor!(|role, _, _| {
    let calls = CALLS.fetch_add(1, Ordering::Relaxed) + 1;
    match role {
        "panic" => panic!("a message for the log"),
        #[cfg(target_family = "wasm")]
        "unreachable" => std::arch::wasm32::unreachable(),
        "exit" => std::process::exit(3),
        "abort" => std::process::abort(),
        "divide" => Ok((1 / std::hint::black_box(0)).to_string()),
        _ => Ok(calls.to_string()),
    }
});
