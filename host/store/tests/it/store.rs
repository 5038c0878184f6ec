//! Pages, usage, the request log, and what opening and closing the store does.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use orbweaver_core::content::Kind;
use orbweaver_core::ids::ProjectId;
use orbweaver_store::{
    CacheQuery, CloudMode, KeyHash, LogEntry, LogFilter, MAX_COST_MICROS, NewKey, NewPage,
    NewProject, NewUsage, Options, Retention, Store, StoreError, StoredBody,
};

crate::support::on_both_databases! {
    the_log_is_per_project_and_in_order
    a_token_is_billed_once
    an_absurd_cost_is_bounded
    pages_and_bodies_are_returned_as_stored
    equal_bodies_are_stored_once_and_deleted_with_the_last_page
    the_cache_finds_the_newest_page_that_fits
    a_bad_row_fails_only_its_own_request
    queued_writes_are_there_after_a_restart
    memory_is_released_beside_work
}

pub(super) async fn open(options: &Options) -> Store {
    Store::open(options).await.unwrap()
}

pub(super) fn now() -> DateTime<Utc> {
    "2026-03-01T12:00:00Z".parse().unwrap()
}

pub(super) fn key(name: &str) -> NewKey<'_> {
    NewKey {
        hash: KeyHash::digest(name),
        prefix: "orb_12345678",
        label: Some("a label"),
    }
}

pub(super) async fn project(store: &Store, name: &str) -> ProjectId {
    let new = NewProject {
        name,
        tier: "free",
        key: key(name),
        actor: "cli",
    };
    store.create_project(&new, now()).await.unwrap()
}

fn page(project: ProjectId, url: &str, body: &[u8], at: DateTime<Utc>) -> NewPage {
    NewPage {
        project,
        run: None,
        url: url.to_owned(),
        url_key: url.to_owned(),
        final_url: format!("{url}#final"),
        status: 404,
        bytes: body.len() as u64,
        fetched_at: at,
        content_hash: Some("cafe".to_owned()),
        kind: Kind::Html,
        user_agent: String::new(),
        cloud_mode: CloudMode::None,
        headers: r#"[["content-type","text/html"]]"#.to_owned(),
        metadata: None,
        body: Some(StoredBody::pack(body)),
    }
}

fn usage(project: ProjectId, token: &str, at: DateTime<Utc>) -> NewUsage {
    NewUsage {
        project,
        token: token.to_owned(),
        call: "scan",
        pages: 2,
        cloud_pages: 1,
        cost_micros: 500,
        at,
        reservation: None,
    }
}

fn query(url: &str, since: DateTime<Utc>) -> CacheQuery<'_> {
    CacheQuery {
        url_key: url,
        user_agent: "",
        cloud_mode: CloudMode::None,
        since,
    }
}

#[tokio::test]
async fn a_wrong_address_is_explained() {
    for (url, says) in [
        ("mysql://x", "must start with"),
        ("sqlite:/nowhere/at/all/x.db", "folder exists"),
        ("postgres://u:hidden@127.0.0.1:1/x", "check that it runs"),
        // Why, and not that the connection took too long.
        ("postgres://u:hidden@127.0.0.1:1/x", "refused"),
    ] {
        let options = Options {
            acquire_timeout: Duration::from_millis(300),
            ..Options::url(url)
        };
        let error = Store::open(&options).await.unwrap_err().to_string();
        assert!(error.contains(says) && !error.contains("hidden"), "{error}");
    }
}

#[tokio::test]
async fn what_postgresql_refuses_is_told_in_its_words() {
    let mut options = crate::support::postgres_without_schema();
    options.url = options.url.replacen("/test", "/no_such_test", 1);
    let error = Store::open(&options).await.unwrap_err().to_string();
    assert!(error.contains("\" does not exist; check"), "{error}");
}

fn entry(status: u16) -> LogEntry {
    LogEntry {
        ts: now(),
        method: "GET".to_owned(),
        path: "/v1/logs".to_owned(),
        status,
        duration_ms: 3,
        client_ip: "127.0.0.1".to_owned(),
        request_id: format!("id-{status}"),
        key_prefix: "orb_12345678".to_owned(),
    }
}

async fn the_log_is_per_project_and_in_order(options: Options) {
    let store = open(&options).await;
    let (a, b) = (project(&store, "a").await, project(&store, "b").await);
    for status in 200..700 {
        store.log_request(a, entry(status));
    }
    store.log_request(b, entry(299));
    let all = LogFilter {
        limit: 500,
        offset: 0,
        status_min: None,
        status_max: None,
        key_prefix: None,
    };
    let entries = store.logs(a, all.clone()).await.unwrap();
    assert_eq!(entries.len(), 500);
    assert_eq!((entries[0].status, entries[499].status), (699, 200));
    let some = LogFilter {
        limit: 2,
        offset: 1,
        status_min: Some(400),
        status_max: Some(404),
        key_prefix: None,
    };
    let entries = store.logs(a, some).await.unwrap();
    let ids: Vec<&str> = entries
        .iter()
        .map(|entry| entry.request_id.as_str())
        .collect();
    assert_eq!(ids, ["id-403", "id-402"]);
    assert_eq!(store.logs(b, all).await.unwrap().len(), 1);
}

async fn a_token_is_billed_once(options: Options) {
    let store = open(&options).await;
    let (a, b) = (project(&store, "a").await, project(&store, "b").await);
    let tomorrow = now() + TimeDelta::days(1);
    for (project, token, at) in [
        (a, "1", now()),
        (a, "2", now()),
        (a, "1", now()),
        (a, "3", tomorrow),
        (b, "1", now()),
    ] {
        store.bill(usage(project, token, at)).await.unwrap();
    }
    let days = store.usage_days(a, now().date_naive()).await.unwrap();
    let sums: Vec<_> = days
        .iter()
        .map(|d| (d.pages, d.cloud_pages, d.cost_micros))
        .collect();
    assert_eq!(sums, [(4, 2, 1_000), (2, 1, 500)]);
    assert_eq!(days[0].date, now().date_naive());
    assert_eq!(
        store
            .usage_days(a, tomorrow.date_naive())
            .await
            .unwrap()
            .len(),
        1
    );
    assert_eq!(
        store.usage_days(b, now().date_naive()).await.unwrap()[0].pages,
        2
    );
}

async fn an_absurd_cost_is_bounded(options: Options) {
    let store = open(&options).await;
    let a = project(&store, "a").await;
    for token in ["1", "2", "3"] {
        let absurd = NewUsage {
            cost_micros: u64::MAX,
            ..usage(a, token, now())
        };
        store.bill(absurd).await.unwrap();
    }
    let days = store.usage_days(a, now().date_naive()).await.unwrap();
    assert_eq!(days[0].cost_micros, 3 * MAX_COST_MICROS);
    let total = store.usage_total(a).await.unwrap();
    assert_eq!(total, (6, 3, 3 * MAX_COST_MICROS));
}

async fn pages_and_bodies_are_returned_as_stored(options: Options) {
    let store = open(&options).await;
    let (a, b) = (project(&store, "a").await, project(&store, "b").await);
    let body = "<p>ä</p>".repeat(1_000);
    let new = page(a, "http://a/", body.as_bytes(), now());
    let id = store
        .save_page(new.clone(), Some(usage(a, "t", now())))
        .await
        .unwrap();
    let found = store
        .cached_page(a, &query("http://a/", now()))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(Some(found.id), id);
    assert_eq!(
        (found.url.as_str(), found.final_url.as_str()),
        ("http://a/", "http://a/#final")
    );
    assert_eq!(
        (found.status, found.bytes, found.kind),
        (404, body.len() as u64, Kind::Html)
    );
    assert_eq!((found.fetched_at, found.headers), (now(), new.headers));
    let (blob, hash) = found.body.unwrap();
    let stored = store.body(a, blob).await.unwrap().unwrap();
    assert_eq!(stored.hash, hash);
    assert!(stored.bytes.len() < body.len() / 10);
    assert_eq!(stored.unpack().unwrap(), body.as_bytes());
    assert_eq!(
        store.body(b, blob).await.unwrap(),
        None,
        "another project's"
    );
    assert_eq!(
        store
            .cached_page(b, &query("http://a/", now()))
            .await
            .unwrap(),
        None
    );
    assert_eq!(
        store.usage_days(a, now().date_naive()).await.unwrap()[0].pages,
        2
    );
}

async fn equal_bodies_are_stored_once_and_deleted_with_the_last_page(options: Options) {
    let store = open(&options).await;
    let a = project(&store, "a").await;
    let old = now() - TimeDelta::days(40);
    for (url, at) in [("http://a/1", old), ("http://a/2", now())] {
        store
            .save_page(page(a, url, b"same", at), None)
            .await
            .unwrap();
    }
    let blob = async |url: &str| {
        let found = store.cached_page(a, &query(url, old)).await.unwrap();
        found.and_then(|page| page.body).map(|(blob, _)| blob)
    };
    let first = blob("http://a/1").await.unwrap();
    assert_eq!(blob("http://a/2").await, Some(first));
    let month = std::time::Duration::from_secs(30 * 86_400);
    let keep = Retention {
        scans: month,
        request_log: month,
        plugin_records: std::time::Duration::from_secs(86_400),
    };
    assert_eq!(store.purge(&keep, now()).await.unwrap(), 1);
    assert_eq!(blob("http://a/1").await, None);
    assert!(
        store.body(a, first).await.unwrap().is_some(),
        "the second page still has it"
    );
    assert_eq!(
        store
            .purge(&keep, now() + TimeDelta::days(31))
            .await
            .unwrap(),
        1
    );
    assert_eq!(store.body(a, first).await.unwrap(), None);
}

async fn the_cache_finds_the_newest_page_that_fits(options: Options) {
    let store = open(&options).await;
    let a = project(&store, "a").await;
    let url = "http://a/";
    for (minutes, body) in [(-30, "old"), (-10, "young"), (-20, "middle")] {
        let at = now() + TimeDelta::minutes(minutes);
        store
            .save_page(page(a, url, body.as_bytes(), at), None)
            .await
            .unwrap();
    }
    let other = NewPage {
        user_agent: "x".to_owned(),
        ..page(a, url, b"other", now())
    };
    store.save_page(other, None).await.unwrap();
    let found = store
        .cached_page(a, &query(url, now() - TimeDelta::hours(1)))
        .await
        .unwrap();
    assert_eq!(found.unwrap().bytes, 5);
    let none = store
        .cached_page(a, &query(url, now() - TimeDelta::minutes(5)))
        .await
        .unwrap();
    assert_eq!(none, None);
    let agent = CacheQuery {
        user_agent: "x",
        ..query(url, now())
    };
    assert!(store.cached_page(a, &agent).await.unwrap().is_some());
    let browser = CacheQuery {
        cloud_mode: CloudMode::Browser,
        ..query(url, now())
    };
    assert_eq!(store.cached_page(a, &browser).await.unwrap(), None);
}

async fn a_bad_row_fails_only_its_own_request(options: Options) {
    let store = open(&options).await;
    let a = project(&store, "a").await;
    let nobody = ProjectId(12_345);
    // Queued together, so they are first tried in one transaction.
    let (bad, good, log) = tokio::join!(
        store.save_page(page(nobody, "http://x/", b"x", now()), None),
        store.save_page(
            page(a, "http://a/", b"a", now()),
            Some(usage(a, "t", now()))
        ),
        async { store.log_request(a, entry(200)) },
    );
    assert!(bad.is_err());
    assert!(good.unwrap().is_some());
    let () = log;
    let all = LogFilter {
        limit: 10,
        offset: 0,
        status_min: None,
        status_max: None,
        key_prefix: None,
    };
    assert_eq!(store.logs(a, all.clone()).await.unwrap().len(), 1);
    assert_eq!(
        store.usage_days(a, now().date_naive()).await.unwrap()[0].pages,
        2
    );
}

async fn queued_writes_are_there_after_a_restart(options: Options) {
    let store = open(&options).await;
    let a = project(&store, "a").await;
    store.log_request(a, entry(200));
    store.close().await;
    let error = store.bill(usage(a, "t", now())).await.unwrap_err();
    assert!(matches!(error, StoreError::Closed), "{error}");
}

/// Reads and writes go on, also on the connections whose caches were just released.
async fn memory_is_released_beside_work(options: Options) {
    let store = open(&options).await;
    let work = async {
        for number in 0..40 {
            let name = format!("p{number}");
            let id = project(&store, &name).await;
            assert_eq!(store.project(id).await.unwrap().unwrap().name, name);
        }
    };
    let release = async {
        for _ in 0..40 {
            store.release_memory().await.unwrap();
        }
    };
    tokio::join!(work, release);
}
