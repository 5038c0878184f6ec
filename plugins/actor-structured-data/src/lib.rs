//! The `structured-data` actor: what a page says in the vocabularies of machines, as the
//! `structured-data` role reads it.

use orbweaver_sdk::{Error, extract, http};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

orbweaver_sdk::actor! { run: run }

/// What the caller gives.
#[derive(Debug, Deserialize)]
pub struct Input {
    /// The page.
    pub url: String,
}

/// The role's answer: counts and items by syntax.
#[derive(Debug, Deserialize, Serialize)]
pub struct Output {
    /// Items by syntax.
    pub counts: Box<RawValue>,
    /// The items themselves, as the role wrote them.
    pub data: Box<RawValue>,
}

/// Fetches the page and asks the role. The caller names one page, so that robots.txt,
/// which speaks to crawlers, is not asked.
pub async fn run(input: Input) -> Result<Output, Error> {
    let page = http::fetch(http::Request::get(input.url).respect_robots(false)).await?;
    let answer = extract("structured-data", &page, "{}")?;
    Ok(serde_json::from_str(&answer)?)
}
