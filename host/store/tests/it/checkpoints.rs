//! SQLite's write-ahead log is copied into the file beside the writers.

use std::path::Path;
use std::time::Duration;

use orbweaver_core::content::Kind;
use orbweaver_core::ids::ProjectId;
use orbweaver_store::{CloudMode, NewPage, Options, Store, StoredBody};

use crate::given::{named, now};

const MIB: u64 = 1 << 20;

/// Stores a page whose body takes about a mebibyte of the file.
async fn store_page(store: &Store, project: ProjectId, number: u64) {
    // Digits of a generator (Knuth's MMIX) do not compress.
    let mut state = number + 1;
    let body: Vec<u8> = (0..MIB / 8)
        .flat_map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state ^ (state >> 29)).to_le_bytes()
        })
        .collect();
    let url = format!("https://site.example/{number}");
    let page = NewPage {
        project,
        run: None,
        url: url.clone(),
        url_key: url.clone(),
        final_url: url,
        status: 200,
        bytes: MIB,
        fetched_at: now(),
        content_hash: None,
        kind: Kind::Html,
        user_agent: String::new(),
        cloud_mode: CloudMode::None,
        headers: "[]".to_owned(),
        metadata: None,
        body: Some(StoredBody::pack(&body)),
    };
    store.save_page(page, None).await.unwrap();
}

fn length(file: &Path) -> u64 {
    std::fs::metadata(file).unwrap().len()
}

/// Returns once the file is as long as `bytes`.
async fn until_long(file: &Path, bytes: u64) {
    let growing = async {
        while length(file) < bytes {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let grown = tokio::time::timeout(Duration::from_secs(120), growing).await;
    grown.expect("the log is copied into the file");
}

#[tokio::test]
async fn the_log_is_copied_and_begins_anew() {
    // More than the log's length from which it is to begin anew, less than that from which a
    // writer copies it.
    const PAGES: u64 = 48;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("test.db");
    let log = folder.path().join("test.db-wal");
    let store = Store::open(&Options::sqlite(&file)).await.unwrap();
    let project = named(&store, "one").await;
    for number in 0..PAGES {
        store_page(&store, project, number).await;
    }
    until_long(&file, PAGES * MIB).await;
    // What is written from here on takes the place of what is copied.
    let long = length(&log);
    for number in PAGES.. {
        let before = length(&log);
        store_page(&store, project, number).await;
        if length(&log) == before {
            break;
        }
        assert!(before < long + PAGES * MIB, "the log only grows");
        // The copy of the last pages may be under way.
        until_long(&file, (number + 1) * MIB).await;
    }
    store.close().await;
    assert!(!log.exists(), "what is left is copied at the end");
}
