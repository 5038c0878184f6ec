//! Hardening 11 (the engine's half): fetches its input, whatever it may fetch.

use hostile_support::host::http;
use hostile_support::{Error, get};

hostile_support::actor!(run);

async fn run(input: String) -> Result<String, Error> {
    let page = http::fetch(get(input.trim_matches('"'))).await?;
    Ok(page.status().to_string())
}
