//! Helpers of the fetchers' tests. Behind the feature `testing`.

#![expect(clippy::expect_used, reason = "a test's helpers fail the test")]

use orbweaver_sdk::testing::{Document, Site, block_on, install};
use orbweaver_sdk::{Call, Error};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Runs a fetcher for a path of its domain, with a web that has only these answers: URLs and JSON
/// bodies. `params` is an object.
///
/// # Errors
/// The fetcher's error.
pub fn call<P, F, T>(
    fetch: impl FnOnce(Call<P>) -> F,
    domain: &str,
    web: &[(&str, &str)],
    path: &str,
    params: Value,
) -> Result<Value, Error>
where
    P: DeserializeOwned,
    F: Future<Output = Result<T, Error>>,
    T: Serialize,
{
    let pages = web.iter().fold(Site::default(), |site, (url, body)| {
        site.page(Document::new(url, body).header("content-type", "application/json"))
    });
    let _web = install(pages);
    let call = Call {
        domain: domain.to_owned(),
        path: path.to_owned(),
        params: serde_json::from_value(params).expect("an object"),
    };
    let items = block_on(fetch(call))?;
    Ok(serde_json::to_value(items).expect("JSON"))
}
