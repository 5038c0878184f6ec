//! Hardening 12: starts 10,000 fetches at once, or (input `"many"`) passes a list of 10,000
//! requests to the host. The output says how many succeeded and how many were denied.

use hostile_support::futures_util::future::join_all;
use hostile_support::host::batch::fetch_many;
use hostile_support::host::http;
use hostile_support::{Error, get};

hostile_support::actor!(run);

async fn run(input: String) -> Result<String, Error> {
    const N: usize = 10_000;
    let url = "https://flood.example/";
    let results = if input.contains("many") {
        fetch_many(&vec![get(url); N], 1_000)
    } else {
        join_all((0..N).map(|_| http::fetch(get(url)))).await
    };
    let ok = results.iter().filter(|r| r.is_ok()).count();
    let denied = results
        .iter()
        .filter(|r| r.as_ref().is_err_and(|error| error.code == "budget"))
        .count();
    Ok(format!(r#"{{"ok":{ok},"denied":{denied}}}"#))
}
