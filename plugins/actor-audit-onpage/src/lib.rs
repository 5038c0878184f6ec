//! The `audit-onpage` actor: checks one page, its headers and its site's robots.txt for problems
//! that keep it from being found, shown and trusted.
//!
//! [`rules`] is the table of all rules. [`checks`] checks them, one file per area, on the
//! [`Facts`] that one pass over the document collects. If the response is an error or not HTML,
//! only URL and headers are checked.

pub mod checks;
mod facts;
mod language_codes;
mod report;
mod robots_file;
pub mod rules;

use orbweaver_sdk::http::{Request, fetch};
use orbweaver_sdk::urls::Resolved;
use orbweaver_sdk::{Error, Page};
use serde::{Deserialize, Serialize};

pub use facts::{Facts, Stats};
pub use report::{Finding, Report, Summary};
pub use robots_file::RobotsFile;
pub use rules::Severity;

orbweaver_sdk::actor! { run: run }

/// The actor's input.
#[derive(Debug, Deserialize)]
pub struct Input {
    /// URL of the page.
    pub url: String,
}

/// The result of the audit.
#[derive(Debug, Serialize)]
pub struct Output {
    /// Findings by severity.
    pub summary: Summary,
    /// One per broken rule: errors first, then warnings, then hints, each in the order of the
    /// table.
    pub findings: Vec<Finding>,
    /// Figures of the page.
    pub stats: Stats,
}

/// Fetches the page and its robots.txt. The caller asks for one page, so a robots.txt rule for
/// crawlers is a finding, not a refusal.
pub async fn run(input: Input) -> Result<Output, Error> {
    let page = fetch(Request::get(&input.url).respect_robots(false)).await?;
    let robots = match origin(page.final_url()) {
        Some(origin) => {
            let request = Request::get(format!("{origin}/robots.txt")).respect_robots(false);
            let answer = fetch(request).await;
            if let Some(error) = answer.as_ref().err().filter(|error| error.is_exhaustion()) {
                // The file was not asked for, so nothing is known of it.
                return Err(error.clone());
            }
            RobotsFile::of(answer.as_ref())
        }
        None => RobotsFile::Missing,
    };
    audit(&page, &robots)
}

/// Scheme, host and port of a URL.
fn origin(url: &str) -> Option<String> {
    let url = Resolved::parse(url)?;
    let colon = if url.port().is_empty() { "" } else { ":" };
    Some(format!(
        "{}://{}{colon}{}",
        url.scheme(),
        url.host(),
        url.port()
    ))
}

/// Checks a page and its robots.txt against every rule.
pub fn audit(page: &Page<'_>, robots: &RobotsFile) -> Result<Output, Error> {
    let facts = Facts::of(page)?;
    let mut report = Report::default();
    checks::run(&facts, robots, &mut report);
    let findings = report.finish();
    Ok(Output {
        summary: Summary::of(&findings),
        findings,
        stats: facts.stats(),
    })
}
