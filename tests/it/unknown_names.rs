//! Unknown fields and query parameters: the request is handled as if they were absent,
//! and the answer names them.

use serde_json::{Value, json};

use crate::support::http::Answer;
use crate::support::runs::{self, Written};
use crate::support::{Service, Site};

fn told(answer: &Answer) -> Vec<String> {
    let warnings = answer.json()["warnings"].clone();
    let told: Vec<String> = serde_json::from_value(warnings).unwrap_or_default();
    let header = answer.header("orbweaver-warnings");
    let listed = told.iter().map(|text| format!("{text:?}"));
    let listed: Vec<String> = listed.collect();
    assert_eq!(header.unwrap_or_default(), listed.join(", "));
    told
}

#[tokio::test]
async fn unknown_fields_of_a_crawl_are_named_with_suggestions() {
    let service = runs::without_workers(false, |_| {}).await;
    let client = service.client();
    let body = json!({"url": runs::SEED, "limit": 3, "maxDepth": 1, "params": {"depth": 2}});
    let answer = client.post("/v1/crawls", &body).await;
    assert_eq!(answer.status, 202, "{}", answer.text());
    assert!(answer.json()["id"].is_number());
    assert_eq!(
        told(&answer),
        [
            "limit is not a field; did you mean max_pages?",
            "maxDepth is not a field; did you mean depth?",
            "params is not a field",
        ]
    );
    let known = json!({"url": runs::SEED, "max_pages": 3, "depth": 1});
    let answer = client.post("/v1/crawls", &known).await;
    assert_eq!(answer.status, 202, "{}", answer.text());
    assert_eq!(told(&answer), [""; 0]);
    assert_eq!(answer.header("orbweaver-warnings"), None);
}

#[tokio::test]
async fn unknown_members_of_actions_and_waits_are_named() {
    let service = runs::without_workers(false, |_| {}).await;
    let body = json!({"url": runs::SEED, "cron": "0 6 * * *", "render": "always",
        "actions": [{"type": "click", "selector": "a", "selecter": "b"}],
        "wait_for": {"event": "load", "millisecond": 5}});
    let answer = service.client().post("/v1/crawls", &body).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    let mut told = told(&answer);
    told.sort_unstable();
    assert_eq!(
        told,
        [
            "actions[0].selecter is not a field; did you mean selector?",
            "wait_for.millisecond is not a field; did you mean milliseconds?",
        ]
    );
}

#[tokio::test]
async fn refused_and_repeated_requests_name_unknown_fields() {
    let (service, site) = (Service::start().await, Site::start().await);
    let client = service.client();
    let answer = client.post("/v1/scan", &json!({"urll": "x"})).await;
    assert_eq!(answer.status, 422);
    assert_eq!(answer.json()["error"]["message"], "url: is required");
    // The body of an error has the member `error` alone.
    assert_eq!(answer.json()["warnings"], Value::Null);
    assert_eq!(
        answer.header("orbweaver-warnings"),
        Some("\"urll is not a field; did you mean url?\"")
    );
    let key = [("idempotency-key", "3c0a2c0e-5f0b-4c39-9d0c-0d8f9a3f5b11")];
    let body = json!({"url": site.url("/article"), "onlyMainContent": true});
    for _ in 0..2 {
        let answer = client.post_with("/v1/scan", &key, &body).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(
            told(&answer),
            ["onlyMainContent is not a field; did you mean only_main_content?"]
        );
    }
    assert_eq!(site.hits("/article"), 1);
}

#[tokio::test]
async fn unknown_query_parameters_are_named_and_lists_have_only_the_header() {
    let service = runs::without_workers(false, |_| {}).await;
    let page = Written::new("", "<p>x", &[]);
    let run = runs::done(&service, &[page]).await;
    let client = service.client();
    let answer = client.get("/v1/usage?day=2&day=3").await;
    assert_eq!(told(&answer), ["day is not a query parameter"]);
    let path = format!("/v1/crawls/{run}/pages?page=2&limit=1");
    for format in ["json", "ndjson", "csv"] {
        let answer = client.get(&format!("{path}&format={format}")).await;
        assert_eq!(answer.status, 200);
        assert_eq!(
            answer.header("orbweaver-warnings"),
            Some("\"page is not a query parameter; did you mean offset?\""),
            "{format}"
        );
        assert!(!answer.text().contains("warnings"), "{}", answer.text());
    }
    let known = client.get("/v1/usage/history?days=3").await;
    assert_eq!(known.header("orbweaver-warnings"), None);
}

#[tokio::test]
async fn actors_are_checked_by_their_own_schema() {
    let service = Service::start().await;
    let body = json!({"urls": ["mailto:a@example.org"], "max_concurrency": 3});
    let answer = service.client().post("/v1/actors/check-links", &body).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(
        told(&answer),
        ["max_concurrency is not a field; did you mean max_concurrent?"]
    );
}

#[tokio::test]
async fn many_or_long_names_are_shortened() {
    let (service, site) = (Service::start().await, Site::start().await);
    let mut body = serde_json::Map::new();
    body.insert("url".to_owned(), site.url("/article").into());
    for n in 0..5_000 {
        body.insert(format!("{n}é\n\"{}", "x".repeat(300)), Value::Null);
    }
    let answer = service.client().post("/v1/scan", &body.into()).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let warnings = answer.json()["warnings"].clone();
    let warnings = warnings.as_array().expect("warnings");
    assert_eq!(warnings.len(), 11);
    assert_eq!(warnings[10], "4990 further names are unknown");
    let header = answer.header("orbweaver-warnings").expect("the header");
    assert!(header.len() < 2_500 && header.is_ascii(), "{header}");
}

#[tokio::test]
async fn every_operation_documents_the_header() {
    let service = Service::start().await;
    let document = service.stranger().get("/openapi.json").await.ok();
    let paths = document["paths"].as_object().expect("paths");
    for (path, item) in paths {
        for (method, operation) in item.as_object().expect("operations") {
            for (status, response) in operation["responses"].as_object().expect("responses") {
                let has = response["headers"]["Orbweaver-Warnings"].is_object();
                assert_eq!(has, status.starts_with('2'), "{method} {path} {status}");
            }
        }
    }
}
