//! `check-links` of 200 URLs on a site that takes 100 ms for each answer.

use std::time::Duration;

use anyhow::{Result, ensure};
use orbweaver_tests::program::{Launch, Program};
use serde_json::json;
use tokio::runtime::Runtime;

use super::site::Site;
use super::{Call, goal};

const LINKS: usize = 200;
const LATENCY: Duration = Duration::from_millis(100);
const GOAL: f64 = 1.2;

pub fn run(runtime: &Runtime, launch: &Launch) -> Result<()> {
    let page = "<!doctype html><title>A page</title><p>Found.".to_owned();
    let site = Site::start(runtime, LATENCY, Some(page), |_| Vec::new())?;
    let urls: Vec<String> = (0..LINKS)
        .map(|n| site.url(&format!("/link/{n}")))
        .collect();
    let data = tempfile::tempdir()?;
    let program = Program::start(launch, data.path(), None)?;
    // robots.txt is requested once and then cached.
    Call::make(&program, "check-links", &json!({"urls": [urls[0]]}))?;
    for width in [10, 16, 50] {
        let input = json!({"urls": urls, "max_concurrent": width});
        let call = Call::make(&program, "check-links", &input)?;
        ensure!(
            call.answer["data"]["ok"] == LINKS,
            "{}",
            call.answer["data"]
        );
        let ideal = LATENCY * u32::try_from(LINKS.div_ceil(width))?;
        let ratio = call.wall.as_secs_f64() / ideal.as_secs_f64();
        println!(
            "check-links, {LINKS} URLs, {width} at once: {} = {ratio:.3} x the ideal; goal {GOAL} {}",
            call.figures(),
            goal(ratio <= GOAL)
        );
    }
    Ok(())
}
