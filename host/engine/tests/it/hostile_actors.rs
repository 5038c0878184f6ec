//! Hostile actors.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use async_trait::async_trait;
use orbweaver_engine::{
    CodedError, Engine, EngineConfig, ErrorCode, FetchRequest, Host, HttpHost, Limit, NoHost, Page,
    PluginError,
};
use serde_json::json;

use crate::support::{TestHost, assert_good_still_runs, code, config, engine_with, load};

#[tokio::test]
async fn a_looping_actor_ends_at_its_cpu_budget() {
    let engine = engine_with("spin-actor").await;
    for input in ["spin", "yield"] {
        let error = engine
            .run_actor("spin-actor", &json!(input), Arc::new(NoHost))
            .await
            .unwrap_err();
        assert_eq!(
            error,
            PluginError::Limit(Limit::Cpu(Duration::from_millis(200))),
            "{input}"
        );
    }
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn looping_actors_do_not_starve_each_other() {
    let engine = engine_with("spin-actor").await;
    load(&engine, &["good-actor"]).await;
    let spins: Vec<_> = (0..8)
        .map(|_| {
            let engine = engine.clone();
            tokio::spawn(async move {
                engine
                    .run_actor("spin-actor", &json!(""), Arc::new(NoHost))
                    .await
            })
        })
        .collect();
    let host = Arc::new(TestHost {
        engine: Some(engine.clone()),
        ..TestHost::new(2)
    });
    let input = json!({"url": "https://example.com/"});
    engine.run_actor("good-actor", &input, host).await.unwrap();
    for spin in spins {
        assert!(matches!(
            spin.await.unwrap(),
            Err(PluginError::Limit(Limit::Cpu(_)))
        ));
    }
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn a_fetch_outside_the_grants_never_reaches_the_host() {
    let engine = engine_with("fetch-narrow").await;
    let host = Arc::new(TestHost::new(1));
    for url in [
        "http://127.0.0.1/",
        "http://169.254.169.254/latest/meta-data",
        "https://allowed.example.evil.example/",
        "https://allowed.example@evil.example/",
        "http://allowed.example/",
        "https://allowed.example:8443/",
    ] {
        let error = engine
            .run_actor("fetch-narrow", &json!(url), host.clone())
            .await
            .unwrap_err();
        assert!(
            code(&error) == Some(ErrorCode::NotGranted),
            "{url}: {error}"
        );
    }
    for url in ["file:///etc/passwd", "nonsense"] {
        let error = engine
            .run_actor("fetch-narrow", &json!(url), host.clone())
            .await
            .unwrap_err();
        assert!(error.invalid_input().is_some(), "{url}: {error}");
    }
    assert_eq!(host.fetches.load(Ordering::SeqCst), 0);
    let url = json!("https://allowed.example/x");
    assert_eq!(
        engine
            .run_actor("fetch-narrow", &url, host)
            .await
            .unwrap()
            .json,
        "200"
    );
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn the_number_and_parallelism_of_fetches_are_limited() {
    let engine = engine_with("fetch-flood").await;
    for input in ["each", "many"] {
        let host = Arc::new(TestHost::new(1));
        let output = engine
            .run_actor("fetch-flood", &json!(input), host.clone())
            .await
            .unwrap();
        assert_eq!(output.json, r#"{"ok":100,"denied":9900}"#, "{input}");
        assert_eq!(output.fetches, 100);
        assert_eq!(host.fetches.load(Ordering::SeqCst), 100);
        assert!(host.most.load(Ordering::SeqCst) <= 8, "{:?}", host.most);
    }
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn fetched_bytes_have_a_budget() {
    let engine = engine_with("fetch-flood").await;
    let body = Arc::from(vec![b'x'; 1 << 20]);
    let host = Arc::new(TestHost {
        body,
        ..TestHost::new(1)
    });
    let output = engine
        .run_actor("fetch-flood", &json!("each"), host)
        .await
        .unwrap();
    let value: serde_json::Value = serde_json::from_str(&output.json).unwrap();
    // 4 MiB, and the fetches that were in progress when it was exhausted.
    let ok = value["ok"].as_u64().unwrap();
    assert!((4..=4 + 8).contains(&ok), "{ok}");
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn leaked_handles_end_the_call() {
    let engine = engine_with("resource-leak").await;
    for input in ["pages", "streams"] {
        let error = engine
            .run_actor("resource-leak", &json!(input), Arc::new(NoHost))
            .await
            .unwrap_err();
        assert_eq!(error, PluginError::Limit(Limit::Handles(1_000)), "{input}");
    }
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn an_actor_waiting_for_an_extractor_cannot_deadlock() {
    // One slot and one thread each.
    let config = EngineConfig {
        extractor_threads: 1,
        max_actors: 1,
        max_instances: 2,
        ..config()
    };
    let engine = Engine::new(config).unwrap();
    load(&engine, &["good", "good-actor"]).await;
    let calls = (0..8).map(|_| {
        let host = Arc::new(TestHost {
            engine: Some(engine.clone()),
            ..TestHost::new(2)
        });
        let engine = engine.clone();
        async move {
            engine
                .run_actor("good-actor", &json!({"url": "https://example.com/"}), host)
                .await
        }
    });
    for output in futures::future::join_all(calls).await {
        output.unwrap();
    }
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn extraction_is_granted_by_role() {
    let engine = engine_with("good-actor").await;
    let text = "name = \"good-actor\"\nkind = \"actor\"\nversion = \"1\"\napi = \"1.0.0\"\n[permissions]\nhttp = [\"*\"]\nextract = [\"links\"]\n";
    let other = orbweaver_engine::manifest::embed(&crate::support::fixture("good-actor"), text);
    crate::support::load_bytes(&engine, other.unwrap()).await;
    let host = Arc::new(TestHost {
        engine: Some(engine.clone()),
        ..TestHost::new(2)
    });
    let input = json!({"url": "https://example.com/"});
    let error = engine
        .run_actor("good-actor", &input, host)
        .await
        .unwrap_err();
    assert!(
        code(&error) == Some(ErrorCode::NotGranted) && error.to_string().contains("extract=good"),
        "{error}"
    );
    assert_good_still_runs(&engine).await;
}

/// A host whose fetches never end; it counts the waiting ones.
pub struct Silent(pub Arc<()>, pub tokio::sync::mpsc::UnboundedSender<()>);

impl Host for Silent {
    fn http(&self) -> Option<&dyn HttpHost> {
        Some(self)
    }
}

#[async_trait]
impl HttpHost for Silent {
    async fn fetch(&self, _: FetchRequest) -> Result<Arc<Page>, CodedError> {
        let _waiting = Arc::clone(&self.0);
        self.1.send(()).unwrap();
        std::future::pending().await
    }
}

#[tokio::test]
async fn dropping_the_call_drops_its_guest() {
    let config = EngineConfig {
        max_actors: 4,
        ..config()
    };
    let engine = Engine::new(config).unwrap();
    load(&engine, &["good", "good-actor"]).await;
    let waiting = Arc::new(());
    let (asked, mut asks) = tokio::sync::mpsc::unbounded_channel();
    for _ in 0..1_000 {
        let host = Arc::new(Silent(Arc::clone(&waiting), asked.clone()));
        let input = json!({"url": "https://example.com/"});
        let mut call = Box::pin(engine.run_actor("good-actor", &input, host));
        tokio::select! {
            output = &mut call => panic!("{output:?}"),
            _ = asks.recv() => {}
        }
        drop(call);
    }
    // Every guest's fetch was dropped, and with it the store that held it.
    let all_gone = async {
        while Arc::strong_count(&waiting) > 1 || engine.free_actor_slots() < 4 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), all_gone)
        .await
        .expect("guests leaked");
    assert_good_still_runs(&engine).await;
}

/// A host that reports every timeout requested by a guest.
struct Timeouts(tokio::sync::mpsc::UnboundedSender<Option<u32>>);

impl Host for Timeouts {
    fn http(&self) -> Option<&dyn HttpHost> {
        Some(self)
    }
}

#[async_trait]
impl HttpHost for Timeouts {
    async fn fetch(&self, request: FetchRequest) -> Result<Arc<Page>, CodedError> {
        self.0.send(request.timeout_ms).unwrap();
        Ok(Page::from_html(&request.url, ""))
    }
}

#[tokio::test]
async fn a_timeout_is_at_most_the_calls_own_limit() {
    let engine = engine_with("fetch-narrow").await;
    let (sent, mut timeouts) = tokio::sync::mpsc::unbounded_channel();
    let host = Arc::new(Timeouts(sent));
    let wall = engine.actor("fetch-narrow").unwrap().limits.wall_ms;
    let wall = u32::try_from(wall).unwrap();
    for (asked, expected) in [
        ("timeout-max", Some(wall)),
        ("timeout-5", Some(5)),
        ("", None),
    ] {
        let url = json!(format!("https://allowed.example/{asked}"));
        engine
            .run_actor("fetch-narrow", &url, host.clone())
            .await
            .unwrap();
        assert_eq!(timeouts.recv().await, Some(expected), "{asked}");
    }
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn the_interrupt_clock_stands_still_while_a_guest_waits() {
    let engine = engine_with("good-actor").await;
    let (asked, mut asks) = tokio::sync::mpsc::unbounded_channel();
    let host = Arc::new(Silent(Arc::new(()), asked));
    let input = json!({"url": "https://example.com/"});
    let call = tokio::spawn({
        let engine = engine.clone();
        async move { engine.run_actor("good-actor", &input, host).await }
    });
    asks.recv().await.unwrap();
    // The actor exists and waits for its fetches: no guest runs.
    let idle = {
        let engine = engine.clone();
        tokio::task::spawn_blocking(move || engine.wait_until_idle())
    };
    let ticks = tokio::time::timeout(Duration::from_secs(60), idle)
        .await
        .expect("the clock ticks on")
        .unwrap();
    // The clock is still parked: the same number of ticks.
    assert_eq!(engine.wait_until_idle(), ticks);
    assert!(!call.is_finished());
    call.abort();
    assert_good_still_runs(&engine).await;
}
