//! `Idempotency-Key`.

use std::time::Duration;

use chrono::TimeDelta;
use orbweaver_accounts::secret::SafeUrl;
use orbweaver_origin::{Origin, Reply};
use orbweaver_postgres::Postgres;
use serde_json::{Value, json};

use crate::support::http::Answer;
use crate::support::{Client, Service, Site, database};

const KEY: &str = "b7c1c9a0-5d3e-4f4e-9f54-2f7c7f0f3c11";

async fn replays(service: Service) {
    let site = Site::start().await;
    let client = service.client();
    let header = [("idempotency-key", KEY)];
    let body = json!({"url": site.url("/article")});
    let first = client.post_with("/v1/scan", &header, &body).await;
    assert_eq!(first.header("idempotent-replayed"), None);
    let second = client.post_with("/v1/scan", &header, &body).await;
    assert_eq!(second.header("idempotent-replayed"), Some("true"));
    assert_eq!(second.ok(), first.ok());
    assert_ne!(second.header("x-request-id"), first.header("x-request-id"));
    assert_eq!(site.hits("/article"), 1);
    assert_eq!(service.billed().await, (1, 0));

    // With another body it is refused. With another path or project it is another key.
    let other = json!({"url": site.url("/echo")});
    client
        .post_with("/v1/scan", &header, &other)
        .await
        .error(409, "CONFLICT");
    let bulk = json!({"urls": [site.url("/article")]});
    let answer = client.post_with("/v1/scan/bulk", &header, &bulk).await;
    assert_eq!(
        (answer.status, answer.header("idempotent-replayed")),
        (200, None)
    );
    let stranger = service.other_project("shop").await;
    let answer = stranger.post_with("/v1/scan", &header, &body).await;
    assert_eq!(
        (answer.status, answer.header("idempotent-replayed")),
        (200, None)
    );

    // After a day the key can be used again.
    service.clock.advance(TimeDelta::hours(24));
    let answer = client.post_with("/v1/scan", &header, &other).await;
    assert_eq!(
        (answer.status, answer.header("idempotent-replayed")),
        (200, None)
    );
    assert_eq!(service.billed().await, (3, 0));
}

#[tokio::test]
async fn the_same_request_is_answered_once_on_sqlite() {
    replays(Service::start().await).await;
}

#[tokio::test]
async fn the_same_request_is_answered_once_on_postgres() {
    replays(Service::on_postgres().await).await;
}

#[tokio::test]
async fn an_unbilled_failure_can_be_retried() {
    let service = Service::start().await;
    let client = service.client();
    let closed = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .unwrap()
        .local_addr()
        .unwrap();
    let body = json!({"url": format!("http://{closed}/")});
    for _ in 0..2 {
        let answer = client
            .post_with("/v1/scan", &[("idempotency-key", KEY)], &body)
            .await;
        answer.error(502, "FETCH_FAILED");
        assert_eq!(answer.header("idempotent-replayed"), None);
    }
}

#[tokio::test]
async fn a_large_answer_is_sent_again_and_one_too_large_to_keep_is_refused() {
    let service = Service::start().await;
    let origin = Origin::start().await.unwrap();
    let client = service.client();
    for (path, key, times) in [
        ("/large", KEY, 100_000),
        (
            "/too-large",
            "0b6c2a1e-8f3d-4f0e-a7a5-5a2f6c1d9e10",
            700_000,
        ),
    ] {
        let page = format!("<p>{}", "many words ".repeat(times));
        origin.set(path, Reply::html(page));
        let body = json!({"url": origin.url(path), "max_age_seconds": 0});
        let header = [("idempotency-key", key)];
        let first = client.post_with("/v1/scan", &header, &body).await;
        assert_eq!(first.status, 200);
        let again = client.post_with("/v1/scan", &header, &body).await;
        if path == "/large" {
            assert!(first.body.len() > 1 << 20, "{}", first.body.len());
            assert_eq!(again.header("idempotent-replayed"), Some("true"));
            assert!(again.body == first.body);
        } else {
            let said = again.error(409, "CONFLICT");
            assert!(said.contains("16 MiB"), "{said}");
        }
        assert_eq!(origin.count(path), 1);
    }
    assert_eq!(service.billed().await, (2, 0));
}

#[tokio::test]
async fn a_long_path_takes_a_key() {
    let service = Service::on_postgres().await;
    let path = format!("/v1/cloud/fetch/example.com/{}", "aB3".repeat(1_700));
    for _ in 0..2 {
        let answer = service
            .client()
            .post_with(&path, &[("idempotency-key", KEY)], &json!({}))
            .await;
        assert!(matches!(answer.status, 404 | 422), "{}", answer.text());
        assert!(answer.text().len() < 1_000, "{}", answer.text());
    }
}

#[tokio::test]
async fn two_concurrent_requests_run_once() {
    let (service, site) = (Service::start().await, Site::start().await);
    let client = service.client();
    let body = json!({"url": site.url("/slow/300")});
    let header = [("idempotency-key", KEY)];
    let (a, b) = tokio::join!(
        client.post_with("/v1/scan", &header, &body),
        client.post_with("/v1/scan", &header, &body)
    );
    let mut statuses = [a.status, b.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409]);
    assert_eq!(site.hits("/slow/300"), 1);
    assert_eq!(service.billed().await, (1, 0));
}

#[tokio::test]
async fn an_idempotency_key_must_be_a_uuid() {
    let service = Service::start().await;
    for bad in [
        "",
        "1",
        "not-a-uuid",
        "b7c1c9a0-5d3e-4f4e-9f54-2f7c7f0f3c1g",
    ] {
        let answer = service
            .client()
            .post_with(
                "/v1/scan",
                &[("idempotency-key", bad)],
                &json!({"url": "http://a.example/"}),
            )
            .await;
        let message = answer.error(422, "INVALID_INPUT");
        assert!(message.starts_with("Idempotency-Key: "), "{message}");
    }
}

/// Repeats a request until the first one with its key is no longer said to be in progress, for at
/// most a minute.
async fn decided(client: &Client, body: &Value) -> Answer {
    for _ in 0..1_200 {
        let answer = client
            .post_with("/v1/scan", &[("idempotency-key", KEY)], body)
            .await;
        if answer.status != 409 {
            return answer;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the first request is still said to be in progress");
}

#[tokio::test]
async fn a_key_is_free_soon_after_a_database_that_refused_writes() {
    for works in [true, false] {
        let url = database::postgres();
        let service =
            Service::with(|config| config.database_url = Some(SafeUrl::new(url.clone()))).await;
        let (site, client) = (Site::start().await, service.client());
        Postgres::shared()
            .execute(
                &url,
                "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
                     $$ BEGIN RAISE EXCEPTION 'no space left on device'; END $$;
                 CREATE TRIGGER refuse BEFORE UPDATE OR DELETE ON idempotency
                     FOR EACH ROW EXECUTE FUNCTION refuse()",
            )
            .expect("a trigger");
        let path = if works { "/article" } else { "/hop/20" };
        let body = json!({"url": site.url(path)});
        let header = [("idempotency-key", KEY)];
        let first = client.post_with("/v1/scan", &header, &body).await;
        assert_eq!(
            first.status,
            if works { 200 } else { 502 },
            "its own answer"
        );
        client
            .post_with("/v1/scan", &header, &body)
            .await
            .error(409, "CONFLICT");
        Postgres::shared()
            .execute(&url, "DROP TRIGGER refuse ON idempotency")
            .expect("no trigger");
        let second = decided(&client, &body).await;
        assert_eq!(second.status, first.status);
        let replayed = works.then_some("true");
        assert_eq!(second.header("idempotent-replayed"), replayed);
        assert_eq!(service.billed().await, (u64::from(works), 0));
    }
}

#[tokio::test]
async fn a_retry_works_again_after_the_process_of_the_first_request_died() {
    let url = database::postgres();
    let service =
        Service::with(|config| config.database_url = Some(SafeUrl::new(url.clone()))).await;
    let (site, client) = (Site::start().await, service.client());
    let body = json!({"url": site.url("/article")});
    let header = [("idempotency-key", KEY)];
    client.post_with("/v1/scan", &header, &body).await.ok();
    // As if it had died between the bill and the answer.
    Postgres::shared()
        .execute(
            &url,
            "UPDATE idempotency SET status = NULL, headers = NULL, body = NULL",
        )
        .expect("an answer taken back");
    client
        .post_with("/v1/scan", &header, &body)
        .await
        .error(409, "CONFLICT");
    service.clock.advance(TimeDelta::seconds(30));
    let answer = client.post_with("/v1/scan", &header, &body).await;
    assert_eq!(
        (answer.status, answer.header("idempotent-replayed")),
        (200, None)
    );
    assert_eq!(service.billed().await, (1, 0));
    let answer = client.post_with("/v1/scan", &header, &body).await;
    assert_eq!(answer.header("idempotent-replayed"), Some("true"));
}
