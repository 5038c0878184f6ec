//! The `structured-data` actor: the structured data of a page, from the `structured-data` role.

use orbweaver_sdk::{Error, extract, http};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

orbweaver_sdk::actor! { run: run }

/// The actor's input.
#[derive(Debug, Deserialize)]
pub struct Input {
    /// URL of the page.
    pub url: String,
}

/// The role's answer: counts and items by syntax.
#[derive(Debug, Deserialize, Serialize)]
pub struct Output {
    /// Number of items by syntax.
    pub counts: Box<RawValue>,
    /// The items, as the role wrote them.
    pub data: Box<RawValue>,
}

/// Fetches the page and runs the role. The caller asks for this page, so robots.txt does not apply.
pub async fn run(input: Input) -> Result<Output, Error> {
    let page = http::fetch(http::Request::get(input.url).respect_robots(false)).await?;
    let answer = extract("structured-data", &page, "{}").await?;
    Ok(serde_json::from_str(&answer)?)
}
