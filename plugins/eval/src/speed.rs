//! Measures the time of each role, natively, on the pages of a set.

use std::hint::black_box;
use std::time::Instant;

use anyhow::Result;

use crate::data::TruePage;
use crate::metric::percentile;
use crate::roles::{ALL, Role};
use crate::table::Table;

/// Pages that are run before the clock counts.
const WARM_UP: usize = 20;

/// Milliseconds of one role, by page.
pub struct Timing {
    name: &'static str,
    millis: Vec<f64>,
}

/// Times parsing and every role on every page; the fastest of `runs` counts.
///
/// # Errors
/// A page cannot be read, or a role fails.
pub fn measure(pages: &[TruePage], runs: u32) -> Result<Vec<Timing>> {
    let mut timings: Vec<Timing> = std::iter::once("parse")
        .chain(ALL.iter().map(|role| role.name))
        .map(|name| Timing {
            name,
            millis: Vec::with_capacity(pages.len()),
        })
        .collect();
    for page in pages.iter().take(WARM_UP) {
        time_page(page, 1)?;
    }
    for page in pages {
        for (timing, millis) in timings.iter_mut().zip(time_page(page, runs)?) {
            timing.millis.push(millis);
        }
    }
    Ok(timings)
}

/// Milliseconds of the parse and of each role.
fn time_page(page: &TruePage, runs: u32) -> Result<Vec<f64>> {
    let document = page.document()?;
    let mut fastest = vec![f64::INFINITY; ALL.len() + 1];
    for _ in 0..runs.max(1) {
        let fresh = document.copy();
        let began = Instant::now();
        let parsed = fresh.page();
        black_box(parsed.view().is_ok());
        let mut took = vec![began.elapsed().as_secs_f64()];
        for role in ALL {
            took.push(time_role(role, &fresh)?);
        }
        for (slot, seconds) in fastest.iter_mut().zip(took) {
            *slot = slot.min(seconds * 1e3);
        }
    }
    Ok(fastest)
}

fn time_role(role: &Role, document: &orbweaver_sdk::testing::Document) -> Result<f64> {
    let page = document.page();
    let began = Instant::now();
    black_box(role.json(&page)?.len());
    Ok(began.elapsed().as_secs_f64())
}

/// The table of milliseconds a page.
pub fn table(mut timings: Vec<Timing>) -> Table {
    let mut table = Table::new(
        "Native milliseconds a page",
        &["role", "median", "p95", "mean"],
    );
    for timing in &mut timings {
        let mean = crate::metric::mean(timing.millis.iter().copied());
        let median = percentile(&mut timing.millis, 0.5);
        let high = percentile(&mut timing.millis, 0.95);
        table.row([
            timing.name.to_owned(),
            format!("{median:.3}"),
            format!("{high:.3}"),
            format!("{mean:.3}"),
        ]);
    }
    table
}
