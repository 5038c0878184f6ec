//! Monitors, diffs and the outbox of webhooks.

use chrono::{DateTime, TimeDelta, Utc};
use orbweaver_core::content::Kind;
use orbweaver_core::ids::{ProjectId, RunId};
use orbweaver_store::crawl::{
    Committed, CrawledPage, Ending, FrontierChange, LeasedRun, NewFrontier, Progress, RunBatch,
    is_unreliable,
};
use orbweaver_store::monitors::{CreatedMonitor, Fired, Monitor, NewMonitor};
use orbweaver_store::{CloudMode, NewPage, Store};

use crate::given::{now, seconds};

mod diffs;
mod fires;
mod outbox;

fn new_monitor(project: ProjectId, fires: DateTime<Utc>) -> NewMonitor {
    NewMonitor {
        project,
        schedule: "*/5 * * * *".to_owned(),
        url: "https://example.org/".to_owned(),
        url_key: "https://example.org/".to_owned(),
        spec: r#"{"url":"https://example.org/"}"#.to_owned(),
        seed_is_page: true,
        proxy_shown: None,
        has_webhook: true,
        next_fires_at: fires,
        idem_key: None,
        created_at: now(),
    }
}

async fn create(store: &Store, new: &NewMonitor, cap: Option<u64>) -> Option<Monitor> {
    match store.create_monitor(new, cap).await.unwrap() {
        CreatedMonitor::New(monitor) => Some(*monitor),
        CreatedMonitor::CapReached => None,
        other => panic!("{other:?}"),
    }
}

/// Fires the due monitor at `at`, as one scheduler would.
async fn fire(store: &Store, project: ProjectId, at: DateTime<Utc>) -> RunId {
    let due = store.due_monitors(project, at, 1).await.unwrap();
    let next = Some(at + seconds(300));
    match store
        .fire_monitor(project, &due[0], next, None, at)
        .await
        .unwrap()
    {
        Fired::Started(run) => run,
        other => panic!("{other:?}"),
    }
}

/// A page of a run: its path, status and content.
type Page = (&'static str, u16, &'static str);

fn page(leased: &LeasedRun, seq: i64, (path, status, content): Page) -> CrawledPage {
    let url = format!("https://example.org{path}");
    CrawledPage {
        records: Vec::new(),
        page: NewPage {
            project: leased.lease.project,
            run: Some(leased.lease.run),
            url: url.clone(),
            url_key: url.clone(),
            final_url: url,
            status,
            bytes: 0,
            fetched_at: now(),
            content_hash: Some(content.to_owned()),
            kind: Kind::Html,
            user_agent: String::new(),
            cloud_mode: CloudMode::None,
            headers: "[]".to_owned(),
            metadata: None,
            body: None,
        },
        seq,
        key_hash: key_hash(path),
        depth: u32::from(seq > 0),
        title: None,
        canonical: None,
        robots: None,
        extensions: None,
        content_type: None,
        elapsed_ms: None,
        redirects: None,
        same_body: None,
        targets: Vec::new(),
        links: Vec::new(),
        words: None,
    }
}

fn key_hash(path: &str) -> u64 {
    path.bytes()
        .fold(7, |hash, byte| hash * 31 + u64::from(byte))
}

/// Works on the run that has waited longest: stores the pages in their order of discovery, and
/// `failed`, which could not be fetched.
async fn work(store: &Store, pages: &[Page], failed: &[&str]) -> LeasedRun {
    let leased = lease(store).await;
    write(store, batch(&leased, pages, failed)).await;
    leased
}

/// Takes the run that has waited longest.
async fn lease(store: &Store) -> LeasedRun {
    let until = now() + TimeDelta::days(400);
    let leased = store.lease_run("worker", now(), until).await;
    leased.unwrap().expect("a run waits")
}

async fn write(store: &Store, batch: RunBatch) {
    let written = store.commit_crawl(&[batch]).await.unwrap();
    assert_eq!(written, [Committed::Written]);
}

/// What [`work`] writes.
fn batch(leased: &LeasedRun, pages: &[Page], failed: &[&str]) -> RunBatch {
    let paths = pages
        .iter()
        .map(|(path, ..)| *path)
        .chain(failed.iter().copied());
    RunBatch {
        lease: leased.lease,
        progress: Progress {
            fetched: pages.len() as u64,
            failed: failed.len() as u64,
            ..Progress::default()
        },
        engine_state: None,
        pages: (0..)
            .zip(pages)
            .map(|(seq, at)| page(leased, seq, *at))
            .collect(),
        discovered: (0..)
            .zip(paths)
            .map(|(seq, path)| NewFrontier {
                seq,
                url: format!("https://example.org{path}"),
                key_hash: key_hash(path),
                depth: 1,
                priority: 0,
            })
            .collect(),
        changes: (0_i64..)
            .take(pages.len() + failed.len())
            .map(|seq| match pages.get(usize::try_from(seq).unwrap()) {
                // As the engine says of a seed.
                Some((_, status, _)) if seq == 0 && is_unreliable(*status) => {
                    FrontierChange::Unavailable {
                        seq,
                        redirect_to: None,
                    }
                }
                Some(_) => FrontierChange::Done {
                    seq,
                    redirect_to: None,
                },
                None => FrontierChange::Failed { seq },
            })
            .collect(),
        errors: Vec::new(),
        notes: Vec::new(),
        usage: Vec::new(),
        parts: Default::default(),
    }
}

/// Adds a URL that redirects to a page.
fn redirect(batch: &mut RunBatch, from: &str, to: &str) {
    let seq = i64::try_from(batch.discovered.len()).unwrap();
    batch.discovered.push(NewFrontier {
        seq,
        url: format!("https://example.org{from}"),
        key_hash: key_hash(from),
        depth: 1,
        priority: 0,
    });
    batch.changes.push(FrontierChange::Done {
        seq,
        redirect_to: Some(key_hash(to)),
    });
}

async fn end(store: &Store, leased: &LeasedRun, done: bool) {
    let ending = Ending {
        done,
        error_message: None,
    };
    assert!(
        store
            .end_run(leased.lease, &ending, None, now())
            .await
            .unwrap()
    );
}

/// A run of a monitor that is due at `at`, with these pages.
async fn crawl(store: &Store, project: ProjectId, at: DateTime<Utc>, pages: &[Page]) -> RunId {
    let run = fire(store, project, at).await;
    let leased = work(store, pages, &[]).await;
    assert_eq!(leased.run.id, run);
    end(store, &leased, true).await;
    run
}
