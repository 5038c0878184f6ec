//! Every kind of endless guest ends within twice its CPU budget.

use std::time::Duration;

use orbweaver_engine::{Engine, EngineConfig, Kind, Limit, LimitsConfig, PluginError};

use crate::support::{assert_good_still_runs, config, extract, load, load_bytes};
use crate::wat::Extractor;

const BUDGET: Duration = Duration::from_millis(200);

async fn impatient() -> Engine {
    let mut limits = LimitsConfig::default();
    limits.extractor.default.cpu_ms = 200;
    limits.extractor.default.wall_ms = 60_000;
    let engine = Engine::new(EngineConfig { limits, ..config() }).unwrap();
    load(&engine, &["good"]).await;
    engine
}

/// Runs the attack a few times: what a guest does when it is interrupted is a matter of luck.
async fn assert_ends(extractor: Extractor<'_>) {
    let engine = impatient().await;
    load_bytes(&engine, extractor.build()).await;
    for _ in 0..3 {
        let before = engine.plugin(Kind::Extractor, "raw").unwrap().cpu;
        let error = extract(&engine, "raw").await.unwrap_err();
        assert_eq!(error, PluginError::Limit(Limit::Cpu(BUDGET)));
        let spent = engine.plugin(Kind::Extractor, "raw").unwrap().cpu - before;
        assert!(spent >= BUDGET, "{spent:?}");
        assert!(spent <= BUDGET * 2, "{spent:?}");
        assert_good_still_runs(&engine).await;
    }
}

#[tokio::test]
async fn a_loop_that_does_nothing() {
    assert_ends(Extractor {
        attack: "(loop (br 0))",
        ..Extractor::default()
    })
    .await;
}

#[tokio::test]
async fn a_loop_in_a_called_function() {
    assert_ends(Extractor {
        core: "(func $spin (param i32) (loop (call $step (local.get 0)) (br 0)))
            (func $step (param i32) (i32.store (i32.const 512) (local.get 0)))",
        attack: "(call $spin (i32.const 7))",
        ..Extractor::default()
    })
    .await;
}

#[tokio::test]
async fn a_tree_of_calls_without_a_loop() {
    let mut core = "(func $f0 (nop))".to_owned();
    for i in 1..=60 {
        let below = i - 1;
        core.push_str(&format!("(func $f{i} (call $f{below}) (call $f{below}))"));
    }
    assert_ends(Extractor {
        core: &core,
        attack: "(call $f60)",
        ..Extractor::default()
    })
    .await;
}

#[tokio::test]
async fn a_loop_of_large_copies() {
    assert_ends(Extractor {
        memory: "(memory (export \"memory\") 200)",
        attack: "(loop (memory.copy (i32.const 4096) (i32.const 8192) (i32.const 13000000)) (br 0))",
        ..Extractor::default()
    })
    .await;
}

#[tokio::test]
async fn a_loop_of_large_fills() {
    assert_ends(Extractor {
        memory: "(memory (export \"memory\") 200)",
        attack: "(loop (memory.fill (i32.const 4096) (i32.const 1) (i32.const 13000000)) (br 0))",
        ..Extractor::default()
    })
    .await;
}

#[tokio::test]
async fn a_loop_of_data_copied_by_the_host() {
    let data = format!("(data $d \"{}\")", "x".repeat(60_000));
    assert_ends(Extractor {
        core: &data,
        attack: "(loop
            (memory.init $d (i32.const 4096) (i32.const 0) (i32.const 60000)) (br 0))",
        ..Extractor::default()
    })
    .await;
}

#[tokio::test]
async fn a_loop_of_fills_of_a_table() {
    assert_ends(Extractor {
        core: "(table $t 15000 funcref)",
        attack: "(loop
            (table.fill $t (i32.const 0) (ref.null func) (i32.const 15000)) (br 0))",
        ..Extractor::default()
    })
    .await;
}

#[tokio::test]
async fn a_loop_of_growth_by_nothing() {
    assert_ends(Extractor {
        attack: "(loop (drop (memory.grow (i32.const 0))) (br 0))",
        ..Extractor::default()
    })
    .await;
}

#[tokio::test]
async fn a_loop_of_growth_that_is_refused() {
    assert_ends(Extractor {
        memory: "(memory (export \"memory\") 2 3)",
        attack: "(loop (drop (memory.grow (i32.const 9))) (br 0))",
        ..Extractor::default()
    })
    .await;
}

#[tokio::test]
async fn many_at_once_each_end_for_themselves() {
    let engine = impatient().await;
    let spin = Extractor {
        attack: "(loop (br 0))",
        ..Extractor::default()
    };
    load_bytes(&engine, spin.build()).await;
    let calls = (0..8).map(|i| {
        let engine = &engine;
        async move {
            if i % 2 == 0 {
                let error = extract(engine, "raw").await.unwrap_err();
                assert_eq!(error, PluginError::Limit(Limit::Cpu(BUDGET)));
            } else {
                assert_good_still_runs(engine).await;
            }
        }
    });
    futures::future::join_all(calls).await;
    assert_good_still_runs(&engine).await;
}
