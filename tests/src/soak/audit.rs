//! Checks at the end of a soak, through the API.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::Value;

use super::client::{Ask, Whereabouts};
use super::receiver::Receiver;

/// How long accepted work may take to end.
const AUDIT_TIMEOUT: Duration = Duration::from_secs(600);

/// A project and what it was promised.
pub(super) struct Project<'a> {
    pub name: &'a str,
    pub key: &'a str,
    /// Pages that it may use in a day.
    pub cap: Option<u64>,
    /// Pages billed for other things than crawls; `None` where that is not known.
    pub scans: Option<u64>,
    /// Its runs; the pages that each must have, where that is known.
    pub runs: Vec<(i64, Option<usize>)>,
}

/// Everything that is not as promised, one line each.
///
/// # Errors
/// No answer.
pub(super) fn broken(
    projects: &[Project<'_>],
    at: &Whereabouts,
    receiver: &Receiver,
) -> Result<Vec<String>> {
    let audit = Audit {
        at,
        until: Instant::now() + AUDIT_TIMEOUT,
    };
    let mut broken = Vec::new();
    for (number, project) in projects.iter().enumerate() {
        let name = project.name;
        let mut rows_of_runs = 0;
        for (run, expected) in &project.runs {
            let ended = audit.ended(project, *run)?;
            let status = ended["status"].as_str().unwrap_or("lost").to_owned();
            if !["done", "failed"].contains(&status.as_str()) {
                broken.push(format!("{name}: run {run} is {status}"));
                continue;
            }
            let rows = audit.rows(project, *run)?;
            rows_of_runs += rows.values().sum::<usize>() as u64;
            if let Some((url, times)) = rows.iter().find(|(_, times)| **times > 1) {
                broken.push(format!("{name}: run {run} has {url} {times} times"));
            }
            if let Some(wanted) = *expected
                && rows.len() != wanted
            {
                let is = rows.len();
                broken.push(format!(
                    "{name}: run {run} has {is} pages of {wanted}: {ended}"
                ));
            }
            broken.extend(audit.deliveries(project, *run, receiver)?);
            // Nobody else sees it.
            let other = &projects[(number + 1) % projects.len()];
            let path = format!("/v1/crawls/{run}");
            let seen = audit.ask(other.key, &path)?.0;
            if seen != 404 && projects.len() > 1 {
                broken.push(format!("{} sees run {run} of {name}: {seen}", other.name));
            }
        }
        let usage = audit.ask(project.key, "/v1/usage")?.1;
        let billed = usage["month"]["pages"].as_u64().unwrap_or(u64::MAX);
        if let Some(cap) = project.cap
            && billed > cap
        {
            broken.push(format!("{name}: {billed} pages billed, {cap} allowed"));
        }
        if let Some(scans) = project.scans
            && scans + rows_of_runs != billed
        {
            broken.push(format!(
                "{name}: {billed} pages billed for {scans} scans and {rows_of_runs} pages of crawls"
            ));
        }
        let own: Vec<i64> = audit.ask(project.key, "/v1/crawls?limit=1000")?.1["items"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|run| run["id"].as_i64())
            .collect();
        let foreign = |run: &&i64| {
            let mut others = projects.iter().filter(|other| other.name != name);
            others.any(|other| other.runs.iter().any(|(its, _)| its == *run))
        };
        if let Some(run) = own.iter().find(foreign) {
            broken.push(format!("{name} lists run {run} of another project"));
        }
    }
    Ok(broken)
}

struct Audit<'a> {
    at: &'a Whereabouts,
    until: Instant,
}

impl Audit<'_> {
    fn ask(&self, key: &str, path: &str) -> Result<(u16, Value)> {
        let answer = Ask::get(path, key).settle(self.at, self.until);
        let answer = answer.ok_or_else(|| anyhow::anyhow!("{path}: no answer"))?;
        Ok((answer.status, answer.json()))
    }

    /// A run once it has ended, or as it is when patience ends.
    fn ended(&self, project: &Project<'_>, run: i64) -> Result<Value> {
        loop {
            let state = self.ask(project.key, &format!("/v1/crawls/{run}"))?.1;
            if state["finished_at"].is_string() || Instant::now() > self.until {
                return Ok(state);
            }
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// How often each URL is among a run's pages.
    fn rows(&self, project: &Project<'_>, run: i64) -> Result<BTreeMap<String, usize>> {
        let path = format!("/v1/crawls/{run}/pages?limit=100000&format=ndjson");
        let answer = Ask::get(&path, project.key).settle(self.at, self.until);
        let answer = answer.ok_or_else(|| anyhow::anyhow!("{path}: no answer"))?;
        let mut rows = BTreeMap::new();
        for line in String::from_utf8(answer.body)?.lines() {
            let row: Value = serde_json::from_str(line)?;
            let url = row["url"].as_str().unwrap_or_default().to_owned();
            *rows.entry(url).or_default() += 1;
        }
        Ok(rows)
    }

    /// Deliveries of a run that are not where they should be.
    fn deliveries(
        &self,
        project: &Project<'_>,
        run: i64,
        receiver: &Receiver,
    ) -> Result<Vec<String>> {
        let path = format!("/v1/crawls/{run}/deliveries");
        let items = loop {
            let list = self.ask(project.key, &path)?.1;
            let items = list["items"].as_array().cloned().unwrap_or_default();
            let waits = items.iter().any(|item| item["finished_at"].is_null());
            if !waits || Instant::now() > self.until {
                break items;
            }
            std::thread::sleep(Duration::from_millis(200));
        };
        let name = project.name;
        if items.is_empty() {
            return Ok(vec![format!("{name}: run {run} told nobody that it ended")]);
        }
        let lost = items.iter().filter(|item| {
            let id = item["webhook_id"].as_str().unwrap_or_default();
            item["status"] == "delivered" && !receiver.has(id)
        });
        Ok(lost
            .map(|item| format!("{name}: run {run}: delivered, but never came: {item}"))
            .collect())
    }
}
