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

/// The page's status, and the role's answer.
#[derive(Debug, Serialize)]
pub struct Output {
    /// Status of the page's response: an error page has data, too.
    pub status_code: u16,
    /// Counts and items by syntax.
    #[serde(flatten)]
    pub found: Found,
}

/// The role's answer: counts and items by syntax.
#[derive(Debug, Deserialize, Serialize)]
pub struct Found {
    /// Number of items by syntax.
    pub counts: Box<RawValue>,
    /// The items, as the role wrote them.
    pub data: Box<RawValue>,
}

impl Found {
    /// Of a page that has none: the role may say `null`.
    fn none() -> Result<Self, Error> {
        let empty = || RawValue::from_string("{}".to_owned());
        Ok(Self {
            counts: empty()?,
            data: empty()?,
        })
    }
}

/// Fetches the page and runs the role. The caller asks for this page, so robots.txt does not apply.
pub async fn run(input: Input) -> Result<Output, Error> {
    let page = http::fetch(http::Request::get(input.url).respect_robots(false)).await?;
    let answer = extract("structured-data", &page, "{}").await?;
    Ok(Output {
        status_code: page.status(),
        found: match serde_json::from_str(&answer)? {
            Some(found) => found,
            None => Found::none()?,
        },
    })
}
