//! All that a run stores besides its pages, and each way to read it: of one run alone, and gone with it.

use std::collections::HashSet;

use chrono::TimeDelta;
use orbweaver_core::ids::{PageId, ProjectId, RunId};
use orbweaver_core::words::{index_words, query_terms};
use orbweaver_store::crawl::{
    CrawledPage, Ending, FailedUrl, FailurePlace, FrontierChange, NewFrontier, NewNote, NewRecord,
    NoteKind, PageRange, RunBatch, RunFailure, pack_links, pack_targets,
};
use orbweaver_store::{CacheQuery, CloudMode, IndexEntry, Options, PageWords, Store};
use sqlx::ConnectOptions as _;
use sqlx::sqlite::{SqliteAutoVacuum, SqliteConnectOptions};

use crate::given::{batch, create, lease, new_run, now, open, page};
use crate::support::{on_both_databases, sqlite};

on_both_databases! {
    every_row_of_a_run_is_read_by_its_project_and_deleted_with_it
    scans_are_deleted_from_the_oldest_on
    what_strangers_say_is_stored_without_nul
    urls_of_any_length_are_stored_and_found
}

const ALL: PageRange = PageRange {
    status: None,
    after: PageId(0),
    offset: 0,
    limit: 100,
};

/// A run of two pages, of which the second links to the first, with a record, a redirect, a failure
/// and a note.
async fn stored(store: &Store, project: ProjectId) -> RunId {
    create(store, &new_run(project, "https://example.org/0")).await;
    let run = lease(store, "a", now()).await.unwrap();
    let url = |seq: i64| NewFrontier {
        seq,
        url: format!("https://example.org/{seq}"),
        key_hash: 100 + seq.unsigned_abs(),
        depth: 1,
        priority: 0,
    };
    let links = [("https://example.org/2", "two", "", false)];
    let pages = [0_i64, 1].map(|seq| CrawledPage {
        key_hash: 100 + seq.unsigned_abs(),
        records: vec![NewRecord {
            hook: "hook".to_owned(),
            data: seq.to_string(),
        }],
        // 102 redirects to the first page.
        targets: pack_targets(&[102, 103]),
        links: pack_links(links.into_iter()),
        ..page(&run, seq, format!("body {seq}").as_bytes())
    });
    let work = RunBatch {
        pages: pages.into(),
        discovered: (0..4).map(url).collect(),
        changes: vec![
            FrontierChange::Done {
                seq: 2,
                redirect_to: Some(100),
            },
            FrontierChange::Failed { seq: 3 },
        ],
        errors: vec![FailedUrl {
            seq: 3,
            url: "https://example.org/3".to_owned(),
            key_hash: 103,
            kind: "dns".to_owned(),
            message: "no such name".to_owned(),
            attempts: 1,
            failed_at: now(),
        }],
        notes: vec![NewNote {
            kind: NoteKind::Plugin,
            plugin: "markdown".to_owned(),
            url: "https://example.org/1".to_owned(),
            key_hash: 101,
            message: "failed".to_owned(),
            noted_at: now(),
        }],
        ..batch(&run)
    };
    store.commit_crawl(&[work]).await.unwrap();
    let ending = Ending {
        done: true,
        error_message: None,
    };
    assert!(
        store
            .end_run(run.lease, &ending, None, now())
            .await
            .unwrap()
    );
    run.lease.run
}

async fn every_row_of_a_run_is_read_by_its_project_and_deleted_with_it(options: Options) {
    let (store, project) = open(&options).await;
    let run = stored(&store, project).await;
    let other = ProjectId(project.get() + 1);

    let pages = store.run_pages(project, run, &ALL).await.unwrap();
    let [first, second] = [pages[0].id, pages[1].id];
    let status = PageRange {
        status: Some(200),
        ..ALL
    };
    assert_eq!(store.run_pages(project, run, &status).await.unwrap(), pages);
    let later = PageRange { offset: 1, ..ALL };
    assert_eq!(
        store.run_pages(project, run, &later).await.unwrap(),
        pages[1..]
    );
    let past = PageRange { offset: 2, ..ALL };
    assert_eq!(store.run_pages(project, run, &past).await.unwrap(), []);
    let missing = PageRange {
        status: Some(404),
        ..ALL
    };
    assert_eq!(
        store.run_summaries(project, run, &missing).await.unwrap(),
        []
    );
    assert_eq!(
        store.run_summaries(project, run, &ALL).await.unwrap().len(),
        2
    );
    assert_eq!(store.run_pages(other, run, &ALL).await.unwrap(), []);
    assert!(store.page(project, second).await.unwrap().is_some());
    assert!(store.page(other, second).await.unwrap().is_none());

    let records = store
        .run_records(project, run, (PageId(0), 0), 0, 10)
        .await
        .unwrap();
    let data: Vec<&str> = records.iter().map(|record| &*record.data).collect();
    assert_eq!(data, ["0", "1"]);
    let of_second = store.page_records(project, second).await.unwrap();
    assert_eq!(of_second, [("hook".to_owned(), "1".to_owned())]);
    assert_eq!(store.page_records(other, second).await.unwrap(), []);

    let links = store
        .run_links(project, run, PageId(0), 10, u64::MAX)
        .await
        .unwrap();
    assert_eq!(links.rows.len(), 2);
    assert!(
        store
            .page_links(project, run, first)
            .await
            .unwrap()
            .is_some()
    );
    let inlinks = store.inlinks(project, run).await.unwrap();
    assert_eq!((inlinks[&first], inlinks[&second]), (1, 0));
    let orphans = store.orphans(project, run).await.unwrap();
    assert_eq!(
        orphans.iter().map(|page| page.id).collect::<Vec<_>>(),
        [second]
    );
    let index = store.run_index(project, run).await.unwrap();
    assert_eq!(index[&102], first.get(), "by its redirect");

    let failures = store
        .run_failures(project, run, FailurePlace::START, 0, 10)
        .await
        .unwrap();
    let hashes: Vec<u64> = failures.iter().map(|failure| failure.key_hash()).collect();
    assert_eq!(hashes, [103, 101]);
    assert_eq!(
        store
            .run_failures(project, run, FailurePlace::START, 1, 10)
            .await
            .unwrap()
            .len(),
        1
    );
    assert_eq!(
        store
            .run_failures(project, run, FailurePlace::START, 9, 10)
            .await
            .unwrap(),
        []
    );
    assert_eq!(
        store
            .run_failures(other, run, FailurePlace::START, 0, 10)
            .await
            .unwrap(),
        []
    );
    let referrers = store
        .run_referrers(project, run, &HashSet::from([103]), 1)
        .await
        .unwrap();
    assert_eq!(referrers[&103], [first]);
    let urls = store
        .run_page_urls(project, run, &[first, second])
        .await
        .unwrap();
    assert_eq!(urls.len(), 2);

    let key = "https://example.org/1";
    let previous = store
        .previous_page(project, run, key)
        .await
        .unwrap()
        .unwrap();
    assert!(!previous.links.is_empty());
    let query = CacheQuery {
        url_key: key,
        user_agent: "",
        cloud_mode: CloudMode::None,
        since: now() - TimeDelta::hours(1),
    };
    assert_eq!(
        store
            .cached_page(project, &query)
            .await
            .unwrap()
            .unwrap()
            .id,
        second
    );

    // Another run has rows of its own.
    let next = stored(&store, project).await;
    assert_eq!(store.diff(project, run, next).await.unwrap().unchanged, 2);
    let counts = store
        .count_diff(project, run, next, false)
        .await
        .unwrap()
        .unwrap();
    assert_eq!((counts.unchanged, counts.added), (2, 0));
    assert!(
        store
            .diff_urls(project, run, next, false)
            .await
            .unwrap()
            .complete
    );
    assert!(!store.is_removing(project).await.unwrap());
    let removals = store.removals();
    assert!(store.delete_run(project, run, now()).await.unwrap());
    assert_ne!(store.removals(), removals);
    assert!(store.is_removing(project).await.unwrap());
    while !store.remove_deleted().await.unwrap().finished {}
    assert!(!store.is_removing(project).await.unwrap());
    assert_eq!(store.run_pages(project, run, &ALL).await.unwrap(), []);
    assert_eq!(store.page_records(project, second).await.unwrap(), []);
    assert_eq!(
        store.frontier_known(project, run, -1, 10).await.unwrap(),
        []
    );
    assert_eq!(store.run_pages(project, next, &ALL).await.unwrap().len(), 2);
    assert_eq!(
        store
            .frontier_known(project, next, -1, 10)
            .await
            .unwrap()
            .len(),
        4
    );
    let records = store
        .run_records(project, next, (PageId(0), 0), 0, 10)
        .await
        .unwrap();
    assert_eq!(records.len(), 2);
    let failures = store
        .run_failures(project, next, FailurePlace::START, 0, 10)
        .await
        .unwrap();
    assert_eq!(failures.len(), 2);
}

async fn scans_are_deleted_from_the_oldest_on(options: Options) {
    let (store, project) = open(&options).await;
    create(&store, &new_run(project, "https://example.org/")).await;
    let run = lease(&store, "a", now()).await.unwrap();
    for seq in 0..3 {
        let mut scan = page(&run, seq, b"the same body").page;
        scan.run = None;
        scan.fetched_at = now() - TimeDelta::hours(seq);
        store.save_page(scan, None).await.unwrap();
    }
    let stored = store.stored_bytes(project).await.unwrap();
    let removals = store.removals();
    let step = store.remove_oldest_scans(project).await.unwrap();
    assert_eq!(step.rows, 3);
    assert_ne!(store.removals(), removals);
    assert!(step.bytes > 0, "the body went with the last of them");
    assert_eq!(step.bytes, stored);
    assert_eq!(store.stored_bytes(project).await.unwrap(), 0);
    let removals = store.removals();
    assert!(store.remove_oldest_scans(project).await.unwrap().finished);
    assert_eq!(store.removals(), removals, "nothing was removed");
}

async fn what_strangers_say_is_stored_without_nul(options: Options) {
    let (store, project) = open(&options).await;
    create(&store, &new_run(project, "https://example.org/")).await;
    let run = lease(&store, "a", now()).await.unwrap();
    let noted = store
        .note_site(
            run.lease,
            Some("{}"),
            Some("# A\0 site"),
            Some("\0all of it"),
        )
        .await;
    assert!(noted.unwrap());
    let work = RunBatch {
        errors: vec![FailedUrl {
            seq: 0,
            url: "https://example.org/\0".to_owned(),
            key_hash: 7,
            kind: "dns".to_owned(),
            message: "no\0 answer".to_owned(),
            attempts: 1,
            failed_at: now(),
        }],
        notes: vec![NewNote {
            kind: NoteKind::Plugin,
            plugin: "hook".to_owned(),
            url: "https://example.org/\0".to_owned(),
            key_hash: 7,
            message: "trapped\0".to_owned(),
            noted_at: now(),
        }],
        ..batch(&run)
    };
    store.commit_crawl(&[work]).await.unwrap();
    let ending = Ending {
        done: false,
        error_message: Some("a hook\0 failed".to_owned()),
    };
    let ended = store.end_run(run.lease, &ending, None, now()).await;
    assert!(ended.unwrap());
    let found = store.run_with_texts(project, run.lease.run).await;
    let (run, site) = found.unwrap().unwrap();
    assert_eq!(
        [site.llms_txt, site.llms_full_txt, run.error_message].map(Option::unwrap),
        ["# A site", "all of it", "a hook failed"]
    );
    let failures = store
        .run_failures(project, run.id, FailurePlace::START, 0, 10)
        .await
        .unwrap();
    let messages: HashSet<&str> = failures
        .iter()
        .map(|failure| match failure {
            RunFailure::Url(failed) => failed.message.as_str(),
            RunFailure::Plugin(note) => note.message.as_str(),
        })
        .collect();
    assert_eq!(messages, HashSet::from(["no answer", "trapped"]));
}

/// Different digits, so that they cannot be packed.
pub(crate) fn long_text() -> String {
    let mut state = 7_u64;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        format!("{:08x}", state >> 32)
    };
    (0..2_000).map(|_| next()).collect()
}

/// Indexes of PostgreSQL do not take rows of any length.
async fn urls_of_any_length_are_stored_and_found(options: Options) {
    let (store, project) = open(&options).await;
    let long = long_text();
    let url = |end: &str| format!("https://example.org/?{long}{end}");
    let run = create(&store, &new_run(project, &url("0"))).await;
    let since = now() - TimeDelta::hours(1);
    let recent = async |url: String| {
        let found = store.recent_done_runs(project, &url, since, 0, 9).await;
        found.unwrap().iter().map(|run| run.id).collect::<Vec<_>>()
    };
    let leased = lease(&store, "a", now()).await.unwrap();
    // The third is one that the run has.
    let pages = ["0", "1", "1"].map(url);
    let pages = (0..).zip(pages).map(|(seq, url)| {
        let mut page = page(&leased, seq, b"<p>needle");
        (page.page.url, page.page.url_key) = (url.clone(), url.clone());
        page.page.final_url = url;
        page
    });
    let work = RunBatch {
        pages: pages.collect(),
        ..batch(&leased)
    };
    store.commit_crawl(&[work]).await.unwrap();
    let ending = Ending {
        done: true,
        error_message: None,
    };
    let ended = store.end_run(leased.lease, &ending, None, now()).await;
    assert!(ended.unwrap());
    assert_eq!(recent(url("0")).await, [run.id]);
    assert_eq!(recent(url("1")).await, []);

    let stored = store.run_pages(project, run.id, &ALL).await.unwrap();
    assert_eq!(stored.len(), 2);
    let previous = store.previous_page(project, run.id, &url("1")).await;
    assert_eq!(previous.unwrap().unwrap().final_url, url("1"));
    let long = url("1");
    let query = CacheQuery {
        url_key: &long,
        user_agent: "",
        cloud_mode: CloudMode::None,
        since,
    };
    let cached = store.cached_page(project, &query).await.unwrap().unwrap();
    assert_eq!(cached.id, stored[1].id);

    // In the index, too, each URL has one document: the third is another page of the first URL.
    let mut scan = page(&leased, 0, b"<p>needle").page;
    (scan.run, scan.url_key) = (None, url("0"));
    let scanned = store.save_page(scan, None).await.unwrap().unwrap();
    let entry = |page, end, asked: Option<&str>| IndexEntry {
        page,
        project,
        url_key: url(end),
        asked_key: asked.map(url),
        words: PageWords {
            title: String::new(),
            text: index_words("needle"),
        },
    };
    let [first, second] = [stored[0].id, stored[1].id];
    store
        .index(&[entry(first, "0", None), entry(second, "1", None)])
        .await
        .unwrap();
    let found = async || -> Vec<PageId> {
        let hits = store.search(project, &query_terms("needle", 4), 9).await;
        let mut pages: Vec<PageId> = hits.unwrap().iter().map(|hit| hit.page).collect();
        pages.sort_unstable();
        pages
    };
    assert_eq!(found().await, [first, second]);
    store
        .index(&[entry(scanned, "0", Some("1"))])
        .await
        .unwrap();
    assert_eq!(found().await, [scanned]);
}

/// As a file that was restored from a dump.
#[tokio::test]
async fn a_file_that_cannot_shrink_has_no_space_to_release() {
    let (options, folder) = sqlite();
    let path = folder.path().join("test.db");
    let connect = SqliteConnectOptions::new().filename(&path);
    let mut other = connect
        .create_if_missing(true)
        .auto_vacuum(SqliteAutoVacuum::None)
        .connect()
        .await
        .unwrap();
    let fill = "CREATE TABLE filled AS SELECT zeroblob(100000) AS bytes";
    sqlx::query(fill).execute(&mut other).await.unwrap();
    let store = Store::open(&options).await.unwrap();
    sqlx::query("DROP TABLE filled")
        .execute(&mut other)
        .await
        .unwrap();
    let free: i64 = sqlx::query_scalar("PRAGMA freelist_count")
        .fetch_one(&mut other)
        .await
        .unwrap();
    assert!(free > 0);
    assert!(!store.release_space().await.unwrap());
}
