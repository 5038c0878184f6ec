//! Idempotency-Keys of crawls, batches and monitors, and recent runs in place of new ones.

use chrono::TimeDelta;
use serde_json::{Value, json};

use crate::support::http::Answer;
use crate::support::runs::{SEED, begin_with, done, end, without_workers};
use crate::support::{Client, Service};

const KEY: &str = "5f0a3a6e-6a0c-4b0e-9a53-0d6d1b1f5a10";
const OTHER_KEY: &str = "5f0a3a6e-6a0c-4b0e-9a53-0d6d1b1f5a11";

async fn keyed(client: &Client, path: &str, key: &str, body: &Value) -> Answer {
    client
        .post_with(path, &[("idempotency-key", key)], body)
        .await
}

fn is_replayed(answer: &Answer) -> bool {
    answer.header("idempotent-replayed") == Some("true")
}

async fn runs(client: &Client) -> usize {
    let list = client.get("/v1/crawls").await.ok();
    list["items"].as_array().expect("items").len()
}

#[tokio::test]
async fn a_key_stands_for_the_recent_run_that_its_first_request_got() {
    for postgres in [false, true] {
        let service = without_workers(postgres, |_| {}).await;
        let client = service.client();
        let made = done(&service, &[]).await;
        let body = json!({"url": SEED, "max_age_seconds": 100});
        let first = keyed(&client, "/v1/crawls", KEY, &body).await;
        assert_eq!((first.status, is_replayed(&first)), (200, false));
        assert_eq!(first.json()["id"], made.get());
        // It is too old for another request by now, and this one is the same.
        service.clock.advance(TimeDelta::seconds(200));
        for body in [
            &body,
            &json!({"url": SEED}),
            &json!({"url": "http://127.0.0.1:8081/b"}),
        ] {
            let again = keyed(&client, "/v1/crawls", KEY, body).await;
            assert_eq!(again.status, 200, "{}", again.text());
            assert!(is_replayed(&again));
            assert_eq!(again.json(), first.json());
            assert_eq!(again.header("location"), first.header("location"));
        }
        assert_eq!(runs(&client).await, 1);
        let fresh = keyed(&client, "/v1/crawls", OTHER_KEY, &body).await;
        assert_eq!((fresh.status, is_replayed(&fresh)), (202, false));
        // The key stands for no monitor and no batch either.
        let monitor = json!({"url": SEED, "cron": "0 6 * * 1"});
        let monitor = keyed(&client, "/v1/crawls", KEY, &monitor).await;
        assert_eq!(monitor.json(), first.json());
        let batch = keyed(&client, "/v1/batch", KEY, &json!({"urls": [SEED]})).await;
        let said = batch.error(409, "CONFLICT");
        assert!(said.starts_with("Idempotency-Key: "), "{said}");
        service.clock.advance(TimeDelta::hours(24));
        let later = keyed(&client, "/v1/crawls", KEY, &body).await;
        assert_eq!((later.status, is_replayed(&later)), (202, false));
        assert_ne!(later.json()["id"], made.get());
    }
}

#[tokio::test]
async fn a_key_of_a_crawl_is_refused_for_batches_and_that_of_a_batch_for_crawls() {
    for postgres in [false, true] {
        let service = without_workers(postgres, |_| {}).await;
        let client = service.client();
        let crawl = keyed(&client, "/v1/crawls", KEY, &json!({"url": SEED})).await;
        assert_eq!(crawl.status, 202);
        let urls = json!({"urls": [SEED, SEED, "http://127.0.0.1:8081/b", "ftp://a.example/"]});
        let refused = keyed(&client, "/v1/batch", KEY, &urls).await;
        let said = refused.error(409, "CONFLICT");
        let named = format!("the crawl {}", crawl.json()["id"]);
        assert!(
            said.starts_with("Idempotency-Key: ") && said.contains(&named),
            "{said}"
        );

        let batch = keyed(&client, "/v1/batch", OTHER_KEY, &urls).await;
        assert_eq!((batch.status, is_replayed(&batch)), (202, false));
        let counts =
            |batch: &Value| ["accepted", "refused", "duplicates"].map(|name| batch[name].as_u64());
        assert_eq!(counts(&batch.json()), [Some(2), Some(1), Some(1)]);
        let again = keyed(&client, "/v1/batch", OTHER_KEY, &urls).await;
        assert_eq!((again.status, is_replayed(&again)), (202, true));
        assert_eq!(again.json(), batch.json());
        for other in [json!({"urls": [SEED]}), json!({"urls": []})] {
            let said = keyed(&client, "/v1/batch", OTHER_KEY, &other).await;
            let said = said.error(409, "CONFLICT");
            assert!(said.contains("another body"), "{said}");
        }
        let named = format!("the batch {}", batch.json()["id"]);
        for crawl in [
            json!({"url": SEED}),
            json!({"url": SEED, "cron": "0 6 * * 1"}),
        ] {
            let said = keyed(&client, "/v1/crawls", OTHER_KEY, &crawl).await;
            let said = said.error(409, "CONFLICT");
            assert!(
                said.starts_with("Idempotency-Key: ") && said.contains(&named),
                "{said}"
            );
        }
        assert_eq!(runs(&client).await, 2);
    }
}

#[tokio::test]
async fn a_key_returns_the_crawl_or_the_monitor_that_it_has_made() {
    for postgres in [false, true] {
        let service = without_workers(postgres, |_| {}).await;
        let client = service.client();
        let crawl = json!({"url": SEED});
        let monitor = json!({"url": SEED, "cron": "0 6 * * 1"});
        for (key, first, second, status) in [
            (KEY, &crawl, &monitor, 202),
            (OTHER_KEY, &monitor, &crawl, 201),
        ] {
            let made = keyed(&client, "/v1/crawls", key, first).await;
            assert_eq!((made.status, is_replayed(&made)), (status, false));
            let again = keyed(&client, "/v1/crawls", key, second).await;
            assert_eq!((again.status, is_replayed(&again)), (status, true));
            assert_eq!(again.json(), made.json());
        }
        let monitors = client.get("/v1/crons").await.ok();
        assert_eq!(monitors["items"].as_array().expect("items").len(), 1);
        assert_eq!(runs(&client).await, 1);
        let said = keyed(&client, "/v1/batch", OTHER_KEY, &json!({"urls": [SEED]})).await;
        let said = said.error(409, "CONFLICT");
        assert!(said.contains("the monitor "), "{said}");
    }
}

/// Whether a recent run answers a request with these fields.
async fn answers(service: &Service, run: i64, fields: &Value) -> bool {
    let mut body = json!({"url": SEED, "max_age_seconds": 100});
    for (name, value) in fields.as_object().expect("fields") {
        body[name] = value.clone();
    }
    let answer = service.client().post("/v1/crawls", &body).await;
    match answer.status {
        200 => answer.json()["id"] == run,
        202 => false,
        _ => panic!("{}", answer.text()),
    }
}

#[tokio::test]
async fn a_recent_run_answers_requests_for_its_url_and_kind() {
    for postgres in [false, true] {
        let service = without_workers(postgres, |_| {}).await;
        let sitemap = json!({"url": SEED, "seed_kind": "sitemap"});
        let leased = begin_with(&service, &sitemap).await;
        let sitemap = end(&service, &leased).await.get();
        let leased = begin_with(&service, &json!({"url": SEED, "depth": 2})).await;
        let page = end(&service, &leased).await.get();
        // The newest run does not hide an older one that is asked for.
        assert!(answers(&service, sitemap, &json!({"seed_kind": "sitemap"})).await);
        assert!(answers(&service, page, &json!({})).await);
        assert!(answers(&service, page, &json!({"delay_ms": 9, "max_pages": 1})).await);
        assert!(answers(&service, page, &json!({"include_paths": ["^/a"]})).await);
        assert!(!answers(&service, page, &json!({"url": "https://f.org/"})).await);
    }
}
