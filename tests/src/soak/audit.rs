//! What must be true at the end, asked through the API.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::Result;
use orbweaver_origin::LargeSite;
use serde_json::Value;

use super::client::{Ask, Whereabouts};
use super::load::Tenant;
use super::receiver::Receiver;
use crate::crawl;

/// How long accepted work may take to end.
const PATIENCE: Duration = Duration::from_secs(600);

/// Everything that is not as promised, one line each.
pub(super) fn broken(
    tenants: &[Tenant],
    at: &Whereabouts,
    site: &LargeSite,
    receiver: &Receiver,
) -> Result<Vec<String>> {
    let audit = Audit {
        at,
        until: Instant::now() + PATIENCE,
    };
    let expected = crawl::expected_rows(site);
    let mut broken = Vec::new();
    for (number, tenant) in tenants.iter().enumerate() {
        let promised = tenant.promised().clone();
        let name = &tenant.name;
        let mut rows_of_runs = 0;
        for run in &promised.runs {
            let ended = audit.ended(tenant, *run)?;
            let status = ended["status"].as_str().unwrap_or("lost").to_owned();
            if !["done", "failed"].contains(&status.as_str()) {
                broken.push(format!("{name}: run {run} is {status}"));
                continue;
            }
            let rows = audit.rows(tenant, *run)?;
            rows_of_runs += rows.values().sum::<usize>() as u64;
            if let Some((url, times)) = rows.iter().find(|(_, times)| **times > 1) {
                broken.push(format!("{name}: run {run} has {url} {times} times"));
            }
            let is_capped = tenant.cap.is_some();
            if tenant.is_exact && !is_capped && rows.len() != expected.len() {
                let (is, wanted) = (rows.len(), expected.len());
                broken.push(format!(
                    "{name}: run {run} has {is} pages of {wanted}: {ended}"
                ));
            }
            broken.extend(audit.deliveries(tenant, *run, receiver)?);
            // Nobody else sees it.
            let other = &tenants[(number + 1) % tenants.len()];
            let path = format!("/v1/crawls/{run}");
            let seen = audit.ask(&other.key, &path)?.0;
            if seen != 404 {
                broken.push(format!("{} sees run {run} of {name}: {seen}", other.name));
            }
        }
        let usage = audit.ask(&tenant.key, "/v1/usage")?.1;
        let billed = usage["month"]["pages"].as_u64().unwrap_or(u64::MAX);
        if let Some(cap) = tenant.cap
            && billed > cap
        {
            broken.push(format!("{name}: {billed} pages billed, {cap} allowed"));
        }
        let known = promised.scans + rows_of_runs;
        if tenant.is_exact && known != billed {
            broken.push(format!(
                "{name}: {billed} pages billed for {} scans and {rows_of_runs} pages of crawls",
                promised.scans
            ));
        }
        let own: Vec<i64> = audit.ask(&tenant.key, "/v1/crawls?limit=1000")?.1["items"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|run| run["id"].as_i64())
            .collect();
        let foreign = |run: &&i64| {
            let others = tenants.iter().filter(|other| other.name != *name);
            others
                .into_iter()
                .any(|other| other.promised().runs.contains(run))
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
    fn ended(&self, tenant: &Tenant, run: i64) -> Result<Value> {
        loop {
            let state = self.ask(&tenant.key, &format!("/v1/crawls/{run}"))?.1;
            if state["finished_at"].is_string() || Instant::now() > self.until {
                return Ok(state);
            }
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// How often each URL is among a run's pages.
    fn rows(&self, tenant: &Tenant, run: i64) -> Result<BTreeMap<String, usize>> {
        let path = format!("/v1/crawls/{run}/pages?limit=100000&format=ndjson");
        let answer = Ask::get(&path, &tenant.key).settle(self.at, self.until);
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
    fn deliveries(&self, tenant: &Tenant, run: i64, receiver: &Receiver) -> Result<Vec<String>> {
        let path = format!("/v1/crawls/{run}/deliveries");
        let items = loop {
            let list = self.ask(&tenant.key, &path)?.1;
            let items = list["items"].as_array().cloned().unwrap_or_default();
            let waits = items.iter().any(|item| item["finished_at"].is_null());
            if !waits || Instant::now() > self.until {
                break items;
            }
            std::thread::sleep(Duration::from_millis(200));
        };
        let name = &tenant.name;
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
