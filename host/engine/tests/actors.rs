//! The plugin interface in three languages: the example actors in Rust, JavaScript and Python
//! (`examples/plugins`), built by their own tool chains, run against a host of this file.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a helper that fails must fail its test"
)]

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use orbweaver_engine::{
    CodedError, Engine, EngineConfig, ErrorCode, ExtractionHost, FetchRequest, Grants, Host,
    HostWork, HttpHost, Page, PageParts, Permissions, PluginError, Source,
};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::{Barrier, OnceCell};

const ACTORS: [&str; 3] = ["two-pages-rs", "two-pages-js", "two-pages-py"];
const URLS: [&str; 2] = ["https://a.test/", "https://b.test:8443/x"];

/// Answers a fetch only when another one is in progress too, so that a guest that fetches one page
/// after the other only ends at its wall limit.
struct PairHost {
    both: Barrier,
    /// The URL whose fetch fails.
    fails: Option<&'static str>,
    asked: Mutex<BTreeSet<String>>,
}

impl PairHost {
    fn new(fails: Option<&'static str>) -> Arc<Self> {
        Arc::new(Self {
            both: Barrier::new(2),
            fails,
            asked: Mutex::default(),
        })
    }
}

impl Host for PairHost {
    fn http(&self) -> Option<&dyn HttpHost> {
        Some(self)
    }

    fn extraction(&self) -> Option<&dyn ExtractionHost> {
        Some(self)
    }
}

#[async_trait]
impl HttpHost for PairHost {
    async fn fetch(&self, request: FetchRequest) -> Result<Arc<Page>, CodedError> {
        let FetchRequest {
            method,
            url,
            follow_redirects,
            respect_robots,
            ..
        } = request;
        assert_eq!(
            (method.as_str(), follow_redirects, respect_robots),
            ("GET", true, true)
        );
        self.asked.lock().insert(url.clone());
        self.both.wait().await;
        if self.fails == Some(url.as_str()) {
            return Err(CodedError::new(
                ErrorCode::Connect,
                format!("no answer from {url}"),
            ));
        }
        Ok(Page::new(PageParts {
            status: if url == URLS[0] { 200 } else { 404 },
            body: Arc::from(url.as_bytes()),
            html: format!("<p>x<h1>\n  {url} <b>!</b></h1>").into(),
            final_url: url.clone(),
            url,
            ..PageParts::default()
        }))
    }
}

#[async_trait]
impl ExtractionHost for PairHost {
    async fn extract(
        &self,
        role: &str,
        page: Arc<Page>,
        options: &str,
        _account: &HostWork,
    ) -> Result<String, CodedError> {
        assert_eq!((role, options), ("metadata", "{}"));
        Ok(json!({ "title": format!("“{}” — ☃", page.parts().url), "og": {} }).to_string())
    }
}

/// An engine with the three actors.
async fn start(grants: Grants) -> Engine {
    let folder = std::env::var_os("ORBWEAVER_FIXTURES").map_or_else(
        || {
            PathBuf::from(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/../../target/fixtures"
            ))
        },
        PathBuf::from,
    );
    let mut config = EngineConfig {
        // Compiling CPython takes seconds; the next run uses this cache.
        cache_dir: Some(PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("compiled-actors")),
        // On a busy machine that can take longer than the service allows.
        compile_timeout_ms: orbweaver_core::setting::Millis(600_000),
        ..EngineConfig::default()
    };
    config.limits.actor.default.wall_ms = 60_000;
    let engine = Engine::new(config).expect("an engine");
    for name in ACTORS {
        let file = folder.join(format!("actor-{name}.wasm"));
        let bytes = std::fs::read(&file).unwrap_or_else(|error| {
            panic!(
                "{}: {error}; `cargo xtask build-fixtures` builds it",
                file.display()
            )
        });
        engine
            .load_bytes(bytes, Source::Upload, grants.clone())
            .await
            .unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    engine
}

/// The actors with all requested permissions.
async fn trusted() -> &'static Engine {
    static ENGINE: OnceCell<Engine> = OnceCell::const_new();
    ENGINE.get_or_init(|| start(Grants::All)).await
}

/// The actors without the permission to run extractors.
async fn without_extraction() -> &'static Engine {
    static ENGINE: OnceCell<Engine> = OnceCell::const_new();
    // After the other engine, which fills the cache of compiled code.
    trusted().await;
    let http = Permissions {
        http: vec!["https://*:*".to_owned()],
        ..Permissions::default()
    };
    ENGINE.get_or_init(|| start(Grants::Only(http))).await
}

async fn run(engine: &Engine, actor: &str, host: &Arc<PairHost>) -> Result<Value, PluginError> {
    let host: Arc<dyn Host> = Arc::clone(host) as _;
    let output = engine
        .run_actor(actor, &json!({ "urls": URLS }), host)
        .await?;
    assert_eq!(output.fetches, 2);
    Ok(serde_json::from_str(&output.json).expect("the engine returns only JSON"))
}

fn items(title: impl Fn(&str) -> Value) -> Value {
    let item = |url: &str, status: u16| json!({ "url": url, "status": status, "bytes": url.len(), "title": title(url), "heading": format!("{url} !") });
    json!({ "items": [item(URLS[0], 200), item(URLS[1], 404)] })
}

async fn both_pages_are_fetched_in_parallel(actor: &str) {
    let host = PairHost::new(None);
    let data = run(trusted().await, actor, &host).await.expect("two pages");
    assert_eq!(data, items(|url| json!(format!("“{url}” — ☃"))));
    assert_eq!(*host.asked.lock(), BTreeSet::from(URLS.map(str::to_owned)));
}

async fn a_failed_fetch_is_reported_with_the_hosts_message(actor: &str) {
    let host = PairHost::new(Some(URLS[1]));
    let error = run(trusted().await, actor, &host)
        .await
        .expect_err("a failed fetch");
    assert_eq!(
        error,
        PluginError::Reported(CodedError::new(
            ErrorCode::Connect,
            format!("no answer from {}", URLS[1])
        ))
    );
    // The next call works normally.
    run(trusted().await, actor, &PairHost::new(None))
        .await
        .expect("two pages");
}

async fn a_missing_grant_is_an_error_value_and_not_a_trap(actor: &str) {
    let data = run(without_extraction().await, actor, &PairHost::new(None)).await;
    assert_eq!(data.expect("pages without titles"), items(|_| Value::Null));
}

async fn the_input_is_checked_against_the_schema(actor: &str) {
    let host = PairHost::new(None);
    for input in [json!({ "urls": [] }), json!({ "urls": "a" }), json!({})] {
        let engine = trusted().await;
        let error = engine
            .run_actor(actor, &input, Arc::clone(&host) as _)
            .await;
        assert!(
            error.as_ref().is_err_and(|error| {
                error
                    .invalid_input()
                    .is_some_and(|why| why.contains("urls"))
            }),
            "{input}: {error:?}"
        );
    }
    assert!(host.asked.lock().is_empty());
}

/// Defines each test once per language, so that a failure names the language.
macro_rules! in_three_languages {
    ($($test:ident)+) => {$(
        mod $test {
            #[tokio::test]
            async fn rust() {
                super::$test(super::ACTORS[0]).await;
            }

            #[tokio::test]
            async fn javascript() {
                super::$test(super::ACTORS[1]).await;
            }

            #[tokio::test]
            async fn python() {
                super::$test(super::ACTORS[2]).await;
            }
        }
    )+};
}

in_three_languages! {
    both_pages_are_fetched_in_parallel
    a_failed_fetch_is_reported_with_the_hosts_message
    a_missing_grant_is_an_error_value_and_not_a_trap
    the_input_is_checked_against_the_schema
}
