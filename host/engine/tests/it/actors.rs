//! Well-behaved actors and fetchers.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use orbweaver_engine::{CodedError, ErrorCode, Grants, Kind, NoHost, PluginError, Source};
use serde_json::json;

use crate::support::{TestHost, code, engine, engine_with, fixture, load};

fn with_engine(wave: usize, engine: &orbweaver_engine::Engine) -> Arc<TestHost> {
    Arc::new(TestHost {
        engine: Some(engine.clone()),
        ..TestHost::new(wave)
    })
}

#[tokio::test]
async fn an_actor_fetches_concurrently_and_extracts() {
    let engine = engine_with("good-actor").await;
    // Neither fetch is answered before both are in progress.
    let host = with_engine(2, &engine);
    let input = json!({"url": "https://example.com/"});
    let output = engine
        .run_actor("good-actor", &input, host.clone())
        .await
        .unwrap();
    let value: serde_json::Value = serde_json::from_str(&output.json).unwrap();
    assert_eq!(value["sizes"], json!([10, 10]));
    assert_eq!(value["good"]["role"], "good");
    assert_eq!(output.fetches, 2);
    assert_eq!(host.fetches.load(Ordering::SeqCst), 2);
    assert_eq!(engine.plugin(Kind::Actor, "good-actor").unwrap().calls, 1);
}

#[tokio::test]
async fn fetch_many_is_concurrent_for_languages_without_async() {
    let engine = engine_with("sync-actor").await;
    let host = with_engine(3, &engine);
    let output = engine
        .run_actor("sync-actor", &json!("https://example.com/"), host)
        .await
        .unwrap();
    let value: serde_json::Value = serde_json::from_str(&output.json).unwrap();
    let urls = value["urls"].as_array().unwrap();
    assert_eq!(urls[0], "https://example.com/?1", "in the order asked");
    assert_eq!(urls.len(), 3);
    assert_eq!(value["render_denied"], true);
    assert_eq!(value["crawl_denied"], true);
}

#[tokio::test]
async fn a_fetcher_serves_its_domains_only() {
    let engine = engine();
    load(&engine, &["good-fetcher"]).await;
    let host = with_engine(1, &engine);
    assert_eq!(
        engine.fetcher_for("example.com").unwrap().name,
        "good-fetcher"
    );
    assert_eq!(
        engine.fetcher_for("WWW.example.com").unwrap().name,
        "good-fetcher"
    );
    assert_eq!(
        engine.fetcher_for("en.example.org").unwrap().name,
        "good-fetcher"
    );
    assert!(engine.fetcher_for("example.net").is_none());
    let output = engine
        .run_fetcher("example.com", "a/b", &json!({"q": 1}), host.clone())
        .await
        .unwrap();
    let items: serde_json::Value = serde_json::from_str(&output.json).unwrap();
    assert_eq!(
        items[1],
        json!({"url": "https://example.com/b", "size": 10, "params": {"q": 1}})
    );
    // It gets the domain as it lists it, however the caller writes it.
    let output = engine
        .run_fetcher("WWW.Example.com.", "c", &json!({}), host.clone())
        .await
        .unwrap();
    let items: serde_json::Value = serde_json::from_str(&output.json).unwrap();
    assert_eq!(items[0]["url"], "https://example.com/c");
    // Serving a domain does not grant permission to fetch from it.
    let error = engine
        .run_fetcher("en.example.org", "a", &json!({}), host.clone())
        .await
        .unwrap_err();
    assert!(code(&error) == Some(ErrorCode::NotGranted), "{error}");
    let error = engine
        .run_fetcher("example.net", "a", &json!({}), host)
        .await
        .unwrap_err();
    assert!(
        matches!(
            error,
            PluginError::NotFound {
                kind: "fetcher",
                ..
            }
        ),
        "{error}"
    );
}

#[tokio::test]
async fn input_is_checked_before_the_actor_runs() {
    let engine = engine_with("good-actor").await;
    for (input, expected) in [
        (json!({}), "url: is required"),
        (json!({"url": 1}), "url: must be of type string"),
        (json!({"url": "x", "n": 0}), "n: must be at least 1"),
    ] {
        let error = engine
            .run_actor("good-actor", &input, Arc::new(NoHost))
            .await
            .unwrap_err();
        assert_eq!(error, PluginError::invalid(expected));
    }
    assert_eq!(engine.plugin(Kind::Actor, "good-actor").unwrap().calls, 0);
}

#[tokio::test]
async fn a_failed_fetch_and_a_missing_actor_are_typed() {
    let engine = engine_with("good-actor").await;
    let host = with_engine(1, &engine);
    let input = json!({"url": "https://unreachable.example/", "n": 1});
    let error = engine
        .run_actor("good-actor", &input, host.clone())
        .await
        .unwrap_err();
    assert_eq!(
        error,
        PluginError::Reported(CodedError::new(ErrorCode::Connect, "connection refused"))
    );
    let error = engine.run_actor("no-such", &input, host).await.unwrap_err();
    assert_eq!(
        error,
        PluginError::NotFound {
            kind: "actor",
            name: "no-such".into()
        }
    );
    let error = engine
        .run_actor("good", &input, Arc::new(NoHost))
        .await
        .unwrap_err();
    assert!(
        matches!(error, PluginError::NotFound { .. }),
        "an extractor is not an actor"
    );
}

#[tokio::test]
async fn an_actor_and_an_extractor_may_share_a_name() {
    let engine = engine();
    let text = "name = \"good\"\nkind = \"actor\"\nversion = \"1\"\napi = \"1.0.0\"\n[permissions]\nhttp = [\"*\"]\n";
    let actor = orbweaver_engine::manifest::embed(&fixture("fetch-narrow"), text).unwrap();
    engine
        .load_bytes(actor, Source::Upload, Grants::All)
        .await
        .unwrap();
    load(&engine, &["good"]).await;
    assert!(engine.actor("good").is_some());
    assert_eq!(engine.role("good").unwrap().kind, Kind::Extractor);
    let kinds: Vec<_> = engine.plugins().into_iter().map(|p| p.kind).collect();
    assert_eq!(kinds, [Kind::Extractor, Kind::Actor]);
}

#[tokio::test]
async fn a_fetcher_without_async_is_served_and_its_errors_keep_code_and_time() {
    let engine = engine();
    load(&engine, &["sync-fetcher"]).await;
    let host = with_engine(2, &engine);
    let params = json!({});
    let output = engine
        .run_fetcher("sync.example", "a/b", &params, host.clone())
        .await
        .unwrap();
    assert_eq!(
        output.json,
        r#"[{"url":"https://sync.example/a"},{"url":"https://sync.example/b"}]"#
    );
    for (path, code, message, retry) in [
        ("sold-out", ErrorCode::Quota, "no more today", Some(7_001)),
        (
            "upstream",
            ErrorCode::BadResponse,
            "the server answered 500",
            None,
        ),
        // A code of a later version.
        ("new-code", ErrorCode::Failed, "unheard of", None),
    ] {
        let error = engine
            .run_fetcher("sync.example", path, &params, host.clone())
            .await
            .unwrap_err();
        let expected = CodedError {
            retry_after_ms: retry,
            ..CodedError::new(code, message)
        };
        assert_eq!(error, PluginError::Reported(expected), "{path}");
    }
}
