//! Read replicas of the database, as operators see them.

use orbweaver_accounts::secret::SafeUrl;
use orbweaver_store::{Options, Store};
use orbweaver_tests::postgres::Postgres;

use crate::process::command;
use crate::support::{Service, database};

/// A server with the schema in a database, a replica of it, and the database's URL on each.
async fn two() -> (Postgres, Postgres, [String; 2]) {
    let primary = Postgres::start(&[], drop).unwrap();
    let url = primary.database().unwrap();
    let store = Store::open(&Options::url(url.clone())).await.unwrap();
    store.close().await;
    let replica = primary.replica().unwrap();
    let replica_url = replica.reached(&primary, &url);
    (primary, replica, [url, replica_url])
}

/// What `orbweaver doctor` says of the replicas, after the mark of the line.
fn doctor([url, replica_url]: &[String; 2]) -> String {
    let data = tempfile::tempdir().unwrap();
    let output = command(&data)
        .env("ORBWEAVER_DATABASE_URL", url)
        .env("ORBWEAVER_DATABASE__REPLICA_URLS", replica_url)
        .arg("doctor")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let line = text.lines().find(|line| line.contains("replicas "));
    line.unwrap_or_else(|| panic!("no line of replicas: {text}"))
        .trim()
        .to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_of_no_use_is_named_and_the_service_stays_ready() {
    let (_primary, replica, urls) = two().await;
    let [url, replica_url] = urls.clone();
    let service = Service::with(|config| {
        config.database_url = Some(SafeUrl::new(url));
        config.database.replica_urls = vec![SafeUrl::new(replica_url)];
    })
    .await;
    let stranger = service.stranger();
    let ready = stranger.get("/v1/ready").await;
    assert_eq!((ready.status, ready.text().as_str()), (200, "ready"));
    let line = doctor(&urls);
    assert!(line.starts_with("ok"), "{line}");
    assert!(line.contains("follows, "), "{line}");

    replica.stop().unwrap();
    let ready = stranger.get("/v1/ready").await;
    let text = "ready\nreplica 0 of the database does not answer";
    assert_eq!((ready.status, ready.text().as_str()), (200, text));
    let line = doctor(&urls);
    assert!(line.contains("does not answer"), "{line}");
    assert!(!line.starts_with("ok"), "{line}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_of_its_own_is_no_replica() {
    let (_primary, _replica, [url, _]) = two().await;
    let other = database::postgres();
    let service = Service::with(|config| {
        config.database_url = Some(SafeUrl::new(url.clone()));
        config.database.replica_urls = vec![SafeUrl::new(other.clone())];
    })
    .await;
    let ready = service.stranger().get("/v1/ready").await;
    let text = "ready\nreplica 0 of the database does not follow the database";
    assert_eq!((ready.status, ready.text().as_str()), (200, text));
    let line = doctor(&[url, other]);
    assert!(line.contains("does not follow the database"), "{line}");
}
