//! Projects, runs, batches and pages for tests to begin with.

use chrono::{DateTime, TimeDelta, Utc};
use orbweaver_core::content::Kind;
use orbweaver_core::ids::ProjectId;
use orbweaver_store::crawl::{
    CrawledPage, Created, FailedUrl, LeasedRun, NewFrontier, NewRun, Progress, Run, RunBatch,
};
use orbweaver_store::{
    CloudMode, KeyHash, NewKey, NewPage, NewProject, NewUsage, Options, Store, StoredBody,
};

pub fn now() -> DateTime<Utc> {
    "2026-03-01T12:00:00Z".parse().unwrap()
}

pub fn seconds(seconds: i64) -> TimeDelta {
    TimeDelta::seconds(seconds)
}

pub async fn open(options: &Options) -> (Store, ProjectId) {
    let store = Store::open(options).await.unwrap();
    let project = named(&store, "crawls").await;
    (store, project)
}

/// A project with this name.
pub async fn named(store: &Store, name: &str) -> ProjectId {
    let new = NewProject {
        name,
        tier: "free",
        actor: "cli",
        key: NewKey {
            hash: KeyHash::digest(name),
            prefix: "orb_12345678",
            label: None,
        },
    };
    store.create_project(&new, now()).await.unwrap()
}

pub fn new_run(project: ProjectId, url: &str) -> NewRun {
    NewRun {
        project,
        url: url.to_owned(),
        url_key: url.to_owned(),
        spec: r#"{"url":"x"}"#.to_owned(),
        seed_is_page: true,
        proxy_shown: None,
        monitor: None,
        previous: None,
        idem_key: None,
        enqueued_at: now(),
        has_webhook: false,
    }
}

pub async fn create(store: &Store, new: &NewRun) -> Run {
    match store.create_run(new, None).await.unwrap() {
        Created::New(run) => *run,
        other => panic!("{other:?}"),
    }
}

pub async fn lease(store: &Store, owner: &str, at: DateTime<Utc>) -> Option<LeasedRun> {
    store.lease_run(owner, at, at + seconds(10)).await.unwrap()
}

pub fn batch(leased: &LeasedRun) -> RunBatch {
    RunBatch {
        lease: leased.lease,
        progress: Progress::default(),
        engine_state: None,
        pages: Vec::new(),
        discovered: Vec::new(),
        changes: Vec::new(),
        errors: Vec::new(),
        notes: Vec::new(),
        usage: Vec::new(),
        parts: Default::default(),
    }
}

pub fn usage(leased: &LeasedRun, pages: u64) -> NewUsage {
    NewUsage {
        project: leased.lease.project,
        token: format!("run:{}:0", leased.lease.run),
        call: "crawl",
        pages,
        cloud_pages: 0,
        cost_micros: 0,
        at: now(),
        reservation: None,
    }
}

pub fn failed(seq: i64) -> FailedUrl {
    FailedUrl {
        seq,
        url: format!("https://example.org/{seq}"),
        key_hash: 7,
        kind: "dns".to_owned(),
        message: "no such name".to_owned(),
        attempts: 4,
        failed_at: now(),
    }
}

pub fn page(leased: &LeasedRun, seq: i64, body: &[u8]) -> CrawledPage {
    let url = format!("https://example.org/{seq}");
    CrawledPage {
        records: Vec::new(),
        page: NewPage {
            project: leased.lease.project,
            run: Some(leased.lease.run),
            url: url.clone(),
            url_key: url.clone(),
            final_url: url,
            status: 200,
            bytes: body.len() as u64,
            fetched_at: now(),
            content_hash: Some("cafe".to_owned()),
            kind: Kind::Html,
            user_agent: String::new(),
            cloud_mode: CloudMode::None,
            headers: "[]".to_owned(),
            metadata: None,
            body: Some(StoredBody::pack(body)),
        },
        seq,
        key_hash: u64::MAX - u64::try_from(seq).unwrap(),
        depth: 1,
        title: Some("A title".to_owned()),
        canonical: None,
        robots: Some("noindex".to_owned()),
        extensions: None,
        content_type: None,
        elapsed_ms: None,
        redirects: None,
        same_body: None,
        targets: vec![1; 16],
        links: vec![2; 9],
        words: None,
    }
}

pub fn found(seq: i64) -> NewFrontier {
    NewFrontier {
        seq,
        url: format!("https://example.org/{seq}"),
        key_hash: u64::MAX - u64::try_from(seq).unwrap(),
        depth: 1,
        priority: 0,
    }
}
