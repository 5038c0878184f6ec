//! Rate limits and their headers.

use orbweaver_api::config::RateLimit;
use serde_json::json;

use crate::support::{KEY, Service};

const FEW: RateLimit = RateLimit {
    per_second: 1,
    burst: 3,
};

#[tokio::test]
async fn a_key_over_its_rate_gets_retry_after() {
    let service = Service::with(|config| config.http.rate.key = FEW).await;
    let client = service.client();
    let first = client.get("/v1/usage").await;
    first.ok();
    assert_eq!(first.header("ratelimit-policy"), Some("\"key\";q=3;w=3"));
    assert_eq!(first.header("ratelimit"), Some("\"key\";r=2;t=1"));
    // Refused requests count as well.
    client.get("/v1/logs?limit=0").await;
    client.get("/v1/nothing-there").await;
    let mut last = client.get("/v1/usage").await;
    for _ in 0..10 {
        if last.status == 429 {
            break;
        }
        last = client.get("/v1/usage").await;
    }
    last.error(429, "RATE_LIMITED");
    assert_eq!(last.header("retry-after"), Some("1"));
    assert_eq!(last.header("ratelimit"), Some("\"key\";r=0;t=1"));
    // Another key, and the liveness probe, are not limited.
    service
        .other_project("shop")
        .await
        .get("/v1/usage")
        .await
        .ok();
    assert_eq!(service.stranger().get("/v1/health").await.status, 200);
}

#[tokio::test]
async fn the_keys_of_a_project_share_its_rate() {
    let few = RateLimit {
        per_second: 1,
        burst: 20,
    };
    let service = Service::with(|config| config.http.rate.key = few).await;
    let client = service.client();
    let rotated = client.post("/v1/keys/rotate", &json!({})).await.ok();
    let second = client.with_key(rotated["api_key"].as_str().unwrap());
    // As many as one key has at once, in turns: half as many with a bucket for each.
    let mut refused = 0;
    for _ in 0..15 {
        for client in [&client, &second] {
            refused += u32::from(client.get("/v1/usage").await.status == 429);
        }
    }
    assert!(refused > 0, "30 requests with two keys were all answered");
}

#[tokio::test]
async fn requests_without_a_valid_key_are_limited_per_address() {
    let service = Service::with(|config| config.http.rate.keyless = FEW).await;
    let guesses = service
        .stranger()
        .with_key("orb_BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB");
    let mut statuses = Vec::new();
    for _ in 0..20 {
        statuses.push(guesses.get("/v1/usage").await.status);
    }
    assert_eq!(statuses[0], 401);
    assert!(statuses.contains(&429), "{statuses:?}");
    let checkout = "/v1/billing/checkout?intent_id=1";
    let mut answer = service.stranger().get(checkout).await;
    for _ in 0..20 {
        answer = service.stranger().get(checkout).await;
        if answer.status == 429 {
            break;
        }
    }
    answer.error(429, "RATE_LIMITED");
    assert!(answer.header("ratelimit").is_some());
    // A key that nobody asks for is none.
    let mut refused = 0;
    for _ in 0..10 {
        let any = service
            .stranger()
            .with_key("orb_any")
            .get("/openapi.json")
            .await;
        refused += u32::from(any.status == 429);
    }
    assert!(refused > 0, "a header switched the limit off");
    // A valid key at the same address is not limited.
    service.stranger().with_key(KEY).get("/v1/usage").await.ok();
}

#[tokio::test]
async fn a_signup_is_refused_before_it_is_done_or_answered() {
    let service = Service::with(|config| config.http.rate.keyless = FEW).await;
    let other = service.stranger().with_key("orb_any");
    // What remains when the last one is taken decides, so it is tried until it does.
    for round in 0.. {
        while other.get("/openapi.json").await.status != 429 {}
        let name = format!("shop-{round}");
        let body = json!({"project_name": name, "email": "me@example.com"});
        let answer = other.post("/v1/signup", &body).await;
        let made = service.app.store.project_named(&name).await.unwrap();
        assert_eq!(answer.status == 200, made.is_some(), "{}", answer.text());
        if answer.status == 429 {
            break;
        }
    }
}

#[tokio::test]
async fn a_long_uri_is_answered_414_in_the_envelope() {
    let service = Service::start().await;
    let client = service.client();
    let path = format!("/{}", "a".repeat(60_000));
    client.get(&path).await.error(414, "INVALID_INPUT");
    let query = format!("/v1/logs?key_prefix={}", "a".repeat(9_000));
    client.get(&query).await.error(414, "INVALID_INPUT");
}

#[tokio::test]
async fn the_request_log_is_limited_per_day_and_path_length() {
    let service = Service::with(|config| config.http.log_requests_per_day = 5).await;
    let client = service.client();
    let long = format!("/v1/crawls/1{}/links", "0".repeat(5_000));
    client.get(&long).await;
    for _ in 0..10 {
        client
            .get("/v1/logs?limit=0")
            .await
            .error(422, "INVALID_INPUT");
    }
    let items = client.get("/v1/logs").await.ok()["items"].clone();
    let items = items.as_array().unwrap();
    assert_eq!(items.len(), 5, "{items:?}");
    for item in items {
        assert!(item["path"].as_str().unwrap().len() <= 512, "{item}");
    }
}
