//! Actors that let the host and its extractors work for them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use orbweaver_engine::{
    CodedError, Engine, ExtractionHost, Host, HostWork, Kind, Limit, Page, PluginError, RoleCall,
    RunBudget,
};
use serde_json::json;

use crate::support::{TestHost, assert_good_still_runs, engine_with, fixture, load_bytes, page};

const ACTOR: &str = "extract-flood";
/// The CPU time that its manifest asks for: more than the host's at least.
const CPU: Duration = Duration::from_secs(40);

/// Answers every extraction, each of which takes this much CPU time.
struct Working {
    cpu: Duration,
    running: AtomicUsize,
    most: AtomicUsize,
}

impl Working {
    fn new(cpu: Duration) -> Arc<Self> {
        Arc::new(Self {
            cpu,
            running: AtomicUsize::new(0),
            most: AtomicUsize::new(0),
        })
    }
}

impl Host for Working {
    fn extraction(&self) -> Option<&dyn ExtractionHost> {
        Some(self)
    }
}

#[async_trait]
impl ExtractionHost for Working {
    async fn extract(
        &self,
        _role: &str,
        _page: Arc<Page>,
        _options: &str,
        account: &HostWork,
    ) -> Result<String, CodedError> {
        let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(running, Ordering::SeqCst);
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        account.spend(self.cpu);
        self.running.fetch_sub(1, Ordering::SeqCst);
        Ok("null".to_owned())
    }
}

#[tokio::test]
async fn the_values_of_options_are_memory_of_the_call() {
    let engine = engine_with(ACTOR).await;
    let host = Arc::new(TestHost {
        engine: Some(engine.clone()),
        ..TestHost::new(1)
    });
    let trees = engine.run_actor(ACTOR, &json!("trees"), host.clone()).await;
    let limit = engine.actor(ACTOR).unwrap().limits.memory_mib << 20;
    assert_eq!(trees.unwrap_err(), PluginError::Limit(Limit::Memory(limit)));
    let long = engine.run_actor(ACTOR, &json!("long"), host).await;
    let error = long.unwrap_err();
    let rule = error.invalid_input().unwrap();
    assert!(rule.starts_with("options: at most"), "{rule}");
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn extractions_end_with_the_hosts_time() {
    let engine = engine_with(ACTOR).await;
    let host = Working::new(CPU / 100);
    let output = engine.run_actor(ACTOR, &json!("each"), host).await.unwrap();
    assert_eq!(output.json, r#"{"answered":100,"refused":1}"#);
    let host = Working::new(CPU / 100);
    let budget = RunBudget {
        wall: Duration::from_secs(120),
        cpu: CPU * 2,
    };
    let run = engine
        .run_actor_in_background(ACTOR, &json!("each"), host, budget)
        .await;
    assert_eq!(run.unwrap().json, r#"{"answered":200,"refused":1}"#);
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn few_extractions_of_a_call_are_under_way_at_once() {
    let engine = engine_with(ACTOR).await;
    let host = Working::new(CPU / 2);
    let output = engine
        .run_actor(ACTOR, &json!("at-once"), host.clone())
        .await;
    let output: serde_json::Value = serde_json::from_str(&output.unwrap().json).unwrap();
    let (answered, refused) = (&output["answered"], &output["refused"]);
    let answered = answered.as_u64().unwrap();
    // Those that use up the time, and those that have begun before.
    assert!((2..2 + 8).contains(&answered), "{output}");
    assert_eq!(refused, &json!(200 - answered));
    assert!(host.most.load(Ordering::SeqCst) <= 8, "{:?}", host.most);
    assert_good_still_runs(&engine).await;
}

/// CPU time of all calls of an extractor.
fn cpu(engine: &Engine, name: &str) -> Duration {
    engine.plugin(Kind::Extractor, name).unwrap().cpu
}

#[tokio::test]
async fn an_extraction_is_spent_on_its_callers_time_with_what_it_needs() {
    let engine = engine_with("inputs").await;
    let manifest = "name = \"asks\"\nkind = \"extractor\"\nversion = \"1\"\napi = \"1.0.0\"\n\
                    roles = [\"asks\"]\nneeds = [\"good\"]\n[schema]\ninput = \"{}\"\n";
    let asks = orbweaver_engine::manifest::embed(&fixture("inputs"), manifest);
    load_bytes(&engine, asks.unwrap()).await;
    let before = cpu(&engine, "good") + cpu(&engine, "asks");
    let account = HostWork::new(Duration::from_secs(1));
    let call = RoleCall {
        role: "asks".to_owned(),
        options: String::new(),
    };
    let spending = engine.spending(&account);
    let answer = spending.extract(&page(), vec![call]).await.pop();
    assert!(answer.is_some());
    let taken = cpu(&engine, "good") + cpu(&engine, "asks") - before;
    assert!(
        taken > Duration::ZERO && account.spent() >= taken,
        "{account:?}"
    );
    // So is the check of its options.
    let account = HostWork::new(Duration::from_secs(1));
    let spending = engine.spending(&account);
    let options = spending.checked_options("asks", r#"{"a":1}"#);
    options.await.unwrap();
    assert!(account.spent() > Duration::ZERO);
    assert_good_still_runs(&engine).await;
}
