//! Actors that misuse the asynchronous parts of the component model: tasks, callbacks, streams,
//! futures, waitable sets, and host calls that never end.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use orbweaver_engine::{
    CodedError, Engine, EngineConfig, FetchRequest, Host, HttpHost, Json, Limit, LimitsConfig,
    NoHost, Page, PluginError,
};
use serde_json::json;

use crate::support::{TestHost, assert_good_still_runs, config, load, load_bytes};
use crate::wat::Actor;

const CPU: Duration = Duration::from_millis(200);
const WALL: Duration = Duration::from_millis(2_000);
const SLOTS: usize = 2;

/// An engine whose actors have little time, with two slots.
async fn engine() -> Engine {
    let mut limits = LimitsConfig::default();
    limits.actor.default.cpu_ms = 200;
    limits.actor.default.wall_ms = 2_000;
    let config = EngineConfig {
        max_actors: SLOTS,
        limits,
        ..config()
    };
    let engine = Engine::new(config).unwrap();
    load(&engine, &["good", "good-actor"]).await;
    engine
}

/// Runs the actor a few times, then checks that all slots are free and other actors still run.
fn attack(actor: Actor<'_>) -> impl Future<Output = Result<Json, PluginError>> + use<> {
    let component = actor.build();
    async move {
        let engine = engine().await;
        load_bytes(&engine, component).await;
        let mut last = None;
        for _ in 0..=SLOTS {
            let input = json!({});
            let call = engine.run_actor("raw", &input, Arc::new(NoHost));
            last = Some(call.await.map(|output| output.json));
        }
        assert_nothing_is_left(&engine).await;
        last.unwrap()
    }
}

async fn assert_nothing_is_left(engine: &Engine) {
    let free = async {
        while engine.free_actor_slots() < SLOTS {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), free)
        .await
        .expect("slots leaked");
    let host = Arc::new(TestHost {
        engine: Some(engine.clone()),
        ..TestHost::new(2)
    });
    let input = json!({"url": "https://example.com/"});
    engine.run_actor("good-actor", &input, host).await.unwrap();
    assert_good_still_runs(engine).await;
}

fn is_trap(answer: &Result<Json, PluginError>) -> bool {
    matches!(answer, Err(PluginError::Trap(_)))
}

#[tokio::test]
async fn the_raw_actor_runs_normally() {
    let answer = attack(Actor {
        run: "call $answer i32.const 0",
        callback: "unreachable",
        ..Actor::default()
    });
    assert_eq!(answer.await.as_deref(), Ok("null"));
}

#[tokio::test]
async fn a_task_that_yields_for_ever_ends_at_its_cpu_budget() {
    let answer = attack(Actor {
        run: "i32.const 1",
        callback: "i32.const 1",
        ..Actor::default()
    });
    assert_eq!(answer.await, Err(PluginError::Limit(Limit::Cpu(CPU))));
}

#[tokio::test]
async fn a_task_that_continues_after_its_answer_is_dropped() {
    let answer = attack(Actor {
        run: "call $answer i32.const 1",
        callback: "i32.const 1",
        ..Actor::default()
    });
    assert_eq!(answer.await.as_deref(), Ok("null"));
}

#[tokio::test]
async fn a_callback_that_loops_ends_at_its_cpu_budget() {
    let answer = attack(Actor {
        run: "i32.const 1",
        callback: "(loop $for_ever (br $for_ever)) unreachable",
        ..Actor::default()
    });
    assert_eq!(answer.await, Err(PluginError::Limit(Limit::Cpu(CPU))));
}

#[tokio::test]
async fn unknown_callback_codes_are_traps() {
    for code in ["3", "15", "-1", "0x7ffffff2"] {
        let answer = attack(Actor {
            run: &format!("i32.const {code}"),
            callback: "i32.const 0",
            ..Actor::default()
        });
        let answer = answer.await;
        assert!(is_trap(&answer), "{code}: {answer:?}");
    }
}

#[tokio::test]
async fn an_actors_tables_do_not_grow_beyond_their_limit() {
    let answer = attack(Actor {
        core: "(table $t 1 funcref)",
        // A refused growth returns -1; any other result is wrong.
        run: "(if (i32.ne (table.grow $t (ref.null func) (i32.const 10000000)) (i32.const -1))
                (then unreachable))
              call $answer i32.const 0",
        callback: "unreachable",
        ..Actor::default()
    });
    assert_eq!(answer.await.as_deref(), Ok("null"));
}

#[tokio::test]
async fn an_exit_without_an_answer_is_a_trap() {
    let answer = attack(Actor {
        run: "i32.const 0",
        callback: "unreachable",
        ..Actor::default()
    });
    let answer = answer.await;
    assert!(is_trap(&answer), "{answer:?}");
}

#[tokio::test]
async fn two_answers_are_a_trap() {
    let answer = attack(Actor {
        run: "call $answer call $answer i32.const 0",
        callback: "unreachable",
        ..Actor::default()
    });
    let answer = answer.await;
    assert!(is_trap(&answer), "{answer:?}");
}

#[tokio::test]
async fn waiting_for_nothing_ends() {
    let answer = attack(Actor {
        builtins: "(core func $new (canon waitable-set.new))",
        exports: "(export \"new\" (func $new))",
        imports: "(import \"host\" \"new\" (func $new (result i32)))",
        run: "(i32.or (i32.const 2) (i32.shl (call $new) (i32.const 4)))",
        callback: "i32.const 0",
        ..Actor::default()
    });
    let answer = answer.await;
    let ended = is_trap(&answer) || answer == Err(PluginError::Limit(Limit::Wall(WALL)));
    assert!(ended, "{answer:?}");
}

/// The values of a result with text that only an error has.
const UNUSED: &str = "(i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) \
                      (i32.const 0) (i64.const 0)";

#[tokio::test]
async fn an_actors_answer_is_checked() {
    for (answer, what) in [
        ("(i32.const 0) (i32.const 16) (i32.const 3)", "`nul`"),
        ("(i32.const 0) (i32.const 16) (i32.const 0)", "nothing"),
    ] {
        let run = format!("(call $return {answer} {UNUSED}) i32.const 0");
        let answer = attack(Actor {
            run: &run,
            callback: "unreachable",
            ..Actor::default()
        });
        let answer = answer.await;
        assert!(
            matches!(answer, Err(PluginError::BadOutput(_))),
            "{what}: {answer:?}"
        );
    }
    for (answer, what) in [
        (
            "(i32.const 0) (i32.const 16) (i32.const 0x7fffffff)",
            "length",
        ),
        ("(i32.const 0) (i32.const -1) (i32.const 4)", "pointer"),
        ("(i32.const 7) (i32.const 16) (i32.const 4)", "case"),
    ] {
        let run = format!("(call $return {answer} {UNUSED}) i32.const 0");
        let answer = attack(Actor {
            run: &run,
            callback: "unreachable",
            ..Actor::default()
        });
        let answer = answer.await;
        assert!(is_trap(&answer), "{what}: {answer:?}");
    }
}

#[tokio::test]
async fn a_trap_fails_only_the_actors_own_call() {
    let answer = attack(Actor {
        run: "unreachable",
        callback: "unreachable",
        ..Actor::default()
    });
    let answer = answer.await;
    assert!(is_trap(&answer), "{answer:?}");
}

/// Calls `$new` for ever without closing anything.
const LEAK: &str = "(loop $more (drop (call $new)) (br $more)) unreachable";

#[tokio::test]
async fn leaked_handles_of_every_kind_end_the_call() {
    let handles = PluginError::Limit(Limit::Handles(1_000));
    for (builtin, result) in [
        ("waitable-set.new", "i32"),
        ("stream.new $bytes", "i64"),
        ("future.new $number", "i64"),
    ] {
        let answer = attack(Actor {
            builtins: &format!("(core func $new (canon {builtin}))"),
            exports: "(export \"new\" (func $new))",
            imports: &format!("(import \"host\" \"new\" (func $new (result {result})))"),
            run: LEAK,
            callback: "unreachable",
            ..Actor::default()
        });
        assert_eq!(answer.await.as_ref(), Err(&handles), "{builtin}");
    }
}

#[tokio::test]
async fn streams_and_futures_left_behind_are_dropped_with_the_call() {
    for builtin in ["stream.new $bytes", "future.new $number"] {
        let answer = attack(Actor {
            builtins: &format!("(core func $new (canon {builtin}))"),
            exports: "(export \"new\" (func $new))",
            imports: "(import \"host\" \"new\" (func $new (result i64)))",
            run: "(local $i i32)
                (loop $more
                  (drop (call $new))
                  (local.set $i (i32.add (local.get $i) (i32.const 1)))
                  (br_if $more (i32.lt_u (local.get $i) (i32.const 400))))
                call $answer i32.const 0",
            callback: "unreachable",
            ..Actor::default()
        });
        assert_eq!(answer.await.as_deref(), Ok("null"), "{builtin}");
    }
}

/// A host whose fetches never end.
struct Silent;

impl Host for Silent {
    fn http(&self) -> Option<&dyn HttpHost> {
        Some(self)
    }
}

#[async_trait]
impl HttpHost for Silent {
    async fn fetch(&self, _: FetchRequest) -> Result<Arc<Page>, CodedError> {
        std::future::pending().await
    }
}

#[tokio::test]
async fn host_calls_that_never_end_end_at_the_wall_limit() {
    let engine = engine().await;
    for n in [1, 400] {
        let input = json!({"url": "https://example.com/", "n": n});
        let error = engine
            .run_actor("good-actor", &input, Arc::new(Silent))
            .await
            .unwrap_err();
        assert_eq!(error, PluginError::Limit(Limit::Wall(WALL)), "{n} fetches");
    }
    assert_nothing_is_left(&engine).await;
}

#[tokio::test]
async fn thousands_of_parallel_host_calls_end_the_call() {
    let engine = engine().await;
    let input = json!({"url": "https://example.com/", "n": 20_000});
    let error = engine
        .run_actor("good-actor", &input, Arc::new(Silent))
        .await
        .unwrap_err();
    // Whichever is reached first: the limit of handles, or a time limit.
    let limit = matches!(
        error,
        PluginError::Limit(Limit::Handles(1_000) | Limit::Wall(_) | Limit::Cpu(_))
    );
    assert!(limit, "{error:?}");
    assert_nothing_is_left(&engine).await;
}
