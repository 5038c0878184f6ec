//! Crawls of a large site through the program's API.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use orbweaver_origin::LargeSite;
use serde_json::{Value, json};

use crate::program::Api;

/// The longest time that a state is waited for.
pub(crate) const CRAWL_TIMEOUT: Duration = Duration::from_secs(900);

/// The body of `POST /v1/crawls` for a whole large site, without delays.
pub fn whole_site(site: &LargeSite) -> Value {
    let rows = site.pages().len() + site.missing().len() + 100;
    json!({
        "url": site.url("/"),
        "max_pages": rows.min(100_000),
        "depth": 50,
        "concurrency": 32,
        "delay_ms": 0,
    })
}

/// The page rows that a crawl of the whole site makes: path and status. A redirect has no
/// row of its own: its target is linked from other pages anyway.
pub fn expected_rows(site: &LargeSite) -> BTreeMap<String, u16> {
    let pages = site.pages().into_iter().map(|path| (path, 200));
    pages
        .chain(site.missing().into_iter().map(|path| (path, 404)))
        .collect()
}

/// Starts a crawl; returns its id.
///
/// # Errors
/// It is refused.
pub fn submit(api: &Api, body: &Value) -> Result<i64> {
    let run = api.post("/v1/crawls", body, 202)?;
    run["id"].as_i64().context("no id")
}

/// Waits until a run has ended; returns its details.
///
/// # Errors
/// It does not end.
pub fn finished(api: &Api, run: i64, poll: Duration) -> Result<Value> {
    let start = Instant::now();
    loop {
        let run = api.get(&format!("/v1/crawls/{run}"))?;
        if run["finished_at"].is_string() {
            return Ok(run);
        }
        if start.elapsed() > CRAWL_TIMEOUT {
            bail!("the run does not end: {run}");
        }
        thread::sleep(poll);
    }
}

/// The rows of a run by path, each with its status. A path that appears twice is an error.
///
/// # Errors
/// No answer, or a duplicate path.
pub fn rows(api: &Api, site: &LargeSite, run: i64) -> Result<BTreeMap<String, u16>> {
    let path = format!("/v1/crawls/{run}/pages?limit=100000&format=ndjson");
    let (status, body) = api.ask("GET", &path, "")?;
    let body = String::from_utf8(body)?;
    if status != 200 {
        bail!("{path}: {status} {body}");
    }
    let base = site.url("");
    let mut rows = BTreeMap::new();
    for line in body.lines() {
        let row: Value = serde_json::from_str(line)?;
        let url = row["url"].as_str().context("a row without url")?;
        let path = url.strip_prefix(&base).unwrap_or(url).to_owned();
        let status = row["status"].as_u64().context("a row without status")?;
        if rows.insert(path, u16::try_from(status)?).is_some() {
            bail!("{url} has two rows");
        }
    }
    Ok(rows)
}

/// Pages billed to the project this month.
///
/// # Errors
/// No answer.
pub fn billed(api: &Api) -> Result<u64> {
    let usage = api.get("/v1/usage")?;
    let pages = &usage["month"]["pages"];
    pages.as_u64().with_context(|| usage.to_string())
}

/// Waits until a site has had this many requests in all.
///
/// # Errors
/// The site has had fewer requests when the time is over.
pub fn asked(site: &LargeSite, total: u64) -> Result<()> {
    let start = Instant::now();
    while site.total() < total {
        if start.elapsed() > CRAWL_TIMEOUT {
            bail!("{} of {total} requests", site.total());
        }
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}
