//! Runs, leases and commits.

use chrono::{DateTime, TimeDelta, Utc};
use orbweaver_core::content::Kind;
use orbweaver_core::ids::{ProjectId, RunId};
use orbweaver_core::words::query_terms;
use orbweaver_store::crawl::{
    Committed, CrawledPage, Created, Ending, FailedUrl, FrontierChange, LeasedRun, NewFrontier,
    NewRun, Progress, Run, RunBatch, RunFilter, RunState, SkipReason,
};
use orbweaver_store::{
    CloudMode, Except, IndexClaim, IndexEntry, KeyHash, NewKey, NewPage, NewProject, NewUsage,
    Options, PageWords, Store, StoredBody,
};

crate::support::on_both_databases! {
    runs_are_queued_up_to_the_cap
    an_idempotency_key_returns_its_run_for_a_day
    a_recent_done_run_is_found
    an_expired_lease_moves_and_its_old_holder_cannot_write
    a_released_run_is_taken_at_once
    projects_take_turns_at_workers
    a_commit_writes_pages_links_frontier_and_usage_together
    a_commit_that_is_done_again_changes_nothing
    the_body_of_a_page_that_is_already_stored_is_not_kept
    a_shared_body_is_kept_until_its_last_page_is_deleted
    parallel_requests_create_no_more_runs_than_the_cap
    the_first_page_of_a_sitemap_is_not_the_seed
    words_of_crawled_pages_are_found_and_not_read_again
    the_next_end_of_another_workers_lease_is_known
    a_worker_leaves_out_its_own_runs_and_those_of_others
}

pub(super) fn now() -> DateTime<Utc> {
    "2026-03-01T12:00:00Z".parse().unwrap()
}

fn seconds(seconds: i64) -> TimeDelta {
    TimeDelta::seconds(seconds)
}

pub(super) async fn open(options: &Options) -> (Store, ProjectId) {
    let store = Store::open(options).await.unwrap();
    let project = named(&store, "crawls").await;
    (store, project)
}

/// A project with this name.
pub(super) async fn named(store: &Store, name: &str) -> ProjectId {
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

pub(super) fn new_run(project: ProjectId, url: &str) -> NewRun {
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

pub(super) async fn create(store: &Store, new: &NewRun) -> Run {
    match store.create_run(new, None).await.unwrap() {
        Created::New(run) => *run,
        other => panic!("{other:?}"),
    }
}

pub(super) async fn lease(store: &Store, owner: &str, at: DateTime<Utc>) -> Option<LeasedRun> {
    store.lease_run(owner, at, at + seconds(10)).await.unwrap()
}

pub(super) fn batch(leased: &LeasedRun) -> RunBatch {
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

fn usage(leased: &LeasedRun, pages: u64) -> NewUsage {
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

fn failed(seq: i64) -> FailedUrl {
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

pub(super) fn page(leased: &LeasedRun, seq: i64, body: &[u8]) -> CrawledPage {
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

fn found(seq: i64) -> NewFrontier {
    NewFrontier {
        seq,
        url: format!("https://example.org/{seq}"),
        key_hash: u64::MAX - u64::try_from(seq).unwrap(),
        depth: 1,
        priority: 0,
    }
}

async fn runs_are_queued_up_to_the_cap(options: Options) {
    let (store, project) = open(&options).await;
    let first = create(&store, &new_run(project, "https://a.example/")).await;
    assert_eq!(first.status, RunState::Queued);
    assert_eq!(first.webhook_status, None);
    let second = NewRun {
        has_webhook: true,
        ..new_run(project, "https://b.example/")
    };
    let Created::New(second) = store.create_run(&second, Some(2)).await.unwrap() else {
        panic!("the second of two");
    };
    assert_eq!(second.webhook_status.as_deref(), Some("pending"));
    let third = new_run(project, "https://c.example/");
    assert_eq!(
        store.create_run(&third, Some(2)).await.unwrap(),
        Created::CapReached
    );
    assert_eq!(store.active_runs(project).await.unwrap(), 2);
    let filter = RunFilter {
        state: Some(RunState::Queued),
        monitor: None,
        limit: 10,
        offset: 0,
    };
    let listed = store.runs(project, &filter).await.unwrap();
    let ids: Vec<_> = listed.iter().map(|run| run.id).collect();
    assert_eq!(ids, [second.id, first.id]);
    assert_eq!(store.runs(ProjectId(999), &filter).await.unwrap(), []);
    assert_eq!(store.run(ProjectId(999), first.id).await.unwrap(), None);
    assert_eq!(
        store.run(project, first.id).await.unwrap().as_ref(),
        Some(&first)
    );
}

async fn an_idempotency_key_returns_its_run_for_a_day(options: Options) {
    let (store, project) = open(&options).await;
    let new = NewRun {
        idem_key: Some("11111111-2222-3333-4444-555555555555".to_owned()),
        ..new_run(project, "https://a.example/")
    };
    let first = create(&store, &new).await;
    let again = NewRun {
        url: "https://other.example/".to_owned(),
        enqueued_at: now() + TimeDelta::hours(23),
        ..new.clone()
    };
    // A replay is not limited by the cap.
    assert_eq!(
        store.create_run(&again, Some(1)).await.unwrap(),
        Created::Replayed(Box::new(first.clone()))
    );
    let later = NewRun {
        enqueued_at: now() + TimeDelta::hours(24),
        ..new
    };
    assert_ne!(create(&store, &later).await.id, first.id);
}

async fn a_recent_done_run_is_found(options: Options) {
    let (store, project) = open(&options).await;
    let url = "https://a.example/";
    let run = create(&store, &new_run(project, url)).await;
    let found = |since| store.recent_done_runs(project, url, since, 0, 2);
    assert_eq!(found(now()).await.unwrap(), []);
    let leased = lease(&store, "one", now()).await.unwrap();
    assert_eq!(found(now()).await.unwrap(), []);
    let done = Ending {
        done: true,
        error_message: None,
    };
    let end = now() + seconds(5);
    assert!(store.end_run(leased.lease, &done, None, end).await.unwrap());
    assert!(!store.end_run(leased.lease, &done, None, end).await.unwrap());
    let ids: Vec<_> = found(end).await.unwrap().iter().map(|run| run.id).collect();
    assert_eq!(ids, [run.id]);
    assert_eq!(found(end + seconds(1)).await.unwrap(), []);
}

async fn an_expired_lease_moves_and_its_old_holder_cannot_write(options: Options) {
    let (first, project) = open(&options).await;
    let second = Store::open(&options).await.unwrap();
    let run = create(&first, &new_run(project, "https://a.example/")).await;
    let old = lease(&first, "first", now()).await.unwrap();
    assert_eq!(old.run.status, RunState::Running);
    assert_eq!(old.run.started_at, Some(now()));
    assert!(lease(&second, "second", now() + seconds(9)).await.is_none());
    let until = now() + seconds(15);
    assert_eq!(
        first.extend_leases(&[old.lease], until).await.unwrap(),
        [old.lease]
    );
    assert!(
        lease(&second, "second", now() + seconds(14))
            .await
            .is_none()
    );
    let new = lease(&second, "second", until).await.unwrap();
    assert_eq!(new.run.id, run.id);
    assert_eq!(new.run.started_at, Some(now()));
    assert_eq!(new.lease.epoch, old.lease.epoch + 1);

    assert_eq!(first.extend_leases(&[old.lease], until).await.unwrap(), []);
    let late = RunBatch {
        pages: vec![page(&old, 1, b"late")],
        discovered: vec![found(1)],
        ..batch(&old)
    };
    assert_eq!(
        first.commit_crawl(&[late]).await.unwrap(),
        [Committed::Fenced]
    );
    assert!(!first.release_lease(old.lease).await.unwrap());
    assert!(
        !first
            .end_run(old.lease, &Ending::default(), None, until)
            .await
            .unwrap()
    );
    let run = second.run(project, run.id).await.unwrap().unwrap();
    assert_eq!((run.page_count, run.status), (0, RunState::Running));
    assert_eq!(
        second
            .frontier_known(project, run.id, -1, 10)
            .await
            .unwrap(),
        []
    );
}

async fn a_released_run_is_taken_at_once(options: Options) {
    let (store, project) = open(&options).await;
    let run = create(&store, &new_run(project, "https://a.example/")).await;
    let leased = lease(&store, "one", now()).await.unwrap();
    assert!(store.release_lease(leased.lease).await.unwrap());
    let again = lease(&store, "two", now()).await.unwrap();
    assert_eq!(again.run.id, run.id);
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
    assert_eq!(again.engine_state, r#"{"host":"x"}"#);
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

/// Bytes of all stored bodies of the project.
async fn stored_bytes(store: &Store, project: ProjectId) -> u64 {
    let projects = store.projects_above(0).await.unwrap();
    let mut own = projects.into_iter().filter(|(id, _)| *id == project);
    own.next().map_or(0, |(_, bytes)| bytes)
}

async fn remove_deleted(store: &Store) {
    while !store.remove_deleted().await.unwrap().finished {}
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

async fn parallel_requests_create_no_more_runs_than_the_cap(options: Options) {
    let (store, project) = open(&options).await;
    let requests = (0..16).map(|at| {
        let (store, new) = (
            store.clone(),
            new_run(project, &format!("https://{at}.example/")),
        );
        tokio::spawn(async move { store.create_run(&new, Some(3)).await.unwrap() })
    });
    let mut created = 0;
    for request in requests.collect::<Vec<_>>() {
        created += usize::from(matches!(request.await.unwrap(), Created::New(_)));
    }
    assert_eq!(created, 3);
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

/// One project queues three runs, another project queues one after it.
async fn projects_take_turns_at_workers(options: Options) {
    let (store, greedy) = open(&options).await;
    let second = named(&store, "second").await;
    for url in ["https://a.org/1", "https://a.org/2", "https://a.org/3"] {
        create(&store, &new_run(greedy, url)).await;
    }
    create(&store, &new_run(second, "https://b.org/")).await;
    let mut order = Vec::new();
    for _ in 0..3 {
        order.push(lease(&store, "node", now()).await.unwrap().lease.project);
    }
    assert_eq!(order, [greedy, second, greedy]);
    // A project that has its share is left out.
    let until = now() + seconds(10);
    let except = |projects: &[ProjectId]| Except {
        projects: projects.to_vec(),
        ..Except::default()
    };
    let (first, other) = (except(&[greedy]), except(&[second]));
    let full = store.lease_fair_run("node", now(), until, &first);
    assert!(full.await.unwrap().is_none());
    let rest = store.lease_fair_run("node", now(), until, &other);
    assert_eq!(rest.await.unwrap().unwrap().lease.project, greedy);
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

async fn the_next_end_of_another_workers_lease_is_known(options: Options) {
    let (store, project) = open(&options).await;
    for site in ["a", "b"] {
        create(
            &store,
            &new_run(project, &format!("https://{site}.example/")),
        )
        .await;
    }
    assert_eq!(store.next_lease_end("one", now()).await.unwrap(), None);
    lease(&store, "one", now()).await.unwrap();
    lease(&store, "two", now() + seconds(5)).await.unwrap();
    let ends = |owner| store.next_lease_end(owner, now());
    assert_eq!(ends("one").await.unwrap(), Some(now() + seconds(15)));
    assert_eq!(ends("two").await.unwrap(), Some(now() + seconds(10)));
    assert_eq!(ends("three").await.unwrap(), Some(now() + seconds(10)));
    let late = now() + seconds(15);
    assert_eq!(store.next_lease_end("three", late).await.unwrap(), None);
}

async fn a_worker_leaves_out_its_own_runs_and_those_of_others(options: Options) {
    let (store, project) = open(&options).await;
    for site in ["a", "b", "c"] {
        let url = format!("https://{site}.example/");
        create(&store, &new_run(project, &url)).await;
    }
    let own = lease(&store, "one", now()).await.unwrap().lease;
    let others = lease(&store, "two", now()).await.unwrap().lease;
    // All leases have run out.
    let late = now() + seconds(60);
    let take = async |own: &[RunId], leased: bool| {
        let except = Except {
            own: own.to_vec(),
            leased,
            ..Except::default()
        };
        let until = late + seconds(10);
        let taken = store.lease_fair_run("one", late, until, &except).await;
        taken.unwrap().map(|taken| taken.lease)
    };
    let queued = take(&[own.run], true).await.unwrap();
    assert!(![own.run, others.run].contains(&queued.run));
    let own = [own.run, queued.run];
    assert_eq!(take(&own, true).await, None);
    // What was handed back is nobody's.
    assert!(store.release_lease(others).await.unwrap());
    let taken = take(&own, true).await.unwrap();
    assert_eq!((taken.run, taken.epoch), (others.run, 2));
    // A worker whose heartbeat is in time takes over what others left.
    let [first, _] = own;
    let taken = take(&[queued.run, others.run], false).await.unwrap();
    assert_eq!((taken.run, taken.epoch), (first, 2));
}
