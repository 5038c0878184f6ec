//! Fixtures, engines and hosts for these tests.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use orbweaver_engine::{
    CodedError, Engine, EngineConfig, ErrorCode, ExtractionHost, FetchRequest, Grants, Host,
    HostWork, HttpHost, Json, Kind, Page, PageParts, PluginError, PluginInfo, RoleCall, Source,
};

/// The folder of the built fixtures.
pub fn fixtures() -> PathBuf {
    std::env::var_os("ORBWEAVER_FIXTURES").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/fixtures"),
        PathBuf::from,
    )
}

/// A fixture's bytes.
pub fn fixture(name: &str) -> Vec<u8> {
    let path = fixtures().join(format!("{name}.wasm"));
    std::fs::read(&path).unwrap_or_else(|error| {
        panic!(
            "{}: {error}; `cargo xtask build-fixtures` builds it",
            path.display()
        )
    })
}

/// Small limits, so that parallel tests do not slow each other down.
pub fn config() -> EngineConfig {
    EngineConfig {
        max_instances: 16,
        extractor_threads: 2,
        ..EngineConfig::default()
    }
}

pub fn engine() -> Engine {
    Engine::new(config()).unwrap()
}

/// Loads fixtures with all grants.
pub async fn load(engine: &Engine, names: &[&str]) {
    for name in names {
        load_bytes(engine, fixture(name)).await;
    }
}

pub async fn load_bytes(engine: &Engine, bytes: Vec<u8>) -> PluginInfo {
    engine
        .load_bytes(bytes, Source::Upload, Grants::All)
        .await
        .unwrap()
}

/// As [`engine_with`], with time for guests that are to reach another limit, on a busy machine too.
pub async fn patient_engine_with(name: &str) -> Engine {
    let mut config = config();
    let limits = &mut config.limits;
    for range in [&mut limits.extractor, &mut limits.hook] {
        for limits in [&mut range.default, &mut range.max] {
            (limits.cpu_ms, limits.wall_ms) = (30_000, 60_000);
        }
    }
    let engine = Engine::new(config).unwrap();
    load(&engine, &["good", name]).await;
    engine
}

/// An engine with `good` and one other fixture.
pub async fn engine_with(name: &str) -> Engine {
    let engine = engine();
    load(&engine, &["good", name]).await;
    engine
}

pub fn page() -> Arc<Page> {
    Page::new(PageParts {
        url: "http://example.com/a".into(),
        final_url: "https://example.com/b".into(),
        status: 200,
        headers: vec![("content-type".into(), "text/html".into())],
        redirects: vec![orbweaver_engine::Hop {
            url: "http://example.com/a".into(),
            status: 301,
        }],
        body: Arc::from(&b"<p>hello"[..]),
        html: Arc::from("<p>hello"),
        ..PageParts::default()
    })
}

pub fn call(role: &str) -> RoleCall {
    RoleCall {
        role: role.into(),
        options: r#"{"attack":true}"#.into(),
    }
}

/// One role of a page.
pub async fn extract(engine: &Engine, role: &str) -> Result<Json, PluginError> {
    engine
        .extract(&page(), vec![call(role)])
        .await
        .pop()
        .unwrap()
}

/// Checks at the end of every hostile test that a good plugin still runs, in a new instance.
pub async fn assert_good_still_runs(engine: &Engine) {
    let json = extract(engine, "good").await.unwrap();
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(value["status"], 200);
    assert_eq!(value["calls"], 1, "a new instance");
    assert_eq!(engine.plugin(Kind::Extractor, "good").unwrap().errors, 0);
}

/// A host that answers every fetch with a page naming the URL, after all fetches of a wave have
/// arrived: this proves concurrency without a clock.
pub struct TestHost {
    pub engine: Option<Engine>,
    /// Number of fetches that must be in progress before any is answered.
    pub wave: tokio::sync::Barrier,
    pub fetches: AtomicUsize,
    pub running: AtomicUsize,
    pub most: AtomicUsize,
    pub body: Arc<[u8]>,
}

impl TestHost {
    pub fn new(wave: usize) -> Self {
        Self {
            engine: None,
            wave: tokio::sync::Barrier::new(wave),
            fetches: AtomicUsize::new(0),
            running: AtomicUsize::new(0),
            most: AtomicUsize::new(0),
            body: Arc::from(&b"<p>fetched"[..]),
        }
    }
}

impl Host for TestHost {
    fn http(&self) -> Option<&dyn HttpHost> {
        Some(self)
    }

    fn extraction(&self) -> Option<&dyn ExtractionHost> {
        Some(self)
    }
}

#[async_trait]
impl HttpHost for TestHost {
    async fn fetch(&self, request: FetchRequest) -> Result<Arc<Page>, CodedError> {
        assert!(
            request.allowed.allows(&request.url),
            "the engine checked the grant"
        );
        self.fetches.fetch_add(1, Ordering::SeqCst);
        let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(running, Ordering::SeqCst);
        self.wave.wait().await;
        tokio::task::yield_now().await;
        self.running.fetch_sub(1, Ordering::SeqCst);
        if request.url.contains("unreachable") {
            return Err(CodedError::new(ErrorCode::Connect, "connection refused"));
        }
        Ok(Page::new(PageParts {
            url: request.url.clone(),
            final_url: request.url,
            status: 200,
            body: Arc::clone(&self.body),
            html: Arc::from(String::from_utf8_lossy(&self.body).as_ref()),
            ..PageParts::default()
        }))
    }
}

#[async_trait]
impl ExtractionHost for TestHost {
    async fn extract(
        &self,
        role: &str,
        page: Arc<Page>,
        options: &str,
        account: &HostWork,
    ) -> Result<String, CodedError> {
        let engine = self.engine.as_ref().unwrap().spending(account);
        engine.extract_for_plugin(role, &page, options).await
    }
}

/// The code of a plugin's own error.
pub fn code(error: &PluginError) -> Option<ErrorCode> {
    match error {
        PluginError::Reported(error) => Some(error.code),
        _ => None,
    }
}
