//! Bodies of pages in a bucket of a real S3 server, with faults of the store.

use std::time::Duration;

use chrono::TimeDelta;
use http::{Method, StatusCode};
use orbweaver_accounts::clock::Clock;
use orbweaver_accounts::secret::{SafeUrl, Secret};
use orbweaver_core::setting::Millis;
use orbweaver_server::config::{Config, Role};
use orbweaver_server::{blobs, service};
use orbweaver_store::BlobSweeper;
use orbweaver_tests::s3::{ACCESS_KEY, Fault, S3, SECRET_KEY};
use serde_json::{Value, json};

use crate::support::runs::{self, Written};
use crate::support::{Client, Service, Site, database, wait};

/// Points the configuration to the bucket; every commit writes a segment.
fn at(config: &mut Config, url: &str) {
    config.blobs = Some(url.parse().unwrap());
    config.blob_store.access_key_id = Some(ACCESS_KEY.to_owned());
    config.blob_store.secret_access_key = Some(Secret::new(SECRET_KEY));
    config.blob_store.least_segment_kib = 0;
    config.blob_store.timeout_ms = Millis(5_000);
}

async fn with(s3: &S3, change: impl FnOnce(&mut Config)) -> Service {
    Service::with(|config| {
        at(config, &s3.url("pages"));
        // The test writes the pages, and sweeps.
        config.roles = vec![Role::Api];
        change(config);
    })
    .await
}

fn text(number: usize) -> String {
    format!(
        "<title>Page {number}</title><p>{}</p>",
        format!("words of page {number} ").repeat(60)
    )
}

fn written(numbers: std::ops::Range<usize>) -> Vec<Written> {
    numbers
        .map(|number| Written::new(&format!("{number}"), &text(number), &[]))
        .collect()
}

async fn contents(client: &Client, run: impl std::fmt::Display) -> Vec<Value> {
    let path = format!("/v1/crawls/{run}/export?format=ndjson&include=markdown");
    let answer = client.get(&path).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let lines = answer.text();
    lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Every page of the run has its own content.
async fn whole(service: &Service, run: impl std::fmt::Display, count: usize) {
    let items = contents(&service.client(), run).await;
    assert_eq!(items.len(), count);
    for item in items {
        let number = item["url"].as_str().unwrap().rsplit('/').next().unwrap();
        let markdown = item["markdown"]
            .as_str()
            .unwrap_or_else(|| panic!("{item}"));
        assert!(
            markdown.contains(&format!("words of page {number} ")),
            "{item}"
        );
    }
}

async fn sweep(service: &Service) -> orbweaver_store::Swept {
    let mut sweeper = BlobSweeper::new(service.app.store.clone());
    sweeper.sweep().await.unwrap()
}

async fn a_runs_bodies_live_in_the_bucket_and_go_with_it(service: Service, s3: &S3) {
    let run = runs::done(&service, &written(0..20)).await;
    let segments = s3.objects(".warc").unwrap();
    assert_eq!(segments.len(), 1);
    assert!(segments[0].starts_with(s3.bucket().join("pages/segments")));
    let before = s3.requests(&Method::GET);
    whole(&service, run, 20).await;
    let requests = s3.requests(&Method::GET) - before;
    assert_eq!(requests, 1, "bodies of one segment are read together");
    let path = format!("/v1/crawls/{run}");
    let gone = service.client().send("DELETE", &path, &[], b"").await;
    assert_eq!(gone.status, 204);
    while !service.app.store.remove_deleted().await.unwrap().finished {}
    sweep(&service).await;
    assert_eq!(
        s3.objects(".warc").unwrap().len(),
        1,
        "a backup may need it"
    );
    // The service's own task may still be deleting the rows.
    let empty = async {
        while !s3.objects(".warc").unwrap().is_empty() {
            service.clock.advance(TimeDelta::hours(25));
            sweep(&service).await;
            tokio::task::yield_now().await;
        }
    };
    let patience = Duration::from_secs(60);
    tokio::time::timeout(patience, empty).await.unwrap();
}

#[tokio::test]
async fn a_runs_bodies_live_in_the_bucket_on_sqlite() {
    let s3 = S3::start().await.unwrap();
    let service = with(&s3, |_| {}).await;
    a_runs_bodies_live_in_the_bucket_and_go_with_it(service, &s3).await;
}

#[tokio::test]
async fn a_runs_bodies_live_in_the_bucket_on_postgres() {
    let s3 = S3::start().await.unwrap();
    let url = database::postgres();
    let service = with(&s3, |config| config.database_url = Some(SafeUrl::new(url))).await;
    a_runs_bodies_live_in_the_bucket_and_go_with_it(service, &s3).await;
}

#[tokio::test]
async fn uploads_survive_every_fault_of_the_store() {
    let s3 = S3::start().await.unwrap();
    let service = with(&s3, |_| {}).await;
    let leased = runs::begin(&service).await;
    let faults = [
        Fault::Busy(0),
        Fault::Busy(1),
        Fault::Slow(Duration::from_millis(300)),
        Fault::Torn,
        Fault::Unanswered,
    ];
    for (fault, first) in faults.into_iter().zip((0..).step_by(5)) {
        s3.fail_put(fault);
        let begun = std::time::Instant::now();
        let seq = i64::try_from(first).unwrap();
        runs::write(&service, &leased, seq, &written(first..first + 5)).await;
        assert_eq!(s3.pending_faults(), 0, "{fault:?}");
        if fault == Fault::Busy(1) {
            assert!(
                begun.elapsed() >= Duration::from_secs(1),
                "Retry-After is obeyed"
            );
        }
    }
    let run = runs::end(&service, &leased).await;
    assert_eq!(s3.objects(".warc").unwrap().len(), faults.len());
    whole(&service, run, faults.len() * 5).await;
}

/// The crawl waits, and loses nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_crawl_waits_for_a_store_that_is_down() {
    let s3 = S3::start().await.unwrap();
    let service = with(&s3, |config| {
        config.roles = vec![Role::Api, Role::Worker];
        config.blob_store.timeout_ms = Millis(3_000);
    })
    .await;
    let site = Site::start().await;
    assert_eq!(service.stranger().get("/v1/ready").await.status, 200);
    s3.set_down(Some(StatusCode::SERVICE_UNAVAILABLE));
    let body = json!({"url": site.url("/article"), "max_pages": 3, "delay_ms": 0});
    let queued = service.client().post("/v1/crawls", &body).await;
    assert_eq!(queued.status, 202, "{}", queued.text());
    let run = queued.json()["id"].as_i64().unwrap();
    let puts = || s3.requests(&Method::PUT);
    let before = puts();
    wait::until("the crawl has tried four times", async || {
        puts() >= before + 4
    })
    .await;
    let path = format!("/v1/crawls/{run}");
    let state = service.client().get(&path).await.ok();
    assert_eq!(state["status"], "running");
    assert_eq!(
        state["page_count"], 0,
        "no page whose body is not confirmed"
    );
    s3.set_down(None);
    runs::ended(&service, orbweaver_core::ids::RunId(run)).await;
    let state = service.client().get(&path).await.ok();
    assert_eq!(state["status"], "done", "{state}");
    assert_eq!(state["error_count"], 0);
    let pages = state["page_count"].as_u64().unwrap();
    assert!(pages >= 1);
    let items = contents(&service.client(), run).await;
    assert_eq!(items.len() as u64, pages);
    assert!(items.iter().any(|item| {
        item["markdown"]
            .as_str()
            .is_some_and(|text| text.contains("orb weaver"))
    }));
}

#[tokio::test]
async fn readiness_knows_of_the_store() {
    let s3 = S3::start().await.unwrap();
    let service = with(&s3, |config| config.blob_store.timeout_ms = Millis(3_000)).await;
    s3.set_down(Some(StatusCode::INTERNAL_SERVER_ERROR));
    let answer = service.stranger().get("/v1/ready").await;
    assert_eq!(answer.status, 503);
    let checks = &answer.json()["checks"];
    assert_eq!(checks["blobs"]["ok"], false);
    assert_eq!(checks["blobs"]["error"], "the blob store does not answer");
    assert_eq!(checks["database"]["ok"], true);
    // Strangers cannot make it ask the store again and again.
    let before = s3.requests(&Method::GET);
    for _ in 0..5 {
        assert_eq!(service.stranger().get("/v1/ready").await.status, 503);
    }
    assert_eq!(s3.requests(&Method::GET), before);
    assert_eq!(service.stranger().get("/v1/health").await.status, 200);
}

#[tokio::test]
async fn faults_of_reading_are_answered_and_end_with_the_fault() {
    let s3 = S3::start().await.unwrap();
    let service = with(&s3, |config| config.blob_store.timeout_ms = Millis(2_000)).await;
    let run = runs::done(&service, &written(0..1)).await;
    let client = service.client();
    let pages = client.get(&format!("/v1/crawls/{run}/pages")).await.ok();
    let page = pages["items"][0]["id"].as_i64().unwrap();
    let path = format!("/v1/pages/{page}?format=html");
    let good = client.get(&path).await;
    assert_eq!(good.status, 200, "{}", good.text());
    // These are tried again.
    for fault in [
        Fault::Busy(0),
        Fault::Slow(Duration::from_millis(200)),
        Fault::Unanswered,
    ] {
        s3.fail_get(fault);
        assert_eq!(client.get(&path).await.text(), good.text(), "{fault:?}");
        assert_eq!(s3.pending_faults(), 0, "{fault:?}");
    }
    // Wrong bytes are never answered as content.
    for fault in [Fault::Corrupt, Fault::Short] {
        s3.fail_get(fault);
        client.get(&path).await.error(500, "INTERNAL");
        assert_eq!(s3.pending_faults(), 0, "{fault:?}");
        assert_eq!(client.get(&path).await.text(), good.text(), "{fault:?}");
    }
    let segment = s3.objects(".warc").unwrap().remove(0);
    let aside = segment.with_extension("aside");
    std::fs::rename(&segment, &aside).unwrap();
    client.get(&path).await.error(500, "INTERNAL");
    // An export has the other pages, and says which one failed.
    let items = contents(&client, run).await;
    assert_eq!(items.len(), 1);
    assert!(items[0].to_string().contains("errors"), "{}", items[0]);
    std::fs::rename(&aside, &segment).unwrap();
    assert_eq!(client.get(&path).await.text(), good.text());
}

/// Content that an outage hides is not missing: whoever exports has to come again.
#[tokio::test]
async fn an_export_breaks_off_while_the_store_is_down() {
    let s3 = S3::start().await.unwrap();
    let service = with(&s3, |config| config.blob_store.timeout_ms = Millis(3_000)).await;
    let run = runs::done(&service, &written(0..3)).await;
    let client = service.client();
    for include in ["markdown", "html", "article", "metadata"] {
        s3.set_down(Some(StatusCode::SERVICE_UNAVAILABLE));
        let path = format!("/v1/crawls/{run}/export?format=ndjson&include={include}");
        let refused = client.get(&path).await;
        refused.error(503, "UNAVAILABLE");
        assert_eq!(refused.header("retry-after"), Some("5"));
        s3.set_down(None);
        let answer = client.get(&path).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(answer.text().lines().count(), 3);
        assert!(
            !answer.text().contains("cannot be read"),
            "{}",
            answer.text()
        );
    }
}

/// The error of a service that must not start.
async fn refused(change: impl FnOnce(&mut Config)) -> String {
    let data = tempfile::tempdir().unwrap();
    let mut config = Config {
        data_dir: data.path().to_owned(),
        plugin_dir: Some(crate::support::plugin_dir()),
        ..Config::default()
    };
    change(&mut config);
    match service::build(config, Clock::system(), None).await {
        Ok(_) => panic!("the service starts"),
        Err(error) => format!("{error:#}"),
    }
}

#[tokio::test]
async fn a_store_that_cannot_be_used_is_refused_at_the_start() {
    let s3 = S3::start().await.unwrap();
    let error = refused(|config| at(config, &s3.missing_bucket())).await;
    assert!(
        error.contains("bucket") && error.contains("ORBWEAVER_BLOBS"),
        "{error}"
    );
    let error = refused(|config| {
        at(config, &s3.url("pages"));
        config.blob_store.secret_access_key = Some(Secret::new("wrong"));
    })
    .await;
    assert!(error.contains("credentials"), "{error}");
    let error = refused(|config| {
        at(
            config,
            "s3://bodies?endpoint=http://127.0.0.1:9&region=us-east-1",
        );
        config.blob_store.timeout_ms = Millis(200);
    })
    .await;
    assert!(error.contains("blob store failed"), "{error}");
    // The prefix of another database.
    drop(with(&s3, |_| {}).await);
    let error = refused(|config| at(config, &s3.url("pages"))).await;
    assert!(error.contains("another database"), "{error}");
    assert!(!error.contains(SECRET_KEY));
}

/// Nodes share the bucket as they share the database.
#[tokio::test]
async fn two_nodes_read_each_others_bodies() {
    let s3 = S3::start().await.unwrap();
    let url = database::postgres();
    let first = with(&s3, |config| config.database_url = Some(SafeUrl::new(url))).await;
    let second = first.node().await;
    let run = runs::done(&first, &written(0..3)).await;
    whole(&second, run, 3).await;
    let other = runs::done(&second, &written(3..5)).await;
    whole(&first, other, 2).await;
}

/// A body of many MiB is one request, and whole.
#[tokio::test]
async fn a_large_body_is_stored_and_read_whole() {
    let s3 = S3::start().await.unwrap();
    let service = with(&s3, |_| {}).await;
    let mut state = 88_172_645_463_325_252_u64;
    let noise = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        format!("{state:x} ")
    });
    let html: String = noise.take(800_000).collect();
    let page = Written::new("large", &html, &[]);
    let run = runs::done(&service, &[page]).await;
    let items = service
        .client()
        .get(&format!("/v1/crawls/{run}/pages"))
        .await
        .ok();
    let id = items["items"][0]["id"].as_i64().unwrap();
    let project = runs::project(&service).await;
    let store = &service.app.store;
    let id = orbweaver_core::ids::PageId(id);
    let record = store.page(project, id).await.unwrap().unwrap();
    let (blob, _) = record.page.body.unwrap();
    let body = store.body(project, blob).await.unwrap().unwrap();
    assert!(body.bytes.len() > 4 << 20);
    assert_eq!(body.unpack().unwrap(), html.as_bytes());
}

#[tokio::test]
async fn the_prefix_keeps_databases_apart() {
    let s3 = S3::start().await.unwrap();
    let first = with(&s3, |_| {}).await;
    let second = with(&s3, |config| at(config, &s3.url("deep/er"))).await;
    let one = runs::done(&first, &written(0..2)).await;
    let two = runs::done(&second, &written(2..4)).await;
    for service in [&first, &second] {
        service.clock.advance(TimeDelta::days(400));
        assert_eq!(sweep(service).await.orphans, 0);
    }
    whole(&first, one, 2).await;
    whole(&second, two, 2).await;
    let opened = blobs::open(first.app.config(), &first.app.clock)
        .unwrap()
        .unwrap();
    assert_eq!(opened.list(None, 10).await.unwrap().len(), 1);
}
