//! Jobs: leases, items, ends, and what is deleted.

use chrono::{DateTime, TimeDelta, Utc};
use orbweaver_core::ids::{JobId, ProjectId};
use orbweaver_store::jobs::{
    JobCreated, JobDelivery, JobEnding, JobFilter, JobLease, JobOutcome, JobProgress, JobState,
    LeasedJob, NewJob,
};
use orbweaver_store::webhook::DeliverySubject;
use orbweaver_store::{Except, NewUsage, Options, Store};

use crate::given::{named, now, open};
use crate::support::on_both_databases;

on_both_databases! {
    a_job_is_leased_once_and_an_old_epoch_writes_nothing
    the_project_with_the_fewest_jobs_comes_first
    jobs_that_workers_hold_are_counted_over_all_of_them
    items_are_those_of_the_last_lease_each_once
    the_end_its_bill_and_its_webhook_are_written_together
    a_handed_back_attempt_does_not_count
    cancelling_and_deleting
    an_idempotency_key_lasts_a_day
    a_lease_of_a_clock_that_was_ahead_is_bounded
}

fn later(seconds: i64) -> DateTime<Utc> {
    now() + TimeDelta::seconds(seconds)
}

async fn queue(store: &Store, project: ProjectId) -> JobId {
    match store.create_job(&new_job(project)).await.unwrap() {
        JobCreated::New(job) => job.id,
        other => panic!("{other:?}"),
    }
}

fn new_job(project: ProjectId) -> NewJob<'static> {
    NewJob {
        project,
        actor: "tool",
        input: "{\"a\":1}",
        request_id: "request",
        webhook_url: None,
        idem: None,
        enqueued_at: now(),
        most_active: 10,
        most_input_bytes: 1_000,
    }
}

async fn lease(store: &Store, at: i64) -> Option<LeasedJob> {
    let (at, until) = (later(at), later(at + 10));
    let except = Except::default();
    let leased = store.lease_fair_job("owner", at, until, &except).await;
    leased.unwrap()
}

fn except_of(projects: &[ProjectId]) -> Except<JobId> {
    Except {
        projects: projects.to_vec(),
        ..Except::default()
    }
}

fn texts(items: &[&str]) -> Vec<String> {
    items.iter().map(|item| (*item).to_owned()).collect()
}

async fn stored(store: &Store, project: ProjectId, job: JobId) -> Vec<String> {
    let items = store.job_items(project, job, -1, 0, 100).await.unwrap();
    items.into_iter().map(|item| item.data).collect()
}

fn ending(outcome: JobOutcome) -> JobEnding {
    JobEnding {
        outcome,
        usages: Vec::new(),
        delivery: None,
        at: later(5),
    }
}

async fn a_job_is_leased_once_and_an_old_epoch_writes_nothing(options: Options) {
    let (store, project) = open(&options).await;
    let id = queue(&store, project).await;
    assert!(store.has_waiting_job(now()).await.unwrap());
    let first = lease(&store, 0).await.unwrap();
    assert_eq!((first.lease.job, first.lease.epoch), (id, 1));
    assert_eq!((first.input.as_str(), first.job.attempts), ("{\"a\":1}", 1));
    assert!(lease(&store, 1).await.is_none());
    let end = store.next_job_lease_end("other", now()).await.unwrap();
    assert_eq!(end, Some(later(10)));
    let ours = store.extend_job_leases(&[first.lease], later(20)).await;
    assert_eq!(ours.unwrap(), [(first.lease, false)]);
    assert!(lease(&store, 11).await.is_none());
    // The worker has died: the next one has a lease of its own.
    let second = lease(&store, 20).await.unwrap();
    assert_eq!((second.lease.epoch, second.job.attempts), (2, 2));
    let nothing = JobProgress::default();
    let old = first.lease;
    assert!(
        !store
            .write_job(old, &nothing, 0, &texts(&["1"]))
            .await
            .unwrap()
    );
    assert!(
        !store
            .end_job(old, &ending(JobOutcome::Cancelled))
            .await
            .unwrap()
    );
    assert!(!store.release_job(old).await.unwrap());
    assert_eq!(
        store.extend_job_leases(&[old], later(90)).await.unwrap(),
        []
    );
    assert!(stored(&store, project, id).await.is_empty());
}

async fn the_project_with_the_fewest_jobs_comes_first(options: Options) {
    let (store, busy) = open(&options).await;
    let quiet = named(&store, "quiet").await;
    let first = queue(&store, busy).await;
    let second = queue(&store, busy).await;
    let third = queue(&store, quiet).await;
    let mut order = Vec::new();
    for _ in 0..3 {
        order.push(lease(&store, 0).await.unwrap().lease.job);
    }
    assert_eq!(order, [first, third, second]);
    let fourth = queue(&store, busy).await;
    let at = later(0);
    let except = except_of(&[busy]);
    let none = store.lease_fair_job("owner", at, later(9), &except).await;
    assert!(none.unwrap().is_none(), "a full project waits");
    assert_eq!(lease(&store, 0).await.unwrap().lease.job, fourth);
}

async fn jobs_that_workers_hold_are_counted_over_all_of_them(options: Options) {
    let (store, busy) = open(&options).await;
    let quiet = named(&store, "quiet").await;
    for project in [busy, busy, busy, quiet] {
        queue(&store, project).await;
    }
    let take = async |owner: &str, full: &[ProjectId]| {
        let (at, until, except) = (later(0), later(10), except_of(full));
        let taken = store.lease_fair_job(owner, at, until, &except).await;
        taken.unwrap().unwrap()
    };
    let held = async |at: i64| {
        let mut held = store.held_jobs(later(at)).await.unwrap();
        held.sort_unstable();
        held
    };
    assert_eq!(held(0).await, []);
    let first = take("a", &[quiet]).await;
    let second = take("b", &[quiet]).await;
    assert_eq!((first.held, second.held), (1, 2));
    assert_eq!(take("b", &[busy]).await.held, 1);
    assert_eq!(held(0).await, [(busy, 2), (quiet, 1)]);
    // What is handed back, or whose worker has died, is held by nobody.
    assert!(store.release_job(second.lease).await.unwrap());
    assert_eq!(held(0).await, [(busy, 1), (quiet, 1)]);
    assert_eq!(held(10).await, []);
    // Of two that lease at the same time, the later one is told of both.
    let full = [quiet];
    let (one, other) = tokio::join!(take("a", &full), take("b", &full));
    assert_eq!(one.held.max(other.held), 3);
}

async fn items_are_those_of_the_last_lease_each_once(options: Options) {
    let (store, project) = open(&options).await;
    let id = queue(&store, project).await;
    let write = async |lease: JobLease, first: u64, items: &[&str]| {
        let progress = JobProgress {
            done: first,
            total: Some(9),
            message: Some("m".to_owned()),
        };
        store
            .write_job(lease, &progress, first, &texts(items))
            .await
            .unwrap()
    };
    let first = lease(&store, 0).await.unwrap().lease;
    assert!(write(first, 0, &["1", "2"]).await);
    // A batch whose commit was not confirmed comes again.
    assert!(write(first, 0, &["1", "2"]).await);
    assert!(write(first, 2, &["3"]).await);
    assert_eq!(stored(&store, project, id).await, ["1", "2", "3"]);
    let job = store.job(project, id).await.unwrap().unwrap();
    assert_eq!((job.item_count, job.progress.done), (3, 2));
    let window = store.job_items(project, id, 0, 1, 1).await.unwrap();
    assert_eq!((window[0].position, window[0].data.as_str()), (2, "3"));

    let second = lease(&store, 20).await.unwrap();
    assert_eq!(second.job.item_count, 0);
    assert_eq!(second.job.progress, JobProgress::default());
    assert!(stored(&store, project, id).await.is_empty());
    assert!(write(second.lease, 0, &["one"]).await);
    while store.remove_job_items().await.unwrap() {}
    assert_eq!(stored(&store, project, id).await, ["one"]);
}

async fn the_end_its_bill_and_its_webhook_are_written_together(options: Options) {
    let (store, project) = open(&options).await;
    let id = queue(&store, project).await;
    let lease = lease(&store, 0).await.unwrap().lease;
    let end = JobEnding {
        outcome: JobOutcome::Done("{\"b\":2}".to_owned()),
        usages: vec![NewUsage {
            project,
            token: "actor-run:1#0".to_owned(),
            call: "actor",
            pages: 3,
            cloud_pages: 1,
            cost_micros: 7,
            at: now(),
            reservation: None,
        }],
        delivery: Some(JobDelivery {
            message_id: "msg_1".to_owned(),
            event: "actor.run_complete",
            url: "https://a.example/hook".to_owned(),
            target: "https://a.example:443".to_owned(),
            payload: "{\"c\":3}".to_owned(),
        }),
        at: later(5),
    };
    assert!(store.end_job(lease, &end).await.unwrap());
    // The same again writes, bills and tells nothing.
    assert!(!store.end_job(lease, &end).await.unwrap());
    let (job, result) = store.job_result(project, id).await.unwrap().unwrap();
    assert_eq!(
        (job.status, result.as_deref()),
        (JobState::Done, Some("{\"b\":2}"))
    );
    assert_eq!((job.pages, job.cloud_pages, job.cost_micros), (3, 1, 7));
    assert_eq!(job.finished_at, Some(later(5)));
    let days = store.usage_days(project, now().date_naive()).await.unwrap();
    assert_eq!((days[0].pages, days[0].cloud_pages), (3, 1));
    let due = store.due_deliveries(later(6), &[], &[], 9).await.unwrap();
    let ids: Vec<_> = due.iter().map(|due| due.id).collect();
    let taken = store
        .take_deliveries(&ids, "node", later(6), later(60))
        .await;
    let taken = taken.unwrap().deliveries;
    assert_eq!(taken.len(), 1);
    let payload = "{\"c\":3}".to_owned();
    assert_eq!(taken[0].subject, DeliverySubject::Job { job: id, payload });
    let webhook = store.job_webhook(project, id).await.unwrap().unwrap();
    assert_eq!((webhook.status.as_str(), webhook.attempts), ("pending", 0));
    // It goes with its job.
    assert!(store.delete_job(project, id).await.unwrap());
    let due = store.due_deliveries(later(600), &[], &[], 9).await.unwrap();
    assert!(due.is_empty());
}

async fn a_handed_back_attempt_does_not_count(options: Options) {
    let (store, project) = open(&options).await;
    let id = queue(&store, project).await;
    let first = lease(&store, 0).await.unwrap().lease;
    assert!(store.release_job(first).await.unwrap());
    let again = lease(&store, 0).await.unwrap();
    assert_eq!((again.lease.job, again.lease.epoch), (id, 2));
    assert_eq!(again.job.attempts, 1);
}

async fn cancelling_and_deleting(options: Options) {
    let (store, project_id) = open(&options).await;
    let other = named(&store, "other").await;
    let running = queue(&store, project_id).await;
    let leased = lease(&store, 0).await.unwrap().lease;
    let queued = queue(&store, project_id).await;
    let cancel = async |project, job| store.cancel_job(project, job, later(1)).await.unwrap();
    assert_eq!(cancel(other, queued).await, None);
    assert_eq!(cancel(project_id, queued).await, Some(JobState::Cancelled));
    assert_eq!(cancel(project_id, queued).await, Some(JobState::Cancelled));
    assert_eq!(cancel(project_id, running).await, Some(JobState::Running));
    let ours = store.extend_job_leases(&[leased], later(30)).await.unwrap();
    assert_eq!(ours, [(leased, true)], "its worker hears of it");
    assert!(lease(&store, 0).await.is_none());
    assert!(
        store
            .end_job(leased, &ending(JobOutcome::Cancelled))
            .await
            .unwrap()
    );
    assert_eq!(cancel(project_id, running).await, Some(JobState::Cancelled));

    let third = queue(&store, project_id).await;
    let leased = lease(&store, 40).await.unwrap().lease;
    let nothing = JobProgress::default();
    let items = texts(&["1"]);
    assert!(store.write_job(leased, &nothing, 0, &items).await.unwrap());
    assert!(!store.delete_job(other, third).await.unwrap());
    assert!(store.delete_job(project_id, third).await.unwrap());
    assert!(!store.write_job(leased, &nothing, 1, &items).await.unwrap());
    assert_eq!(
        store.extend_job_leases(&[leased], later(90)).await.unwrap(),
        []
    );
    assert!(store.job(project_id, third).await.unwrap().is_none());
    while store.remove_job_items().await.unwrap() {}

    let expired = store.jobs_ended_before(later(100), 10).await.unwrap();
    assert_eq!(expired, [(project_id, running), (project_id, queued)]);
    let filter = JobFilter {
        actor: "tool",
        state: Some(JobState::Cancelled),
        limit: 10,
        offset: 0,
    };
    let listed = store.jobs(project_id, &filter).await.unwrap();
    assert_eq!(
        listed.iter().map(|job| job.id).collect::<Vec<_>>(),
        [queued, running]
    );
}

async fn an_idempotency_key_lasts_a_day(options: Options) {
    let (store, project) = open(&options).await;
    let (one, two) = ([1; 32], [2; 32]);
    let keyed = |digest, hours| NewJob {
        idem: Some(("key", digest)),
        enqueued_at: now() + TimeDelta::hours(hours),
        ..new_job(project)
    };
    let first = store.create_job(&keyed(&one, 0)).await.unwrap();
    let JobCreated::New(first) = first else {
        panic!("{first:?}");
    };
    let again = store.create_job(&keyed(&one, 23)).await.unwrap();
    assert_eq!(again, JobCreated::Replayed(first));
    let other = store.create_job(&keyed(&two, 23)).await.unwrap();
    assert_eq!(other, JobCreated::OtherBody);
    let fresh = store.create_job(&keyed(&two, 24)).await.unwrap();
    assert!(matches!(fresh, JobCreated::New(_)), "{fresh:?}");
    let full = NewJob {
        most_active: 2,
        ..new_job(project)
    };
    assert_eq!(
        store.create_job(&full).await.unwrap(),
        JobCreated::QueueFull
    );
    let long = format!("[{}]", "1,".repeat(400) + "1");
    let large = NewJob {
        input: &long,
        ..new_job(project)
    };
    let queued = store.create_job(&large).await.unwrap();
    assert!(matches!(queued, JobCreated::New(_)), "{queued:?}");
    assert_eq!(
        store.create_job(&large).await.unwrap(),
        JobCreated::InputsFull
    );
    let small = store.create_job(&new_job(project)).await.unwrap();
    assert!(matches!(small, JobCreated::New(_)), "{small:?}");
}

async fn a_lease_of_a_clock_that_was_ahead_is_bounded(options: Options) {
    let (store, project) = open(&options).await;
    let job = queue(&store, project).await;
    // Its node dies with a clock that is a day ahead.
    let ahead = lease(&store, 86_400).await.unwrap().lease;
    assert!(lease(&store, 60).await.is_none());
    let bounded = store.bound_waits(later(60), later(120)).await.unwrap();
    assert_eq!(bounded, 1);
    assert_eq!(store.bound_waits(later(60), later(120)).await.unwrap(), 0);
    assert!(lease(&store, 119).await.is_none());
    let taken = lease(&store, 120).await.unwrap().lease;
    assert_eq!((taken.job, taken.epoch), (job, ahead.epoch + 1));
}
