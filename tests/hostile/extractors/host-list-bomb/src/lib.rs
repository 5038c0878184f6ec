//! Hardening 8: a string of 100 MiB as the argument of a host call.

use hostile_support::host::log::{Level, log};

hostile_support::extractor!(|_, _, _| {
    log(Level::Info, &"x".repeat(100 << 20));
    Ok("null".to_owned())
});
