//! The `render-diff` actor: finds content of a page that exists only after its scripts have run,
//! and is therefore invisible to robots that run no scripts.

mod assess;
mod side;

use orbweaver_sdk::{Error, WaitFor, http, render};
use serde::{Deserialize, Serialize};

pub use assess::{Delta, delta};
pub use side::{Counts, Side};

orbweaver_sdk::actor! { run: run }

/// The actor's input.
#[derive(Debug, Deserialize)]
pub struct Input {
    /// URL of the page.
    pub url: String,
}

/// The page before and after its scripts have run.
#[derive(Debug, Serialize)]
pub struct Output {
    /// Figures of the page as sent by the server.
    #[serde(rename = "static")]
    pub plain: Counts,
    /// Figures of the rendered page.
    pub rendered: Counts,
    /// Content that only exists after rendering.
    pub delta: Delta,
    /// Cost of the rendering in US dollars.
    pub rendered_cost_usd: f64,
}

/// Fetches and renders the page. The caller asks for this page, so robots.txt does not apply.
pub async fn run(input: Input) -> Result<Output, Error> {
    let request = http::Request::get(&input.url).respect_robots(false);
    // One after the other: a page that cannot be fetched is not rendered.
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
