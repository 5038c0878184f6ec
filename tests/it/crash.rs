//! The program is killed in the middle of a crawl. `cargo xtask bench kill` does the same at
//! full size.

use std::path::Path;
use std::time::Duration;

use orbweaver_origin::SiteSpec;
use orbweaver_tests::drill::{self, Database};
use orbweaver_tests::postgres::Postgres;
use orbweaver_tests::program::Launch;

use crate::process::program;
use crate::support::plugin_dir;

/// Leases short enough for a test to wait for their end.
fn launch() -> Launch {
    let launch = Launch {
        binary: program().to_owned(),
        plugin_dir: plugin_dir(),
        cache_dir: Some(Path::new(env!("CARGO_TARGET_TMPDIR")).join("compiled-plugins")),
        settings: Vec::new(),
    };
    launch.with("CRAWL__LEASE_MS", "3000")
}

/// Leases longer than any test: another process continues only when the holder has ended.
fn patient() -> Launch {
    launch().with("CRAWL__LEASE_MS", "3600000")
}

/// Slow enough that the kill comes during the crawl.
fn site(pages: usize) -> SiteSpec {
    SiteSpec {
        latency: Duration::from_millis(20),
        ..SiteSpec::small_pages(pages)
    }
}

/// This blocks, so it runs on its own thread.
async fn killed(launch: Launch, database: Database) {
    let drill = move || drill::kill(&launch, database, &site(400), 3, 7);
    let report = tokio::task::spawn_blocking(drill).await.unwrap();
    let report = report.unwrap_or_else(|error| panic!("{error:#}"));
    assert_eq!(report.billed, report.rows as u64);
}

#[tokio::test]
async fn kill_9_loses_and_duplicates_nothing_on_sqlite() {
    killed(patient(), Database::Sqlite).await;
}

#[tokio::test]
async fn kill_9_loses_and_duplicates_nothing_on_postgres() {
    killed(launch(), Database::Postgres).await;
}

/// As above, with records of a hook for every page.
async fn killed_with_hooks(launch: Launch, database: Database) {
    let hooks = ["mask-personal-data"];
    let drill = move || drill::kill_with(&launch, database, &site(300), (2, 11), &hooks);
    let report = tokio::task::spawn_blocking(drill).await.unwrap();
    let report = report.unwrap_or_else(|error| panic!("{error:#}"));
    assert_eq!(report.billed, report.rows as u64);
}

#[tokio::test]
async fn kill_9_loses_and_duplicates_no_record_on_sqlite() {
    killed_with_hooks(patient(), Database::Sqlite).await;
}

#[tokio::test]
async fn kill_9_loses_and_duplicates_no_record_on_postgres() {
    killed_with_hooks(launch(), Database::Postgres).await;
}

/// Slow enough that the crawl still runs when the second program has started.
fn slow_site() -> SiteSpec {
    SiteSpec {
        latency: Duration::from_millis(500),
        ..site(600)
    }
}

#[tokio::test]
async fn another_process_takes_over_the_crawl_of_a_killed_one() {
    let drill = || drill::take_over(&launch(), Database::Postgres, &slow_site());
    let waited = tokio::task::spawn_blocking(drill).await.unwrap();
    waited.unwrap_or_else(|error| panic!("{error:#}"));
}

#[tokio::test]
async fn a_waiting_process_takes_over_a_sqlite_file_after_a_kill() {
    let drill = || drill::take_over(&patient(), Database::Sqlite, &slow_site());
    let waited = tokio::task::spawn_blocking(drill).await.unwrap();
    waited.unwrap_or_else(|error| panic!("{error:#}"));
}

/// For SQLite a file that can't grow is the same as a full disk, and needs no disk image.
#[tokio::test]
async fn a_crawl_continues_once_a_full_disk_has_space_again() {
    let drill = || drill::full_disk(&launch(), &site(300));
    let waited = tokio::task::spawn_blocking(drill).await.unwrap();
    waited.unwrap_or_else(|error| panic!("{error:#}"));
}

/// The log's disk is often the database's.
#[tokio::test]
async fn a_log_that_cannot_grow_ends_no_work() {
    let drill = || drill::full_log(&launch(), &site(300));
    let waited = tokio::task::spawn_blocking(drill).await.unwrap();
    waited.unwrap_or_else(|error| panic!("{error:#}"));
}

#[tokio::test]
async fn sigterm_hands_a_crawl_to_another_process() {
    let drill = || drill::hand_back(&launch(), Database::Postgres, &slow_site());
    let waited = tokio::task::spawn_blocking(drill).await.unwrap();
    waited.unwrap_or_else(|error| panic!("{error:#}"));
}

/// What a newer program changes when it starts: it adds, and takes nothing away.
const NEWER: &str = "
    SET LOCAL lock_timeout = '500ms';
    ALTER TABLE pages ADD COLUMN later BIGINT NOT NULL DEFAULT 0;
    ALTER TABLE runs ADD COLUMN later TEXT;
    ALTER TABLE frontier ADD COLUMN later BIGINT NOT NULL DEFAULT 7;
    CREATE TABLE later (id BIGINT PRIMARY KEY);
    INSERT INTO _sqlx_migrations
        (version, description, success, checksum, execution_time)
    VALUES (9999, 'later', true, '\\x00', 0);";

#[tokio::test]
async fn nodes_are_upgraded_one_by_one_without_a_failed_request() {
    // As a program does, it gives way to nodes at work and tries again.
    let migrate = |url: &str| loop {
        match Postgres::shared().execute(url, NEWER) {
            Err(error) if format!("{error:#}").contains("lock timeout") => {}
            done => return done,
        }
    };
    // Its pages wait long enough for both programs to be started again meanwhile.
    let spec = SiteSpec {
        latency: Duration::from_millis(200),
        ..site(600)
    };
    let drill = move || drill::upgrade(&launch(), &spec, migrate);
    let requests = tokio::task::spawn_blocking(drill).await.unwrap();
    let requests = requests.unwrap_or_else(|error| panic!("{error:#}"));
    assert!(requests > 20, "{requests} requests");
}
