//! Projects at work: scans, crawls with webhooks, actors, renders, and a monitor.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use orbweaver_origin::LargeSite;
use serde_json::json;

use super::client::{Ask, Whereabouts};
use super::receiver::Receiver;

/// What is waited for one accepted answer, restarts of the server included.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(120);

/// A project and what it was promised.
#[derive(Debug)]
pub(super) struct Tenant {
    pub name: String,
    pub key: String,
    /// Pages that it may use in a day.
    pub cap: Option<u64>,
    /// It only scans and crawls, so that its bill is known to the page.
    pub is_exact: bool,
    pub promised: Mutex<Promised>,
}

/// What the service said it did, or would do.
#[derive(Clone, Debug, Default)]
pub(super) struct Promised {
    /// Crawls that were accepted.
    pub runs: Vec<i64>,
    /// Scans that were answered with a page.
    pub scans: u64,
    /// Requests without a decisive answer in time.
    pub open: Vec<Open>,
}

/// A request that may have been accepted: it is asked again, under the same key, at the end.
#[derive(Clone, Debug)]
pub(super) struct Open {
    path: String,
    body: String,
    id: String,
}

impl Tenant {
    pub fn promised(&self) -> std::sync::MutexGuard<'_, Promised> {
        self.promised.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the load works with.
pub(super) struct Ground<'a> {
    pub at: &'a Whereabouts,
    pub site: &'a LargeSite,
    pub fault_url: &'a str,
    pub receiver: &'a Receiver,
    pub stop: &'a AtomicBool,
}

/// Numbers that look random, the same for the same seed.
pub(super) struct Dice(u64);

impl Dice {
    pub const fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn below(&mut self, most: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most.max(1)
    }

    fn uuid(&mut self) -> String {
        let (high, low) = (self.below(1 << 31), self.below(1 << 31));
        format!("{high:08x}-0000-4000-8000-{low:012x}")
    }
}

/// Works until told to stop.
pub(super) fn work(tenant: &Tenant, ground: &Ground<'_>, seed: u64) {
    let mut dice = Dice::new(seed);
    if !tenant.is_exact {
        let hook = ground.receiver.url(&tenant.name);
        let monitor = json!({
            "url": ground.site.url("/"), "cron": "* * * * *", "max_pages": 3,
            "depth": 1, "delay_ms": 0, "webhook_url": hook,
        });
        let id = dice.uuid();
        settle(tenant, ground, "/v1/crawls", &monitor.to_string(), &id);
    }
    while !ground.stop.load(Ordering::Relaxed) {
        let id = dice.uuid();
        match dice.below(20) {
            0..=1 => crawl(tenant, ground, &id, dice.below(10) == 0),
            2 if !tenant.is_exact => check_links(tenant, ground, &id),
            3 if !tenant.is_exact => render(tenant, ground, &id),
            4 if !tenant.is_exact => {
                let faults = [
                    "drip",
                    "bomb",
                    "endless",
                    "loop-a",
                    "cut-gzip",
                    "big-header",
                    "silent",
                ];
                let fault = faults[dice.below(faults.len() as u64) as usize];
                let body = json!({"url": format!("{}/fault/{fault}", ground.fault_url)});
                settle(tenant, ground, "/v1/scan", &body.to_string(), &id);
            }
            _ => scan(tenant, ground, &id),
        }
        std::thread::sleep(Duration::from_millis(50 + dice.below(200)));
    }
}

/// One crawl, scan, actor's call and render, each after the other.
pub(super) fn each_kind_once(tenant: &Tenant, ground: &Ground<'_>, seed: u64) {
    let mut dice = Dice::new(seed + 1_000_003);
    crawl(tenant, ground, &dice.uuid(), false);
    scan(tenant, ground, &dice.uuid());
    check_links(tenant, ground, &dice.uuid());
    render(tenant, ground, &dice.uuid());
}

fn check_links(tenant: &Tenant, ground: &Ground<'_>, id: &str) {
    let body = json!({"urls": [ground.site.url("/")]}).to_string();
    settle(tenant, ground, "/v1/actors/check-links", &body, id);
}

fn render(tenant: &Tenant, ground: &Ground<'_>, id: &str) {
    let body = json!({"url": ground.site.url("/")}).to_string();
    settle(tenant, ground, "/v1/cloud/render", &body, id);
}

fn settle(
    tenant: &Tenant,
    ground: &Ground<'_>,
    path: &str,
    body: &str,
    id: &str,
) -> Option<super::client::Answer> {
    let ask = Ask {
        idempotency: Some(id),
        is_capped: tenant.cap.is_some(),
        is_faulty: body.contains("/fault/"),
        ..Ask::post(path, &tenant.key, body)
    };
    let answer = ask.settle(ground.at, Instant::now() + ANSWER_TIMEOUT);
    let mut promised = tenant.promised();
    match &answer {
        None => promised.open.push(Open {
            path: path.to_owned(),
            body: body.to_owned(),
            id: id.to_owned(),
        }),
        Some(answer) => promised.note(path, answer),
    }
    drop(promised);
    answer
}

impl Promised {
    fn note(&mut self, path: &str, answer: &super::client::Answer) {
        if path == "/v1/scan" && answer.status == 200 {
            self.scans += 1;
        } else if path == "/v1/crawls"
            && answer.status == 202
            && let Some(run) = answer.json()["id"].as_i64()
        {
            self.runs.push(run);
        }
    }
}

/// Settles what is open.
///
/// # Errors
/// There is still no answer.
pub(super) fn finish(tenant: &Tenant, at: &Whereabouts) -> anyhow::Result<()> {
    let open = std::mem::take(&mut tenant.promised().open);
    for Open { path, body, id } in open {
        let ask = Ask {
            idempotency: Some(&id),
            is_capped: tenant.cap.is_some(),
            is_faulty: body.contains("/fault/"),
            ..Ask::post(&path, &tenant.key, &body)
        };
        let answer = ask.settle(at, Instant::now() + 3 * ANSWER_TIMEOUT);
        let Some(answer) = answer else {
            anyhow::bail!("{}: {path} has no answer: {body}", tenant.name);
        };
        tenant.promised().note(&path, &answer);
    }
    Ok(())
}

fn scan(tenant: &Tenant, ground: &Ground<'_>, id: &str) {
    let body = json!({"url": ground.site.url("/"), "max_age_seconds": 0}).to_string();
    settle(tenant, ground, "/v1/scan", &body, id);
}

fn crawl(tenant: &Tenant, ground: &Ground<'_>, id: &str, faulty: bool) {
    // A site of faults for those whose pages are not counted.
    let url = match faulty && !tenant.is_exact {
        true => format!("{}/page", ground.fault_url),
        false => ground.site.url("/"),
    };
    let body = json!({
        "url": url, "max_pages": 500, "depth": 20, "concurrency": 4, "delay_ms": 0,
        "webhook_url": ground.receiver.url(&tenant.name),
    });
    settle(tenant, ground, "/v1/crawls", &body.to_string(), id);
}
