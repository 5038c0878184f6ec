//! Hardening 17, without permissions: environment, arguments and hash seed reveal nothing.

use std::hash::{BuildHasher as _, RandomState};

hostile_support::extractor!(|_, _, _| {
    let mut line = String::new();
    let input = std::io::stdin().read_line(&mut line).unwrap_or(usize::MAX);
    Ok(format!(
        r#"{{"env":{},"args":{},"stdin":{input},"hash":"{:x}"}}"#,
        std::env::vars().count(),
        std::env::args().count(),
        RandomState::new().hash_one("x"),
    ))
});
