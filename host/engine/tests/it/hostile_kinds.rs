//! Actors and fetchers, with and without asynchronous functions, that do what hostile extractors do
//! (`tests/hostile/support/src/deeds.rs`), and files of every kind that are refused.

use std::sync::Arc;
use std::time::Duration;

use orbweaver_engine::{
    Engine, EngineConfig, ErrorCode, Grants, Limit, LimitsConfig, LoadError, NoHost, PluginError,
    Source, manifest,
};
use serde_json::json;

use crate::hostile::{flooded, log};
use crate::hostile_actors::Silent;
use crate::support::{TestHost, assert_good_still_runs, code, config, fixture, load};

const CPU: Duration = Duration::from_millis(300);
const MEMORY_MIB: u64 = 64;

/// Those that do the deeds, with their labels.
pub const CULPRITS: [(&str, &str); 4] = [
    ("job-tool", "actor:job-tool"),
    ("sync-actor", "actor:sync-actor"),
    ("good-fetcher", "fetcher:good-fetcher"),
    ("sync-fetcher", "fetcher:sync-fetcher"),
];

/// An engine with all of them, and little room for each. Their time is more than they use for it, on a
/// slow machine too.
async fn engine() -> Engine {
    engine_with(Duration::from_secs(10)).await
}

/// The same with this budget of CPU time.
async fn engine_with(cpu: Duration) -> Engine {
    let mut limits = LimitsConfig::default();
    limits.actor.default.cpu_ms = u64::try_from(cpu.as_millis()).unwrap();
    limits.actor.default.wall_ms = 60_000;
    limits.actor.default.memory_mib = MEMORY_MIB;
    limits.actor.default.output_kib = 64;
    limits.actor.default.host_call_kib = 4 << 10;
    limits.actor.default.log_lines = 100;
    limits.actor.default.fetches = 100;
    limits.fetcher = limits.actor;
    let config = EngineConfig {
        max_actors: 4,
        limits,
        ..config()
    };
    let engine = Engine::new(config).unwrap();
    load(&engine, &["good"]).await;
    for (name, _) in CULPRITS {
        load(&engine, &[name]).await;
    }
    engine
}

/// Lets one do a deed.
pub async fn act(engine: &Engine, name: &str, what: &str) -> Result<String, PluginError> {
    let host = Arc::new(NoHost);
    let (path, nothing) = (format!("do/{what}"), json!({}));
    let output = match name {
        "job-tool" => engine.run_actor(name, &json!({"do": what}), host).await,
        "sync-actor" => {
            let input = json!(format!("do:{what}"));
            engine.run_actor(name, &input, host).await
        }
        "good-fetcher" => {
            engine
                .run_fetcher("example.com", &path, &nothing, host)
                .await
        }
        _ => {
            engine
                .run_fetcher("sync.example", &path, &nothing, host)
                .await
        }
    };
    // A fetcher's answer is a list of one item.
    let json = output?.json;
    let item = json
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    Ok(match item.filter(|_| name.ends_with("fetcher")) {
        Some(item) => item.to_owned(),
        None => json.into(),
    })
}

/// Every culprit does these deeds, each of which ends with an error of this kind.
async fn all_fail(deeds: &[&str], is_right: impl Fn(&PluginError) -> bool) {
    all_fail_on(&engine().await, deeds, is_right).await;
}

async fn all_fail_on(engine: &Engine, deeds: &[&str], is_right: impl Fn(&PluginError) -> bool) {
    for (name, _) in CULPRITS {
        for what in deeds {
            let error = act(engine, name, what).await.unwrap_err();
            assert!(is_right(&error), "{name}, {what}: {error}");
            assert!(!error.to_string().contains('\u{1b}'), "{name}: {error}");
        }
    }
    assert_good_still_runs(engine).await;
}

#[tokio::test]
async fn loops_end_at_the_cpu_budget() {
    let cpu = PluginError::Limit(Limit::Cpu(CPU));
    let engine = engine_with(CPU).await;
    all_fail_on(&engine, &["spin", "yield"], |error| *error == cpu).await;
}

#[tokio::test]
async fn memory_that_runs_out_is_a_typed_error() {
    let memory = PluginError::Limit(Limit::Memory(MEMORY_MIB << 20));
    all_fail(&["eat"], |error| *error == memory).await;
}

#[tokio::test]
async fn memory_grows_up_to_its_limit() {
    let engine = engine().await;
    for (name, _) in CULPRITS {
        let pages: u64 = act(&engine, name, "fill").await.unwrap().parse().unwrap();
        let most = MEMORY_MIB * 16;
        assert!((most - 32..=most).contains(&pages), "{name}: {pages} pages");
    }
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn endless_recursion_exhausts_only_its_own_stack() {
    let stack = PluginError::Limit(Limit::Stack);
    all_fail(&["recurse"], |error| *error == stack).await;
}

#[tokio::test]
async fn an_argument_that_is_too_large_never_reaches_the_host() {
    let call = PluginError::Limit(Limit::HostCall(4 << 20));
    all_fail(&["shout"], |error| *error == call).await;
}

#[tokio::test]
async fn leaked_handles_end_the_call() {
    let handles = PluginError::Limit(Limit::Handles(1_000));
    all_fail(&["leak"], |error| *error == handles).await;
}

#[tokio::test]
async fn traps_are_typed_errors() {
    let deeds = ["panic", "unreachable", "exit", "divide"];
    let is_trap = |error: &PluginError| {
        let text = error.to_string();
        let said = !text.contains("RUST_BACKTRACE") && text.len() < 700;
        matches!(error, PluginError::Trap(_)) && said
    };
    all_fail(&deeds, is_trap).await;
}

#[tokio::test]
async fn answers_are_checked() {
    let bad = ["empty", "not-json", "nan", "control", "deep"];
    all_fail(&bad, |error| matches!(error, PluginError::BadOutput(_))).await;
    let output = PluginError::Limit(Limit::Output(64 << 10));
    all_fail(&["long"], |error| *error == output).await;
    let failed = |error: &PluginError| {
        let text = error.to_string();
        code(error) == Some(ErrorCode::Failed) && text.contains(r"\u{1b}[31mred\u{a}line")
    };
    all_fail(&["error"], failed).await;
}

#[tokio::test]
async fn a_log_is_cut_and_cleaned() {
    let log = log();
    let engine = engine().await;
    for (name, label) in CULPRITS {
        assert_eq!(act(&engine, name, "log").await.unwrap(), "null", "{name}");
        let lines = flooded(&log, label);
        // The budget, and a note on the dropped lines.
        assert_eq!(lines.len(), 100 + 1, "{name}");
        assert!(lines[0].contains(r"\u{1b}[2J"), "{name}: {}", lines[0]);
        assert!(lines[0].contains("forged line"), "a line end is escaped");
        assert!(lines[1].len() < 5_000, "{name}: {} bytes", lines[1].len());
        assert!(lines[100].contains("dropped_lines=19902"), "{}", lines[100]);
    }
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn calls_leave_nothing_for_the_next_one_and_see_nothing_of_the_host() {
    let engine = engine().await;
    for (name, _) in CULPRITS {
        for _ in 0..20 {
            assert_eq!(
                act(&engine, name, "remember").await.unwrap(),
                "\"\"",
                "{name}"
            );
        }
        // Environment, arguments, standard input.
        assert_eq!(
            act(&engine, name, "peek").await.unwrap(),
            "[0,0,0]",
            "{name}"
        );
    }
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn the_fetches_of_a_fetcher_are_limited() {
    let engine = engine().await;
    let path = "x/".repeat(10_000);
    for domain in ["example.com", "sync.example"] {
        let host = Arc::new(TestHost::new(1));
        let params = json!({});
        let call = engine.run_fetcher(domain, &path, &params, host.clone());
        let error = call.await.unwrap_err();
        assert_eq!(code(&error), Some(ErrorCode::Budget), "{domain}: {error}");
        let fetches = host.fetches.load(std::sync::atomic::Ordering::SeqCst);
        assert_eq!(fetches, 100, "{domain}");
        let most = host.most.load(std::sync::atomic::Ordering::SeqCst);
        assert!(most <= 16, "{domain}: {most}");
    }
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn dropping_a_fetchers_call_drops_its_guest() {
    let engine = engine().await;
    let waiting = Arc::new(());
    let (asked, mut asks) = tokio::sync::mpsc::unbounded_channel();
    for round in 0..200 {
        let domain = ["example.com", "sync.example"][round % 2];
        let host = Arc::new(Silent(Arc::clone(&waiting), asked.clone()));
        let input = json!({});
        let mut call = Box::pin(engine.run_fetcher(domain, "a", &input, host));
        tokio::select! {
            output = &mut call => panic!("{output:?}"),
            _ = asks.recv() => {}
        }
        drop(call);
    }
    let all_gone = async {
        while Arc::strong_count(&waiting) > 1 || engine.free_actor_slots() < 4 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), all_gone)
        .await
        .expect("guests leaked");
    assert_good_still_runs(&engine).await;
}

/// A good component of every world.
const EVERY: [&str; 7] = [
    "good",
    "job-tool",
    "sync-actor",
    "good-fetcher",
    "sync-fetcher",
    "hook-tool",
    "hook-delivery",
];

async fn refused(engine: &Engine, bytes: Vec<u8>) -> LoadError {
    let loaded = engine.load_bytes(bytes, Source::Upload, Grants::All).await;
    loaded.unwrap_err()
}

/// The component with the sections of another one behind its own.
fn with_sections(name: &str, text: &str) -> Vec<u8> {
    /// Bytes of a component's magic number and version.
    const HEADER: usize = 8;
    let mut bytes = fixture(name);
    let more = wat::parse_str(format!("(component {text})")).unwrap();
    bytes.extend_from_slice(&more[HEADER..]);
    bytes
}

#[tokio::test]
async fn what_a_file_declares_is_bounded_for_every_kind() {
    let engine = engine().await;
    let functions = format!("(core module {})", "(func)".repeat(100_000));
    for (text, what) in [
        ("(core module (memory 65536))", "initial memory"),
        (&*"(core module (memory 1))".repeat(100), "memories"),
        ("(core module (table 5000000 funcref))", "table elements"),
        (&*functions, "functions"),
    ] {
        for name in EVERY {
            let error = refused(&engine, with_sections(name, text)).await;
            let is_right = matches!(&error, LoadError::Limits(why) if why.contains(what));
            assert!(is_right, "{name}, {what}: {error}");
        }
    }
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn an_import_outside_the_world_is_refused_for_every_kind() {
    let engine = engine().await;
    for import in [
        "wasi:clocks/wall-clock@0.2.6",
        "wasi:random/random@0.2.6",
        "wasi:filesystem/types@0.2.6",
        "wasi:sockets/tcp@0.2.6",
        "wasi:http/outgoing-handler@0.2.6",
        "orbweaver:plugin/pages@0.9.0",
        "orbweaver:plugin/secrets@1.0.0",
        "some:one/else",
    ] {
        let text = format!("(type $t (instance)) (import \"{import}\" (instance (type $t)))");
        for name in EVERY {
            let error = refused(&engine, with_sections(name, &text)).await;
            let is_right = matches!(&error, LoadError::Import(why) if why.contains(import));
            assert!(is_right, "{name}, {import}: {error}");
        }
    }
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn a_component_of_another_kind_or_a_broken_one_is_refused() {
    let engine = engine().await;
    let named = |kind: &str, more: &str| {
        format!("name = \"raw\"\nkind = \"{kind}\"\nversion = \"1\"\napi = \"1.0.0\"\n{more}")
    };
    for (own, text, needs) in [
        ("good", named("extractor", ""), "extracting@"),
        ("job-tool", named("actor", ""), "acting@"),
        (
            "good-fetcher",
            named("fetcher", "[fetcher]\ndomains = [\"a.example\"]\n"),
            "fetching@",
        ),
        (
            "hook-tool",
            named("hook", "hooks = [\"record\"]\n"),
            "hooking@",
        ),
        (
            "hook-delivery",
            named("hook", "hooks = [\"deliver\"]\n"),
            "delivering@",
        ),
    ] {
        for name in [
            "good",
            "job-tool",
            "good-fetcher",
            "hook-tool",
            "hook-delivery",
        ] {
            if name != own {
                let other = manifest::embed(&fixture(name), &text).unwrap();
                let error = refused(&engine, other).await;
                let is_right = matches!(&error, LoadError::Export(why) if why.contains(needs));
                assert!(is_right, "{name} as {needs}: {error}");
            }
        }
        let whole = fixture(own);
        let cut = whole[..whole.len() / 2].to_vec();
        let error = refused(&engine, cut).await;
        assert!(
            matches!(error, LoadError::NotAComponent(_)),
            "{own}: {error}"
        );
        // Most of these are refused; the others must not harm the host.
        for at in (8..whole.len()).step_by(whole.len() / 12) {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x55;
            let _ = engine.load_bytes(bytes, Source::Upload, Grants::All).await;
        }
        load(&engine, &[own]).await;
    }
    assert_good_still_runs(&engine).await;
}
