//! Plugins of projects: who finds them, what they may have, and that nobody waits for them.

use std::sync::{Arc, Mutex};

use orbweaver_core::ids::ProjectId;
use orbweaver_engine::manifest;
use orbweaver_engine::{
    CallNote, CallOrigin, Engine, EngineConfig, FailedCall, HookPoint, HookPoints, HookUse,
    JobContext, Journal, Kind, LoadError, LogLevel, PageParts, PageWork, Permissions, PluginError,
    ProjectPolicy, QuarantineTurn, RunRef, Source, Visit,
};
use serde_json::{Value, json};

use crate::hostile::{log, logged};
use crate::support::{call, config, extract, fixture, load, load_bytes, page};

const OURS: ProjectId = ProjectId(7);
const OTHERS: ProjectId = ProjectId(8);

/// The fixture `good` as an extractor of this name with one role.
fn extractor(name: &str, role: &str) -> Vec<u8> {
    let text = format!(
        "name = \"{name}\"\nkind = \"extractor\"\nversion = \"1\"\napi = \"1.0.0\"\n\
         roles = [\"{role}\"]\n"
    );
    manifest::embed(&fixture("good"), &text).unwrap()
}

fn policy() -> ProjectPolicy {
    ProjectPolicy {
        accepted: Permissions::all(),
        allowed: Permissions::all(),
        ..ProjectPolicy::default()
    }
}

async fn role_seen(engine: &Engine, role: &str) -> Option<Value> {
    let answer = engine
        .extract(&page(), vec![call(role)])
        .await
        .pop()?
        .ok()?;
    serde_json::from_str(&answer).ok()
}

#[tokio::test]
async fn only_its_project_finds_a_plugin() {
    let engine = Engine::new(config()).unwrap();
    load(&engine, &["good"]).await;
    let loaded = engine
        .load_for_project(extractor("mine", "special"), OURS, policy())
        .await
        .unwrap();
    assert_eq!(loaded.source, Source::Project(OURS));
    let (ours, others) = (engine.of_project(OURS), engine.of_project(OTHERS));
    assert_eq!(
        role_seen(&ours, "special").await.unwrap()["role"],
        "special"
    );
    for stranger in [&engine, &others] {
        assert_eq!(role_seen(stranger, "special").await, None);
        assert_eq!(role_seen(stranger, "mine").await, None);
        assert!(stranger.plugin(Kind::Extractor, "mine").is_none());
        assert_eq!(stranger.plugins().len(), 1);
        assert!(stranger.own_plugins().is_empty());
    }
    assert_eq!((ours.plugins().len(), ours.own_plugins().len()), (2, 1));
    assert!(!engine.remove_for_project(OTHERS, Kind::Extractor, "mine"));
    assert!(engine.remove_for_project(OURS, Kind::Extractor, "mine"));
    assert_eq!(role_seen(&ours, "special").await, None);
}

#[tokio::test]
async fn a_role_of_a_project_is_taken_for_it_alone() {
    let engine = Engine::new(config()).unwrap();
    load(&engine, &["good"]).await;
    let shared = engine.role("good").unwrap();
    engine
        .load_for_project(extractor("mine", "good"), OURS, policy())
        .await
        .unwrap();
    assert_eq!(engine.role("good").unwrap(), shared);
    assert_eq!(engine.of_project(OTHERS).role("good").unwrap(), shared);
    let own = engine.of_project(OURS).role("good").unwrap();
    assert_eq!((own.project, own.name.as_str()), (Some(OURS), "mine"));
    // The counters are the project's, too.
    role_seen(&engine.of_project(OURS), "good").await.unwrap();
    let calls = |engine: &Engine, name| engine.plugin(Kind::Extractor, name).unwrap().calls;
    assert_eq!(calls(&engine, "good"), 0);
    assert_eq!(calls(&engine.of_project(OURS), "mine"), 1);
}

#[tokio::test]
async fn the_instance_does_not_serve_in_place_of_what_could_not_be_loaded() {
    let engine = Engine::new(config()).unwrap();
    load(&engine, &["good", "good-fetcher", "hook-tool"]).await;
    let (ours, others) = (engine.of_project(OURS), engine.of_project(OTHERS));
    let not_loaded = |kind, name: &str| PluginError::NotLoaded {
        kind,
        name: name.to_owned(),
        reason: "no room".to_owned(),
    };
    let refuse = |kind, name, component: Option<Vec<u8>>| {
        let component = component.map(Arc::from);
        engine.refuse_for_project(OURS, (kind, name), component, "no room")
    };
    let mine = extractor("mine", "good");
    refuse(Kind::Extractor, "mine", Some(mine.clone())).await;
    // Without its component its name alone is known.
    refuse(Kind::Extractor, "good-too", None).await;
    refuse(Kind::Fetcher, "fetch", Some(fixture("good-fetcher"))).await;
    refuse(Kind::Hook, "tool", None).await;
    for (role, name) in [("good", "mine"), ("good-too", "good-too")] {
        let answer = ours.extract(&page(), vec![call(role)]).await.pop();
        let expected = not_loaded("extractor", name);
        assert_eq!(answer.unwrap().unwrap_err(), expected);
        assert_eq!(ours.role(role), None);
        assert_eq!(ours.unloaded_role(role), Some(expected));
        assert!(role_seen(&others, role).await.is_some(), "it is ours alone");
    }
    assert!(ours.fetcher_for("example.com").is_none());
    let expected = Some(not_loaded("fetcher", "fetch"));
    assert_eq!(ours.unloaded_fetcher("WWW.example.com."), expected);
    assert_eq!(ours.unloaded_fetcher("example.net"), None);
    assert!(others.fetcher_for("example.com").is_some());
    let checked = ours.check_input(Kind::Hook, "tool", &json!({})).await;
    assert_eq!(checked.unwrap_err(), not_loaded("hook", "tool"));
    let listed = ours.plugins().into_iter().map(|plugin| plugin.name);
    assert_eq!(listed.collect::<Vec<_>>(), ["good", "good-fetcher"]);

    engine.load_for_project(mine, OURS, policy()).await.unwrap();
    assert_eq!(ours.role("good").unwrap().name, "mine");
    for (kind, name) in [
        (Kind::Extractor, "mine"),
        (Kind::Extractor, "good-too"),
        (Kind::Fetcher, "fetch"),
        (Kind::Hook, "tool"),
    ] {
        assert!(engine.remove_for_project(OURS, kind, name), "{name}");
    }
    assert_eq!(ours.plugins().len(), 3);
    assert!(role_seen(&ours, "good-too").await.is_some());
}

#[tokio::test]
async fn permissions_are_what_the_project_accepts_and_its_policy_allows() {
    let engine = Engine::new(config()).unwrap();
    let load = |accepted: &[&str], allowed: &[&str]| {
        let policy = ProjectPolicy {
            accepted: Permissions::from_names(accepted).unwrap(),
            allowed: Permissions::from_names(allowed).unwrap(),
            cpu_ms: Some(700),
            memory_mib: Some(64),
        };
        engine.load_for_project(fixture("good-actor"), OURS, policy)
    };
    for (accepted, allowed) in [(&["http"][..], &[][..]), (&[], &["http"]), (&[], &[])] {
        let refused = load(accepted, allowed).await.unwrap_err();
        assert!(matches!(refused, LoadError::Import(_)), "{refused}");
    }
    let loaded = load(&["http=https://*.example.com"], &["http"])
        .await
        .unwrap();
    assert_eq!(loaded.granted.http, ["https://*.example.com"]);
    assert_eq!((loaded.limits.cpu_ms, loaded.limits.memory_mib), (700, 64));
}

#[tokio::test]
async fn nobody_waits_for_a_projects_plugin_but_this_project() {
    let engine = Engine::new(EngineConfig {
        extractor_threads: 1,
        ..config()
    });
    let engine = engine.unwrap();
    load(&engine, &["good"]).await;
    engine
        .load_for_project(fixture("hook-tool"), OURS, policy())
        .await
        .unwrap();
    let spin = || {
        let hook = HookUse {
            name: "tool".to_owned(),
            config: Arc::from(json!({"record": {"do": "spin"}}).to_string()),
        };
        let work = PageWork {
            page: orbweaver_engine::Page::new(PageParts::default()),
            visit: Visit {
                url: "http://example.com/".to_owned(),
                status: 200,
                depth: 0,
                attempts: 0,
            },
            points: HookPoints::of(&[HookPoint::Record]),
            outputs: Vec::new(),
            links: Vec::new(),
            retry_within: None,
        };
        let engine = engine.of_project(OURS);
        async move { engine.page_hooks(&[hook], work).await }
    };
    let spinning = futures::future::join_all((0..8).map(|_| spin()));
    let others = async {
        for _ in 0..20 {
            role_seen(&engine.of_project(OTHERS), "good").await.unwrap();
        }
    };
    tokio::select! {
        biased;
        _ = spinning => panic!("the other project waited for all of the first one's pages"),
        () = others => {}
    }
}

/// The fixture `spin`, asking for more CPU time than usual.
fn costly() -> Vec<u8> {
    let component = fixture("spin");
    let text = manifest::read_text(&component).unwrap();
    manifest::embed(&component, &format!("{text}\n[limits]\ncpu-ms = 4000\n")).unwrap()
}

#[tokio::test]
async fn nobody_waits_for_long_calls_of_another_project() {
    let engine = Engine::new(EngineConfig {
        extractor_threads: 1,
        ..config()
    });
    let engine = engine.unwrap();
    load(&engine, &["good"]).await;
    let loaded = load_bytes(&engine, costly()).await;
    assert_eq!(loaded.limits.cpu_ms, 4_000);
    let spin = || {
        let engine = engine.of_project(OURS);
        async move { role_seen(&engine, "spin").await }
    };
    let spinning = futures::future::join_all((0..4).map(|_| spin()));
    let others = async {
        for _ in 0..20 {
            role_seen(&engine.of_project(OTHERS), "good").await.unwrap();
        }
    };
    tokio::select! {
        biased;
        _ = spinning => panic!("the other project waited for all of the first one's calls"),
        () = others => {}
    }
}

#[tokio::test]
async fn a_call_waits_for_its_projects_plugin_after_a_start() {
    let engine = Engine::new(config()).unwrap();
    engine.expect_for_project(OURS, Kind::Extractor, "mine");
    let (ours, others) = (engine.of_project(OURS), engine.of_project(OTHERS));
    let mut waiting = Box::pin(role_seen(&ours, "special"));
    assert!(futures::poll!(&mut waiting).is_pending());
    assert_eq!(role_seen(&others, "special").await, None);
    engine
        .load_for_project(extractor("mine", "special"), OURS, policy())
        .await
        .unwrap();
    assert_eq!(waiting.await.unwrap()["role"], "special");
    // One that is given up is not waited for.
    engine.expect_for_project(OTHERS, Kind::Extractor, "lost");
    engine.give_up_for_project(OTHERS, Kind::Extractor, "lost");
    assert_eq!(role_seen(&others, "special").await, None);
}

#[tokio::test]
async fn a_projects_code_is_in_a_folder_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("compiled");
    let engine = Engine::new(EngineConfig {
        cache_dir: Some(cache.clone()),
        ..config()
    });
    let engine = engine.unwrap();
    engine
        .load_for_project(extractor("mine", "special"), OURS, policy())
        .await
        .unwrap();
    let own = cache.join("projects/7");
    let files = |folder: &std::path::Path| {
        let files = std::fs::read_dir(folder).unwrap();
        let files = files.map(|file| file.unwrap().path());
        files.filter(|path| path.extension().is_some()).count()
    };
    assert_eq!((files(&cache), files(&own)), (0, 1));
    engine.forget_code_of_project(OURS);
    assert!(!own.exists());
}

/// Keeps the origins of failed calls.
#[derive(Default)]
struct Failures(Mutex<Vec<CallOrigin>>);

impl Journal for Failures {
    fn line(&self, _: &CallNote, _: LogLevel, _: &str) {}

    fn failed(&self, call: &CallNote, _: FailedCall) {
        self.0.lock().unwrap().push(CallOrigin::clone(&call.origin));
    }

    fn quarantine(&self, _: &CallNote, _: QuarantineTurn) {}
}

#[tokio::test]
async fn what_a_plugin_asks_for_is_noted_with_the_request_and_the_run_of_its_call() {
    let engine = Engine::new(config()).unwrap();
    load(&engine, &["trap"]).await;
    let failures = Arc::new(Failures::default());
    assert!(engine.set_journal(Arc::<Failures>::clone(&failures)));
    let context = JobContext {
        request_id: "from the call".to_owned(),
        run_id: Some(5),
        attempts: 1,
        max_item_bytes: 0,
    };
    // On a task that answers no request.
    let asking = engine.of_call(OURS, &context);
    let asked = tokio::spawn(async move { asking.extract(&page(), vec![call("panic")]).await });
    assert!(asked.await.unwrap()[0].is_err());
    let noted = failures.0.lock().unwrap().clone();
    let expected = CallOrigin {
        project: OURS,
        request_id: "from the call".into(),
        run: Some(RunRef::Actor(5)),
    };
    assert_eq!(noted, [expected]);
}

#[tokio::test]
async fn what_a_projects_plugin_writes_is_a_detail_of_the_operators_log() {
    let log = log();
    let engine = Engine::new(config()).unwrap();
    let ours = engine.of_project(OURS);
    for (written, role) in [("log-flood", "own-flood"), ("trap", "unreachable")] {
        let text =
            format!("name = \"{role}\"\nkind = \"extractor\"\nversion = \"1\"\napi = \"1.0.0\"\n");
        let component = manifest::embed(&fixture(written), &text).unwrap();
        engine
            .load_for_project(component, OURS, policy())
            .await
            .unwrap();
        let answer = extract(&ours, role).await;
        assert_eq!(answer.is_ok(), role == "own-flood");
        let lines = logged(&log, &format!("extractor:{role}@7"));
        assert!(!lines.is_empty(), "{role}");
        for line in lines {
            assert!(line.contains(" DEBUG plugin: "), "{line}");
        }
    }
}
