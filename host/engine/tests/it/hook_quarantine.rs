//! Hooks in quarantine: only a call that is made is a trial.

use std::sync::Arc;

use orbweaver_core::ids::ProjectId;
use orbweaver_core::setting::Millis;
use orbweaver_engine::{
    Engine, EngineConfig, Grants, HookPoint, HookPoints, HookUse, Kind, Page, PageFate,
    PageVerdict, PageWork, Permissions, PluginError, Source, Visit, manifest,
};
use serde_json::{Value, json};

use crate::support::{config, fixture};

/// An engine for a project's calls, in which one crash begins a quarantine.
fn engine(quarantine_ms: u64) -> Engine {
    let engine = Engine::new(EngineConfig {
        quarantine_crashes: 1,
        quarantine_ms: Millis(quarantine_ms),
        ..config()
    });
    engine.unwrap().of_project(ProjectId(7))
}

/// Uploads the tool under this name, in the pool or as a task.
async fn load(engine: &Engine, name: &str, state: bool, http: &str) {
    let points = r#"hooks = ["discover", "record", "request", "response"]"#;
    let text = format!(
        "name = \"{name}\"\nkind = \"hook\"\nversion = \"1\"\napi = \"1.0.0\"\n{points}\n\
         [permissions]\nhttp = [\"*\"]\nstate = true\n"
    );
    let built = match state {
        true => "hook-keeper",
        false => "hook-tool",
    };
    let bytes = manifest::embed(&fixture(built), &text).unwrap();
    let grants = Permissions {
        http: vec![http.to_owned()],
        ..Permissions::all()
    };
    let loaded = engine.load_bytes(bytes, Source::Upload, Grants::Only(grants));
    loaded.await.unwrap();
}

fn hook(name: &str, config: &Value) -> HookUse {
    HookUse {
        name: name.to_owned(),
        config: Arc::from(config.to_string()),
    }
}

async fn run(engine: &Engine, hooks: &[HookUse]) -> PageVerdict {
    let work = PageWork {
        page: Page::from_html("http://a.test/", "<p>x"),
        visit: Visit::default(),
        points: HookPoints::of(&[HookPoint::Response, HookPoint::Record]),
        outputs: Vec::new(),
        links: Vec::new(),
        retry_within: None,
    };
    engine.page_hooks(hooks, work).await
}

fn in_quarantine(engine: &Engine, name: &str) -> bool {
    let plugin = engine.plugin(Kind::Hook, name).unwrap();
    plugin.quarantine.is_some()
}

fn calls(engine: &Engine, name: &str) -> u64 {
    engine.plugin(Kind::Hook, name).unwrap().calls
}

#[tokio::test]
async fn a_hook_without_a_call_for_a_page_is_not_made_and_stays_in_quarantine() {
    // The next call is a trial at once.
    let engine = engine(0);
    load(&engine, "first", false, "*").await;
    let dropping = hook("first", &json!({"response": {"drop": "not ours"}}));
    // A configuration that is no JSON makes both trap.
    let crashing = |name: &str| HookUse {
        name: name.to_owned(),
        config: Arc::from("no JSON"),
    };
    for (name, state) in [("pooled", false), ("task", true)] {
        load(&engine, name, state, "*").await;
        let verdict = run(&engine, &[crashing(name)]).await;
        let error = &verdict.failures[0].error;
        assert!(matches!(error, PluginError::Trap(_)), "{name}: {error}");
        assert!(in_quarantine(&engine, name), "{name}");
        let before = calls(&engine, name);

        let verdict = run(&engine, &[dropping.clone(), hook(name, &json!({}))]).await;
        assert!(matches!(verdict.fate, PageFate::Dropped(_)), "{name}");
        assert_eq!(verdict.failures, [], "{name}");
        assert_eq!(calls(&engine, name), before, "{name}: it has no call");
        assert!(in_quarantine(&engine, name), "{name}");

        let verdict = run(&engine, &[hook(name, &json!({}))]).await;
        assert_eq!(verdict.failures, [], "{name}");
        assert!(!in_quarantine(&engine, name), "{name}: the trial was good");
    }
}

#[tokio::test]
async fn a_url_outside_a_hooks_permission_is_no_trial_and_no_failure() {
    for quarantine_ms in [0, 60_000] {
        let engine = engine(quarantine_ms);
        load(&engine, "tool", false, "http://a.test").await;
        let trap = [hook("tool", &json!({"request": {"do": "trap"}}))];
        let ask = async |url: &str| engine.request_hooks(&trap, url, 0, 0).await.1;
        let failures = ask("http://a.test/").await;
        assert!(matches!(failures[0].error, PluginError::Trap(_)));
        assert_eq!(ask("http://b.test/").await, []);
        assert!(in_quarantine(&engine, "tool"));
        // The call that is refused, or the trial, is the next one that the permission covers.
        let error = &ask("http://a.test/").await[0].error;
        let is_trial = matches!(error, PluginError::Trap(_));
        assert_eq!(is_trial, quarantine_ms == 0, "{error}");
    }
}
