//! The store's side of monitors and webhooks, on both databases.

use chrono::{DateTime, TimeDelta, Utc};
use orbweaver_core::content::Kind;
use orbweaver_core::ids::{MonitorId, ProjectId, RunId};
use orbweaver_core::webhook::{DiffCounts, Event};
use orbweaver_store::crawl::{
    Committed, CrawledPage, Created, Ending, FrontierChange, LeasedRun, NewFrontier, NewRun,
    Progress, RunBatch, RunDiff,
};
use orbweaver_store::monitors::{
    CreatedMonitor, DueMonitor, Fired, Monitor, MonitorChange, NewMonitor,
};
use orbweaver_store::webhook::{
    AttemptResult, DeliveryState, NewAttempt, NewDelivery, RunWebhook, TakenDelivery,
};
use orbweaver_store::{CloudMode, KeyHash, NewKey, NewPage, NewProject, Options, Store};
use orbweaver_tests::postgres::Postgres;

/// Every promise, once per database.
macro_rules! promises {
    ($($name:ident)*) => {
        mod sqlite {
            $(#[tokio::test] async fn $name() {
                let folder = tempfile::tempdir().unwrap();
                let options = super::Options::sqlite(&folder.path().join("test.db"));
                super::$name(options).await;
            })*
        }
        mod postgres {
            $(#[tokio::test] async fn $name() {
                let url = super::Postgres::shared().database().unwrap();
                super::$name(super::Options::url(url)).await;
            })*
        }
    };
}

promises! {
    monitors_are_capped_and_stay_with_their_project
    a_key_stands_for_its_monitor_for_a_day
    a_fire_happens_once_whoever_sees_it
    a_fire_waits_for_a_slot_and_for_its_own_run
    only_a_run_with_content_becomes_a_baseline
    pages_are_compared_by_hash
    trouble_is_no_change
    what_was_not_looked_at_is_not_removed
    deliveries_are_written_with_the_end_of_their_run
    a_delivery_is_taken_by_one_node_at_a_time
    a_runs_webhook_state_follows_its_deliveries
    a_delivery_can_be_asked_for_again
    a_secret_is_made_once
}

fn now() -> DateTime<Utc> {
    "2026-03-01T12:00:00Z".parse().unwrap()
}

fn seconds(seconds: i64) -> TimeDelta {
    TimeDelta::seconds(seconds)
}

async fn open(options: &Options) -> (Store, ProjectId) {
    let store = Store::open(options).await.unwrap();
    let project = project(&store, "monitors").await;
    (store, project)
}

async fn project(store: &Store, name: &str) -> ProjectId {
    let new = NewProject {
        name,
        tier: "free",
        actor: "cli",
        key: NewKey {
            hash: KeyHash::of(name),
            prefix: "orb_12345678",
            label: None,
        },
    };
    store.create_project(&new, now()).await.unwrap()
}

fn new_monitor(project: ProjectId, fires: DateTime<Utc>) -> NewMonitor {
    NewMonitor {
        project,
        schedule: "*/5 * * * *".to_owned(),
        url: "https://example.org/".to_owned(),
        url_key: "https://example.org/".to_owned(),
        spec: r#"{"url":"https://example.org/"}"#.to_owned(),
        proxy_shown: None,
        has_webhook: true,
        next_fires_at: fires,
        idem_key: None,
        created_at: now(),
    }
}

async fn create(store: &Store, new: &NewMonitor, cap: Option<u64>) -> Option<Monitor> {
    match store.create_monitor(new, cap).await.unwrap() {
        CreatedMonitor::New(monitor) => Some(*monitor),
        CreatedMonitor::CapReached => None,
        other => panic!("{other:?}"),
    }
}

/// Fires what is due at `at`, as one scheduler would.
async fn fire(store: &Store, project: ProjectId, at: DateTime<Utc>) -> RunId {
    let due = store.due_monitors(project, at, 1).await.unwrap();
    let next = Some(at + seconds(300));
    match store
        .fire_monitor(project, &due[0], next, None, at)
        .await
        .unwrap()
    {
        Fired::Started(run) => run,
        other => panic!("{other:?}"),
    }
}

/// A page of a run: its path, status and content.
type Page = (&'static str, u16, &'static str);

fn page(leased: &LeasedRun, seq: i64, (path, status, content): Page) -> CrawledPage {
    let url = format!("https://example.org{path}");
    CrawledPage {
        page: NewPage {
            project: leased.lease.project,
            run: Some(leased.lease.run),
            url: url.clone(),
            url_key: url.clone(),
            final_url: url,
            status,
            bytes: 0,
            fetched_at: now(),
            content_hash: Some(content.to_owned()),
            kind: Kind::Html,
            user_agent: String::new(),
            cloud_mode: CloudMode::None,
            headers: "[]".to_owned(),
            metadata: None,
            body: None,
        },
        seq,
        key_hash: key_hash(path),
        depth: u32::from(seq > 0),
        title: None,
        canonical: None,
        robots: None,
        extensions: None,
        same_body: None,
        targets: Vec::new(),
        links: Vec::new(),
    }
}

fn key_hash(path: &str) -> u64 {
    path.bytes()
        .fold(7, |hash, byte| hash * 31 + u64::from(byte))
}

/// Works on the run that waits longest: stores the pages, in the order of their discovery, and
/// `failed`, which could not be fetched.
async fn work(store: &Store, pages: &[Page], failed: &[&str]) -> LeasedRun {
    let leased = store
        .lease_run("worker", now(), now() + TimeDelta::days(400))
        .await
        .unwrap()
        .unwrap();
    let paths = pages
        .iter()
        .map(|(path, ..)| *path)
        .chain(failed.iter().copied());
    let batch = RunBatch {
        lease: leased.lease,
        progress: Progress {
            fetched: pages.len() as u64,
            failed: failed.len() as u64,
            ..Progress::default()
        },
        engine_state: None,
        pages: (0..)
            .zip(pages)
            .map(|(seq, at)| page(&leased, seq, *at))
            .collect(),
        discovered: (0..)
            .zip(paths)
            .map(|(seq, path)| NewFrontier {
                seq,
                url: format!("https://example.org{path}"),
                key_hash: key_hash(path),
                depth: 1,
            })
            .collect(),
        changes: (0_i64..)
            .take(pages.len() + failed.len())
            .map(|seq| {
                if usize::try_from(seq).unwrap() < pages.len() {
                    FrontierChange::Done {
                        seq,
                        redirect_to: None,
                    }
                } else {
                    FrontierChange::Failed { seq }
                }
            })
            .collect(),
        errors: failed.len() as u64,
        at: now(),
    };
    assert_eq!(
        store.commit_crawl(&[batch]).await.unwrap(),
        [Committed::Written]
    );
    leased
}

async fn end(store: &Store, leased: &LeasedRun, done: bool) {
    let ending = Ending {
        done,
        error_message: None,
    };
    assert!(
        store
            .finish_run(leased.lease, &ending, now())
            .await
            .unwrap()
    );
}

/// A run of a monitor that is due at `at`, with these pages.
async fn crawl(store: &Store, project: ProjectId, at: DateTime<Utc>, pages: &[Page]) -> RunId {
    let run = fire(store, project, at).await;
    let leased = work(store, pages, &[]).await;
    assert_eq!(leased.run.id, run);
    end(store, &leased, true).await;
    run
}

async fn monitors_are_capped_and_stay_with_their_project(options: Options) {
    let (store, project_id) = open(&options).await;
    let other = project(&store, "other").await;
    let first = create(&store, &new_monitor(project_id, now()), Some(2))
        .await
        .unwrap();
    create(&store, &new_monitor(project_id, now()), Some(2))
        .await
        .unwrap();
    let paused = MonitorChange {
        next_fires_at: Some(None),
        ..MonitorChange::default()
    };
    let change = |by| store.change_monitor(by, first.id, &paused);
    assert_eq!(change(other).await.unwrap(), None);
    assert_eq!(
        change(project_id).await.unwrap().unwrap().next_fires_at,
        None
    );
    // A paused monitor counts.
    assert_eq!(
        create(&store, &new_monitor(project_id, now()), Some(2)).await,
        None
    );
    assert!(
        create(&store, &new_monitor(other, now()), Some(1))
            .await
            .is_some()
    );

    assert_eq!(store.monitors(project_id).await.unwrap().len(), 2);
    assert_eq!(store.monitor(other, first.id).await.unwrap(), None);
    assert!(!store.delete_monitor(other, first.id).await.unwrap());
    assert!(store.delete_monitor(project_id, first.id).await.unwrap());
    assert!(!store.delete_monitor(project_id, first.id).await.unwrap());
    assert!(
        create(&store, &new_monitor(project_id, now()), Some(2))
            .await
            .is_some()
    );

    let changed = MonitorChange {
        schedule: Some("0 0 * * *".to_owned()),
        next_fires_at: None,
        spec: Some(("{}".to_owned(), false)),
    };
    let second = store.monitors(project_id).await.unwrap()[0].clone();
    let after = store
        .change_monitor(project_id, second.id, &changed)
        .await
        .unwrap();
    let expected = Monitor {
        schedule: "0 0 * * *".to_owned(),
        spec: "{}".to_owned(),
        ..second
    };
    assert_eq!(after, Some(expected));
}

async fn a_key_stands_for_its_monitor_for_a_day(options: Options) {
    let (store, project) = open(&options).await;
    let new = NewMonitor {
        idem_key: Some("11111111-2222-3333-4444-555555555555".to_owned()),
        ..new_monitor(project, now())
    };
    let first = create(&store, &new, Some(1)).await.unwrap();
    let again = store.create_monitor(&new, Some(1)).await.unwrap();
    assert_eq!(again, CreatedMonitor::Replayed(Box::new(first.clone())));
    let later = NewMonitor {
        created_at: now() + TimeDelta::hours(24),
        ..new
    };
    assert_ne!(create(&store, &later, None).await.unwrap().id, first.id);
}

async fn a_fire_happens_once_whoever_sees_it(options: Options) {
    let (store, project) = open(&options).await;
    let second = Store::open(&options).await.unwrap();
    for _ in 0..4 {
        create(&store, &new_monitor(project, now()), None)
            .await
            .unwrap();
    }
    let early = now() - seconds(1);
    assert_eq!(store.due_projects(early).await.unwrap(), []);
    assert_eq!(store.due_monitors(project, early, 10).await.unwrap(), []);
    let projects = store.due_projects(now()).await.unwrap();
    assert_eq!(projects.len(), 1);
    assert_eq!((projects[0].project, projects[0].active), (project, 0));

    // Two nodes see the same fires and race for each.
    let due = store.due_monitors(project, now(), 10).await.unwrap();
    assert_eq!(due.len(), 4);
    let next = Some(now() + seconds(300));
    let mut started = 0;
    for due in &due {
        let race = tokio::join!(
            store.fire_monitor(project, due, next, None, now()),
            second.fire_monitor(project, due, next, None, now()),
        );
        match (race.0.unwrap(), race.1.unwrap()) {
            (Fired::Started(_), Fired::Gone) | (Fired::Gone, Fired::Started(_)) => started += 1,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(started, 4);
    assert_eq!(store.active_runs(project).await.unwrap(), 4);
    assert_eq!(store.due_projects(now()).await.unwrap(), []);
    let monitor = store.monitor(project, due[0].id).await.unwrap().unwrap();
    assert_eq!(monitor.last_fired_at, Some(now()));
    assert_eq!(monitor.next_fires_at, next);
    let run = store
        .run(project, monitor.last_run.unwrap())
        .await
        .unwrap()
        .unwrap();
    assert_eq!((run.monitor, run.previous), (Some(monitor.id), None));
    assert_eq!(run.webhook_status.as_deref(), Some("pending"));
    assert_eq!(run.spec, monitor.spec);
}

async fn a_fire_waits_for_a_slot_and_for_its_own_run(options: Options) {
    let (store, project) = open(&options).await;
    let one = create(&store, &new_monitor(project, now()), None)
        .await
        .unwrap();
    let two = create(&store, &new_monitor(project, now()), None)
        .await
        .unwrap();
    let due = store.due_monitors(project, now(), 10).await.unwrap();
    let fire_at = |due: &DueMonitor, at: DateTime<Utc>| {
        let (store, due) = (store.clone(), due.clone());
        async move {
            let next = Some(at + seconds(300));
            store
                .fire_monitor(project, &due, next, Some(1), at)
                .await
                .unwrap()
        }
    };
    let started = fire_at(&due[0], now()).await;
    assert!(matches!(started, Fired::Started(_)), "{started:?}");
    assert_eq!(fire_at(&due[1], now()).await, Fired::CapReached);
    let waits = store.monitor(project, two.id).await.unwrap().unwrap();
    assert_eq!((waits.next_fires_at, waits.last_run), (Some(now()), None));
    assert_eq!(store.due_projects(now()).await.unwrap()[0].active, 1);

    // Its own run is not over when it is due again.
    let later = now() + seconds(300);
    let due = store.due_monitors(project, later, 10).await.unwrap();
    assert_eq!(due.iter().map(|due| due.id).collect::<Vec<_>>(), [two.id]);
    let own = DueMonitor {
        id: one.id,
        schedule: one.schedule,
        fire_at: later,
    };
    let next = Some(later + seconds(300));
    let fired = store.fire_monitor(project, &own, next, None, later).await;
    assert_eq!(fired.unwrap(), Fired::Gone);
    let leased = work(&store, &[("/", 200, "a")], &[]).await;
    end(&store, &leased, true).await;
    assert_eq!(
        store.due_monitors(project, later, 10).await.unwrap().len(),
        2
    );
}

async fn only_a_run_with_content_becomes_a_baseline(options: Options) {
    let (store, project) = open(&options).await;
    let mut at = now();
    create(&store, &new_monitor(project, at), None)
        .await
        .unwrap();
    let baseline = |run| {
        let store = store.clone();
        async move { store.run(project, run).await.unwrap().unwrap().previous }
    };
    let good = crawl(&store, project, at, &[("/", 200, "a"), ("/b", 200, "b")]).await;
    assert_eq!(baseline(good).await, None);

    // A seed that is refused for the moment, then a run that failed, then one without pages.
    at += seconds(300);
    let refused = crawl(&store, project, at, &[("/", 503, "sorry")]).await;
    assert_eq!(baseline(refused).await, Some(good));
    at += seconds(300);
    let failed = fire(&store, project, at).await;
    let leased = work(&store, &[("/", 200, "half")], &["/b"]).await;
    end(&store, &leased, false).await;
    assert_eq!(baseline(failed).await, Some(good));
    at += seconds(300);
    let empty = crawl(&store, project, at, &[]).await;
    assert_eq!(baseline(empty).await, Some(good));
    at += seconds(300);
    // A page in trouble is none, as long as the seed is not.
    let partly = crawl(&store, project, at, &[("/", 200, "a"), ("/b", 429, "slow")]).await;
    assert_eq!(baseline(partly).await, Some(good));
    at += seconds(300);
    let last = crawl(&store, project, at, &[("/", 404, "gone")]).await;
    assert_eq!(baseline(last).await, Some(partly));
}

/// No page of either kind.
const NOTHING: [Vec<&str>; 3] = [Vec::new(), Vec::new(), Vec::new()];

fn urls(diff: &RunDiff) -> [Vec<&str>; 3] {
    [&diff.added, &diff.removed, &diff.changed].map(|list| {
        list.iter()
            .map(|page| page.url.strip_prefix("https://example.org").unwrap())
            .collect()
    })
}

/// The diff of two runs; its counts are those that webhooks tell.
async fn diff(store: &Store, project: ProjectId, old: RunId, new: RunId) -> RunDiff {
    let diff = store.diff(project, old, new).await.unwrap();
    let counts = store
        .count_diff(project, old, new, false)
        .await
        .unwrap()
        .unwrap();
    let expected = DiffCounts {
        added: diff.added.len() as u64,
        removed: diff.removed.len() as u64,
        changed: diff.changed.len() as u64,
        unchanged: diff.unchanged,
    };
    assert_eq!(counts, expected);
    diff
}

async fn pages_are_compared_by_hash(options: Options) {
    let (store, project_id) = open(&options).await;
    let other = project(&store, "other").await;
    create(&store, &new_monitor(project_id, now()), None)
        .await
        .unwrap();
    let old = [
        ("/", 200, "a"),
        ("/same", 200, "s"),
        ("/gone", 200, "g"),
        ("/x", 200, "1"),
    ];
    let new = [
        ("/", 200, "b"),
        ("/new", 200, "n"),
        ("/same", 200, "s"),
        ("/x", 404, "2"),
    ];
    let old = crawl(&store, project_id, now(), &old).await;
    let new = crawl(&store, project_id, now() + seconds(300), &new).await;
    let found = diff(&store, project_id, old, new).await;
    assert_eq!(urls(&found), [vec!["/new"], vec!["/gone"], vec!["/", "/x"]]);
    assert_eq!(found.unchanged, 1);
    let home = &found.changed[0];
    assert_eq!(
        (home.old_hash.as_deref(), home.new_hash.as_deref()),
        (Some("a"), Some("b"))
    );
    assert_eq!(found.removed[0].old_hash.as_deref(), Some("g"));
    assert_eq!(found.added[0].new_hash.as_deref(), Some("n"));

    let none = diff(&store, project_id, new, new).await;
    assert_eq!((urls(&none), none.unchanged), (NOTHING, 4));
    assert_eq!(
        store.diff(other, old, new).await.unwrap(),
        RunDiff::default()
    );
    assert_eq!(
        store.count_diff(other, old, new, false).await.unwrap(),
        None
    );
}

async fn trouble_is_no_change(options: Options) {
    let (store, project) = open(&options).await;
    let mut at = now();
    create(&store, &new_monitor(project, at), None)
        .await
        .unwrap();
    let first = [
        ("/", 200, "a"),
        ("/b", 200, "b"),
        ("/c", 200, "c"),
        ("/d", 200, "d"),
    ];
    // /new is in trouble from the start; /b, /c and /d for the time being.
    let second = [
        ("/", 200, "a"),
        ("/b", 429, "x"),
        ("/c", 503, "x"),
        ("/d", 500, "x"),
        ("/new", 502, "x"),
    ];
    // /b comes back as it was, /c with other content, /d not at all.
    let third = [
        ("/", 200, "a"),
        ("/b", 200, "b"),
        ("/c", 200, "C"),
        ("/new", 200, "n"),
    ];
    let mut runs = Vec::new();
    for pages in [&first[..], &second[..], &third[..]] {
        runs.push(crawl(&store, project, at, pages).await);
        at += seconds(300);
    }
    let quiet = diff(&store, project, runs[0], runs[1]).await;
    assert_eq!((urls(&quiet), quiet.unchanged), (NOTHING, 4));
    let loud = diff(&store, project, runs[1], runs[2]).await;
    assert_eq!(urls(&loud), [vec!["/new"], vec!["/d"], vec!["/c"]]);
    assert_eq!(loud.unchanged, 2);
    assert_eq!(loud.changed[0].old_hash.as_deref(), Some("c"));
}

async fn what_was_not_looked_at_is_not_removed(options: Options) {
    let (store, project) = open(&options).await;
    create(&store, &new_monitor(project, now()), None)
        .await
        .unwrap();
    let all = [("/", 200, "a"), ("/b", 200, "b"), ("/c", 200, "c")];
    let full = crawl(&store, project, now(), &all).await;
    let part = fire(&store, project, now() + seconds(300)).await;
    let leased = work(&store, &all[..1], &["/b"]).await;
    end(&store, &leased, true).await;
    // /b could not be fetched, and nobody knows whether it still leads to /c.
    let found = diff(&store, project, full, part).await;
    assert_eq!((urls(&found), found.unchanged), (NOTHING, 1));
    let back = crawl(&store, project, now() + seconds(600), &all).await;
    let found = diff(&store, project, part, back).await;
    assert_eq!((urls(&found), found.unchanged), (NOTHING, 1));

    // A page that was in trouble in both runs hides what it hid before.
    let broken = [("/", 200, "a"), ("/b", 500, "x"), ("/c", 200, "c")];
    let old = crawl(&store, project, now() + seconds(900), &broken).await;
    let new = crawl(&store, project, now() + seconds(1_200), &broken[..2]).await;
    let found = diff(&store, project, old, new).await;
    assert_eq!(urls(&found), [vec![], vec!["/c"], vec![]]);

    // A seed in trouble leads nowhere.
    let down = crawl(&store, project, now() + seconds(1_500), &[("/", 503, "x")]).await;
    let found = diff(&store, project, back, down).await;
    assert_eq!((urls(&found), found.unchanged), (NOTHING, 1));

    // A run that ended early did not come to what it lacks.
    fire(&store, project, now() + seconds(1_800)).await;
    let leased = work(&store, &all[..1], &[]).await;
    let early = Ending {
        done: true,
        error_message: Some("daily page cap exceeded".to_owned()),
    };
    store.finish_run(leased.lease, &early, now()).await.unwrap();
    let found = diff(&store, project, back, leased.run.id).await;
    assert_eq!((urls(&found), found.unchanged), (NOTHING, 1));
    let found = diff(&store, project, leased.run.id, back).await;
    assert_eq!(urls(&found), NOTHING);

    // Runs that no monitor links are compared as they are.
    let mut single = Vec::new();
    for pages in [&all[..1], &all[..]] {
        let new = NewRun {
            project,
            url: "https://example.org/".to_owned(),
            url_key: "https://example.org/".to_owned(),
            spec: "{}".to_owned(),
            proxy_shown: None,
            monitor: None,
            previous: None,
            idem_key: None,
            enqueued_at: now(),
            has_webhook: false,
        };
        let created = store.create_run(&new, None).await.unwrap();
        assert!(matches!(created, Created::New(_)));
        let leased = work(&store, pages, &[]).await;
        store.finish_run(leased.lease, &early, now()).await.unwrap();
        single.push(leased.run.id);
    }
    let found = diff(&store, project, single[0], single[1]).await;
    assert_eq!(urls(&found), [vec!["/b", "/c"], vec![], vec![]]);
}

fn told(events: &[Event], target: &str) -> RunWebhook {
    let deliveries = events.iter().map(|event| NewDelivery {
        message_id: format!("msg_{target}_{event}"),
        event: *event,
        url: format!("https://{target}/hook"),
        target: format!("https://{target}:443"),
    });
    RunWebhook::Deliver {
        deliveries: deliveries.collect(),
        diff: Some(DiffCounts {
            added: 1,
            removed: 2,
            changed: 3,
            unchanged: 4,
        }),
    }
}

/// A run that has ended and told its webhook.
async fn ended(store: &Store, project: ProjectId, webhook: &RunWebhook) -> RunId {
    create(store, &new_monitor(project, now()), None)
        .await
        .unwrap();
    let run = fire(store, project, now()).await;
    let leased = work(store, &[("/", 200, "a")], &[]).await;
    let done = Ending {
        done: true,
        error_message: None,
    };
    let lease = leased.lease;
    assert!(
        store
            .end_run(lease, &done, Some(webhook), now())
            .await
            .unwrap()
    );
    // The lease has ended: nothing is told twice.
    assert!(
        !store
            .end_run(lease, &done, Some(webhook), now())
            .await
            .unwrap()
    );
    run
}

async fn take(store: &Store, at: DateTime<Utc>) -> Vec<TakenDelivery> {
    let due = store.due_deliveries(at, &[], 10).await.unwrap();
    let ids: Vec<_> = due.into_iter().map(|(id, _)| id).collect();
    store
        .take_deliveries(&ids, "node", at, at + seconds(20))
        .await
        .unwrap()
}

fn attempt(status: Option<u16>, error: Option<&str>) -> NewAttempt {
    NewAttempt {
        at: now(),
        status,
        latency_ms: 12,
        error: error.map(str::to_owned),
    }
}

async fn deliveries_are_written_with_the_end_of_their_run(options: Options) {
    let (store, project_id) = open(&options).await;
    let other = project(&store, "other").await;
    let run = ended(&store, project_id, &told(&Event::ALL, "a.example")).await;
    let deliveries = store.deliveries(project_id, run).await.unwrap();
    assert_eq!(deliveries.len(), 2);
    assert_eq!(deliveries[0].event, Event::Done);
    assert_eq!(deliveries[1].event, Event::DiffDetected);
    for delivery in &deliveries {
        assert_eq!(delivery.state, DeliveryState::Pending);
        assert_eq!(
            (delivery.next_at, delivery.attempts.len()),
            (Some(now()), 0)
        );
    }
    assert_eq!(store.deliveries(other, run).await.unwrap(), []);

    let taken = take(&store, now()).await;
    assert_eq!(taken.len(), 2);
    assert_eq!((taken[0].run, taken[0].page_count), (run, 1));
    assert_eq!(taken[0].finished_at, Some(now()));
    assert_eq!(taken[0].diff.map(|diff| diff.changed), Some(3));

    let quiet = ended(
        &store,
        other,
        &RunWebhook::Suppressed("suppressed_no_change"),
    )
    .await;
    let status = store
        .run(other, quiet)
        .await
        .unwrap()
        .unwrap()
        .webhook_status;
    assert_eq!(status.as_deref(), Some("suppressed_no_change"));
    assert_eq!(store.deliveries(other, quiet).await.unwrap(), []);

    // They go with their run.
    assert!(store.delete_run(project_id, run, now()).await.unwrap());
    let kept = store
        .settle_delivery(
            &taken[0],
            &attempt(Some(200), None),
            AttemptResult::Delivered,
            now(),
        )
        .await;
    assert!(!kept.unwrap());
}

async fn a_delivery_is_taken_by_one_node_at_a_time(options: Options) {
    let (store, project) = open(&options).await;
    ended(&store, project, &told(&[Event::Done], "a.example")).await;
    let busy = [
        "https://a.example:443".to_owned(),
        "https://b.example:443".to_owned(),
    ];
    assert_eq!(store.due_deliveries(now(), &busy, 10).await.unwrap(), []);
    assert_eq!(
        store
            .due_deliveries(now() - seconds(1), &[], 10)
            .await
            .unwrap(),
        []
    );
    let first = take(&store, now()).await;
    assert_eq!(first.len(), 1);
    assert_eq!(take(&store, now() + seconds(19)).await, []);
    // The first node died, or is late.
    let second = take(&store, now() + seconds(20)).await;
    assert_eq!(second.len(), 1);
    assert_eq!(second[0].message_id, first[0].message_id);
    let settle = |taken: &TakenDelivery| {
        let (store, taken) = (store.clone(), taken.clone());
        async move {
            let attempt = attempt(Some(200), None);
            let result = AttemptResult::Delivered;
            store
                .settle_delivery(&taken, &attempt, result, now())
                .await
                .unwrap()
        }
    };
    assert!(!settle(&first[0]).await);
    assert!(settle(&second[0]).await);
    assert!(!settle(&second[0]).await);
    assert_eq!(take(&store, now() + seconds(60)).await, []);

    // After a restart nothing waits for a lease of the process before.
    let other = ended(&store, project, &told(&[Event::Done], "c.example")).await;
    let lost = take(&store, now()).await;
    assert_eq!(store.recover_deliveries(now()).await.unwrap(), 1);
    let again = take(&store, now()).await;
    assert_eq!((again[0].run, again[0].id), (other, lost[0].id));
}

async fn a_runs_webhook_state_follows_its_deliveries(options: Options) {
    let (store, project) = open(&options).await;
    let run = ended(&store, project, &told(&Event::ALL, "a.example")).await;
    let state = || async {
        let run = store.run(project, run).await.unwrap().unwrap();
        (
            run.webhook_status.unwrap(),
            run.webhook_attempts,
            run.webhook_last_error,
        )
    };
    assert_eq!(state().await, ("pending".to_owned(), 0, None));
    let taken = take(&store, now()).await;
    let retry = AttemptResult::Retry(now() + seconds(2));
    let failed = attempt(Some(500), Some("the receiver answered 500"));
    assert!(
        store
            .settle_delivery(&taken[0], &failed, retry, now())
            .await
            .unwrap()
    );
    let gone = attempt(Some(410), Some("the receiver answered 410"));
    assert!(
        store
            .settle_delivery(&taken[1], &gone, AttemptResult::Dead, now())
            .await
            .unwrap()
    );
    let error = Some("the receiver answered 410".to_owned());
    assert_eq!(state().await, ("pending".to_owned(), 2, error.clone()));
    assert_eq!(take(&store, now() + seconds(1)).await, []);
    let taken = take(&store, now() + seconds(2)).await;
    assert_eq!((taken.len(), taken[0].tried), (1, 1));
    let fine = attempt(Some(200), None);
    let result = AttemptResult::Delivered;
    assert!(
        store
            .settle_delivery(&taken[0], &fine, result, now())
            .await
            .unwrap()
    );
    assert_eq!(state().await, ("dead".to_owned(), 3, error));

    let deliveries = store.deliveries(project, run).await.unwrap();
    assert_eq!(deliveries[0].state, DeliveryState::Delivered);
    let statuses: Vec<_> = deliveries[0].attempts.iter().map(|a| a.status).collect();
    assert_eq!(statuses, [Some(500), Some(200)]);
    assert_eq!(deliveries[1].state, DeliveryState::Dead);
    assert_eq!(deliveries[1].next_at, None);
}

async fn a_delivery_can_be_asked_for_again(options: Options) {
    let (store, project_id) = open(&options).await;
    let other = project(&store, "other").await;
    let run = ended(&store, project_id, &told(&[Event::Done], "a.example")).await;
    let taken = take(&store, now()).await;
    let gone = attempt(Some(404), Some("the receiver answered 404"));
    store
        .settle_delivery(&taken[0], &gone, AttemptResult::Dead, now())
        .await
        .unwrap();
    let id = taken[0].id;
    assert!(!store.redeliver(other, run, id, now()).await.unwrap());
    assert!(
        !store
            .redeliver(project_id, RunId(999), id, now())
            .await
            .unwrap()
    );
    assert!(store.redeliver(project_id, run, id, now()).await.unwrap());
    let status = store
        .run(project_id, run)
        .await
        .unwrap()
        .unwrap()
        .webhook_status;
    assert_eq!(status.as_deref(), Some("pending"));
    let again = take(&store, now()).await;
    // The same message, with the whole schedule of retries before it.
    assert_eq!((again[0].id, again[0].tried), (id, 0));
    assert_eq!(again[0].message_id, taken[0].message_id);
}

async fn a_secret_is_made_once(options: Options) {
    let (store, project_id) = open(&options).await;
    let other = project(&store, "other").await;
    let secret = |project, fresh: &'static [u8]| {
        let store = store.clone();
        async move {
            store
                .project_secret(project, "webhook", fresh, now())
                .await
                .unwrap()
        }
    };
    let (one, two) = tokio::join!(secret(project_id, b"one"), secret(project_id, b"two"));
    assert_eq!(one, two);
    assert_eq!(secret(project_id, b"three").await, one);
    assert_eq!(secret(other, b"other").await, b"other");
    // Nothing of it is a monitor.
    assert_eq!(store.monitor(project_id, MonitorId(1)).await.unwrap(), None);
}
