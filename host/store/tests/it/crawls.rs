//! Runs and their leases.

use chrono::TimeDelta;
use orbweaver_core::ids::{ProjectId, RunId};
use orbweaver_store::crawl::{Committed, Created, Ending, NewRun, RunBatch, RunFilter, RunState};
use orbweaver_store::{Except, Options, Store};

use crate::given::{batch, create, found, lease, named, new_run, now, open, page, seconds};

crate::support::on_both_databases! {
    runs_are_queued_up_to_the_cap
    an_idempotency_key_returns_its_run_for_a_day
    a_recent_done_run_is_found
    an_expired_lease_moves_and_its_old_holder_cannot_write
    a_released_run_is_taken_at_once
    projects_take_turns_at_workers
    parallel_requests_create_no_more_runs_than_the_cap
    the_next_end_of_another_workers_lease_is_known
    a_worker_leaves_out_its_own_runs_and_those_of_others
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
