//! Fuzz targets that need the service's own crates: cookies, plugins' files, and every request's body.

use std::cell::{OnceCell, RefCell};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use async_trait::async_trait;
use axum::body::Body;
use http::{Method, Request, Uri};
use http_body_util::BodyExt as _;
use orbweaver_accounts::bootstrap;
use orbweaver_accounts::clock::Clock;
use orbweaver_accounts::secret::Secret;
use orbweaver_api::Entry;
use orbweaver_api::config::RateLimit;
use orbweaver_core::setting::Millis;
use orbweaver_engine::{Engine, EngineConfig, Grants, Source, manifest};
use orbweaver_fetch::{CookieJar, ResolveError, Resolver};
use orbweaver_server::config::{Config, Role};
use orbweaver_server::service;
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};
use url::Url;

use super::{Target, line, no_seeds, text};

/// The key of the only project: well-formed, and worthless anywhere else.
const KEY: &str = "orb_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

pub(super) fn targets() -> Vec<Target> {
    vec![
        Target {
            name: "cookies",
            run: cookies,
            seeds: no_seeds,
            max_len: 4 << 10,
        },
        Target {
            name: "plugin",
            run: plugin,
            seeds: components,
            max_len: 8 << 10,
        },
        Target {
            name: "router",
            run: router,
            seeds: requests,
            max_len: 8 << 10,
        },
    ]
}

/// Set-Cookie lines: what is sent back is one line of text, and never to another site.
fn cookies(data: &[u8]) {
    let lines: Vec<String> = data.split(|byte| *byte == b'\n').map(text).collect();
    let jar = CookieJar::new();
    let site: Url = "https://shop.example.com/a/b?c".parse().expect("a URL");
    jar.store(&site, lines.iter().map(String::as_str));
    for other in [
        "https://shop.example.org/a/b",
        "https://example.com.evil.test/a/b",
        "https://127.0.0.1/a/b",
    ] {
        let other: Url = other.parse().expect("a URL");
        assert_eq!(jar.header(&other), None, "{other}");
    }
    if let Some(header) = jar.header(&site) {
        assert!(header.len() <= 8 << 10);
        assert!(!header.chars().any(|c| c == '\n' || c == '\r' || c == '\0'));
        let value = http::HeaderValue::from_str(&header);
        assert!(value.is_ok(), "{header:?}");
    }
}

/// A small component with a manifest, and one without.
fn components() -> Vec<Vec<u8>> {
    // The preambles of a component and of a module, each without sections.
    let component = b"\0asm\x0d\0\x01\0".to_vec();
    let module = b"\0asm\x01\0\0\0".to_vec();
    let text = "name = \"raw\"\nkind = \"extractor\"\nversion = \"0.1.0\"\napi = \"1.0.0\"\n\
                [schema]\ninput = '{\"properties\": {\"a\": {\"$ref\": \"#/$defs/b\"}}}'\n";
    let named = manifest::embed(&component, text).expect("a manifest");
    vec![component, module, named]
}

thread_local! {
    static ENGINE: OnceCell<(Runtime, Engine)> = const { OnceCell::new() };
    static API: RefCell<Option<Api>> = const { RefCell::new(None) };
}

fn runtime() -> Runtime {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
}

/// A file that is to be a plugin is refused with a reason, or taken.
fn plugin(data: &[u8]) {
    ENGINE.with(|engine| {
        let (runtime, engine) = engine.get_or_init(|| {
            let config = EngineConfig {
                max_instances: 2,
                extractor_threads: 1,
                max_component_bytes: 64 << 10,
                ..EngineConfig::default()
            };
            let runtime = runtime();
            let engine = {
                let _inside = runtime.enter();
                Engine::new(config).expect("an engine")
            };
            (runtime, engine)
        });
        if let Err(refused) = engine.inspect(data) {
            assert!(!refused.to_string().is_empty());
        }
        // The data as a manifest, too.
        if let Ok(named) = manifest::embed(b"\0asm\x0d\0\x01\0", &text(data)) {
            let _ = engine.inspect(&named);
        }
        let loaded = runtime.block_on(engine.load_bytes(data, Source::Upload, Grants::All));
        if let Err(refused) = loaded {
            assert!(!refused.to_string().is_empty());
        }
    });
}

/// No name has an address, so that nothing leaves this machine.
struct Nowhere;

#[async_trait]
impl Resolver for Nowhere {
    async fn resolve(&self, _: &str) -> Result<Vec<IpAddr>, ResolveError> {
        Err(ResolveError::NxDomain)
    }
}

/// The whole interface over a database of its own, without workers and plugins.
struct Api {
    runtime: Runtime,
    entry: Entry,
    _data: TempDir,
}

impl Api {
    fn start() -> Self {
        let data = tempfile::tempdir().expect("a folder");
        let plugins = data.path().join("plugins");
        std::fs::create_dir(&plugins).expect("a folder");
        let runtime = runtime();
        let unlimited = RateLimit {
            per_second: 0,
            burst: 0,
        };
        let mut config = Config {
            listen: SocketAddr::from(([127, 0, 0, 1], 1)),
            data_dir: data.path().to_owned(),
            plugin_dir: Some(plugins),
            bootstrap_key: Some(Secret::new(KEY)),
            roles: vec![Role::Api],
            ..Config::default()
        };
        config.http.rate.key = unlimited;
        config.http.rate.address = unlimited;
        config.http.rate.keyless = unlimited;
        // An address that a body names is not reached in this time, and no run ever ends.
        config.fetch.limits.connect_ms = Millis(1);
        config.http.request_timeout_ms = Millis(500);
        config.browser = Some(data.path().join("none"));
        let entry = runtime.block_on(async {
            let built = service::build_with(config, Clock::system(), None, Arc::new(Nowhere)).await;
            let built = built.expect("the service's parts");
            let key = built.config().bootstrap_key.clone();
            bootstrap::run(&built.store, &built.clock, key.as_ref())
                .await
                .expect("the first project");
            orbweaver_api::service(built.app().clone())
        });
        Self {
            runtime,
            entry,
            _data: data,
        }
    }

    async fn ask(&self, method: Method, uri: Uri, body: Vec<u8>) -> (u16, String, Vec<u8>) {
        let shown = format!("{method} {uri}");
        let request = Request::builder()
            .method(method)
            .uri(uri)
            .header("host", "fuzz.example")
            .header("authorization", format!("Bearer {KEY}"))
            .header("content-type", "application/json")
            .body(Body::from(body))
            .expect("a request");
        let peer = SocketAddr::from(([127, 0, 0, 1], 9));
        let answer = self.entry.connection(peer).answer(request).await;
        let status = answer.status().as_u16();
        // What streams without end is not read.
        let wanted = status >= 400;
        let body = match wanted {
            true => answer
                .into_body()
                .collect()
                .await
                .expect("a body")
                .to_bytes(),
            false => Default::default(),
        };
        (status, shown, body.to_vec())
    }
}

/// `METHOD URI` in the first line, then the body. Whatever it is, the answer is no 500, and an
/// error has the envelope.
fn router(data: &[u8]) {
    let (head, body) = line(data);
    let Some((method, uri)) = head.split_once(' ') else {
        return;
    };
    let (Ok(method), Ok(uri)) = (method.parse::<Method>(), uri.trim().parse::<Uri>()) else {
        return;
    };
    if uri.path_and_query().is_none() || method == Method::CONNECT {
        return;
    }
    let changes_keys = uri.path().starts_with("/v1/keys") && method != Method::GET;
    let has_body = method != Method::HEAD;
    API.with_borrow_mut(|kept| {
        let api = kept.get_or_insert_with(Api::start);
        let asked = api.ask(method, uri, body.to_vec());
        let (status, shown, answer) = api.runtime.block_on(asked);
        if changes_keys && status < 400 {
            // The key may be gone.
            *kept = None;
        }
        assert_ne!(status, 500, "{shown}: {}", text(&answer));
        if (400..500).contains(&status) && has_body {
            let value: serde_json::Value = serde_json::from_slice(&answer)
                .unwrap_or_else(|error| panic!("{shown}: {status}: {error}: {}", text(&answer)));
            assert!(value["error"]["code"].is_string(), "{shown}: {value}");
        }
    });
}

/// Each operation of the interface once, with the least that it takes.
fn requests() -> Vec<Vec<u8>> {
    const URLS: &str = r#"{"url": "https://example.com/a?b=c"}"#;
    let mut requests = Vec::new();
    for (path, operations) in orbweaver_api::document().paths.paths {
        let path = path.replace("{id}", "1").replace("{name}", "extract-links");
        let path: String = path
            .split('/')
            .map(|part| if part.starts_with('{') { "1" } else { part })
            .collect::<Vec<_>>()
            .join("/");
        for (method, operation) in [
            ("GET", operations.get),
            ("POST", operations.post),
            ("PUT", operations.put),
            ("PATCH", operations.patch),
            ("DELETE", operations.delete),
        ] {
            let Some(operation) = operation else { continue };
            let body = match operation.request_body {
                Some(_) => URLS,
                None => "",
            };
            requests.push(format!("{method} {path}\n{body}").into_bytes());
        }
    }
    requests
}
