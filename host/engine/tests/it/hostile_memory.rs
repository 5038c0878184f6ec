//! Plugins that make the host hold memory for them; it counts against their own limit.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use orbweaver_engine::{
    CodedError, Engine, EngineConfig, FetchRequest, Grants, Host, HttpHost, Json, Kind, Limit,
    NoHost, Page, PageParts, PluginError, Source,
};
use serde_json::json;

use crate::support::{TestHost, assert_good_still_runs, config, fixture, load};

/// An engine whose actors have `memory_mib` and enough time for every attack.
async fn engine(memory_mib: u64) -> Engine {
    let mut limits = orbweaver_engine::LimitsConfig::default();
    limits.actor.default.memory_mib = memory_mib;
    limits.actor.default.cpu_ms = 60_000;
    limits.actor.default.wall_ms = 120_000;
    let engine = Engine::new(EngineConfig { limits, ..config() }).unwrap();
    load(&engine, &["good", "resource-leak"]).await;
    engine
}

async fn leak(engine: &Engine, attack: &str, host: Arc<dyn Host>) -> Result<Json, PluginError> {
    let output = engine
        .run_actor("resource-leak", &json!(attack), host)
        .await;
    output.map(|output| output.json)
}

/// Peak memory of calls of `resource-leak` so far, in bytes.
fn peak(engine: &Engine) -> u64 {
    let plugin = engine.plugin(Kind::Actor, "resource-leak").unwrap();
    plugin.peak_memory
}

fn full(memory_mib: u64) -> PluginError {
    PluginError::Limit(Limit::Memory(memory_mib << 20))
}

#[tokio::test]
async fn pages_from_html_count_as_memory() {
    let engine = engine(512).await;
    let error = leak(&engine, "bytes", Arc::new(NoHost)).await.unwrap_err();
    assert_eq!(error, full(512));
    let peak = peak(&engine);
    assert!((400 << 20..=512 << 20).contains(&peak), "{peak} bytes");
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn dropped_pages_release_their_memory() {
    let engine = engine(128).await;
    // 1.8 GB in total, 20 MB at a time.
    let answer = leak(&engine, "churn", Arc::new(NoHost)).await;
    assert_eq!(answer.as_deref(), Ok("0"));
    assert!(peak(&engine) <= 128 << 20);
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn snapshots_count_as_memory() {
    let engine = engine(64).await;
    let error = leak(&engine, "snapshots", Arc::new(NoHost))
        .await
        .unwrap_err();
    assert_eq!(error, full(64));
    assert!(peak(&engine) <= 64 << 20);
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn snapshots_made_for_a_role_count_as_memory() {
    let engine = engine(64).await;
    let host = Arc::new(TestHost {
        engine: Some(engine.clone()),
        ..TestHost::new(1)
    });
    let error = leak(&engine, "roles", host).await.unwrap_err();
    assert_eq!(error, full(64));
    assert!(peak(&engine) <= 64 << 20);
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn parses_for_a_guest_count_as_its_cpu_time() {
    let mut limits = orbweaver_engine::LimitsConfig::default();
    limits.actor.default.cpu_ms = 500;
    let engine = Engine::new(EngineConfig { limits, ..config() }).unwrap();
    load(&engine, &["good", "resource-leak"]).await;
    let error = leak(&engine, "bombs", Arc::new(NoHost)).await.unwrap_err();
    let budget = Duration::from_millis(500);
    assert_eq!(error, PluginError::Limit(Limit::Cpu(budget)));
    assert_good_still_runs(&engine).await;
}

/// A host that answers every fetch with a page of 8 MiB, or never.
struct Heavy {
    answers: bool,
}

impl Host for Heavy {
    fn http(&self) -> Option<&dyn HttpHost> {
        Some(self)
    }
}

#[async_trait]
impl HttpHost for Heavy {
    async fn fetch(&self, request: FetchRequest) -> Result<Arc<Page>, CodedError> {
        if !self.answers {
            return std::future::pending().await;
        }
        let body = vec![b'x'; 8 << 20];
        Ok(Page::new(PageParts {
            url: request.url.clone(),
            final_url: request.url,
            status: 200,
            html: Arc::from(String::from_utf8_lossy(&body).as_ref()),
            body: Arc::from(body),
            ..PageParts::default()
        }))
    }
}

#[tokio::test]
async fn bodies_of_waiting_requests_count_as_memory() {
    let engine = engine(256).await;
    let error = leak(&engine, "bodies", Arc::new(Heavy { answers: false }))
        .await
        .unwrap_err();
    assert_eq!(error, full(256));
    assert!(peak(&engine) <= 256 << 20);
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn fetched_pages_count_as_memory() {
    let mut limits = orbweaver_engine::LimitsConfig::default();
    limits.actor.default.memory_mib = 64;
    let engine = Engine::new(EngineConfig { limits, ..config() }).unwrap();
    load(&engine, &["good"]).await;
    let text = "name = \"fetch-flood\"\nkind = \"actor\"\nversion = \"1\"\napi = \"1.0.0\"\n[permissions]\nhttp = [\"*\"]\n";
    let greedy = orbweaver_engine::manifest::embed(&fixture("fetch-flood"), text).unwrap();
    engine
        .load_bytes(greedy, Source::Upload, Grants::All)
        .await
        .unwrap();
    for input in ["each", "many"] {
        let error = engine
            .run_actor(
                "fetch-flood",
                &json!(input),
                Arc::new(Heavy { answers: true }),
            )
            .await
            .unwrap_err();
        assert_eq!(error, full(64), "{input}");
    }
    let plugin = engine.plugin(Kind::Actor, "fetch-flood").unwrap();
    assert!(plugin.peak_memory <= 64 << 20);
    assert_good_still_runs(&engine).await;
}
