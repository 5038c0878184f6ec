//! Commits of crawls: pages, bodies, frontier, usage and words for search.

use orbweaver_core::ids::ProjectId;
use orbweaver_core::words::query_terms;
use orbweaver_store::crawl::{
    Committed, CrawledPage, FrontierChange, NewRun, Progress, RunBatch, SkipReason,
};
use orbweaver_store::{IndexClaim, IndexEntry, Options, PageWords, Store};

use crate::given::{batch, create, failed, found, lease, new_run, now, open, page, seconds, usage};

crate::support::on_both_databases! {
    a_commit_writes_pages_links_frontier_and_usage_together
    a_commit_that_is_done_again_changes_nothing
    the_body_of_a_page_that_is_already_stored_is_not_kept
    a_shared_body_is_kept_until_its_last_page_is_deleted
    the_first_page_of_a_sitemap_is_not_the_seed
    words_of_crawled_pages_are_found_and_not_read_again
}

/// Bytes of all stored bodies of the project.
async fn stored_bytes(store: &Store, project: ProjectId) -> u64 {
    let projects = store.projects_above(0).await.unwrap();
    let mut own = projects.into_iter().filter(|(id, _)| *id == project);
    own.next().map_or(0, |(_, bytes)| bytes)
}

async fn remove_deleted(store: &Store) {
    while !store.remove_deleted().await.unwrap().finished {}
}

async fn a_commit_writes_pages_links_frontier_and_usage_together(options: Options) {
    let (store, project) = open(&options).await;
    create(&store, &new_run(project, "https://a.example/")).await;
    create(&store, &new_run(project, "https://b.example/")).await;
    let one = lease(&store, "one", now()).await.unwrap();
    let two = lease(&store, "one", now()).await.unwrap();
    assert_ne!(one.run.id, two.run.id);

    let progress = Progress {
        queued: 3,
        fetched: 100,
        failed: 1,
        skipped: [(SkipReason::Robots, 2), (SkipReason::Hook, 4)].into(),
        plugin_errors: 5,
        dropped: 6,
    };
    let first = RunBatch {
        progress: progress.clone(),
        engine_state: Some(r#"{"host":"x"}"#.to_owned()),
        // Every second body equals the previous one.
        pages: (0..100)
            .map(|seq| page(&one, seq, format!("body {}", seq / 2).as_bytes()))
            .collect(),
        discovered: (0..106).map(found).collect(),
        changes: (0..100)
            .map(|seq| FrontierChange::Done {
                seq,
                redirect_to: (seq == 7).then_some(u64::MAX),
            })
            .chain([
                FrontierChange::Again {
                    seq: 100,
                    attempts: 2,
                    next_at: now() + seconds(3),
                },
                FrontierChange::Failed { seq: 101 },
                FrontierChange::Skipped {
                    seq: 102,
                    redirect_to: None,
                },
            ])
            .collect(),
        errors: vec![failed(101)],
        usage: vec![usage(&one, 100)],
        ..batch(&one)
    };
    let second = RunBatch {
        pages: vec![page(&two, 0, b"body 0")],
        discovered: vec![found(0)],
        changes: vec![FrontierChange::Done {
            seq: 0,
            redirect_to: None,
        }],
        usage: vec![usage(&two, 1)],
        ..batch(&two)
    };
    let written = store.commit_crawl(&[second, first]).await.unwrap();
    assert_eq!(written, [Committed::Written; 2]);

    let run = store.run(project, one.run.id).await.unwrap().unwrap();
    assert_eq!((run.page_count, run.error_count), (100, 1));
    let errors = store.run_errors(project, one.run.id, i64::MIN, 0, 10).await;
    assert_eq!(errors.unwrap(), [failed(101)]);
    assert_eq!(run.progress, progress);
    let days = store.usage_days(project, now().date_naive()).await.unwrap();
    assert_eq!(days.first().map(|day| day.pages), Some(101));

    let known = store
        .frontier_known(project, run.id, -1, 1_000)
        .await
        .unwrap();
    assert_eq!(known.len(), 106);
    assert_eq!(known[7].redirect_to, Some(u64::MAX));
    assert!(known[..100].iter().all(|row| row.done && !row.queued));
    let waiting = store
        .frontier_queued(project, run.id, -1, 1_000)
        .await
        .unwrap();
    let seqs: Vec<i64> = waiting.iter().map(|row| row.seq).collect();
    assert_eq!(seqs, [100, 103, 104, 105]);
    assert_eq!(waiting[0].attempts, 2);
    assert_eq!(waiting[0].next_at, now() + seconds(3));

    // A page that is already stored is unchanged, and its usage is billed once.
    let twice = RunBatch {
        pages: vec![page(&one, 3, b"another body")],
        usage: vec![usage(&one, 100)],
        ..batch(&one)
    };
    store.commit_crawl(&[twice]).await.unwrap();
    let run = store.run(project, one.run.id).await.unwrap().unwrap();
    assert_eq!(run.page_count, 100);
    let days = store.usage_days(project, now().date_naive()).await.unwrap();
    assert_eq!(days.first().map(|day| day.pages), Some(101));

    assert!(store.release_lease(one.lease).await.unwrap());
    let again = lease(&store, "two", now()).await.unwrap();
    assert_eq!(again.run.engine_state, r#"{"host":"x"}"#);
}

/// The connection may be lost after the database has committed, before it says so.
async fn a_commit_that_is_done_again_changes_nothing(options: Options) {
    let (store, project) = open(&options).await;
    create(&store, &new_run(project, "https://a.example/")).await;
    let run = lease(&store, "one", now()).await.unwrap();
    let work = [RunBatch {
        progress: Progress {
            queued: 1,
            fetched: 2,
            failed: 1,
            ..Progress::default()
        },
        pages: (0..2).map(|seq| page(&run, seq, b"body")).collect(),
        discovered: (0..4).map(found).collect(),
        changes: vec![
            FrontierChange::Done {
                seq: 0,
                redirect_to: None,
            },
            FrontierChange::Done {
                seq: 1,
                redirect_to: None,
            },
            FrontierChange::Failed { seq: 2 },
        ],
        errors: vec![failed(2)],
        usage: vec![usage(&run, 2)],
        ..batch(&run)
    }];
    let mut all = Vec::new();
    for _ in 0..2 {
        let written = store.commit_crawl(&work).await.unwrap();
        assert_eq!(written, [Committed::Written]);
        let id = run.lease.run;
        let known = store.frontier_known(project, id, -1, 10).await.unwrap();
        all.push((
            store.run(project, id).await.unwrap().unwrap(),
            known,
            stored_bytes(&store, project).await,
            store.usage_total(project).await.unwrap(),
        ));
    }
    let (found, known, _, _) = &all[0];
    assert_eq!(
        (found.page_count, found.error_count, known.len()),
        (2, 1, 4)
    );
    assert_eq!(all[1], all[0]);
}

async fn the_body_of_a_page_that_is_already_stored_is_not_kept(options: Options) {
    let (store, project) = open(&options).await;
    create(&store, &new_run(project, "https://example.org/")).await;
    let leased = lease(&store, "one", now()).await.unwrap();
    for (body, bytes) in [(&b"first"[..], 5), (b"another", 5)] {
        let batch = RunBatch {
            pages: vec![page(&leased, 0, body)],
            ..batch(&leased)
        };
        store.commit_crawl(&[batch]).await.unwrap();
        assert_eq!(stored_bytes(&store, project).await, bytes);
    }
}

async fn a_shared_body_is_kept_until_its_last_page_is_deleted(options: Options) {
    let (store, project) = open(&options).await;
    let mut runs = Vec::new();
    let mut blob = None;
    for _ in 0..2 {
        create(&store, &new_run(project, "https://example.org/")).await;
        let leased = lease(&store, "one", now()).await.unwrap();
        let mut page = page(&leased, 0, b"body");
        if blob.is_some() {
            page.page.body = None;
            page.same_body = blob;
        }
        let batch = RunBatch {
            pages: vec![page],
            ..batch(&leased)
        };
        store.commit_crawl(&[batch]).await.unwrap();
        let run = leased.run.id;
        let stored = store
            .previous_page(project, run, "https://example.org/0")
            .await
            .unwrap();
        blob = stored.unwrap().blob;
        assert!(blob.is_some());
        runs.push(run);
    }
    for (run, bytes) in runs.into_iter().zip([4, 0]) {
        assert!(store.delete_run(project, run, now()).await.unwrap());
        remove_deleted(&store).await;
        assert_eq!(stored_bytes(&store, project).await, bytes);
    }
}

async fn the_first_page_of_a_sitemap_is_not_the_seed(options: Options) {
    let (store, project) = open(&options).await;
    for (seed_is_page, orphans) in [(true, 0), (false, 1)] {
        let new = NewRun {
            seed_is_page,
            ..new_run(project, "https://example.org/sitemap.xml")
        };
        let run = create(&store, &new).await;
        let leased = lease(&store, "one", now()).await.unwrap();
        let batch = RunBatch {
            pages: vec![page(&leased, 0, b"body")],
            ..batch(&leased)
        };
        store.commit_crawl(&[batch]).await.unwrap();
        let found = store.orphans(project, run.id).await.unwrap();
        assert_eq!(found.len(), orphans);
    }
}

/// On SQLite words are indexed with their pages, elsewhere by the task that indexes.
async fn words_of_crawled_pages_are_found_and_not_read_again(options: Options) {
    let (store, project) = open(&options).await;
    create(&store, &new_run(project, "https://a.example/")).await;
    let leased = lease(&store, "worker", now()).await.unwrap();
    let words = |text: &str| {
        Some(PageWords {
            title: "title".to_owned(),
            text: text.to_owned(),
        })
    };
    let pages = (0..70).map(|seq| CrawledPage {
        words: words(&format!("common word{seq}")),
        ..page(&leased, seq, format!("body {seq}").as_bytes())
    });
    let mut work = RunBatch {
        pages: pages.collect(),
        ..batch(&leased)
    };
    // Without words: indexed later.
    work.pages.push(page(&leased, 70, b"body 70"));
    let done = store.commit_crawl(&[work]).await.unwrap();
    assert_eq!(done, [Committed::Written]);

    let newest = store.newest_page().await.unwrap();
    let all = IndexClaim {
        after: 0,
        through: newest,
    };
    let rest = store.unindexed(all).await.unwrap();
    let has_words = usize::from(store.is_shared()) * 70;
    assert_eq!(rest.len(), has_words + 1);
    let entries = rest.into_iter().map(|page| IndexEntry {
        words: PageWords {
            text: format!("common word{}", page.page.get() - (newest - 70)),
            ..PageWords::default()
        },
        page: page.page,
        project: page.project,
        url_key: page.url_key,
        asked_key: None,
    });
    let entries: Vec<IndexEntry> = entries.collect();
    store.index(&entries).await.unwrap();
    assert!(store.unindexed(all).await.unwrap().is_empty());
    for (query, found) in [("common", 71), ("word69", 1), ("word70", 1), ("word71", 0)] {
        let hits = store.search(project, &query_terms(query, 4), 100).await;
        assert_eq!(hits.unwrap().len(), found, "{query}");
    }

    // The next run's page of a URL takes the place of the one before.
    create(&store, &new_run(project, "https://a.example/")).await;
    let leased = lease(&store, "worker", now()).await.unwrap();
    let mut work = batch(&leased);
    work.pages.push(CrawledPage {
        words: words("fresh"),
        ..page(&leased, 3, b"new body")
    });
    store.commit_crawl(&[work]).await.unwrap();
    let newest = store.newest_page().await.unwrap();
    if store.is_shared() {
        let last = IndexClaim {
            after: newest - 1,
            through: newest,
        };
        let mut rest = store.unindexed(last).await.unwrap();
        let page = rest.remove(0);
        let entry = IndexEntry {
            words: words("fresh").unwrap(),
            page: page.page,
            project: page.project,
            url_key: page.url_key,
            asked_key: None,
        };
        store.index(&[entry]).await.unwrap();
    }
    for (query, found) in [("word3", 0), ("fresh", 1), ("common", 70)] {
        let hits = store.search(project, &query_terms(query, 4), 100).await;
        assert_eq!(hits.unwrap().len(), found, "{query}");
    }
}

/// A site's llms-full.txt may have megabytes, and a crawl commits many times in a second.
#[tokio::test]
async fn a_commit_does_not_write_the_texts_of_the_runs_site_again() {
    let (options, folder) = crate::support::sqlite();
    let (store, project) = open(&options).await;
    create(&store, &new_run(project, "https://a.example/")).await;
    let run = lease(&store, "one", now()).await.unwrap();
    let (llms, full) = ("# A site", "x".repeat(2 << 20));
    let noted = store.note_site(run.lease, Some("{}"), Some(llms), Some(&full));
    assert!(noted.await.unwrap());
    let log = folder.path().join("test.db-wal");
    let before = log.metadata().unwrap().len();
    for seq in 0..4 {
        let work = RunBatch {
            // The row's numbers, and so its length, change.
            progress: Progress {
                fetched: 1 << (8 * seq),
                ..Progress::default()
            },
            pages: vec![page(&run, seq, b"body")],
            ..batch(&run)
        };
        store.commit_crawl(&[work]).await.unwrap();
    }
    let written = log.metadata().unwrap().len() - before;
    assert!(written < full.len() as u64, "{written} bytes");
    let found = store.run_with_texts(project, run.lease.run).await;
    let (found, texts) = found.unwrap().unwrap();
    assert_eq!(found.ai_bot_policy.as_deref(), Some("{}"));
    assert_eq!(texts.llms_txt.as_deref(), Some(llms));
    assert_eq!(texts.llms_full_txt, Some(full));
    let other = ProjectId(project.get() + 1);
    let found = store.run_with_texts(other, run.lease.run).await;
    assert_eq!(found.unwrap(), None);
}
