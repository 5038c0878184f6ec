//! Hooks with state (contract 1.1): what they keep, for whom, and that a crawl does not wait for them longer
//! than their limits say.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use orbweaver_core::ids::ProjectId;
use orbweaver_engine::{
    CallOrigin, CodedError, Engine, EngineConfig, ErrorCode, FoundLink, Grants, HookHosts,
    HookPoint, HookPoints, HookUse, Host, Limit, LimitsConfig, LoadError, NoHost, Page,
    PageVerdict, PageWork, Permissions, PluginError, PluginId, RunRef, Source, StateError,
    StateHost, StateValue, Visit, manifest,
};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::support::{assert_good_still_runs, config, engine_with, fixture, load, load_bytes};

const OURS: ProjectId = ProjectId(7);
const OTHERS: ProjectId = ProjectId(8);
const URL: &str = "http://a.test/";

type Values = Mutex<BTreeMap<(i64, PluginKey), StateValue>>;
type PluginKey = (bool, String, String);

/// Values of every project in memory.
#[derive(Default)]
pub struct Hosts {
    values: Arc<Values>,
    asked: Arc<AtomicUsize>,
    /// Whether a call for a value never ends.
    is_silent: bool,
}

impl HookHosts for Hosts {
    fn of(&self, caller: Option<&CallOrigin>) -> Arc<dyn Host> {
        let Some(caller) = caller else {
            return Arc::new(NoHost);
        };
        Arc::new(OfProject {
            project: caller.project.0,
            values: Arc::clone(&self.values),
            asked: Arc::clone(&self.asked),
            is_silent: self.is_silent,
        })
    }
}

struct OfProject {
    project: i64,
    values: Arc<Values>,
    asked: Arc<AtomicUsize>,
    is_silent: bool,
}

impl Host for OfProject {
    fn state(&self) -> Option<&dyn StateHost> {
        Some(self)
    }
}

impl OfProject {
    fn place(&self, plugin: &PluginId, key: &str) -> (i64, PluginKey) {
        let name = format!("{}:{}", plugin.kind, plugin.name);
        (self.project, (plugin.own, name, key.to_owned()))
    }
}

#[async_trait]
impl StateHost for OfProject {
    async fn get(&self, plugin: &PluginId, key: &str) -> Result<Option<StateValue>, CodedError> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        if self.is_silent {
            std::future::pending::<()>().await;
        }
        Ok(self.values.lock().get(&self.place(plugin, key)).cloned())
    }

    async fn put(
        &self,
        plugin: &PluginId,
        key: &str,
        value: Option<Vec<u8>>,
        _expected: Option<u64>,
        _ttl_ms: Option<u64>,
    ) -> Result<u64, StateError> {
        if key == "full" {
            return Err(CodedError::new(ErrorCode::Quota, "full").into());
        }
        let value = StateValue {
            value: value.unwrap_or_default(),
            version: 1,
        };
        self.values.lock().insert(self.place(plugin, key), value);
        Ok(1)
    }

    async fn keys(
        &self,
        _plugin: &PluginId,
        _prefix: &str,
        _after: Option<&str>,
        _limit: u32,
    ) -> Result<Vec<String>, CodedError> {
        Ok(Vec::new())
    }
}

fn keeper(config: &Value) -> HookUse {
    named("keeper", config)
}

fn named(name: &str, config: &Value) -> HookUse {
    HookUse {
        name: name.to_owned(),
        config: Arc::from(config.to_string()),
    }
}

fn work(points: &[HookPoint]) -> PageWork {
    PageWork {
        page: Page::from_html(URL, "<p>x"),
        visit: Visit {
            url: URL.to_owned(),
            status: 200,
            ..Visit::default()
        },
        points: HookPoints::of(points),
        outputs: Vec::new(),
        links: vec![FoundLink {
            url: format!("{URL}other"),
            ..FoundLink::default()
        }],
        retry_within: None,
    }
}

async fn record(engine: &Engine, hook: HookUse) -> PageVerdict {
    engine.page_hooks(&[hook], work(&[HookPoint::Record])).await
}

/// What the hook tells in its only record.
async fn told(engine: &Engine, ops: Value) -> Value {
    let verdict = record(engine, keeper(&json!({ "ops": ops }))).await;
    assert_eq!(verdict.failures, []);
    serde_json::from_str(&verdict.records[0].data).unwrap()
}

fn only_error(verdict: &PageVerdict) -> &PluginError {
    match verdict.failures.as_slice() {
        [failure] => &failure.error,
        other => panic!("not one failure: {other:?}"),
    }
}

async fn engine(hosts: Hosts) -> Engine {
    let engine = engine_with("hook-keeper").await;
    assert!(engine.set_hook_hosts(Arc::new(hosts)));
    engine
}

#[tokio::test]
async fn values_are_kept_from_page_to_page_for_the_project_of_the_crawl() {
    let engine = engine(Hosts::default()).await;
    let ours = engine.of_run(OURS, RunRef::Crawl(41));
    let others = engine.of_run(OTHERS, RunRef::Crawl(42));
    let put = json!([{"op": "put", "key": "a", "value": "one"}]);
    let get = json!([{"op": "get", "key": "a"}]);
    assert_eq!(told(&ours, put).await, json!({"run": 41, "results": [1]}));
    let kept = json!({"value": "one", "version": 1});
    assert_eq!(
        told(&ours, get.clone()).await,
        json!({"run": 41, "results": [kept]})
    );
    // Another run of the project has the same values, another project none.
    let later = engine.of_run(OURS, RunRef::Crawl(43));
    assert_eq!(
        told(&later, get.clone()).await,
        json!({"run": 43, "results": [kept]})
    );
    assert_eq!(
        told(&others, get.clone()).await,
        json!({"run": 42, "results": [null]})
    );
    // Outside of a crawl there is no run.
    let actor = engine.of_run(OURS, RunRef::Actor(44));
    assert_eq!(
        told(&actor, get).await,
        json!({"run": null, "results": [kept]})
    );
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn every_function_of_a_hook_has_them() {
    let engine = engine(Hosts::default()).await;
    let ours = engine.of_run(OURS, RunRef::Crawl(41));
    let hook = [keeper(&json!({"ops": [
        {"op": "get", "key": "a"}, {"op": "put", "key": "a", "value": "x"},
    ]}))];
    let every = [HookPoint::Response, HookPoint::Record, HookPoint::Discover];
    let verdict = ours.page_hooks(&hook, work(&every)).await;
    assert_eq!(verdict.failures, []);
    // `response` has written it.
    let kept = json!({"value": "x", "version": 1});
    let expected = json!({"run": 41, "results": [kept, 1]});
    let skipped = &verdict.links[0].skipped.as_ref().unwrap().reason;
    for said in [&verdict.records[0].data, skipped] {
        assert_eq!(serde_json::from_str::<Value>(said).unwrap(), expected);
    }
    let (changes, failures) = ours.request_hooks(&hook, URL, 0, 0).await;
    assert_eq!(failures, []);
    let said: Value = serde_json::from_str(&changes[0].1.headers[0].1).unwrap();
    assert_eq!(said, expected);
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn a_hook_that_imports_state_needs_the_permission() {
    let engine = engine_with("hook-tool").await;
    for granted in [Permissions::upload_default(), Permissions::default()] {
        let loaded = engine
            .load_bytes(
                fixture("hook-keeper"),
                Source::Upload,
                Grants::Only(granted),
            )
            .await;
        let refused = loaded.unwrap_err();
        assert!(matches!(&refused, LoadError::Import(_)), "{refused}");
        assert_eq!(
            refused.to_string(),
            "imports orbweaver:plugin/state@1.1.0 (permission state: it was not granted; add ?grant=state to \
             the upload, or set plugins.grants for a plugin of the folder)"
        );
    }
    // The manifest does not request it.
    let text = manifest::read_text(&fixture("hook-keeper")).unwrap();
    let silent = text.replace("state = true", "");
    let bytes = manifest::embed(&fixture("hook-keeper"), &silent).unwrap();
    let loaded = engine.load_bytes(bytes, Source::Upload, Grants::All).await;
    assert!(
        matches!(&loaded.unwrap_err(), LoadError::Import(why) if why.contains("permission state"))
    );
    // A permission alone changes nothing for a hook that does not import it.
    let text = manifest::read_text(&fixture("hook-tool")).unwrap();
    let asking = text.replace("[permissions]", "[permissions]\nstate = true");
    let bytes = manifest::embed(&fixture("hook-tool"), &asking).unwrap();
    load_bytes(&engine, bytes).await;
    let verdict = record(&engine, named("tool", &json!({"record": {}}))).await;
    assert_eq!((verdict.failures.len(), verdict.records.len()), (0, 1));
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn without_a_project_there_are_no_values() {
    let engine = engine(Hosts::default()).await;
    let said = told(&engine, json!([{"op": "get", "key": "a"}])).await;
    let expected = json!({"not-configured": "this host has no state"});
    assert_eq!(said, json!({"run": null, "results": [expected]}));
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn a_bound_that_is_reached_is_the_hooks_error() {
    let hosts = Hosts::default();
    let asked = Arc::clone(&hosts.asked);
    let engine = engine(hosts).await;
    let ours = engine.of_project(OURS);
    let full = told(&ours, json!([{"op": "put", "key": "full", "value": "x"}])).await;
    assert_eq!(full["results"], json!([{"quota": "full"}]));
    let verdict = record(&ours, keeper(&json!({"for_ever": true}))).await;
    let PluginError::Reported(error) = only_error(&verdict) else {
        panic!("{verdict:?}");
    };
    assert_eq!(error.code, ErrorCode::Budget, "{error:?}");
    assert!(error.message.contains("1000 operations"), "{error:?}");
    assert_eq!(asked.load(Ordering::SeqCst), 1_000);
    assert!(verdict.records.is_empty());
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn a_database_that_does_not_answer_ends_the_call_and_holds_up_nobody_else() {
    const WALL: Duration = Duration::from_millis(1_000);
    let mut limits = LimitsConfig::default();
    limits.hook.default.wall_ms = 1_000;
    let config = EngineConfig { limits, ..config() };
    let engine = Engine::new(config).unwrap();
    load(&engine, &["good", "hook-keeper", "hook-tool"]).await;
    assert!(engine.set_hook_hosts(Arc::new(Hosts {
        is_silent: true,
        ..Hosts::default()
    })));
    let ours = engine.of_project(OURS);
    let waits = json!({"ops": [{"op": "get", "key": "a"}]});
    let waiting = async {
        let verdict = record(&ours, keeper(&waits)).await;
        assert_eq!(*only_error(&verdict), PluginError::Limit(Limit::Wall(WALL)));
        assert_eq!(verdict.links.len(), 1, "its links stay");
        let (changes, failures) = ours.request_hooks(&[keeper(&waits)], URL, 0, 0).await;
        assert!(changes.is_empty());
        assert_eq!(failures[0].error, PluginError::Limit(Limit::Wall(WALL)));
    };
    let many = futures::future::join_all((0..20).map(|_| record(&ours, keeper(&waits))));
    let pooled = async {
        for _ in 0..20 {
            let verdict = record(&ours, named("tool", &json!({"record": {}}))).await;
            assert_eq!(verdict.failures, []);
        }
    };
    // The hook of the pool gets through while the others wait.
    tokio::pin!(many);
    tokio::select! {
        biased;
        _ = &mut many => panic!("the hook of the pool waited for the others"),
        () = pooled => {}
    }
    for verdict in many.await {
        assert_eq!(*only_error(&verdict), PluginError::Limit(Limit::Wall(WALL)));
    }
    waiting.await;
    assert_good_still_runs(&engine).await;
}
