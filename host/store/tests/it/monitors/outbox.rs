//! The outbox of webhooks.

use chrono::{DateTime, Utc};
use orbweaver_core::ids::{MonitorId, ProjectId, RunId};
use orbweaver_core::webhook::{DiffCounts, DiffUrls, Event};
use orbweaver_store::crawl::Ending;
use orbweaver_store::webhook::{
    AttemptResult, DeliveryState, DeliverySubject, NewAttempt, NewDelivery, RunWebhook,
    TakenDelivery,
};
use orbweaver_store::{Options, Store};
use sqlx::Connection as _;

use super::{create, fire, new_monitor, work};
use crate::given::{named, now, open, seconds};

crate::support::on_both_databases! {
    deliveries_are_written_with_the_end_of_their_run
    a_delivery_is_taken_by_one_node_at_a_time
    a_runs_webhook_state_follows_its_deliveries
    a_delivery_can_be_repeated_on_request
    a_delivery_keeps_its_newest_attempts
    a_repeat_requested_during_the_last_attempt_is_not_lost
    a_secret_is_created_once
}

fn told(events: &[Event], target: &str) -> RunWebhook {
    let deliveries = events.iter().map(|event| NewDelivery {
        message_id: format!("msg_{target}_{event}"),
        event: *event,
        url: format!("https://{target}/hook"),
        target: format!("https://{target}:443"),
        payload: None,
    });
    RunWebhook::Deliver {
        deliveries: deliveries.collect(),
        diff: Some(DiffCounts {
            added: 1,
            removed: 2,
            changed: 3,
            unchanged: 4,
            gone: 5,
            unvisited: 6,
            unavailable: 7,
        }),
        urls: Some(DiffUrls {
            changed: vec!["https://example.org/a".to_owned()],
            ..DiffUrls::default()
        }),
    }
}

/// A run that has ended, with its webhook deliveries.
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
    // The lease has ended, so no second delivery is written.
    assert!(
        !store
            .end_run(lease, &done, Some(webhook), now())
            .await
            .unwrap()
    );
    run
}

async fn take(store: &Store, at: DateTime<Utc>) -> Vec<TakenDelivery> {
    let due = store.due_deliveries(at, &[], &[], 10).await.unwrap();
    let ids: Vec<_> = due.into_iter().map(|due| due.id).collect();
    store
        .take_deliveries(&ids, "node", at, at + seconds(20))
        .await
        .unwrap()
        .deliveries
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
    let other = named(&store, "other").await;
    let run = ended(
        &store,
        project_id,
        &told(&[Event::Done, Event::DiffDetected], "a.example"),
    )
    .await;
    let deliveries = store.deliveries(project_id, run).await.unwrap();
    assert_eq!(deliveries.len(), 2);
    assert_eq!(deliveries[0].event, Event::Done.as_str());
    assert_eq!(deliveries[1].event, Event::DiffDetected.as_str());
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
    let DeliverySubject::Run(told) = &taken[0].subject else {
        panic!("not of a run: {:?}", taken[0]);
    };
    assert_eq!((told.run, told.page_count), (run, 1));
    assert_eq!(told.finished_at, Some(now()));
    assert_eq!(told.diff.map(|diff| diff.changed), Some(3));

    let quiet = ended(
        &store,
        other,
        &RunWebhook::Suppressed {
            status: "suppressed_no_change",
            why: Some("nothing was compared"),
        },
    )
    .await;
    let run_told = store.run(other, quiet).await.unwrap().unwrap();
    assert_eq!(
        (
            run_told.webhook_status.as_deref(),
            run_told.webhook_last_error.as_deref()
        ),
        (Some("suppressed_no_change"), Some("nothing was compared"))
    );
    assert_eq!(store.deliveries(other, quiet).await.unwrap(), []);

    // They are deleted with their run.
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

/// While nodes are upgraded one by one.
#[tokio::test]
async fn a_newer_nodes_delivery_keeps_back_no_other() {
    let options = crate::support::postgres();
    let (store, project) = open(&options).await;
    let events = [Event::Done, Event::DiffDetected];
    ended(&store, project, &told(&events, "a.example")).await;
    let mut other = sqlx::PgConnection::connect(&options.url).await.unwrap();
    let renamed = sqlx::query("UPDATE deliveries SET event = 'crawl.newer' WHERE event = $1")
        .bind(Event::Done.as_str())
        .execute(&mut other)
        .await;
    assert_eq!(renamed.unwrap().rows_affected(), 1);
    let due = store.due_deliveries(now(), &[], &[], 10).await.unwrap();
    let ids: Vec<_> = due.into_iter().map(|due| due.id).collect();
    let until = now() + seconds(20);
    let taken = store.take_deliveries(&ids, "node", now(), until).await;
    let taken = taken.unwrap();
    assert_eq!((taken.deliveries.len(), taken.unreadable), (1, 1));
    assert_eq!(taken.deliveries[0].id, ids[1]);
    // It is left to a node that knows it.
    let due = store.due_deliveries(until, &[], &[], 10).await.unwrap();
    assert_eq!(due.len(), 2);
}

async fn a_delivery_is_taken_by_one_node_at_a_time(options: Options) {
    let (store, project) = open(&options).await;
    ended(&store, project, &told(&[Event::Done], "a.example")).await;
    let busy = [
        "https://a.example:443".to_owned(),
        "https://b.example:443".to_owned(),
    ];
    assert_eq!(
        store.due_deliveries(now(), &busy, &[], 10).await.unwrap(),
        []
    );
    assert_eq!(
        store
            .due_deliveries(now() - seconds(1), &[], &[], 10)
            .await
            .unwrap(),
        []
    );
    let next = store.next_delivery(now() - seconds(1)).await.unwrap();
    assert_eq!(next, Some(now()));
    assert_eq!(store.next_delivery(now()).await.unwrap(), None);
    let first = take(&store, now()).await;
    assert_eq!(first.len(), 1);
    let next = store.next_delivery(now()).await.unwrap();
    assert_eq!(next, Some(now() + seconds(20)));
    assert_eq!(take(&store, now() + seconds(19)).await, []);
    // The first node died or is late.
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

    // After a restart no delivery waits for a lease of the previous process.
    let other = ended(&store, project, &told(&[Event::Done], "c.example")).await;
    let lost = take(&store, now()).await;
    assert_eq!(store.recover_deliveries(now()).await.unwrap(), 1);
    let again = take(&store, now()).await;
    assert_eq!((again[0].run(), again[0].id), (Some(other), lost[0].id));
}

async fn a_runs_webhook_state_follows_its_deliveries(options: Options) {
    let (store, project) = open(&options).await;
    let run = ended(
        &store,
        project,
        &told(&[Event::Done, Event::DiffDetected], "a.example"),
    )
    .await;
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

async fn a_delivery_can_be_repeated_on_request(options: Options) {
    let (store, project_id) = open(&options).await;
    let other = named(&store, "other").await;
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
    // The same message, with the whole schedule of retries.
    assert_eq!((again[0].id, again[0].tried), (id, 0));
    assert_eq!(again[0].message_id, taken[0].message_id);
}

async fn a_delivery_keeps_its_newest_attempts(options: Options) {
    let (store, project_id) = open(&options).await;
    let run = ended(&store, project_id, &told(&[Event::Done], "a.example")).await;
    let again = attempt(Some(503), None);
    for _ in 0..1_005 {
        let taken = take(&store, now()).await;
        let settled = store.settle_delivery(&taken[0], &again, AttemptResult::Retry(now()), now());
        assert!(settled.await.unwrap());
    }
    let deliveries = store.deliveries(project_id, run).await.unwrap();
    let numbers = deliveries[0].attempts.iter().map(|attempt| attempt.number);
    assert_eq!(Vec::from_iter(numbers), Vec::from_iter(6..=1_005));
    let run_told = store.run(project_id, run).await.unwrap().unwrap();
    assert_eq!(run_told.webhook_attempts, 1_005);
}

async fn a_repeat_requested_during_the_last_attempt_is_not_lost(options: Options) {
    let (store, project) = open(&options).await;
    let run = ended(&store, project, &told(&[Event::Done], "a.example")).await;
    let failed = attempt(Some(500), Some("the receiver answered 500"));
    let first = take(&store, now()).await;
    let retry = AttemptResult::Retry(now() + seconds(2));
    let settle = async |taken, result, at| {
        let settled = store.settle_delivery(taken, &failed, result, at).await;
        assert!(settled.unwrap());
    };
    settle(&first[0], retry, now()).await;
    let last = take(&store, now() + seconds(2)).await;
    assert_eq!(last[0].tried, 1);
    let asked = store.redeliver(project, run, last[0].id, now() + seconds(2));
    assert!(asked.await.unwrap());
    settle(&last[0], AttemptResult::Dead, now() + seconds(3)).await;
    let again = take(&store, now() + seconds(3)).await;
    // The attempt under way was the first of the new schedule.
    assert_eq!((again.len(), again[0].tried), (1, 1));
    settle(&again[0], AttemptResult::Dead, now() + seconds(4)).await;
    assert_eq!(take(&store, now() + seconds(9)).await, []);
    let deliveries = store.deliveries(project, run).await.unwrap();
    assert_eq!(deliveries[0].state, DeliveryState::Dead);
}

async fn a_secret_is_created_once(options: Options) {
    let (store, project_id) = open(&options).await;
    let other = named(&store, "other").await;
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
    // Secrets create no monitor.
    assert_eq!(store.monitor(project_id, MonitorId(1)).await.unwrap(), None);
}
