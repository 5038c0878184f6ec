//! Webhooks of runs: content, receivers, retries, and the stored deliveries.

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use orbweaver_accounts::secret::SafeUrl;
use orbweaver_core::ids::{ProjectId, RunId};
use orbweaver_core::setting::{Millis, Seconds};
use orbweaver_core::webhook::{Event, sign};
use orbweaver_crawl::spec::CrawlSpec;
use orbweaver_crawl::webhooks;
use orbweaver_fetch::{Resolver, SystemResolver};
use orbweaver_postgres::Postgres;
use orbweaver_server::config::Config;
use orbweaver_server::config::Role;
use orbweaver_store::crawl::{Created, Ending, NewRun};
use orbweaver_store::webhook::{NewDelivery, RunWebhook};
use serde_json::Value;
use tokio::task::JoinHandle;

use crate::support::http::Answer;
use crate::support::wait::until;
use crate::support::{Names, Receiver, Reply, Service, database};

/// A service that has no workers and whose deliveries the test starts itself.
struct Delivering {
    service: Service,
    project: ProjectId,
    worker: JoinHandle<()>,
}

impl Delivering {
    async fn start(change: impl FnOnce(&mut Config)) -> Self {
        Self::with_resolver(Arc::new(SystemResolver), change).await
    }

    async fn with_resolver(resolver: Arc<dyn Resolver>, change: impl FnOnce(&mut Config)) -> Self {
        let service = Service::with_resolver(resolver, |config| {
            config.roles = vec![Role::Api];
            change(config);
        })
        .await;
        let project = service.app.store.project_named("default").await;
        Self {
            project: project.unwrap().unwrap().id,
            worker: tokio::spawn(webhooks::work(service.app.crawls.clone())),
            service,
        }
    }

    /// A run with this webhook that ends now.
    async fn end_run(&self, url: &str, done: bool) -> RunId {
        self.end(url, done, None).await
    }

    async fn end(&self, url: &str, done: bool, told: Option<&RunWebhook>) -> RunId {
        let app = &self.service.app;
        let mut spec = CrawlSpec::new("https://example.org/start");
        spec.webhook_url = Some(url.to_owned());
        let now = app.clock.now();
        let new = NewRun {
            project: self.project,
            url: spec.url.clone(),
            url_key: spec.url.clone(),
            spec: serde_json::to_string(&spec).unwrap(),
            seed_is_page: true,
            proxy_shown: None,
            monitor: None,
            previous: None,
            idem_key: None,
            enqueued_at: now,
            has_webhook: true,
        };
        let Created::New(run) = app.store.create_run(&new, None).await.unwrap() else {
            panic!("a run");
        };
        let until = now + TimeDelta::hours(1);
        let leased = app
            .store
            .lease_run("test", now, until)
            .await
            .unwrap()
            .unwrap();
        assert_eq!(leased.run.id, run.id);
        let ending = Ending {
            done,
            error_message: (!done).then(|| "no answer".to_owned()),
        };
        let ended = match told {
            None => webhooks::end_run(&app.crawls, &leased.run, leased.lease, &ending).await,
            Some(_) => app.store.end_run(leased.lease, &ending, told, now).await,
        };
        assert!(ended.unwrap());
        run.id
    }

    async fn get(&self, path: &str) -> Value {
        self.service.client().get(path).await.ok()
    }

    /// The run once its webhook has had this many attempts.
    async fn tried(&self, run: RunId, attempts: u64) -> Value {
        let is_tried = |answer: &Answer| {
            let tried = answer.ok()["webhook_attempts"].as_u64();
            tried.is_some_and(|tried| tried >= attempts)
        };
        let client = self.service.client();
        let path = format!("/v1/crawls/{run}");
        client.until(&path, is_tried).await.ok()
    }

    async fn deliveries(&self, run: RunId) -> Vec<Value> {
        let list = self.get(&format!("/v1/crawls/{run}/deliveries")).await;
        list["items"].as_array().unwrap().clone()
    }

    fn advance(&self, seconds: i64) {
        self.service.clock.advance(TimeDelta::seconds(seconds));
    }
}

impl Drop for Delivering {
    fn drop(&mut self) {
        self.worker.abort();
    }
}

fn time(value: &Value) -> DateTime<Utc> {
    value.as_str().unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_delivery_is_signed_and_has_the_documented_fields() {
    let mut receiver = Receiver::start(&[]).await;
    let delivering = Delivering::start(|_| {}).await;
    let run = delivering.end_run(&receiver.url(), true).await;
    let got = receiver.next().await;
    assert_eq!(got.path, "/hook");
    assert_eq!(got.header("content-type"), "application/json");
    assert_eq!(got.header("x-crawler-run-id"), run.to_string());
    let secret = webhooks::secret(
        &delivering.service.app.store,
        delivering.project,
        delivering.service.app.clock.now(),
    )
    .await
    .unwrap();
    assert_eq!(secret.len(), 32);
    let now = delivering.service.app.clock.now();
    let signed = sign(&secret, got.header("webhook-id"), now, &got.body);
    assert_eq!(got.header("x-crawler-signature"), signed.crawler);
    assert_eq!(got.header("webhook-timestamp"), signed.timestamp);
    assert_eq!(got.header("webhook-signature"), signed.standard);

    let body = got.json();
    let mut fields: Vec<&str> = body
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    fields.sort_unstable();
    let expected = [
        "delivered_at",
        "error_count",
        "error_message",
        "event",
        "finished_at",
        "id",
        "page_count",
        "project_id",
        "started_at",
        "status",
        "url",
    ];
    assert_eq!(fields, expected);
    assert_eq!(body["event"], "crawl.done");
    assert_eq!(body["id"], run.get());
    assert_eq!(body["project_id"], delivering.project.get());
    assert_eq!(body["url"], "https://example.org/start");
    assert_eq!(body["status"], "done");
    assert_eq!(time(&body["delivered_at"]), now);

    let run = delivering.tried(run, 1).await;
    assert_eq!(run["webhook_status"], "delivered");
    assert_eq!(run["webhook_last_error"], Value::Null);

    let failed = delivering.end_run(&receiver.url(), false).await;
    let body = receiver.next().await.json();
    assert_eq!(
        (&body["id"], &body["status"]),
        (&failed.get().into(), &"failed".into())
    );
    assert_eq!(body["error_message"], "no answer");
}

#[tokio::test]
async fn a_failed_delivery_is_retried_until_accepted() {
    let mut receiver = Receiver::start(&[Reply::Status(500), Reply::Status(500)]).await;
    let delivering = Delivering::start(|_| {}).await;
    let run = delivering.end_run(&receiver.url(), true).await;
    let first = receiver.next().await;
    assert_eq!(delivering.tried(run, 1).await["webhook_status"], "pending");
    let listed = delivering.deliveries(run).await;
    let now = delivering.service.app.clock.now();
    let wait = (time(&listed[0]["next_attempt_at"]) - now).num_milliseconds();
    assert!((1_000..=1_100).contains(&wait), "{wait}");
    delivering.advance(2);
    let second = receiver.next().await;
    delivering.tried(run, 2).await;
    delivering.advance(3);
    let third = receiver.next().await;
    for again in [&second, &third] {
        assert_eq!(again.header("webhook-id"), first.header("webhook-id"));
    }
    let shown = delivering.tried(run, 3).await;
    assert_eq!(shown["webhook_status"], "delivered");
    assert_eq!(shown["webhook_attempts"], 3);
    assert_eq!(shown["webhook_last_error"], "the receiver answered 500");

    let listed = delivering.deliveries(run).await;
    assert_eq!(listed.len(), 1);
    let delivery = &listed[0];
    assert_eq!(delivery["status"], "delivered");
    assert_eq!(delivery["event"], "crawl.done");
    assert_eq!(delivery["webhook_id"], first.header("webhook-id"));
    assert_eq!(delivery["next_attempt_at"], Value::Null);
    let attempts = delivery["attempts"].as_array().unwrap();
    let statuses: Vec<_> = attempts.iter().map(|a| a["status"].as_u64()).collect();
    assert_eq!(statuses, [Some(500), Some(500), Some(200)]);
    assert!(
        attempts
            .iter()
            .all(|attempt| attempt["latency_ms"].is_u64())
    );
    assert_eq!(attempts[2]["error"], Value::Null);
}

#[tokio::test]
async fn a_retry_does_not_wait_for_a_clock_that_was_ahead() {
    let mut receiver = Receiver::start(&[Reply::Status(500)]).await;
    let delivering = Delivering::start(|config| config.roles.push(Role::Scheduler)).await;
    delivering.advance(7_200);
    let run = delivering.end_run(&receiver.url(), true).await;
    receiver.next().await;
    delivering.tried(run, 1).await;
    let app = &delivering.service.app;
    let ahead = app.clock.now();
    let seen = async || app.heartbeat.last() == Some(ahead);
    until("the process has seen that time", seen).await;
    delivering.advance(-7_200);
    receiver.next().await;
    assert_eq!(
        delivering.tried(run, 2).await["webhook_status"],
        "delivered"
    );
}

#[tokio::test]
async fn a_delivery_is_given_up_after_five_failures() {
    let mut receiver = Receiver::start(&vec![Reply::Status(503); 9]).await;
    let delivering = Delivering::start(|_| {}).await;
    let run = delivering.end_run(&receiver.url(), true).await;
    for attempt in 1..=5 {
        receiver.next().await;
        let shown = delivering.tried(run, attempt).await;
        let expected = if attempt == 5 { "dead" } else { "pending" };
        assert_eq!(shown["webhook_status"], expected, "{attempt}");
        delivering.advance(10);
    }
    assert_eq!(
        delivering.deliveries(run).await[0]["next_attempt_at"],
        Value::Null
    );
}

#[tokio::test]
async fn a_refusal_or_redirect_ends_a_delivery_at_once() {
    let mut elsewhere = Receiver::start(&[]).await;
    let mut receiver = Receiver::start(&[
        Reply::Status(404),
        Reply::With(302, "location", elsewhere.url()),
        Reply::With(429, "retry-after", "1".to_owned()),
        Reply::Status(304),
    ])
    .await;
    let delivering = Delivering::start(|_| {}).await;
    for status in [404, 302, 429, 304] {
        let run = delivering.end_run(&receiver.url(), true).await;
        receiver.next().await;
        let shown = delivering.tried(run, 1).await;
        assert_eq!(shown["webhook_status"], "dead", "{status}");
        let error = shown["webhook_last_error"].as_str().unwrap().to_owned();
        assert!(error.contains(&status.to_string()), "{error}");
        assert_eq!(
            delivering.deliveries(run).await[0]["attempts"][0]["status"],
            status
        );
    }
    // Nothing was sent there: its own delivery is the first one.
    let run = delivering.end_run(&elsewhere.url(), true).await;
    assert_eq!(elsewhere.next().await.json()["id"], run.get());
}

#[tokio::test]
async fn a_hanging_receiver_is_retried() {
    let mut receiver = Receiver::start(&[Reply::Hang]).await;
    let delivering = Delivering::start(|config| config.webhooks.timeout_ms = Millis(2_000)).await;
    let run = delivering.end_run(&receiver.url(), true).await;
    receiver.next().await;
    let shown = delivering.tried(run, 1).await;
    assert_eq!(shown["webhook_status"], "pending");
    let error = shown["webhook_last_error"].as_str().unwrap().to_owned();
    assert!(error.starts_with("timeout: "), "{error}");
    delivering.advance(2);
    receiver.next().await;
    assert_eq!(
        delivering.tried(run, 2).await["webhook_status"],
        "delivered"
    );
}

#[tokio::test]
async fn only_the_status_of_the_receiver_matters() {
    let mut receiver = Receiver::start(&[Reply::Endless(202)]).await;
    let delivering = Delivering::start(|_| {}).await;
    let run = delivering.end_run(&receiver.url(), true).await;
    receiver.next().await;
    assert_eq!(
        delivering.tried(run, 1).await["webhook_status"],
        "delivered"
    );
}

#[tokio::test]
async fn retry_after_of_a_receiver_is_honoured() {
    let until = "Sun, 01 Mar 2026 12:02:00 GMT".to_owned();
    let mut receiver = Receiver::start(&[
        Reply::With(503, "retry-after", "60".to_owned()),
        Reply::With(500, "retry-after", until),
        Reply::With(503, "retry-after", "315360000".to_owned()),
    ])
    .await;
    let delivering =
        Delivering::start(|config| config.webhooks.retry_delays = vec![Seconds(1); 3]).await;
    let run = delivering.end_run(&receiver.url(), true).await;
    for (attempt, least, most) in [(1, 60, 66), (2, 50, 66), (3, 3_600, 3_960)] {
        receiver.next().await;
        delivering.tried(run, attempt).await;
        let next = time(&delivering.deliveries(run).await[0]["next_attempt_at"]);
        let wait = (next - delivering.service.app.clock.now()).num_seconds();
        assert!((least..=most).contains(&wait), "{attempt}: {wait}");
        delivering.advance(if attempt == 1 { 66 } else { wait + 1 });
    }
    receiver.next().await;
    assert_eq!(
        delivering.tried(run, 4).await["webhook_status"],
        "delivered"
    );
}

#[tokio::test]
async fn the_ssrf_guard_checks_at_delivery() {
    let delivering = Delivering::start(|_| {}).await;
    // It was saved while the network was still allowed.
    let run = delivering.end_run("http://10.0.0.1/hook", true).await;
    let shown = delivering.tried(run, 1).await;
    assert_eq!(shown["webhook_status"], "dead");
    let error = shown["webhook_last_error"].as_str().unwrap().to_owned();
    assert!(error.starts_with("refused: "), "{error}");
    let body =
        serde_json::json!({"url": "http://127.0.0.1:8099/", "webhook_url": "http://10.0.0.1/hook"});
    let answer = delivering.service.client().post("/v1/crawls", &body).await;
    let message = answer.error(422, "INVALID_INPUT");
    assert!(message.starts_with("webhook_url: "), "{message}");
}

#[tokio::test]
async fn a_name_is_checked_by_its_address_at_delivery() {
    let mut receiver = Receiver::start(&[]).await;
    let names = Names::of(&[
        ("here.example", &["127.0.0.1"]),
        ("rebound.example", &["10.0.0.1"]),
    ]);
    let delivering = Delivering::with_resolver(names.clone(), |_| {}).await;
    let port = receiver.address.port();
    let hook = |name: &str| format!("http://{name}:{port}/hook");
    let run = delivering.end_run(&hook("here.example"), true).await;
    receiver.next().await;
    assert_eq!(
        delivering.tried(run, 1).await["webhook_status"],
        "delivered"
    );
    // The same port, at a name that resolves to a private address.
    let run = delivering.end_run(&hook("rebound.example"), true).await;
    let shown = delivering.tried(run, 1).await;
    assert_eq!(shown["webhook_status"], "dead");
    let error = shown["webhook_last_error"].as_str().unwrap();
    assert!(
        error.starts_with("refused: ") && error.contains("10.0.0.1"),
        "{error}"
    );
    // Names are not resolved when a webhook is saved: their addresses may change until delivery.
    let asked = names.asked("rebound.example");
    let body = serde_json::json!({"url": "http://127.0.0.1:8099/",
                                  "webhook_url": hook("rebound.example")});
    let saved = delivering.service.client().post("/v1/crawls", &body).await;
    assert_eq!(saved.status, 202, "{}", saved.text());
    assert_eq!(names.asked("rebound.example"), asked);
}

#[tokio::test]
async fn a_slow_receiver_does_not_delay_others() {
    let mut slow = Receiver::start(&vec![Reply::Hang; 40]).await;
    let mut quick = Receiver::start(&[]).await;
    let delivering = Delivering::start(|config| {
        config.webhooks.concurrent = 4;
        config.webhooks.concurrent_per_target = 2;
    })
    .await;
    for _ in 0..20 {
        delivering.end_run(&slow.url(), true).await;
    }
    slow.next().await;
    slow.next().await;
    for _ in 0..10 {
        let run = delivering.end_run(&quick.url(), true).await;
        assert_eq!(quick.next().await.json()["id"], run.get());
    }
    assert!(slow.is_quiet(), "more concurrent deliveries than its share");
}

#[tokio::test]
async fn each_event_has_its_own_delivery() {
    let mut receiver = Receiver::start(&[]).await;
    let delivering = Delivering::start(|_| {}).await;
    let told = RunWebhook::Deliver {
        deliveries: [Event::Done, Event::DiffDetected]
            .map(|event| NewDelivery {
                message_id: format!("msg_{event}"),
                event,
                url: receiver.url(),
                target: "one".to_owned(),
                payload: None,
            })
            .to_vec(),
        diff: None,
        urls: None,
    };
    let run = delivering.end(&receiver.url(), true, Some(&told)).await;
    let mut events =
        [receiver.next().await, receiver.next().await].map(|got| got.json()["event"].clone());
    events.sort_by_key(ToString::to_string);
    assert_eq!(events, ["crawl.diff_detected", "crawl.done"]);
    let shown = delivering.tried(run, 2).await;
    assert_eq!(shown["webhook_status"], "delivered");
}

#[tokio::test]
async fn a_delivery_can_be_repeated_on_request() {
    let mut receiver = Receiver::start(&[Reply::Status(410)]).await;
    let delivering = Delivering::start(|_| {}).await;
    let run = delivering.end_run(&receiver.url(), true).await;
    let first = receiver.next().await;
    delivering.tried(run, 1).await;
    let id = delivering.deliveries(run).await[0]["id"].clone();
    let path = format!("/v1/crawls/{run}/deliveries/{id}/redeliver");

    let stranger = delivering.service.other_project("stranger").await;
    stranger
        .send("POST", &path, &[], b"")
        .await
        .error(404, "NOT_FOUND");
    stranger
        .get(&format!("/v1/crawls/{run}/deliveries"))
        .await
        .error(404, "NOT_FOUND");
    let client = delivering.service.client();
    for wrong in [
        format!("/v1/crawls/{run}/deliveries/999/redeliver"),
        format!("/v1/crawls/999/deliveries/{id}/redeliver"),
        format!("/v1/crawls/{run}/deliveries/x/redeliver"),
    ] {
        client
            .send("POST", &wrong, &[], b"")
            .await
            .error(404, "NOT_FOUND");
    }

    assert_eq!(client.send("POST", &path, &[], b"").await.status, 202);
    let again = receiver.next().await;
    assert_eq!(again.header("webhook-id"), first.header("webhook-id"));
    assert_eq!(
        delivering.tried(run, 2).await["webhook_status"],
        "delivered"
    );
    let attempts = &delivering.deliveries(run).await[0]["attempts"];
    assert_eq!(attempts.as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn deliveries_of_a_dead_worker_are_taken_over() {
    let mut receiver = Receiver::start(&[Reply::Hang]).await;
    let delivering = Delivering::start(|_| {}).await;
    let run = delivering.end_run(&receiver.url(), true).await;
    let first = receiver.next().await;
    delivering.worker.abort();
    // The next process on this database does not wait for the end of the previous lease.
    let next = tokio::spawn(webhooks::work(delivering.service.app.crawls.clone()));
    let again = receiver.next().await;
    assert_eq!(again.header("webhook-id"), first.header("webhook-id"));
    assert_eq!(
        delivering.tried(run, 1).await["webhook_status"],
        "delivered"
    );
    next.abort();
}

#[tokio::test]
async fn workers_share_a_database_without_duplicate_deliveries() {
    let mut receiver = Receiver::start(&[]).await;
    let url = database::postgres();
    let delivering = Delivering::start(|config| {
        config.database_url = Some(SafeUrl::new(url));
    })
    .await;
    let other = delivering.service.node().await;
    let second = tokio::spawn(webhooks::work(other.app.crawls.clone()));
    let mut runs = Vec::new();
    for _ in 0..30 {
        runs.push(delivering.end_run(&receiver.url(), true).await);
    }
    let mut ids = std::collections::HashSet::new();
    for _ in 0..30 {
        assert!(ids.insert(receiver.next().await.header("webhook-id").to_owned()));
    }
    for run in runs {
        assert_eq!(delivering.tried(run, 1).await["webhook_attempts"], 1);
    }
    // None is sent again: the next delivery is the next run's.
    let last = delivering.end_run(&receiver.url(), true).await;
    assert_eq!(receiver.next().await.json()["id"], last.get());
    second.abort();
}

#[tokio::test]
async fn an_event_of_a_newer_version_is_listed_by_its_name() {
    let mut receiver = Receiver::start(&[]).await;
    let url = database::postgres();
    let delivering = Delivering::start(|config| {
        config.database_url = Some(SafeUrl::new(url.clone()));
    })
    .await;
    let run = delivering.end_run(&receiver.url(), true).await;
    let sent = receiver.next().await;
    delivering.tried(run, 1).await;
    Postgres::shared()
        .execute(&url, "UPDATE deliveries SET event = 'crawl.newer'")
        .expect("an event");
    let listed = delivering.deliveries(run).await;
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0]["event"], "crawl.newer");
    assert_eq!(listed[0]["webhook_id"], sent.header("webhook-id"));
}
