//! Actors that begin work of the host and then stand still, so that nobody polls its futures: the work goes on,
//! and what it shares with other calls is not kept from them.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use orbweaver_core::ids::ProjectId;
use orbweaver_engine::{
    CallProgress, CodedError, Engine, ErrorCode, ExtractionHost, FetchRequest, Host, HostWork,
    HttpHost, JobContext, JobHost, Page, manifest,
};
use serde_json::json;
use tokio::sync::{Notify, Semaphore};

use crate::support::{assert_good_still_runs, call, engine_with, fixture, load, load_bytes, page};

const ACTOR: &str = "extract-flood";
/// What others wait at most: far less than the stalled call's own time, which is two minutes.
const PATIENCE: Duration = Duration::from_secs(30);

/// The host of all calls, with one turn for their fetches.
struct Shared {
    engine: Engine,
    turn: Semaphore,
    /// The stalled actor has begun everything, and stands still.
    stalled: Notify,
    /// It may go on.
    release: Notify,
    is_released: AtomicBool,
}

impl Shared {
    fn new(engine: &Engine) -> Arc<Self> {
        Arc::new(Self {
            engine: engine.clone(),
            turn: Semaphore::new(1),
            stalled: Notify::new(),
            release: Notify::new(),
            is_released: AtomicBool::new(false),
        })
    }

    fn release(&self) {
        self.is_released.store(true, Ordering::SeqCst);
        self.release.notify_one();
    }
}

impl Host for Shared {
    fn http(&self) -> Option<&dyn HttpHost> {
        Some(self)
    }

    fn extraction(&self) -> Option<&dyn ExtractionHost> {
        Some(self)
    }

    fn job(&self) -> Option<&dyn JobHost> {
        Some(self)
    }
}

#[async_trait]
impl HttpHost for Shared {
    async fn fetch(&self, request: FetchRequest) -> Result<Arc<Page>, CodedError> {
        let _turn = self.turn.acquire().await.unwrap();
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        Ok(Page::from_html(&request.url, "<p>fetched"))
    }
}

#[async_trait]
impl ExtractionHost for Shared {
    async fn extract(
        &self,
        role: &str,
        page: Arc<Page>,
        options: &str,
        account: &HostWork,
    ) -> Result<String, CodedError> {
        if role == "wait" {
            self.stalled.notify_one();
            self.release.notified().await;
            return Ok("null".to_owned());
        }
        let engine = self.engine.spending(account);
        engine.extract_for_plugin(role, &page, options).await
    }
}

#[async_trait]
impl JobHost for Shared {
    fn context(&self) -> JobContext {
        JobContext::default()
    }

    fn progress(&self, _: CallProgress) {}

    async fn emit(&self, _: String) -> Result<(), CodedError> {
        Err(CodedError::new(ErrorCode::Budget, "no items"))
    }

    fn is_cancelled(&self) -> bool {
        self.stalled.notify_one();
        self.is_released.load(Ordering::SeqCst)
    }
}

/// What other projects ask for while the actor stands still.
async fn others_are_answered(engine: &Engine, host: &Arc<Shared>) {
    let other = engine.of_project(ProjectId(2));
    let answer = other.extract(&page(), vec![call("clock")]).await.pop();
    assert!(answer.unwrap().is_ok());
    let input = json!({"url": "https://example.com/", "n": 1});
    let output = other.run_actor("good-actor", &input, Arc::<Shared>::clone(host));
    let output = output.await.unwrap().json;
    assert!(output.contains(r#""errors":0"#), "{output}");
}

async fn stall(how: &str) {
    let engine = engine_with(ACTOR).await;
    load(&engine, &["good-actor"]).await;
    // It runs as interpreters do, of which few run at once for all projects.
    let clock = "name = \"clock\"\nkind = \"extractor\"\nversion = \"1\"\napi = \"1.0.0\"\n\
                 [permissions]\nwasi = [\"clocks\"]\n";
    let clock = manifest::embed(&fixture("clock-random"), clock);
    load_bytes(&engine, clock.unwrap()).await;
    let host = Shared::new(&engine);
    let input = json!(how);
    let stalled = engine.of_project(ProjectId(1));
    let stalled = stalled.run_actor(ACTOR, &input, Arc::<Shared>::clone(&host));
    let mut stalled = pin!(stalled);
    let others = async {
        host.stalled.notified().await;
        let answered = others_are_answered(&engine, &host);
        let answered = tokio::time::timeout(PATIENCE, answered).await;
        host.release();
        answered.expect("the stalled actor keeps others from what they share");
    };
    tokio::select! {
        output = &mut stalled => panic!("it does not stand still: {output:?}"),
        () = others => {}
    }
    let output = stalled.await;
    let answers = if how == "wait" { 17 } else { 16 };
    let expected = format!(r#"{{"answered":{answers},"refused":0}}"#);
    assert_eq!(output.unwrap().json, expected.as_str());
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn an_actor_that_computes_keeps_nothing_from_others() {
    stall("spin").await;
}

#[tokio::test]
async fn an_actor_that_waits_in_a_synchronous_import_keeps_nothing_from_others() {
    stall("wait").await;
}
