//! Hostile extractors: each fails its own call with a typed error and affects nothing else.

use std::io::Write;
use std::sync::{Arc, Mutex, OnceLock};

use orbweaver_engine::{
    CodedError, Engine, EngineConfig, Grants, Limit, LimitsConfig, LoadError, PluginError, Source,
    manifest,
};

use crate::support::{
    assert_good_still_runs, call, config, engine, engine_with, extract, load, load_bytes, page,
    patient_engine_with,
};
use crate::wat::{Extractor, MANIFEST};

/// An engine whose extractors have little time.
async fn impatient(name: &str) -> Engine {
    let mut limits = LimitsConfig::default();
    limits.extractor.default.cpu_ms = 100;
    limits.extractor.default.wall_ms = 60_000;
    limits.extractor.max.wall_ms = 60_000;
    let engine = Engine::new(EngineConfig { limits, ..config() }).unwrap();
    load(&engine, &["good", name]).await;
    engine
}

fn cpu_limit() -> PluginError {
    PluginError::Limit(Limit::Cpu(std::time::Duration::from_millis(100)))
}

#[tokio::test]
async fn an_endless_loop_ends_at_its_cpu_budget() {
    let engine = impatient("spin").await;
    assert_eq!(extract(&engine, "spin").await, Err(cpu_limit()));
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn an_endless_loop_of_host_calls_ends_at_its_cpu_budget() {
    let engine = impatient("spin-yielding").await;
    assert_eq!(extract(&engine, "spin-yielding").await, Err(cpu_limit()));
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn a_self_test_has_the_time_of_one_call_for_all_roles() {
    let engine = impatient("good").await;
    // Each role takes some milliseconds, of 100.
    let core = "(func $burn (local $i i32)
        (loop $more
          (br_if $more (i32.lt_u
            (local.tee $i (i32.add (local.get $i) (i32.const 1)))
            (i32.const 20000000)))))";
    let roles: Vec<String> = (0..64).map(|n| format!("role-{n}")).collect();
    // In the pool, and as a task.
    for memory in [
        Extractor::default().memory,
        "(memory (export \"memory\") 2) (memory 1)",
    ] {
        let burning = Extractor {
            memory,
            core,
            always: "(call $burn)",
            ..Extractor::default()
        };
        let text = format!("{MANIFEST}roles = {roles:?}\n");
        let bytes = manifest::embed(&burning.build(), &text).unwrap();
        let refused = engine.load_bytes(bytes, Source::Upload, Grants::All).await;
        let expected = LoadError::SelfTest(cpu_limit().to_string());
        assert_eq!(refused.unwrap_err(), expected, "{memory}");
        load_bytes(&engine, burning.build()).await;
    }
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn other_calls_are_served_while_one_loops() {
    let engine = impatient("spin").await;
    let spinning = extract(&engine, "spin");
    let good = async {
        for _ in 0..20 {
            assert_good_still_runs(&engine).await;
        }
    };
    let (spun, ()) = futures::future::join(spinning, good).await;
    assert_eq!(spun, Err(cpu_limit()));
}

#[tokio::test]
async fn a_dropped_call_stops_its_loop() {
    // One thread and a budget of minutes: only cancellation frees the thread.
    let mut limits = LimitsConfig::default();
    limits.extractor.default.cpu_ms = 600_000;
    limits.extractor.max = limits.extractor.default;
    limits.extractor.max.wall_ms = 600_000;
    limits.extractor.default.wall_ms = 600_000;
    let config = EngineConfig {
        extractor_threads: 1,
        limits,
        ..config()
    };
    let engine = Engine::new(config).unwrap();
    load(&engine, &["good", "spin"]).await;
    let spinning = tokio::spawn({
        let engine = engine.clone();
        async move { extract(&engine, "spin").await }
    });
    // The page is not shared, so its parse shows that the call has started.
    tokio::task::yield_now().await;
    spinning.abort();
    assert!(spinning.await.unwrap_err().is_cancelled());
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn memory_growth_stops_at_the_limit() {
    let engine = engine_with("memory-grow").await;
    let pages: u64 = extract(&engine, "memory-grow")
        .await
        .unwrap()
        .parse()
        .unwrap();
    assert!(pages <= 256 * 16, "{pages} pages");
    assert!(pages > 256 * 15, "{pages} pages");
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn running_out_of_memory_is_distinguished_from_a_bug() {
    let engine = patient_engine_with("memory-grow").await;
    let error = extract(&engine, "memory-eat").await.unwrap_err();
    assert_eq!(error, PluginError::Limit(Limit::Memory(256 << 20)));
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn tables_do_not_grow_beyond_their_limit() {
    let engine = engine();
    let raw = Extractor {
        core: "(table $t 1 funcref)",
        // A refused growth returns -1; any other result is wrong.
        attack: "(if (i32.ne (table.grow $t (ref.null func) (i32.const 10000000)) (i32.const -1))
                   (then unreachable))",
        ..Extractor::default()
    };
    load_bytes(&engine, raw.build()).await;
    load(&engine, &["good"]).await;
    assert_eq!(extract(&engine, "raw").await.unwrap(), "null");
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn infinite_recursion_exhausts_only_its_own_stack() {
    let engine = engine_with("recursion").await;
    assert_eq!(
        extract(&engine, "recursion").await,
        Err(PluginError::Limit(Limit::Stack))
    );
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn recursion_without_a_shadow_stack_is_stopped_too() {
    let engine = engine();
    let raw = Extractor {
        core: "(func $down (param i64) (result i64)
                 (i64.add (i64.const 1) (call $down (i64.add (i64.const 1) (local.get 0)))))",
        attack: "(drop (call $down (i64.const 0)))",
        ..Extractor::default()
    };
    load_bytes(&engine, raw.build()).await;
    load(&engine, &["good"]).await;
    assert_eq!(
        extract(&engine, "raw").await,
        Err(PluginError::Limit(Limit::Stack))
    );
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn an_oversized_argument_never_reaches_the_host() {
    let engine = engine_with("host-list-bomb").await;
    assert_eq!(
        extract(&engine, "host-list-bomb").await,
        Err(PluginError::Limit(Limit::HostCall(64 << 20)))
    );
    assert_good_still_runs(&engine).await;
}

/// Everything logged under the target `plugin` by all tests of this process.
pub fn log() -> Arc<Mutex<Vec<u8>>> {
    static LOG: OnceLock<Arc<Mutex<Vec<u8>>>> = OnceLock::new();
    struct Sink(Arc<Mutex<Vec<u8>>>);
    impl Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let log = LOG.get_or_init(|| {
        let log = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&log);
        tracing_subscriber::fmt()
            .with_env_filter("plugin=trace")
            .with_ansi(false)
            .with_writer(move || Sink(Arc::clone(&sink)))
            .init();
        log
    });
    Arc::clone(log)
}

/// The lines of a plugin, by its label.
pub fn logged(log: &Mutex<Vec<u8>>, label: &str) -> Vec<String> {
    let text = String::from_utf8(log.lock().unwrap().clone()).unwrap();
    assert!(!text.contains('\u{1b}'));
    let lines = text.lines().filter(|line| line.contains(label));
    lines.map(str::to_owned).collect()
}

/// Those of them that the deed `log` has written, and the note on what was dropped.
pub fn flooded(log: &Mutex<Vec<u8>>, label: &str) -> Vec<String> {
    let is_of_flood = |line: &String| {
        let parts = ["forged line", "yyyy", "flood ", "dropped_lines="];
        parts.iter().any(|part| line.contains(part))
    };
    logged(log, label).into_iter().filter(is_of_flood).collect()
}

#[tokio::test]
async fn a_log_flood_is_cut_and_cleaned() {
    let log = log();
    let engine = engine_with("log-flood").await;
    assert_eq!(extract(&engine, "log-flood").await.unwrap(), "null");
    let lines = logged(&log, "extractor:log-flood");
    assert!(lines[0].contains(r"\u{1b}[2J"), "{}", lines[0]);
    assert!(lines[0].contains("forged line"), "a line end is escaped");
    assert!(lines[1].len() < 5_000, "{} bytes", lines[1].len());
    // The budget for log calls, the same for stderr, and for each a note on dropped lines.
    assert_eq!(lines.len(), 2 * (100 + 1), "{}", lines.len());
    assert!(
        lines.iter().any(|l| l.contains("dropped_lines=999902")),
        "says how many lines were dropped"
    );
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn an_extractors_answer_is_checked() {
    let engine = engine_with("bad-output").await;
    for role in [
        "empty",
        "not-json",
        "nan",
        "surrogate",
        "number",
        "control",
        "deep",
    ] {
        let error = extract(&engine, role).await.unwrap_err();
        assert!(
            matches!(error, PluginError::BadOutput(_)),
            "{role}: {error}"
        );
    }
    for role in ["long", "huge"] {
        let error = extract(&engine, role).await.unwrap_err();
        assert_eq!(error, PluginError::Limit(Limit::Output(32 << 20)), "{role}");
    }
    let error = extract(&engine, "secrets").await.unwrap_err();
    assert_eq!(
        error,
        PluginError::Reported(CodedError::failed(r"\u{1b}[31mred\u{a}line"))
    );
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn a_trap_fails_one_call_and_its_instance() {
    let engine = engine_with("trap").await;
    for role in ["panic", "unreachable", "exit", "abort", "divide"] {
        let error = extract(&engine, role).await.unwrap_err();
        assert!(matches!(&error, PluginError::Trap(_)), "{role}: {error}");
        // The author gets the panic's message; backtraces are only in the log.
        let (text, is_panic) = (error.to_string(), role == "panic");
        assert_eq!(
            text.contains("panicked at"),
            is_panic || role == "divide",
            "{text}"
        );
        assert_eq!(text.contains("a message for the log"), is_panic, "{text}");
        assert!(
            text.len() < 700 && !text.contains("RUST_BACKTRACE"),
            "{text}"
        );
    }
    let error = extract(&engine, "exit").await.unwrap_err();
    // WASI 0.2 distinguishes only success and failure.
    assert_eq!(error, PluginError::Trap("it exited with status 1".into()));
    // After a trap, the next roles on the page get a new instance.
    let calls = ["good-again", "panic", "good-again", "good-again"]
        .map(call)
        .to_vec();
    let answers = engine.extract(&page(), calls).await;
    assert_eq!(answers[0].as_deref(), Ok("1"));
    assert!(answers[1].is_err());
    assert_eq!(
        (answers[2].as_deref(), answers[3].as_deref()),
        (Ok("1"), Ok("2"))
    );
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn calls_leave_no_state_for_the_next_one() {
    let engine = engine_with("state-leak").await;
    // More calls than pool slots, so that every slot is reused.
    for _ in 0..50 {
        let answer = extract(&engine, "state-leak").await.unwrap();
        assert_eq!(answer, r#"{"before":"","dirty":0}"#);
    }
    assert_good_still_runs(&engine).await;
}
