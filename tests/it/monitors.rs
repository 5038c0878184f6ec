//! Monitors: created, changed, run on schedule.

use chrono::{DateTime, TimeDelta, Utc};
use orbweaver_core::ids::{MonitorId, ProjectId, RunId};
use orbweaver_crawl::{scheduler, set_back};
use orbweaver_server::config::Role;
use orbweaver_store::crawl::{Ending, RunFilter};
use orbweaver_tests::postgres::Postgres;
use serde_json::{Value, json};

use crate::support::wait::until;
use crate::support::{Service, database};

/// A service that starts no monitor by itself, and crawls nothing.
async fn quiet() -> Service {
    Service::with(|config| config.roles = vec![Role::Api]).await
}

async fn project(service: &Service) -> ProjectId {
    let project = service.app.store.project_named("default").await;
    project.unwrap().unwrap().id
}

fn crawl(cron: &str) -> Value {
    json!({"url": "http://127.0.0.1:8099/start", "cron": cron})
}

async fn make(service: &Service, cron: &str) -> MonitorId {
    let answer = service.client().post("/v1/crawls", &crawl(cron)).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    MonitorId(answer.json()["monitor_id"].as_i64().unwrap())
}

async fn shown(service: &Service, id: MonitorId) -> Value {
    service.client().get(&format!("/v1/crons/{id}")).await.ok()
}

async fn runs(service: &Service, id: MonitorId) -> Vec<(RunId, DateTime<Utc>)> {
    let filter = RunFilter {
        state: None,
        monitor: Some(id),
        limit: 10_000,
        offset: 0,
    };
    let runs = service
        .app
        .store
        .runs(project(service).await, &filter)
        .await
        .unwrap();
    runs.into_iter()
        .map(|run| (run.id, run.enqueued_at))
        .collect()
}

/// Ends the oldest waiting run, as a worker would.
async fn work(service: &Service) {
    let (store, now) = (&service.app.store, service.app.clock.now());
    let leased = store
        .lease_run("test", now, now + TimeDelta::hours(1))
        .await;
    let lease = leased.unwrap().expect("a run").lease;
    let ending = Ending {
        done: true,
        error_message: None,
    };
    assert!(store.end_run(lease, &ending, None, now).await.unwrap());
}

async fn tick(service: &Service) {
    scheduler::tick(&service.app.crawls).await.unwrap();
}

#[tokio::test]
async fn a_monitor_is_created_shown_changed_and_deleted() {
    let service = quiet().await;
    let client = service.client();
    let answer = client
        .post("/v1/crawls", &crawl(" 30  6 * * mon-FRI "))
        .await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    let made = answer.json();
    // The clock starts on Sunday, 2026-03-01, at noon.
    assert_eq!(made["schedule"], "30 6 * * mon-FRI");
    assert_eq!(made["next_fires_at"], "2026-03-02T06:30:00Z");
    assert_eq!(made["url"], "http://127.0.0.1:8099/start");
    assert!(made["info"].as_str().is_some_and(|info| !info.is_empty()));
    let id = made["monitor_id"].as_i64().unwrap();
    let path = format!("/v1/crons/{id}");
    assert_eq!(answer.header("location"), Some(path.as_str()));

    let item = client.get("/v1/crons").await.ok()["items"][0].clone();
    assert_eq!(item, client.get(&path).await.ok());
    let expected = json!({
        "id": id, "schedule": "30 6 * * mon-FRI", "url": "http://127.0.0.1:8099/start",
        "enabled": true, "last_fired_at": null, "next_fires_at": "2026-03-02T06:30:00Z",
        "last_run_id": null, "webhook_url": null,
    });
    assert_eq!(item, expected);

    let patch = async |body: Value| {
        client
            .send("PATCH", &path, &[], body.to_string().as_bytes())
            .await
    };
    let hook = "http://127.0.0.1:8098/hook";
    let told = patch(json!({"webhook_url": hook})).await.ok();
    assert_eq!(told["webhook_url"], hook);
    let kept = patch(json!({"schedule": "30 6 * * mon-FRI"})).await.ok();
    assert_eq!(kept["webhook_url"], hook);
    let quiet = patch(json!({"webhook_url": null})).await.ok();
    assert_eq!(quiet, expected);

    let paused = patch(json!({"enabled": false})).await.ok();
    assert_eq!(
        (&paused["enabled"], &paused["next_fires_at"]),
        (&json!(false), &Value::Null)
    );
    assert_eq!(client.get("/v1/crons").await.ok()["items"][0], paused);
    let still = patch(json!({"schedule": "0 0 * * *"})).await.ok();
    assert_eq!(
        (&still["enabled"], &still["schedule"]),
        (&json!(false), &json!("0 0 * * *"))
    );
    let resumed = patch(json!({"enabled": true})).await.ok();
    assert_eq!(resumed["next_fires_at"], "2026-03-02T00:00:00Z");
    let told =
        patch(json!({"webhook_url": "http://127.0.0.1:8099/hook", "schedule": "*/5 * * * *"}));
    let told = told.await.ok();
    assert_eq!(told["webhook_url"], "http://127.0.0.1:8099/hook");
    assert_eq!(told["next_fires_at"], "2026-03-01T12:05:00Z");

    assert_eq!(client.send("DELETE", &path, &[], b"").await.status, 204);
    client
        .send("DELETE", &path, &[], b"")
        .await
        .error(404, "NOT_FOUND");
    client.get(&path).await.error(404, "NOT_FOUND");
    patch(json!({"enabled": true}))
        .await
        .error(404, "NOT_FOUND");
    assert_eq!(client.get("/v1/crons").await.ok()["items"], json!([]));
}

#[tokio::test]
async fn invalid_monitors_are_refused() {
    let service = quiet().await;
    let client = service.client();
    for (cron, rule) in [
        ("", "five fields"),
        ("* * * *", "five fields"),
        ("@daily", "five fields"),
        ("60 * * * *", "minute"),
        ("0 0 30 2 *", "never comes"),
    ] {
        let message = client
            .post("/v1/crawls", &crawl(cron))
            .await
            .error(422, "INVALID_INPUT");
        assert!(
            message.starts_with("cron: ") && message.contains(rule),
            "{message}"
        );
    }
    let aggressive =
        json!({"url": "http://127.0.0.1:8099/", "cron": "0 0 * * *", "aggressive": true});
    client
        .post("/v1/crawls", &aggressive)
        .await
        .error(422, "INVALID_INPUT");
    let id = make(&service, "0 0 * * *").await;
    let path = format!("/v1/crons/{id}");
    for (body, field) in [
        (json!({}), "body: "),
        (json!({"url": "http://127.0.0.1:8099/"}), "body: "),
        (json!({"schedule": "1 2 3"}), "schedule: "),
        (json!({"schedule": 5}), "schedule: "),
        (json!({"enabled": "no"}), "enabled: "),
        (json!({"webhook_url": "ftp://127.0.0.1/"}), "webhook_url: "),
        (json!({"webhook_url": "http://10.0.0.1/"}), "webhook_url: "),
    ] {
        let answer = client
            .send("PATCH", &path, &[], body.to_string().as_bytes())
            .await;
        let message = answer.error(422, "INVALID_INPUT");
        assert!(message.starts_with(field), "{message}");
    }
    let answer = client.send("PATCH", &path, &[], b"{").await;
    answer.error(400, "INVALID_INPUT");
    assert_eq!(shown(&service, id).await["schedule"], "0 0 * * *");
}

#[tokio::test]
async fn monitors_belong_to_one_project_and_are_capped() {
    let service = quiet().await;
    let id = make(&service, "0 0 * * *").await;
    let other = service.other_project("other").await;
    let path = format!("/v1/crons/{id}");
    other.get(&path).await.error(404, "NOT_FOUND");
    other
        .send("DELETE", &path, &[], b"")
        .await
        .error(404, "NOT_FOUND");
    let patch = other
        .send("PATCH", &path, &[], br#"{"enabled":false}"#)
        .await;
    patch.error(404, "NOT_FOUND");
    assert_eq!(other.get("/v1/crons").await.ok()["items"], json!([]));
    service
        .client()
        .get("/v1/crons/x")
        .await
        .error(404, "NOT_FOUND");

    // Tier free allows three.
    let mut last = Value::Null;
    for _ in 0..3 {
        let answer = other.post("/v1/crawls", &crawl("0 0 * * *")).await;
        assert_eq!(answer.status, 201);
        last = answer.json()["monitor_id"].clone();
    }
    let answer = other.post("/v1/crawls", &crawl("0 0 * * *")).await;
    answer.error(429, "RATE_LIMITED");
    assert!(answer.header("retry-after").is_some());
    let gone = other
        .send("DELETE", &format!("/v1/crons/{last}"), &[], b"")
        .await;
    assert_eq!(gone.status, 204);
    assert_eq!(
        other.post("/v1/crawls", &crawl("0 0 * * *")).await.status,
        201
    );
}

#[tokio::test]
async fn an_idempotency_key_returns_its_monitor() {
    let service = quiet().await;
    let client = service.client();
    let key = [("idempotency-key", "11111111-2222-3333-4444-555555555555")];
    let first = client
        .post_with("/v1/crawls", &key, &crawl("0 0 * * *"))
        .await;
    let again = client
        .post_with("/v1/crawls", &key, &crawl("0 0 * * *"))
        .await;
    assert_eq!((first.status, again.status), (201, 201));
    assert_eq!(first.json(), again.json());
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    assert_eq!(
        client.get("/v1/crons").await.ok()["items"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[tokio::test]
async fn a_year_of_runs_follows_the_schedule() {
    let service = quiet().await;
    let daily = make(&service, "15 3 * * *").await;
    let monthly = make(&service, "0 0 1 * *").await;
    let hours = TimeDelta::hours(12);
    let end = service.app.clock.now() + TimeDelta::days(365);
    while service.app.clock.now() < end {
        service.clock.advance(hours);
        tick(&service).await;
        // A second check finds nothing due.
        assert_eq!(scheduler::tick(&service.app.crawls).await.unwrap(), 0);
        while service
            .app
            .store
            .active_runs(project(&service).await)
            .await
            .unwrap()
            > 0
        {
            work(&service).await;
        }
    }
    assert_eq!(runs(&service, daily).await.len(), 365);
    assert_eq!(runs(&service, monthly).await.len(), 12);
    let shown = shown(&service, daily).await;
    assert_eq!(shown["last_fired_at"], "2027-03-01T12:00:00Z");
    assert_eq!(shown["next_fires_at"], "2027-03-02T03:15:00Z");
    assert_eq!(shown["last_run_id"], runs(&service, daily).await[0].0.get());
}

#[tokio::test]
async fn missed_runs_are_made_up_for_once() {
    let service = quiet().await;
    let id = make(&service, "*/5 * * * *").await;
    service.clock.advance(TimeDelta::days(30));
    tick(&service).await;
    assert_eq!(runs(&service, id).await.len(), 1);
    let next = shown(&service, id).await["next_fires_at"].clone();
    assert_eq!(next, "2026-03-31T12:05:00Z");
    work(&service).await;
    tick(&service).await;
    assert_eq!(runs(&service, id).await.len(), 1);
}

#[tokio::test]
async fn a_due_run_waits_for_a_free_slot() {
    let service = Service::with(|config| {
        config.roles = vec![Role::Api];
        let tier = config.tiers.get_mut("self_hosted").unwrap();
        tier.concurrent_runs = orbweaver_accounts::tiers::Cap::at(1);
    })
    .await;
    let first = make(&service, "5 12 * * *").await;
    let second = make(&service, "6 12 * * *").await;
    let often = make(&service, "*/10 * * * *").await;
    service.clock.advance(TimeDelta::minutes(6));
    tick(&service).await;
    // One slot: the second monitor waits, and shows since when.
    assert_eq!(runs(&service, first).await.len(), 1);
    assert_eq!(runs(&service, second).await.len(), 0);
    assert_eq!(
        shown(&service, second).await["next_fires_at"],
        "2026-03-01T12:06:00Z"
    );
    work(&service).await;
    tick(&service).await;
    assert_eq!(runs(&service, second).await.len(), 1);
    work(&service).await;

    // If a run has not ended when its monitor is due again, no second run is started.
    service.clock.advance(TimeDelta::minutes(4));
    tick(&service).await;
    assert_eq!(runs(&service, often).await.len(), 1);
    service.clock.advance(TimeDelta::minutes(35));
    tick(&service).await;
    assert_eq!(runs(&service, often).await.len(), 1);
    work(&service).await;
    tick(&service).await;
    assert_eq!(runs(&service, often).await.len(), 2);
    assert_eq!(
        shown(&service, often).await["next_fires_at"],
        "2026-03-01T12:50:00Z"
    );
}

#[tokio::test]
async fn queued_crawls_and_fires_take_turns() {
    let service = Service::with(|config| {
        config.roles = vec![Role::Api];
        let tier = config.tiers.get_mut("self_hosted").unwrap();
        tier.concurrent_runs = orbweaver_accounts::tiers::Cap::at(1);
    })
    .await;
    let client = service.client();
    let queue = async || {
        let body = json!({"url": "http://127.0.0.1:8099/", "queue": true});
        let answer = client.post("/v1/crawls", &body).await;
        assert_eq!(answer.status, 202, "{}", answer.text());
        RunId(answer.json()["id"].as_i64().unwrap())
    };
    let began = async |run: RunId| {
        let store = &service.app.store;
        let run = store.run(project(&service).await, run).await;
        run.unwrap().unwrap().started_at.is_some()
    };
    // It has the slot, and the second one waits since noon.
    let first = queue().await;
    let second = queue().await;
    let monitor = make(&service, "5 12 * * *").await;
    service.clock.advance(TimeDelta::minutes(6));
    let third = queue().await;
    tick(&service).await;
    work(&service).await;
    assert!(began(first).await);
    tick(&service).await;
    assert_eq!(runs(&service, monitor).await.len(), 0);
    work(&service).await;
    assert!(began(second).await && !began(third).await);
    // The fire is due since five past, the third one waits since six past.
    tick(&service).await;
    assert_eq!(runs(&service, monitor).await.len(), 1);
    work(&service).await;
    assert!(!began(third).await);
    tick(&service).await;
    work(&service).await;
    assert!(began(third).await);
}

#[tokio::test]
async fn a_monitor_that_cannot_fire_keeps_no_other_from_firing() {
    let url = database::postgres();
    let refuse = "CREATE FUNCTION refuse() RETURNS TRIGGER LANGUAGE plpgsql AS
            $$BEGIN RAISE EXCEPTION 'refused'; END$$;
        CREATE TRIGGER refuse BEFORE INSERT ON runs FOR EACH ROW
            WHEN (NEW.url LIKE '%/refused') EXECUTE FUNCTION refuse()";
    let refused = Postgres::shared().execute(&url, refuse);
    refused.expect("a trigger");
    let service = Service::with(|config| {
        config.roles = vec![Role::Api];
        config.database_url = Some(orbweaver_accounts::secret::SafeUrl::new(url));
    })
    .await;
    let refused = json!({"url": "http://127.0.0.1:8099/refused", "cron": "5 12 * * *"});
    let answer = service.client().post("/v1/crawls", &refused).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    let refused = MonitorId(answer.json()["monitor_id"].as_i64().unwrap());
    // It is the first one that is due, in every look.
    let other = make(&service, "6 12 * * *").await;
    service.clock.advance(TimeDelta::minutes(6));
    tick(&service).await;
    assert_eq!(runs(&service, other).await.len(), 1);
    assert_eq!(runs(&service, refused).await.len(), 0);
    let shown = shown(&service, refused).await;
    assert_eq!(
        (&shown["next_fires_at"], &shown["last_run_id"]),
        (&json!("2026-03-02T12:05:00Z"), &Value::Null)
    );
}

#[tokio::test]
async fn two_nodes_start_a_due_run_once() {
    let service = {
        let url = database::postgres();
        Service::with(|config| {
            config.roles = vec![Role::Api];
            config.database_url = Some(orbweaver_accounts::secret::SafeUrl::new(url));
            let tier = config.tiers.get_mut("self_hosted").unwrap();
            tier.concurrent_runs = orbweaver_accounts::tiers::Cap::NONE;
        })
        .await
    };
    let other = service.node().await;
    let mut ids = Vec::new();
    for _ in 0..20 {
        ids.push(make(&service, "5 12 * * *").await);
    }
    service.clock.advance(TimeDelta::minutes(6));
    let (one, two) = tokio::join!(
        scheduler::tick(&service.app.crawls),
        scheduler::tick(&other.app.crawls)
    );
    one.unwrap();
    two.unwrap();
    tick(&service).await;
    for id in ids {
        assert_eq!(runs(&service, id).await.len(), 1);
    }
}

#[tokio::test]
async fn a_monitor_does_not_wait_for_a_clock_that_was_ahead() {
    let service = Service::with(|config| config.roles = vec![Role::Api, Role::Scheduler]).await;
    service.clock.advance(TimeDelta::hours(5));
    let id = make(&service, "30 * * * *").await;
    let made = shown(&service, id).await;
    assert_eq!(made["next_fires_at"], "2026-03-01T17:30:00Z");
    let ahead = service.app.clock.now();
    let seen = async || service.app.heartbeat.last() == Some(ahead);
    until("the process has seen that time", seen).await;
    service.clock.advance(-TimeDelta::hours(5));
    let fires = async || shown(&service, id).await["next_fires_at"] == "2026-03-01T12:30:00Z";
    until("it fires at the first time after now", fires).await;
    // Not twice for one time, where the clock goes back by less than a minute.
    service.clock.advance(TimeDelta::minutes(30));
    let fired = async || shown(&service, id).await["next_fires_at"] == "2026-03-01T13:30:00Z";
    until("it has fired", fired).await;
    service.clock.advance(-TimeDelta::seconds(30));
    let lease = service.app.config().crawl.lease_ms.as_duration();
    let mended = set_back::mend(&service.app.crawls, lease).await.unwrap();
    assert_eq!(mended, 0);
}
