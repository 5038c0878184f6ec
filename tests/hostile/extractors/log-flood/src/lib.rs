//! Hardening 10: logs a million lines, terminal escape sequences and one line of 10 MB, and
//! writes the same to stderr.

use hostile_support::host::log::{Level, log};

hostile_support::extractor!(|_, _, _| {
    log(
        Level::Info,
        "\u{1b}[2J\u{1b}]0;owned\u{7} first\nforged line",
    );
    log(Level::Info, &"y".repeat(10 << 20));
    for i in 0..1_000_000 {
        log(Level::Warn, &format!("flood {i}"));
    }
    for i in 0..1_000 {
        eprintln!("\u{1b}[31mstderr {i}");
    }
    Ok("null".to_owned())
});
