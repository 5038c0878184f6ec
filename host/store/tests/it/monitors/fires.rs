//! Monitors and their fires.

use chrono::{DateTime, TimeDelta, Utc};
use orbweaver_core::ids::RunId;
use orbweaver_store::crawl::{Created, NewRun};
use orbweaver_store::monitors::{
    CreatedMonitor, DueMonitor, Fired, Monitor, MonitorChange, NewMonitor, NextFire,
};
use orbweaver_store::{Options, Store};

use super::{Page, batch, crawl, create, end, fire, lease, new_monitor, work, write};
use crate::given::{named, now, open, seconds};

crate::support::on_both_databases! {
    monitors_are_capped_and_belong_to_their_project
    a_change_of_the_schedule_leaves_a_monitor_paused
    an_idempotency_key_returns_its_monitor_for_a_day
    a_key_makes_a_run_or_a_monitor
    a_deleted_run_is_no_monitors_last_one
    a_fire_happens_once_with_several_nodes
    a_fire_waits_for_a_slot_and_for_its_own_run
    only_a_run_with_content_becomes_a_baseline
    a_run_without_its_seed_becomes_a_baseline
    a_run_that_a_monitor_needs_is_told
    a_run_that_waits_for_a_slot_takes_none_from_monitors
    a_fire_is_put_off_once
    a_monitor_of_a_long_url_fires
}

async fn monitors_are_capped_and_belong_to_their_project(options: Options) {
    let (store, project_id) = open(&options).await;
    let other = named(&store, "other").await;
    let first = create(&store, &new_monitor(project_id, now()), Some(2))
        .await
        .unwrap();
    create(&store, &new_monitor(project_id, now()), Some(2))
        .await
        .unwrap();
    let paused = MonitorChange {
        next_fire: NextFire::Never,
        ..MonitorChange::default()
    };
    let change = |by| store.change_monitor(by, first.id, &paused);
    assert_eq!(change(other).await.unwrap(), None);
    assert_eq!(
        change(project_id).await.unwrap().unwrap().next_fires_at,
        None
    );
    // Paused monitors count against the cap.
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
        next_fire: NextFire::Unchanged,
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

async fn a_change_of_the_schedule_leaves_a_monitor_paused(options: Options) {
    let (store, project) = open(&options).await;
    let monitor = create(&store, &new_monitor(project, now()), None)
        .await
        .unwrap();
    let (first, second) = (now() + seconds(60), now() + seconds(120));
    // Each in turn, and the next fire that it leaves. A request that read the monitor before
    // another one paused it asks for `IfEnabled`.
    for (next_fire, expected) in [
        (NextFire::IfEnabled(first), Some(first)),
        (NextFire::IfPaused(second), Some(first)),
        (NextFire::Never, None),
        (NextFire::IfEnabled(second), None),
        (NextFire::Unchanged, None),
        (NextFire::IfPaused(second), Some(second)),
        (NextFire::Unchanged, Some(second)),
        (NextFire::Never, None),
        (NextFire::At(first), Some(first)),
    ] {
        let change = MonitorChange {
            schedule: Some("0 0 * * *".to_owned()),
            next_fire,
            spec: None,
        };
        let changed = store.change_monitor(project, monitor.id, &change).await;
        let left = changed.unwrap().unwrap().next_fires_at;
        assert_eq!(left, expected, "{next_fire:?}");
    }
}

async fn an_idempotency_key_returns_its_monitor_for_a_day(options: Options) {
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

async fn a_key_makes_a_run_or_a_monitor(options: Options) {
    let (store, project) = open(&options).await;
    let key = |number: u32| Some(format!("11111111-2222-3333-4444-{number:012}"));
    let new_run = |number, at| NewRun {
        idem_key: key(number),
        enqueued_at: at,
        ..crate::given::new_run(project, "https://example.org/")
    };
    let monitor_of = |number, at| NewMonitor {
        idem_key: key(number),
        created_at: at,
        ..new_monitor(project, at)
    };
    let Created::New(run) = store.create_run(&new_run(1, now()), None).await.unwrap() else {
        panic!("a run");
    };
    let monitor = create(&store, &monitor_of(2, now()), None).await.unwrap();
    let again = store.create_monitor(&monitor_of(1, now()), None).await;
    assert_eq!(again.unwrap(), CreatedMonitor::Run(run));
    let again = store.create_run(&new_run(2, now()), None).await.unwrap();
    assert_eq!(again, Created::Monitor(Box::new(monitor)));
    assert_eq!(store.monitors(project).await.unwrap().len(), 1);
    // After a day each may make the other.
    let later = now() + TimeDelta::hours(24);
    create(&store, &monitor_of(1, later), None).await.unwrap();
    let made = store.create_run(&new_run(2, later), None).await.unwrap();
    assert!(matches!(made, Created::New(_)), "{made:?}");
}

async fn a_deleted_run_is_no_monitors_last_one(options: Options) {
    let (store, project) = open(&options).await;
    let monitor = create(&store, &new_monitor(project, now()), None)
        .await
        .unwrap();
    let pages = [("/", 200, "a")];
    let first = crawl(&store, project, now(), &pages).await;
    let second = crawl(&store, project, now() + seconds(300), &pages).await;
    let third = crawl(&store, project, now() + seconds(600), &pages).await;
    let last = async || {
        let monitor = store.monitor(project, monitor.id).await.unwrap();
        monitor.unwrap().last_run
    };
    assert_eq!(last().await, Some(third));
    assert!(store.delete_run(project, second, now()).await.unwrap());
    assert_eq!(last().await, Some(third));
    assert!(store.delete_run(project, third, now()).await.unwrap());
    assert_eq!(last().await, Some(first));
    assert!(store.delete_run(project, first, now()).await.unwrap());
    assert_eq!(last().await, None);
}

async fn a_fire_happens_once_with_several_nodes(options: Options) {
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
    assert_eq!(store.next_fire(early).await.unwrap(), Some(now()));
    assert_eq!(store.next_fire(now()).await.unwrap(), None);
    let projects = store.due_projects(now()).await.unwrap();
    assert_eq!(projects.len(), 1);
    assert_eq!((projects[0].project, projects[0].active), (project, 0));

    // Two nodes see the same due fires and compete for each.
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

    // Its own run has not ended when it is due again.
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

    // A seed that fails temporarily, then a failed run, then a run without pages.
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
    // A page that fails temporarily does not matter unless it is the seed.
    let partly = crawl(&store, project, at, &[("/", 200, "a"), ("/b", 429, "slow")]).await;
    assert_eq!(baseline(partly).await, Some(good));
    at += seconds(300);
    let last = crawl(&store, project, at, &[("/", 404, "gone")]).await;
    assert_eq!(baseline(last).await, Some(partly));
}

async fn a_run_without_its_seed_becomes_a_baseline(options: Options) {
    let (store, project) = open(&options).await;
    create(&store, &new_monitor(project, now()), None)
        .await
        .unwrap();
    let mut at = now();
    // Without the page of its seed, which a hook does not let be stored.
    let mut without_seed = async |pages: &'static [Page]| {
        let run = fire(&store, project, at).await;
        at += seconds(300);
        let leased = lease(&store).await;
        let mut dropped = batch(&leased, pages, &[]);
        dropped.pages.remove(0);
        write(&store, dropped).await;
        end(&store, &leased, true).await;
        store.run(project, run).await.unwrap().unwrap()
    };
    let first = without_seed(&[("/", 200, "a"), ("/b", 200, "b")]).await;
    let down = without_seed(&[("/", 503, "sorry"), ("/b", 200, "b")]).await;
    let third = without_seed(&[("/", 200, "a"), ("/b", 200, "b")]).await;
    let fourth = without_seed(&[("/", 200, "a"), ("/b", 200, "b")]).await;
    assert_eq!(first.previous, None);
    assert_eq!(down.previous, Some(first.id));
    assert_eq!(third.previous, Some(first.id));
    assert_eq!(fourth.previous, Some(third.id));

    // A run of a sitemap has no seed.
    let listed = NewMonitor {
        seed_is_page: false,
        ..new_monitor(project, at)
    };
    for monitor in store.monitors(project).await.unwrap() {
        store.delete_monitor(project, monitor.id).await.unwrap();
    }
    create(&store, &listed, None).await.unwrap();
    let partly = crawl(&store, project, at, &[("/", 503, "x"), ("/b", 200, "b")]).await;
    at += seconds(300);
    let down = crawl(&store, project, at, &[("/", 503, "x"), ("/b", 503, "x")]).await;
    at += seconds(300);
    let back = crawl(&store, project, at, &[("/", 200, "a"), ("/b", 200, "b")]).await;
    for run in [down, back] {
        let run = store.run(project, run).await.unwrap().unwrap();
        assert_eq!(run.previous, Some(partly));
    }
}

async fn a_run_that_a_monitor_needs_is_told(options: Options) {
    let (store, project) = open(&options).await;
    let monitor = create(&store, &new_monitor(project, now()), None)
        .await
        .unwrap();
    let pages = [("/", 200, "a")];
    let older = crawl(&store, project, now(), &pages).await;
    let baseline = crawl(&store, project, now() + seconds(300), &pages).await;
    let down = crawl(&store, project, now() + seconds(600), &[("/", 503, "x")]).await;
    let told = async || -> Vec<(RunId, bool)> {
        let (mut told, mut last) = (Vec::new(), None);
        loop {
            // One at a time: they have ended at the same time.
            let before = now() + seconds(1);
            let runs = store.runs_ended_before(before, last.as_ref(), 1).await;
            let Some(run) = runs.unwrap().pop() else {
                return told;
            };
            assert_eq!((run.project, run.finished_at), (project, now()));
            told.push((run.run, run.is_needed));
            last = Some(run);
        }
    };
    let kept = [(older, false), (baseline, true), (down, false)];
    assert_eq!(told().await, kept);
    assert_eq!(store.runs_ended_before(now(), None, 9).await.unwrap(), []);

    let oldest = async |needed| store.oldest_ended_run(project, needed).await.unwrap();
    assert_eq!(oldest(false).await, Some(older));
    store.delete_run(project, older, now()).await.unwrap();
    assert_eq!(oldest(false).await, Some(down));
    store.delete_run(project, down, now()).await.unwrap();
    assert_eq!(
        (oldest(false).await, oldest(true).await),
        (None, Some(baseline))
    );

    // A run that has not ended needs it, too, whatever becomes of the monitor.
    fire(&store, project, now() + seconds(900)).await;
    store.delete_monitor(project, monitor.id).await.unwrap();
    assert_eq!(told().await, [(baseline, true)]);
    let leased = work(&store, &pages, &[]).await;
    end(&store, &leased, true).await;
    let last = leased.run.id;
    assert_eq!(told().await, [(baseline, false), (last, false)]);
}

async fn a_run_that_waits_for_a_slot_takes_none_from_monitors(options: Options) {
    let (store, project) = open(&options).await;
    create(&store, &new_monitor(project, now()), None)
        .await
        .unwrap();
    let mut queued = Vec::new();
    for seconds_on in 0..3 {
        let new = NewRun {
            enqueued_at: now() + seconds(seconds_on),
            ..crate::given::new_run(project, "https://example.org/")
        };
        match store.queue_run(&new, Some(1), 9).await.unwrap() {
            Created::New(run) => queued.push(run.id),
            other => panic!("{other:?}"),
        }
    }
    // The first one has the slot.
    let active = async || store.due_projects(now()).await.unwrap()[0].active;
    assert_eq!(active().await, 1);
    assert_eq!(
        store.admit_held_runs(project, Some(1), None).await.unwrap(),
        0
    );
    let leased = lease(&store).await;
    assert_eq!(leased.run.id, queued[0]);
    end(&store, &leased, true).await;
    assert_eq!(active().await, 0);

    let admit = async |until| {
        let admitted = store.admit_held_runs(project, Some(1), until).await;
        admitted.unwrap()
    };
    assert_eq!(admit(Some(now())).await, 0);
    let due = store.due_monitors(project, now(), 1).await.unwrap();
    let next = Some(now() + seconds(300));
    let fired = store
        .fire_monitor(project, &due[0], next, Some(1), now())
        .await;
    let Fired::Started(run) = fired.unwrap() else {
        panic!("it has the free slot");
    };
    let leased = work(&store, &[("/", 200, "a")], &[]).await;
    assert_eq!(leased.run.id, run);
    assert_eq!(admit(None).await, 0);
    end(&store, &leased, true).await;
    assert_eq!(admit(Some(now() + seconds(1))).await, 1);
    assert_eq!(lease(&store).await.run.id, queued[1]);
}

async fn a_fire_is_put_off_once(options: Options) {
    let (store, project) = open(&options).await;
    let monitor = create(&store, &new_monitor(project, now()), None)
        .await
        .unwrap();
    let due = store.due_monitors(project, now(), 1).await.unwrap();
    let (next, later) = (now() + seconds(300), now() + seconds(600));
    for to in [next, later] {
        let put_off = store.put_off_monitor(project, &due[0], Some(to)).await;
        put_off.unwrap();
        let shown = store.monitor(project, monitor.id).await.unwrap().unwrap();
        assert_eq!((shown.next_fires_at, shown.last_run), (Some(next), None));
    }
}

async fn a_monitor_of_a_long_url_fires(options: Options) {
    let (store, project) = open(&options).await;
    let url = format!("https://example.org/?{}", crate::run_rows::long_text());
    let monitor = NewMonitor {
        url: url.clone(),
        url_key: url.clone(),
        ..new_monitor(project, now())
    };
    create(&store, &monitor, None).await.unwrap();
    let run = fire(&store, project, now()).await;
    let run = store.run(project, run).await.unwrap().unwrap();
    assert_eq!(run.url, url);
}
