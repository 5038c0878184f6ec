//! POST /v1/scan/bulk.

use orbweaver_core::setting::Millis;
use serde_json::json;

use crate::support::{Service, Site};

#[tokio::test]
async fn items_keep_their_order_and_fail_one_by_one() {
    let (service, site) = (Service::start().await, Site::start().await);
    let urls = [
        site.url("/slow/150"),
        site.url("/article"),
        "http://10.0.0.1/".to_owned(),
        "nonsense".to_owned(),
        site.url("/status/404"),
        site.url("/article"),
    ];
    let answer = service
        .client()
        .post("/v1/scan/bulk", &json!({"urls": urls}))
        .await
        .ok();
    let items = answer["items"].as_array().unwrap();
    assert_eq!(items.len(), urls.len());
    for (item, url) in items.iter().zip(&urls) {
        assert_eq!(item["url"], *url);
        assert_eq!(item["ok"], item.get("result").is_some());
        assert_eq!(item["ok"], item.get("error").is_none());
    }
    let ok: Vec<bool> = items
        .iter()
        .map(|item| item["ok"].as_bool().unwrap())
        .collect();
    assert_eq!(ok, [true, true, false, false, true, true]);
    assert_eq!(items[0]["result"]["metadata"]["title"], "150 ms late");
    assert_eq!(
        items[1]["result"]["metadata"]["title"],
        "How orb weavers build"
    );
    assert_eq!(items[4]["result"]["status"], 404);
    let error = items[2]["error"].as_str().unwrap();
    assert!(
        error.starts_with("SSRF check failed for urls[2]"),
        "{error}"
    );
    // Each URL counts, also a cached or a failed one.
    assert_eq!(service.billed().await, (6, 0));
}

#[tokio::test]
async fn metadata_only_keeps_the_documented_fields() {
    let (service, site) = (Service::start().await, Site::start().await);
    let body = json!({"urls": [site.url("/article")], "metadata_only": true});
    let answer = service.client().post("/v1/scan/bulk", &body).await.ok();
    let result = &answer["items"][0]["result"];
    assert!(result["markdown"].is_null() && result["article"].is_null());
    for field in ["metadata", "signals", "content_hash", "status", "bytes"] {
        assert!(!result[field].is_null(), "{field}");
    }
}

#[tokio::test]
async fn only_a_malformed_request_fails_the_whole_batch() {
    let service = Service::start().await;
    let client = service.client();
    let too_many: Vec<String> = (0..101).map(|n| format!("http://a.example/{n}")).collect();
    let message = client
        .post("/v1/scan/bulk", &json!({"urls": too_many}))
        .await
        .error(400, "INVALID_INPUT");
    assert!(message.starts_with("urls: "), "{message}");
    for (body, field) in [
        (json!({"urls": []}), "urls"),
        (json!({"urls": "http://a.example/"}), "urls"),
        (json!({"urls": [1]}), "urls[0]"),
        (json!({}), "urls"),
        (json!({"urls": ["x"], "concurrency": 0}), "concurrency"),
        (
            json!({"urls": ["x"], "max_age_seconds": 999_999_999_999_u64}),
            "max_age_seconds",
        ),
    ] {
        let message = client
            .post("/v1/scan/bulk", &body)
            .await
            .error(422, "INVALID_INPUT");
        assert!(
            message.starts_with(&format!("{field}: ")),
            "{body}: {message}"
        );
    }
    assert_eq!(service.billed().await, (0, 0));
    // Values above the limit are clamped.
    let body = json!({"urls": ["x"], "concurrency": 1_000_000});
    assert_eq!(
        client.post("/v1/scan/bulk", &body).await.ok()["items"][0]["ok"],
        false
    );
}

#[tokio::test]
async fn a_hundred_urls_are_scanned_concurrently() {
    let (service, site) = (Service::start().await, Site::start().await);
    let urls: Vec<String> = (0..100)
        .map(|n| site.url(&format!("/status/200?n={n}")))
        .collect();
    let answer = service
        .client()
        .post("/v1/scan/bulk", &json!({"urls": urls}))
        .await
        .ok();
    let items = answer["items"].as_array().unwrap();
    assert!(items.iter().all(|item| item["ok"] == true));
    assert_eq!(items[57]["url"], urls[57]);
    assert_eq!(service.billed().await, (100, 0));
}

#[tokio::test]
async fn a_batch_answers_with_what_it_has_before_the_request_s_time_is_over() {
    // Pages are begun in the first 16 seconds, and waited for in the first 18.
    let service = Service::with(|config| config.http.request_timeout_ms = Millis(20_000)).await;
    // Not within that time.
    service.app.pipeline.engine.await_all().await;
    let site = Site::start().await;
    let urls = [
        site.url("/article"),
        site.url("/slow/12000"),
        site.url("/slow/12001"),
        site.url("/echo"),
    ];
    let body = json!({"urls": urls, "concurrency": 1});
    let answer = service.client().post("/v1/scan/bulk", &body).await.ok();
    let items = answer["items"].as_array().expect("items");
    let ok: Vec<bool> = items.iter().map(|item| item["ok"] == true).collect();
    assert_eq!(ok, [true, true, false, false], "{answer}");
    let why = |item: usize| items[item]["error"].as_str().expect("why");
    assert!(why(2).contains("not finished before"), "{answer}");
    assert!(why(3).contains("longer than 16 seconds"), "{answer}");
    assert!(why(3).contains("not billed"), "{answer}");
    assert_eq!(site.hits("/echo"), 0);
    assert_eq!(service.billed().await, (2, 0));
}
