//! Hardening 11 (the engine's half): fetches the URL of its input. If the URL ends in
//! `timeout-N`, the timeout is N ms; with `timeout-max` it is the longest that can be given.

use hostile_support::host::{http, requests};
use hostile_support::{Error, get};

hostile_support::actor!(run);

async fn run(input: String) -> Result<String, Error> {
    let url = input.trim_matches('"');
    let timeout_ms = match url.rsplit_once("timeout-") {
        None => None,
        Some((_, "max")) => Some(u32::MAX),
        Some((_, ms)) => ms.parse().ok(),
    };
    let request = requests::Request {
        timeout_ms,
        ..get(url)
    };
    let page = http::fetch(request).await?;
    Ok(page.status().unwrap_or_default().to_string())
}
