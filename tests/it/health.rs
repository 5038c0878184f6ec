//! Liveness, readiness and metrics.

use std::time::{Duration, Instant};

use chrono::TimeDelta;
use orbweaver_accounts::secret::SafeUrl;
use orbweaver_tests::postgres::Postgres;

use crate::support::{Client, Service, runs};

#[tokio::test]
async fn health_is_public() {
    for service in [Service::start().await, Service::on_postgres().await] {
        let stranger = service.stranger();
        for (path, text) in [("/v1/health", "ok"), ("/v1/ready", "ready")] {
            let answer = stranger.get(path).await;
            assert_eq!((answer.status, answer.text().as_str()), (200, text));
            assert_eq!(
                answer.header("content-type"),
                Some("text/plain; charset=utf-8")
            );
            assert!(answer.header("x-request-id").is_some());
        }
    }
}

#[tokio::test]
async fn an_unreachable_database_is_named() {
    let service = Service::start().await;
    service.app.store.close().await;
    let answer = service.stranger().get("/v1/ready").await;
    assert_eq!(answer.status, 503);
    let body = answer.json();
    assert_eq!(body["status"], "unhealthy");
    assert_eq!(body["checks"]["database"]["ok"], false);
    assert!(body["checks"]["database"]["error"].is_string());
    assert_eq!(body["checks"]["worker"]["ok"], true);
    assert!(body["checks"]["worker"]["last_heartbeat"].is_string());
    assert_eq!(service.stranger().get("/v1/health").await.status, 200);
}

#[tokio::test]
async fn a_database_that_is_down_is_answered_at_once_with_the_time_to_come_again() {
    let server = Postgres::start(&[], drop).unwrap();
    let url = SafeUrl::new(server.database().unwrap());
    let service = Service::with(|config| config.database_url = Some(url)).await;
    let client = service.client();
    client.get("/v1/usage").await.ok();
    let listens = async |on| {
        while service.app.store.listens() != on {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    listens(true).await;
    server.stop().unwrap();
    listens(false).await;
    // For so long, what was read of the keys holds.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let began = Instant::now();
    for _ in 0..3 {
        let answer = client.get("/v1/usage").await;
        let message = answer.error(503, "UNAVAILABLE");
        assert_eq!(answer.header("retry-after"), Some("5"));
        assert_eq!(answer.json()["error"]["retry_after_seconds"], 5);
        assert!(message.starts_with("the service's database"), "{message}");
    }
    assert_eq!(service.stranger().get("/v1/ready").await.status, 503);
    assert!(
        began.elapsed() < Duration::from_secs(4),
        "a pool gives up after 5"
    );
}

#[tokio::test]
async fn a_database_that_only_reads_is_not_ready() {
    let server = Postgres::start(&[], drop).unwrap();
    let url = server.database().unwrap();
    let service = Service::with(|config| {
        config.database_url = Some(SafeUrl::new(url.clone()));
    })
    .await;
    assert_eq!(service.stranger().get("/v1/ready").await.status, 200);
    // Each session has it from its next transaction on.
    server
        .execute(&url, "ALTER SYSTEM SET default_transaction_read_only = on")
        .unwrap();
    server.execute(&url, "SELECT pg_reload_conf()").unwrap();
    let answer = loop {
        let answer = service.stranger().get("/v1/ready").await;
        if answer.status != 200 {
            break answer;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    let database = &answer.json()["checks"]["database"];
    let error = database["error"].as_str().unwrap();
    assert!(error.contains("takes no writes"), "{error}");
}

#[tokio::test]
async fn a_worker_without_heartbeat_is_named() {
    let service = Service::start().await;
    service
        .app
        .heartbeat
        .beat(service.app.clock.now() - TimeDelta::minutes(1));
    assert!(
        service
            .app
            .heartbeat
            .problem(service.app.clock.now())
            .is_some()
    );
}

#[tokio::test]
async fn a_process_without_workers_needs_one_elsewhere() {
    for postgres in [false, true] {
        let service = runs::without_workers(postgres, |_| {}).await;
        let (stranger, app) = (service.stranger(), &service.app);
        let ready = async |seconds| {
            service.clock.advance(TimeDelta::seconds(seconds));
            app.heartbeat.beat(app.clock.now());
            stranger.get("/v1/ready").await
        };
        assert_eq!(ready(0).await.status, 200, "a worker has time to begin");
        let alone = ready(16).await;
        assert_eq!(alone.status, 503);
        let checks = &alone.json()["checks"];
        assert_eq!(checks["database"]["ok"], true);
        assert_eq!(checks["worker"]["ok"], false);
        assert!(checks["worker"]["error"].is_string(), "{checks}");
        let lock = app.store.try_lock_worker().await.unwrap();
        app.store.show_worker(app.clock.now()).await.unwrap();
        assert_eq!(ready(15).await.status, 200);
        drop(lock);
        let alone = ready(1).await;
        assert_eq!(alone.status, 503);
        let seen = &alone.json()["checks"]["worker"]["last_heartbeat"];
        assert_eq!(seen.is_string(), postgres, "{seen}");
    }
}

#[tokio::test]
async fn metrics_are_off_on_the_main_port_by_default() {
    let service = Service::start().await;
    service
        .client()
        .get("/metrics")
        .await
        .error(404, "NOT_FOUND");
}

#[tokio::test]
async fn metrics_have_a_port_of_their_own() {
    let service = Service::with(|config| {
        config.metrics.listen = Some("127.0.0.1:0".parse().expect("an address"));
        config.metrics.public = true;
    })
    .await;
    service.stranger().get("/v1/health").await;
    service.stranger().get("/a/path/that/nobody/serves").await;
    let own = Client::new(service.metrics.expect("an address"), None);
    for answer in [
        own.get("/metrics").await,
        service.stranger().get("/metrics").await,
    ] {
        assert_eq!(answer.status, 200);
        let text = answer.text();
        let requests = "orbweaver_http_requests_total{method=\"GET\",route=\"/v1/health\"";
        assert!(text.contains(requests), "{text}");
        assert!(
            !text.contains("nobody/serves"),
            "requests without a key add no labels: {text}"
        );
    }
    own.get("/v1/health").await.error(404, "NOT_FOUND");
}
