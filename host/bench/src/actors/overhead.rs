//! The overhead of each actor besides its fetches, for a page of 100 KB.
//!
//! A call's overhead is its wall time less the time in which the site was answering. What
//! the host does for a fetch (the guard, the connection, billing) is part of it.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use orbweaver_tests::program::{Launch, Program};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::site::Site;
use super::{Call, goal};
use crate::corpus;
use crate::measure::median;

const GOAL_MS: f64 = 20.0;
const PAGE_BYTES: usize = 100_000;

pub fn run(runtime: &Runtime, launch: &Launch, rounds: usize) -> Result<()> {
    let site = Site::start(runtime, Duration::ZERO, None, |address| {
        let list: String = (0..1_000)
            .map(|n| format!("<url><loc>http://{address}/listed/{n}/of-a-site</loc></url>"))
            .collect();
        let map = format!(
            "<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">{list}</urlset>"
        );
        vec![
            (
                "/page".to_owned(),
                "text/html",
                corpus::page(PAGE_BYTES).into_bytes(),
            ),
            (
                "/sitemap.xml".to_owned(),
                "application/xml",
                map.into_bytes(),
            ),
        ]
    })?;
    let data = tempfile::tempdir()?;
    let program = Program::start(launch, data.path(), None)?;
    let page = json!({"url": site.url("/page")});
    for actor in ["extract-article", "audit-onpage", "structured-data"] {
        measure(&program, &site, actor, &page, rounds)?;
    }
    let map = json!({"url": site.url("/sitemap.xml"), "dry_run": true});
    measure(&program, &site, "sitemap-audit", &map, rounds)?;
    let list = json!({"urls": [site.url("/page")]});
    measure(&program, &site, "check-links", &list, rounds)?;
    rendering(&program, &site, &page, rounds)
}

fn measure(
    program: &Program,
    site: &Site,
    actor: &str,
    input: &Value,
    rounds: usize,
) -> Result<()> {
    let (mut over, mut cpu) = (Vec::new(), Vec::new());
    let mut asked = 0;
    // The first call fetches robots.txt and opens the connection.
    for round in 0..=rounds {
        let call = Call::make(program, actor, input)?;
        let (busy, requests) = site.busy()?;
        if round > 0 {
            over.push(call.wall.saturating_sub(busy).as_secs_f64() * 1e3);
            cpu.push(call.cpu.as_secs_f64() * 1e3);
            asked = requests;
        }
    }
    let over = median(over.into_iter()).context("no rounds")?;
    // The kernel counts hundredths of a second, so only the mean is meaningful.
    let cpu = cpu.iter().sum::<f64>() / cpu.len() as f64;
    println!(
        "{actor}: {over:.1} ms over its {asked} requests, CPU {cpu:.1} ms a call; goal {GOAL_MS} ms {}",
        goal(over <= GOAL_MS)
    );
    Ok(())
}

/// The browser takes most of the time, so the baseline is a rendering without the actor,
/// which waits for the same event.
fn rendering(program: &Program, site: &Site, page: &Value, rounds: usize) -> Result<()> {
    let mut idle = page.clone();
    idle["wait_for"] = "networkidle".into();
    let render = |path: &str, input: &Value| -> Result<Option<f64>> {
        let start = Instant::now();
        let (status, body) = program.ask("POST", path, &input.to_string())?;
        match status {
            200 => Ok(Some(start.elapsed().as_secs_f64() * 1e3)),
            501 => Ok(None),
            _ => anyhow::bail!("{path}: {status} {}", String::from_utf8_lossy(&body)),
        }
    };
    let (mut bare, mut actor) = (Vec::new(), Vec::new());
    for _ in 0..=rounds {
        let (Some(one), Some(other)) = (
            render("/v1/cloud/render", &idle)?,
            render("/v1/actors/render-diff", page)?,
        ) else {
            println!("render-diff: not measured, there is no browser");
            return Ok(());
        };
        bare.push(one);
        actor.push(other);
    }
    site.busy()?;
    let over = median(actor.iter().zip(&bare).skip(1).map(|(a, b)| a - b)).context("no rounds")?;
    println!(
        "render-diff: {over:.1} ms over a rendering alone, its own fetch of the page included; goal {GOAL_MS} ms {}",
        goal(over <= GOAL_MS)
    );
    Ok(())
}
