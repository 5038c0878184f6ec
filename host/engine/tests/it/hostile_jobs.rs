//! Actors that run in the background: what they tell, and what they can't do.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use orbweaver_engine::{
    CallOutput, CallProgress, CodedError, Engine, ErrorCode, FetchRequest, Host, HttpHost,
    JobContext, JobHost, Limit, NoHost, Page, PageParts, PluginError, RunBudget,
};
use parking_lot::Mutex;
use serde_json::json;

use crate::support::{assert_good_still_runs, engine_with};

/// Keeps what a run tells, at most `most` items.
#[derive(Default)]
struct Told {
    most: usize,
    items: Mutex<Vec<String>>,
    progress: Mutex<Vec<CallProgress>>,
}

impl Host for Told {
    fn http(&self) -> Option<&dyn HttpHost> {
        Some(self)
    }

    fn job(&self) -> Option<&dyn JobHost> {
        Some(self)
    }
}

#[async_trait]
impl JobHost for Told {
    fn context(&self) -> JobContext {
        JobContext {
            request_id: "the-request".to_owned(),
            run_id: Some(7),
            attempts: 2,
            max_item_bytes: 256 << 10,
        }
    }

    fn progress(&self, progress: CallProgress) {
        let mut all = self.progress.lock();
        all.truncate(9);
        all.push(progress);
    }

    async fn emit(&self, item: String) -> Result<(), CodedError> {
        let mut items = self.items.lock();
        if items.len() >= self.most {
            return Err(CodedError::new(ErrorCode::Budget, "enough"));
        }
        items.push(item);
        Ok(())
    }

    fn is_cancelled(&self) -> bool {
        false
    }
}

#[async_trait]
impl HttpHost for Told {
    async fn fetch(&self, request: FetchRequest) -> Result<Arc<Page>, CodedError> {
        tokio::time::sleep(Duration::from_millis(5)).await;
        Ok(Page::new(PageParts {
            url: request.url.clone(),
            final_url: request.url,
            status: 200,
            ..PageParts::default()
        }))
    }
}

fn told() -> Arc<Told> {
    Arc::new(Told {
        most: 100,
        ..Told::default()
    })
}

/// Runs it in the background, with half a second of CPU time and five of wall time.
async fn run(engine: &Engine, host: Arc<dyn Host>, what: &str) -> Result<CallOutput, PluginError> {
    let budget = RunBudget {
        wall: Duration::from_secs(5),
        cpu: Duration::from_millis(500),
    };
    let input = json!({"do": what});
    engine
        .run_actor_in_background("job-tool", &input, host, budget)
        .await
}

#[tokio::test]
async fn a_run_tells_its_context_progress_and_items() {
    let engine = engine_with("job-tool").await;
    let host = told();
    let output = run(&engine, host.clone(), "context").await.unwrap();
    let context: serde_json::Value = serde_json::from_str(&output.json).unwrap();
    assert_eq!(context["request_id"], "the-request");
    assert_eq!(
        (&context["run_id"], &context["attempts"]),
        (&json!(7), &json!(2))
    );
    let left = context["deadline_ms"].as_u64().unwrap();
    assert!((1..=5_000).contains(&left), "{left}");
    run(&engine, host.clone(), "emit").await.unwrap();
    assert_eq!(host.items.lock().len(), 3);
    let last = host.progress.lock().last().cloned();
    let expected = CallProgress {
        done: 3,
        total: Some(3),
        message: "emitting".to_owned(),
    };
    assert_eq!(last, Some(expected));
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn without_a_run_there_are_no_items() {
    let engine = engine_with("job-tool").await;
    let error = run(&engine, Arc::new(NoHost), "emit").await.unwrap_err();
    assert!(error.invalid_input().is_some(), "{error}");
    let output = run(&engine, Arc::new(NoHost), "context").await.unwrap();
    assert!(output.json.contains(r#""run_id":null"#), "{}", output.json);
}

#[tokio::test]
async fn what_is_no_item_never_reaches_the_host() {
    let engine = engine_with("job-tool").await;
    let host = told();
    let output = run(&engine, host.clone(), "bad-items").await.unwrap();
    assert_eq!(
        output.json,
        r#"["failed","failed","failed","failed","budget","failed"]"#
    );
    assert!(host.items.lock().is_empty());
    let error = run(&engine, host.clone(), "huge-item").await.unwrap_err();
    assert!(matches!(error, PluginError::Limit(_)), "{error}");
    assert!(host.items.lock().is_empty());
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn floods_end_at_the_runs_budgets() {
    let engine = engine_with("job-tool").await;
    let host = told();
    run(&engine, host.clone(), "flood").await.unwrap();
    assert_eq!(host.items.lock().len(), 100);
    let cpu = Duration::from_millis(500);
    let error = run(&engine, host.clone(), "progress-flood")
        .await
        .unwrap_err();
    assert_eq!(error, PluginError::Limit(Limit::Cpu(cpu)));
    let message = host.progress.lock().last().unwrap().message.clone();
    assert!(
        message.len() <= 6 * 500 && !message.contains('\u{1b}'),
        "{message}"
    );
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn a_run_ends_at_each_of_its_limits() {
    let engine = engine_with("job-tool").await;
    let cpu = Duration::from_millis(500);
    for (what, expected) in [
        ("spin", Some(Limit::Cpu(cpu))),
        ("long", Some(Limit::Output(64 << 10))),
        ("leak", Some(Limit::Handles(1_000))),
        ("eat", None),
        ("panic", None),
    ] {
        let error = run(&engine, told(), what).await.unwrap_err();
        match expected {
            Some(limit) => assert_eq!(error, PluginError::Limit(limit), "{what}"),
            None if what == "panic" => {
                assert!(
                    error.to_string().contains("a message for the log"),
                    "{error}"
                );
            }
            None => assert!(
                matches!(
                    error,
                    PluginError::Limit(Limit::Memory(_)) | PluginError::Trap(_)
                ),
                "{what}: {error}"
            ),
        }
    }
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn a_run_has_its_own_time_and_takes_no_slot_of_other_calls() {
    let engine = engine_with("job-tool").await;
    let free = engine.free_actor_slots();
    let budget = RunBudget {
        wall: Duration::from_secs(1),
        cpu: Duration::from_millis(500),
    };
    let input = json!({"do": "ignore", "url": "https://example.com/"});
    let host = told();
    let mut call = engine.run_actor_in_background("job-tool", &input, host.clone(), budget);
    // It has begun once the guest has emitted its item.
    let begun = async {
        while host.items.lock().is_empty() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::select! {
        done = &mut call => panic!("{done:?}"),
        () = begun => {}
    }
    assert_eq!(engine.free_actor_slots(), free);
    let error = call.await.unwrap_err();
    assert_eq!(error, PluginError::Limit(Limit::Wall(budget.wall)));
    // Dropped, it ends at once.
    let budget = RunBudget {
        wall: Duration::from_secs(3_600),
        ..budget
    };
    drop(engine.run_actor_in_background("job-tool", &input, told(), budget));
    assert_good_still_runs(&engine).await;
}
