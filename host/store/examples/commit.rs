//! Measures how fast crawled pages are committed to a SQLite file: 8,000 pages of 13 KB with
//! twelve links each, in batches of 250; then how fast they are listed, their graph is read, and they are
//! deleted. Prints pages per second.
//!
//! With a folder as argument, the bodies go to a blob store there; with the URL of an empty PostgreSQL
//! database, the pages go there.
//!
//! `cargo run --release -p orbweaver-store --example commit [FOLDER | postgres://…]`

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use orbweaver_core::content::Kind;
use orbweaver_core::ids::{PageId, ProjectId};
use orbweaver_store::blobs::{BlobOptions, Blobs, NewBodies};
use orbweaver_store::crawl::{
    Committed, CrawledPage, Created, FrontierChange, Lease, NewFrontier, NewRun, PageRange,
    Progress, RunBatch, pack_links, pack_targets,
};
use orbweaver_store::{
    CloudMode, KeyHash, NewKey, NewPage, NewProject, NewUsage, Options, Store, StoredBody,
};

const PAGES: i64 = 8_000;
const BATCH: i64 = 250;
const BODY_BYTES: usize = 13_000;
const LINKS: u64 = 12;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let argument = std::env::args().nth(1);
    let (url, blobs) = match argument {
        Some(url) if url.starts_with("postgres") => (Some(url), None),
        folder => (None, folder.map(|folder| open_blobs(&folder))),
    };
    let options = match url {
        Some(url) => Options::url(url),
        None => Options::sqlite(&folder.path().join("bench.db")),
    };
    let store = Store::open(&Options {
        blobs: blobs.transpose()?,
        ..options
    })
    .await?;
    let now = DateTime::<Utc>::UNIX_EPOCH;
    let lease = prepare(&store, now).await?;
    // Prepared before the clock starts: compression is not the store's work.
    let batches: Vec<RunBatch> = (0..PAGES / BATCH).map(|at| batch(lease, at, now)).collect();
    let start = Instant::now();
    for batch in batches {
        let committed = store.commit_crawl(&[batch]).await?;
        if committed != [Committed::Written] {
            return Err("cannot write a batch".into());
        }
    }
    print("commit", start)?;
    let start = Instant::now();
    let mut after = PageId(0);
    loop {
        let range = PageRange {
            status: None,
            after,
            offset: 0,
            limit: 100,
        };
        let pages = store.run_pages(lease.project, lease.run, &range).await?;
        let Some(last) = pages.last() else { break };
        after = last.id;
    }
    print("list", start)?;
    let start = Instant::now();
    for page in 1..=PAGES {
        store.page(lease.project, PageId(page)).await?;
    }
    print("read one by one", start)?;
    let start = Instant::now();
    store.orphans(lease.project, lease.run).await?;
    print("graph", start)?;
    let start = Instant::now();
    store.delete_run(lease.project, lease.run, now).await?;
    while !store.remove_deleted().await?.finished {}
    print("delete", start)?;
    store.close().await;
    Ok(())
}

fn print(what: &str, start: Instant) -> Result<(), Box<dyn Error>> {
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{what}: {:.0} pages/s",
        f64::from(u32::try_from(PAGES)?) / seconds
    );
    Ok(())
}

fn open_blobs(folder: &str) -> Result<Blobs, Box<dyn Error>> {
    Ok(Blobs::open(BlobOptions {
        url: format!("file://{folder}").parse()?,
        credentials: None,
        new_bodies: NewBodies::Store,
        timeout: Duration::from_secs(30),
        least_segment: 512 << 10,
        pack_after: Duration::from_secs(300),
        keep_deleted: Duration::ZERO,
        orphan_age: Duration::from_secs(3_600),
        now: Arc::new(|| DateTime::<Utc>::UNIX_EPOCH),
        node: u64::from(std::process::id()),
        transport: None,
    })?)
}

async fn prepare(store: &Store, now: DateTime<Utc>) -> Result<Lease, Box<dyn Error>> {
    let project: ProjectId = store
        .create_project(
            &NewProject {
                name: "bench",
                tier: "self_hosted",
                actor: "cli",
                key: NewKey {
                    hash: KeyHash::digest("bench"),
                    prefix: "orb_12345678",
                    label: None,
                },
            },
            now,
        )
        .await?;
    let new = NewRun {
        project,
        url: "https://example.org/".to_owned(),
        url_key: "https://example.org/".to_owned(),
        spec: "{}".to_owned(),
        seed_is_page: true,
        proxy_shown: None,
        monitor: None,
        previous: None,
        idem_key: None,
        enqueued_at: now,
        has_webhook: false,
    };
    let Created::New(_) = store.create_run(&new, None).await? else {
        return Err("cannot create the run".into());
    };
    let leased = store
        .lease_run("bench", now, now + TimeDelta::hours(1))
        .await?
        .ok_or("cannot lease the run")?;
    Ok(leased.lease)
}

fn batch(lease: Lease, at: i64, now: DateTime<Utc>) -> RunBatch {
    let range = at * BATCH..(at + 1) * BATCH;
    RunBatch {
        lease,
        progress: Progress::default(),
        engine_state: None,
        pages: range.clone().map(|seq| page(lease, seq, now)).collect(),
        discovered: range
            .clone()
            .map(|seq| NewFrontier {
                seq,
                url: format!("https://example.org/{seq}"),
                key_hash: seq.cast_unsigned(),
                depth: 1,
                priority: 0,
            })
            .collect(),
        changes: range
            .map(|seq| FrontierChange::Done {
                seq,
                redirect_to: None,
            })
            .collect(),
        errors: Vec::new(),
        notes: Vec::new(),
        usage: vec![NewUsage {
            project: lease.project,
            token: format!("run:{}:{at}", lease.run),
            call: "crawl",
            pages: BATCH.cast_unsigned(),
            cloud_pages: 0,
            cost_micros: 0,
            at: now,
            reservation: None,
        }],
        parts: Default::default(),
    }
}

fn page(lease: Lease, seq: i64, now: DateTime<Utc>) -> CrawledPage {
    let url = format!("https://example.org/{seq}");
    let mut body = format!("page {seq} ").repeat(BODY_BYTES / 6).into_bytes();
    body.truncate(BODY_BYTES);
    let targets: Vec<u64> = (0..LINKS).collect();
    let links: Vec<String> = targets
        .iter()
        .map(|to| format!("https://example.org/{to}"))
        .collect();
    CrawledPage {
        records: Vec::new(),
        page: NewPage {
            project: lease.project,
            run: Some(lease.run),
            url: url.clone(),
            url_key: url.clone(),
            final_url: url,
            status: 200,
            bytes: body.len() as u64,
            fetched_at: now,
            content_hash: Some(format!("{seq:064x}")),
            kind: Kind::Html,
            user_agent: String::new(),
            cloud_mode: CloudMode::None,
            headers: r#"[["content-type","text/html"]]"#.to_owned(),
            metadata: None,
            body: Some(StoredBody::received(
                &body,
                orbweaver_store::BodyEncoding::Identity,
                body.clone().into(),
            )),
        },
        seq,
        key_hash: seq.cast_unsigned(),
        depth: 1,
        title: Some(format!("Page {seq}")),
        canonical: None,
        robots: None,
        extensions: None,
        content_type: None,
        elapsed_ms: None,
        redirects: None,
        same_body: None,
        targets: pack_targets(&targets),
        links: pack_links(links.iter().map(|to| (to.as_str(), "link", "", false))),
        words: None,
    }
}
