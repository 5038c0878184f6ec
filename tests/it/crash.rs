//! The program killed in the middle of a crawl. The same drill at full size is
//! `cargo xtask bench kill`.

use std::path::Path;
use std::time::Duration;

use orbweaver_origin::SiteSpec;
use orbweaver_tests::drill::{self, Database};
use orbweaver_tests::program::Launch;

use crate::process::program;
use crate::support::plugin_dir;

/// Leases short enough to wait for.
fn launch() -> Launch {
    let launch = Launch {
        binary: program().to_owned(),
        plugin_dir: plugin_dir(),
        cache_dir: Some(Path::new(env!("CARGO_TARGET_TMPDIR")).join("compiled-plugins")),
        settings: Vec::new(),
    };
    launch.with("CRAWL__LEASE_MS", "3000")
}

/// Leases that no test outlasts: only what ends with its process lets another go on.
fn patient() -> Launch {
    launch().with("CRAWL__LEASE_MS", "3600000")
}

/// Slow enough that a kill comes in the middle.
fn site(pages: usize) -> SiteSpec {
    SiteSpec {
        latency: Duration::from_millis(20),
        ..SiteSpec::small_pages(pages)
    }
}

/// Blocking, so on a thread of its own.
async fn killed(launch: Launch, database: Database) {
    let drill = move || drill::kill(&launch, database, &site(400), 3, 7);
    let report = tokio::task::spawn_blocking(drill).await.unwrap();
    let report = report.unwrap_or_else(|error| panic!("{error:#}"));
    assert_eq!(report.billed, report.rows as u64);
}

#[tokio::test]
async fn kill_9_in_the_middle_loses_and_doubles_nothing_on_sqlite() {
    killed(patient(), Database::Sqlite).await;
}

#[tokio::test]
async fn kill_9_in_the_middle_loses_and_doubles_nothing_on_postgres() {
    killed(launch(), Database::Postgres).await;
}

/// Slow enough that the crawl is under way when the second program is up.
fn slow_site() -> SiteSpec {
    SiteSpec {
        latency: Duration::from_millis(500),
        ..site(600)
    }
}

#[tokio::test]
async fn another_process_takes_over_what_a_killed_one_was_at() {
    let drill = || drill::take_over(&launch(), Database::Postgres, &slow_site());
    let waited = tokio::task::spawn_blocking(drill).await.unwrap();
    waited.unwrap_or_else(|error| panic!("{error:#}"));
}

#[tokio::test]
async fn a_process_that_stands_by_follows_a_killed_one_on_the_same_file() {
    let drill = || drill::take_over(&patient(), Database::Sqlite, &slow_site());
    let waited = tokio::task::spawn_blocking(drill).await.unwrap();
    waited.unwrap_or_else(|error| panic!("{error:#}"));
}

/// A file that can't grow is to SQLite what a full disk is, and needs no disk of its own.
#[tokio::test]
async fn a_crawl_goes_on_once_a_full_disk_has_room_again() {
    let drill = || drill::full_disk(&launch(), &site(300));
    let waited = tokio::task::spawn_blocking(drill).await.unwrap();
    waited.unwrap_or_else(|error| panic!("{error:#}"));
}

#[tokio::test]
async fn sigterm_hands_a_crawl_to_another_process() {
    let drill = || drill::hand_back(&launch(), Database::Postgres, &slow_site());
    let waited = tokio::task::spawn_blocking(drill).await.unwrap();
    waited.unwrap_or_else(|error| panic!("{error:#}"));
}
