//! The link graph of a stored run, measured from the store's rows through the actor to the answer.

#![expect(
    clippy::disallowed_methods,
    reason = "benchmarks run on the real clock"
)]

use anyhow::{Context as _, Result, bail, ensure};
use chrono::{DateTime, Utc};
use orbweaver_core::content::Kind;
use orbweaver_core::ids::ProjectId;
use orbweaver_core::key_hash::key_hash;
use orbweaver_server::config::Config;
use orbweaver_store::crawl::{
    Committed, CrawledPage, Created, Ending, LeasedRun, NewRun, Progress, RunBatch, pack_links,
};
use orbweaver_store::{CloudMode, NewPage, Store};
use orbweaver_tests::program::{Launch, Program};
use serde_json::json;
use tokio::runtime::Runtime;

use super::{Call, goal, guest};

/// Pages of one commit.
const BATCH: u32 = 250;
/// Link texts.
const TEXTS: u32 = 200_000;
/// Maximum time in all, and maximum memory of the guest.
const GOAL_SECONDS: f64 = 10.0;
const GOAL_MIB: f64 = 1_024.0;

pub fn run(runtime: &Runtime, launch: &Launch, pages: u32, links: u32) -> Result<()> {
    let data = tempfile::tempdir()?;
    // The program creates the database and its first project, then stops while the run is
    // written, because its worker would take the run.
    Program::start(launch, data.path(), None)?.kill()?;
    let config = Config {
        data_dir: data.path().to_owned(),
        ..Config::default()
    };
    let run = runtime.block_on(async {
        let store = Store::open(&config.store_options()).await?;
        let project = store.project_named("default").await?;
        let project = project.context("the first project")?.id;
        let run = write(&store, project, pages, links).await?;
        store.close().await;
        anyhow::Ok(run)
    })?;
    let program = Program::start(launch, data.path(), None)?;
    let input = json!({"crawl_id": run});
    for turn in ["first", "second"] {
        let call = Call::make(&program, "internal-link-graph", &input)?;
        let (cpu, mib) = guest(&program, "internal-link-graph")?;
        println!(
            "internal-link-graph, {turn}: {} of {pages} pages: {}; goal {GOAL_SECONDS} s {}",
            call.answer["data"]["stats"],
            call.figures(),
            goal(call.wall.as_secs_f64() <= GOAL_SECONDS)
        );
        println!(
            "  guest: CPU {:.2} s in all, peak {mib:.0} MiB; goal {GOAL_MIB} MiB {}",
            cpu.as_secs_f64(),
            goal(mib <= GOAL_MIB && call.peak_mib - call.before_mib <= GOAL_MIB)
        );
    }
    Ok(())
}

/// Stores a finished run as a crawl would; returns its id.
async fn write(store: &Store, project: ProjectId, pages: u32, links: u32) -> Result<i64> {
    let now = Utc::now();
    let new = NewRun {
        project,
        url: url(0),
        url_key: url(0),
        spec: "{}".to_owned(),
        seed_is_page: true,
        proxy_shown: None,
        monitor: None,
        previous: None,
        idem_key: None,
        enqueued_at: now,
        has_webhook: false,
    };
    let Created::New(run) = store.create_run(&new, None).await? else {
        bail!("no run was made");
    };
    let until = now + chrono::TimeDelta::hours(1);
    let leased = store.lease_run("bench", now, until).await?;
    let leased = leased.context("the run")?;
    let mut targets = Targets(0x2545_f491_4f6c_dd1d);
    for first in (0..pages).step_by(BATCH as usize) {
        let batch = RunBatch {
            lease: leased.lease,
            progress: Progress::default(),
            engine_state: None,
            pages: (first..pages.min(first + BATCH))
                .map(|number| page(&leased, number, now, targets.links(pages, links)))
                .collect(),
            discovered: Vec::new(),
            changes: Vec::new(),
            errors: Vec::new(),
            notes: Vec::new(),
            usage: Vec::new(),
            parts: Default::default(),
        };
        let done = store.commit_crawl(&[batch]).await?;
        ensure!(done == [Committed::Written], "{done:?}");
    }
    let ending = Ending {
        done: true,
        error_message: None,
    };
    ensure!(store.end_run(leased.lease, &ending, None, now).await?);
    Ok(run.id.get())
}

fn url(number: u32) -> String {
    let section = number % 97;
    format!("https://site.example/section-{section}/an-article-about-number-{number}")
}

fn page(leased: &LeasedRun, number: u32, now: DateTime<Utc>, links: Vec<u8>) -> CrawledPage {
    let url = url(number);
    CrawledPage {
        records: Vec::new(),
        key_hash: key_hash(&url),
        page: NewPage {
            project: leased.lease.project,
            run: Some(leased.lease.run),
            url: url.clone(),
            url_key: url.clone(),
            final_url: url,
            status: 200,
            bytes: 20_000,
            fetched_at: now,
            content_hash: None,
            kind: Kind::Html,
            user_agent: String::new(),
            cloud_mode: CloudMode::None,
            headers: "[]".to_owned(),
            metadata: Some("{}".to_owned()),
            body: None,
        },
        seq: i64::from(number),
        depth: u32::from(number > 0),
        title: None,
        canonical: None,
        robots: None,
        extensions: None,
        content_type: None,
        elapsed_ms: None,
        redirects: None,
        same_body: None,
        targets: Vec::new(),
        links,
        words: None,
    }
}

/// Targets of links: some pages get most of them. The same in every run (xorshift).
struct Targets(u64);

impl Targets {
    fn below(&mut self, end: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        u32::try_from((self.0 >> 33) % u64::from(end.max(1))).unwrap_or(0)
    }

    /// One page's links, packed.
    fn links(&mut self, pages: u32, count: u32) -> Vec<u8> {
        let links: Vec<(String, String)> = (0..count)
            .map(|_| {
                let most = self.below(pages) + 1;
                let to = url(self.below(most));
                (to, format!("more about number {}", self.below(TEXTS)))
            })
            .collect();
        pack_links(
            links
                .iter()
                .map(|(to, text)| (to.as_str(), text.as_str(), "", false)),
        )
    }
}
