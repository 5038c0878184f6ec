//! Runs whose pages are written by the test, as a worker would.

use std::time::Duration;

use chrono::TimeDelta;
use orbweaver_accounts::secret::SafeUrl;
use orbweaver_core::content::Kind;
use orbweaver_core::ids::{ProjectId, RunId};
use orbweaver_server::config::Config;
use orbweaver_server::config::Role;
use orbweaver_store::crawl::{
    Committed, CrawledPage, Ending, FailedUrl, FrontierChange, LeasedRun, NewFrontier, Progress,
    RunBatch, pack_links, pack_targets,
};
use orbweaver_store::{CloudMode, NewPage, StoredBody};
use serde_json::{Value, json};

use super::http::LONG;
use super::{Client, Service, database};

/// The seed: the pages of these runs are below it.
pub const SEED: &str = "http://127.0.0.1:8081/";

/// A page to write.
#[derive(Clone, Debug, Default)]
pub struct Written {
    /// Its URL, relative to [`SEED`].
    pub path: String,
    /// HTTP status; 0 means 200.
    pub status: u16,
    /// Its title in the row.
    pub title: Option<String>,
    /// Its body; without one the page is stored without body.
    pub html: Option<String>,
    /// Paths that it links to, all in the run's scope.
    pub links: Vec<String>,
    /// The redirects of its row: a JSON array.
    pub redirects: Option<String>,
    /// Paths that redirect to it.
    pub redirected_from: Vec<String>,
}

impl Written {
    pub fn new(path: &str, html: &str, links: &[&str]) -> Self {
        Self {
            path: path.to_owned(),
            html: Some(html.to_owned()),
            links: links.iter().map(|&link| link.to_owned()).collect(),
            ..Self::default()
        }
    }
}

/// A service on either database that has no workers.
pub async fn without_workers(postgres: bool, change: impl FnOnce(&mut Config)) -> Service {
    Service::with(|config| {
        config.roles = vec![Role::Api];
        if postgres {
            let url = database::postgres();
            config.database_url = Some(SafeUrl::new(url));
        }
        change(config);
    })
    .await
}

/// The first project.
pub async fn project(service: &Service) -> ProjectId {
    let project = service.app.store.project_named("default").await;
    project.expect("a database").expect("the project").id
}

/// Queues a run through the API and takes its lease as a worker does.
pub async fn begin(service: &Service) -> LeasedRun {
    begin_with(service, &json!({"url": SEED})).await
}

/// As [`begin`], with this body of the request.
pub async fn begin_with(service: &Service, body: &serde_json::Value) -> LeasedRun {
    begin_of(service, &service.client(), body).await
}

/// As [`begin_with`], for any client.
async fn begin_of(service: &Service, client: &Client, body: &serde_json::Value) -> LeasedRun {
    let answer = client.post("/v1/crawls", body).await;
    assert_eq!(answer.status, 202, "{}", answer.text());
    let now = service.app.clock.now();
    let leased = service
        .app
        .store
        .lease_run("test", now, now + TimeDelta::hours(1))
        .await
        .expect("a database")
        .expect("the run");
    assert_eq!(answer.json()["id"], leased.lease.run.get());
    leased
}

/// Writes pages. If the run has no page yet, the first one is the seed's.
pub async fn write(service: &Service, leased: &LeasedRun, first_seq: i64, pages: &[Written]) {
    let now = service.app.clock.now();
    let lease = leased.lease;
    let mut batch = RunBatch {
        lease,
        progress: Progress {
            fetched: first_seq.unsigned_abs() + pages.len() as u64,
            ..Progress::default()
        },
        engine_state: None,
        pages: Vec::new(),
        discovered: Vec::new(),
        changes: Vec::new(),
        errors: Vec::new(),
        notes: Vec::new(),
        usage: Vec::new(),
        parts: Default::default(),
    };
    // The rows of redirecting URLs come after those of the pages.
    let mut redirect_seq = 1_000_000 + first_seq * 10;
    for (seq, page) in (first_seq..).zip(pages) {
        let url = format!("{SEED}{}", page.path);
        batch.discovered.push(NewFrontier {
            seq,
            url: url.clone(),
            key_hash: hash(&url),
            depth: u32::from(seq > 0),
            priority: 0,
        });
        batch.changes.push(FrontierChange::Done {
            seq,
            redirect_to: None,
        });
        for from in &page.redirected_from {
            let from = format!("{SEED}{from}");
            batch.discovered.push(NewFrontier {
                seq: redirect_seq,
                key_hash: hash(&from),
                url: from,
                depth: 1,
                priority: 0,
            });
            batch.changes.push(FrontierChange::Done {
                seq: redirect_seq,
                redirect_to: Some(hash(&url)),
            });
            redirect_seq += 1;
        }
        let to: Vec<String> = page
            .links
            .iter()
            .map(|link| format!("{SEED}{link}"))
            .collect();
        let targets: Vec<u64> = to.iter().map(|url| hash(url)).collect();
        let links = to
            .iter()
            .map(|url| (url.as_str(), "the anchor", "nofollow", true));
        let html = page.html.clone();
        batch.pages.push(CrawledPage {
            records: Vec::new(),
            seq,
            key_hash: hash(&url),
            depth: u32::from(seq > 0),
            title: page.title.clone(),
            canonical: None,
            robots: None,
            extensions: None,
            content_type: Some("text/html; charset=utf-8".to_owned()),
            elapsed_ms: Some(12),
            redirects: page.redirects.clone(),
            same_body: None,
            targets: pack_targets(&targets),
            links: if to.is_empty() {
                Vec::new()
            } else {
                pack_links(links)
            },
            words: None,
            page: NewPage {
                project: lease.project,
                run: Some(lease.run),
                url_key: url.clone(),
                final_url: url.clone(),
                url,
                status: if page.status == 0 { 200 } else { page.status },
                bytes: html.as_ref().map_or(7, |html| html.len() as u64),
                fetched_at: now,
                content_hash: Some(format!("{:x}", hash(html.as_deref().unwrap_or("")))),
                kind: Kind::Html,
                user_agent: String::new(),
                cloud_mode: CloudMode::None,
                headers: "[[\"content-type\",\"text/html; charset=utf-8\"]]".to_owned(),
                metadata: None,
                body: html.map(|html| StoredBody::pack(html.as_bytes())),
            },
        });
    }
    let committed = service.app.store.commit_crawl(&[batch]).await;
    assert_eq!(committed.expect("a database"), [Committed::Written]);
}

/// Stores URLs without a response.
pub async fn fail(service: &Service, leased: &LeasedRun, errors: Vec<FailedUrl>) {
    let batch = RunBatch {
        lease: leased.lease,
        progress: Progress::default(),
        engine_state: None,
        pages: Vec::new(),
        discovered: Vec::new(),
        changes: Vec::new(),
        notes: Vec::new(),
        errors,
        usage: Vec::new(),
        parts: Default::default(),
    };
    let committed = service.app.store.commit_crawl(&[batch]).await;
    assert_eq!(committed.expect("a database"), [Committed::Written]);
}

/// Ends the run with success.
pub async fn end(service: &Service, leased: &LeasedRun) -> RunId {
    let ending = Ending {
        done: true,
        ..Ending::default()
    };
    let now = service.app.clock.now();
    let done = service
        .app
        .store
        .end_run(leased.lease, &ending, None, now)
        .await;
    assert!(done.expect("a database"));
    leased.lease.run
}

/// A finished run with these pages, of any client.
pub async fn done_of(service: &Service, client: &Client, pages: &[Written]) -> RunId {
    let leased = begin_of(service, client, &json!({"url": SEED})).await;
    write(service, &leased, 0, pages).await;
    end(service, &leased).await
}

/// A finished run with these pages.
pub async fn done(service: &Service, pages: &[Written]) -> RunId {
    let leased = begin(service).await;
    write(service, &leased, 0, pages).await;
    end(service, &leased).await
}

/// Crawls to the end; returns the run.
pub async fn crawled(client: &Client, crawl: &Value) -> Value {
    let created = client.post("/v1/crawls", crawl).await;
    assert_eq!(created.status, 202, "{}", created.text());
    let path = format!("/v1/crawls/{}", created.json()["id"]);
    client
        .until(&path, |answer| answer.ok()["finished_at"].is_string())
        .await
        .ok()
}

/// Waits until a run of the first project has ended.
pub async fn ended(service: &Service, run: RunId) {
    let project = project(service).await;
    let ending = async {
        loop {
            let commits = service.app.crawls.live.commits(run);
            let found = service.app.store.run(project, run).await;
            let found = found.expect("a database").expect("the run");
            if found.status.is_over() {
                return;
            }
            // A commit, the end of the run's task, or a moment before it is taken.
            match commits {
                Some(mut commits) => drop(commits.changed().await),
                None => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        }
    };
    let ended = tokio::time::timeout(LONG, ending).await;
    ended.expect("the run ends");
}

/// A hash used instead of that of a URL's key.
pub fn hash(text: &str) -> u64 {
    use std::hash::{DefaultHasher, Hash as _, Hasher as _};
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}
