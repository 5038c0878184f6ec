//! The `render-diff` actor: what of a page exists only once its scripts have run, and so
//! is not seen by robots that run none.

mod assess;
mod side;

use orbweaver_sdk::{Error, WaitFor, http, render};
use serde::{Deserialize, Serialize};

pub use assess::{Delta, delta};
pub use side::{Counts, Side};

orbweaver_sdk::actor! { run: run }

/// What the caller gives.
#[derive(Debug, Deserialize)]
pub struct Input {
    /// The page.
    pub url: String,
}

/// The page without and with its scripts.
#[derive(Debug, Serialize)]
pub struct Output {
    /// As the server sends it.
    #[serde(rename = "static")]
    pub plain: Counts,
    /// As the browser shows it.
    pub rendered: Counts,
    /// What came only by scripts.
    pub delta: Delta,
    /// What the browser cost, in US dollars.
    pub rendered_cost_usd: f64,
}

/// Fetches and renders the page. The caller names one page, so that robots.txt, which
/// speaks to crawlers, is not asked.
pub async fn run(input: Input) -> Result<Output, Error> {
    let request = http::Request::get(&input.url).respect_robots(false);
    // One after the other: a page that cannot be fetched is not worth a browser.
    let plain = http::fetch(request).await?;
    let rendered = render(&input.url, WaitFor::NetworkIdle).await?;
    let (before, after) = (Side::of(&plain)?, Side::of(&rendered)?);
    Ok(Output {
        delta: delta(&before, &after),
        plain: before.counts,
        rendered: after.counts,
        rendered_cost_usd: rendered.cost_usd(),
    })
}
