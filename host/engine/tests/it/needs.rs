//! Extractors that get the outputs of other roles.

use std::time::Duration;

use orbweaver_engine::{Engine, Grants, Limit, LoadError, PluginError, RoleCall, Source, manifest};
use serde_json::Value;

use crate::support::{assert_good_still_runs, engine, engine_with, fixture, load_bytes, page};

/// The component that returns its inputs, with this name and these needs.
fn component(name: &str, needs: &[&str]) -> Vec<u8> {
    let text = format!(
        "name = \"{name}\"\nkind = \"extractor\"\nversion = \"1\"\napi = \"1.0.0\"\nneeds = {needs:?}\n\
         [limits]\ncpu-ms = 200\n"
    );
    manifest::embed(&fixture("inputs"), &text).unwrap()
}

async fn load(engine: &Engine, name: &str, needs: &[&str]) -> Result<(), LoadError> {
    let bytes = component(name, needs);
    let loaded = engine.load_bytes(bytes, Source::Upload, Grants::All).await;
    loaded.map(drop)
}

async fn run(engine: &Engine, roles: &[&str]) -> Vec<Result<Value, PluginError>> {
    let call = |role: &&str| RoleCall {
        role: (*role).to_owned(),
        options: "{}".to_owned(),
    };
    let calls = roles.iter().map(call).collect();
    let answers = engine.extract(&page(), calls).await.into_iter();
    answers
        .map(|answer| answer.map(|json| serde_json::from_str(&json).unwrap()))
        .collect()
}

#[tokio::test]
async fn an_extractor_gets_the_outputs_that_it_needs_and_no_others() {
    let engine = engine_with("inputs").await;
    let answers = run(&engine, &["inputs"]).await;
    let inputs = answers[0].as_ref().unwrap();
    assert_eq!(inputs["good"]["status"], 200);
    for role in ["a", "b", "c", "no-such"] {
        assert_eq!(inputs[role], "not-granted", "{role}");
    }
    // The same on the calling thread.
    let blocking = engine.clone();
    let calls = vec![RoleCall {
        role: "inputs".to_owned(),
        options: String::new(),
    }];
    let same = tokio::task::spawn_blocking(move || blocking.extract_blocking(&page(), calls));
    let same = same.await.unwrap().pop().unwrap().unwrap();
    assert_eq!(&serde_json::from_str::<Value>(&same).unwrap(), inputs);
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn an_answer_says_whether_a_role_failed_that_it_was_made_from() {
    let engine = engine_with("good").await;
    load(&engine, "a", &["good"]).await.unwrap();
    load(&engine, "b", &["no-such"]).await.unwrap();
    load(&engine, "c", &["good", "b"]).await.unwrap();
    let call = |role: &str| RoleCall {
        role: role.to_owned(),
        options: "{}".to_owned(),
    };
    let roles = ["good", "a", "b", "c"];
    let answers = engine.extract(&page(), roles.map(call).to_vec()).await;
    let partial: Vec<bool> = answers
        .into_iter()
        .map(|answer| answer.unwrap().is_partial())
        .collect();
    assert_eq!(partial, [false, false, true, true]);
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn needed_roles_run_once_for_a_page_in_the_order_of_needs() {
    let engine = engine_with("good").await;
    // Loaded before what it needs.
    load(&engine, "c", &["b", "a"]).await.unwrap();
    load(&engine, "b", &["a"]).await.unwrap();
    load(&engine, "a", &["good"]).await.unwrap();
    let answers = run(&engine, &["c", "a", "good"]).await;
    let c = answers[0].as_ref().unwrap();
    let (a, good) = (answers[1].as_ref().unwrap(), answers[2].as_ref().unwrap());
    assert_eq!(&c["a"], a);
    assert_eq!(&c["b"]["a"], a);
    assert_eq!(&a["good"], good);
    assert_eq!(c["good"], "not-granted", "what it needs does not need");
    let calls = |name: &str| {
        let plugin = engine.plugin(orbweaver_engine::Kind::Extractor, name);
        plugin.unwrap().calls
    };
    assert_eq!(
        [calls("good"), calls("a"), calls("b"), calls("c")],
        [1, 1, 1, 1],
        "each once, whoever needs it"
    );
    // With options a role is another one.
    let call = RoleCall {
        role: "good".to_owned(),
        options: "{\"x\":1}".to_owned(),
    };
    let other = engine.extract(&page(), vec![call]).await.pop().unwrap();
    assert!(other.unwrap().contains("\"options\":{\"x\":1}"));
}

#[tokio::test]
async fn an_output_that_is_not_there_is_an_error_that_says_why() {
    let engine = engine_with("trap").await;
    load(&engine, "a", &["no-such", "good"]).await.unwrap();
    let answers = run(&engine, &["a"]).await;
    let a = answers[0].as_ref().unwrap();
    let why = a["no-such"].as_str().unwrap();
    assert!(
        why.contains("no extractor plugin serves `no-such`"),
        "{why}"
    );
    assert_eq!(a["good"]["status"], 200);
    // Once there is such a role, it is there.
    load(&engine, "no-such", &[]).await.unwrap();
    let answers = run(&engine, &["a"]).await;
    assert_eq!(answers[0].as_ref().unwrap()["no-such"]["role"], "no-such");
}

#[tokio::test]
async fn a_circle_of_needs_is_refused_and_what_served_goes_on() {
    let engine = engine();
    load(&engine, "a", &["b"]).await.unwrap();
    load(&engine, "b", &["c"]).await.unwrap();
    let error = load(&engine, "c", &["a"]).await.unwrap_err().to_string();
    assert!(error.contains("manifest: needs: "), "{error}");
    for role in ["a", "b", "c"] {
        assert!(error.contains(role), "{error}");
    }
    assert!(error.contains("circular dependency"), "{error}");
    assert!(engine.role("c").is_none());
    load(&engine, "c", &[]).await.unwrap();
    let error = load(&engine, "c", &["b"]).await.unwrap_err();
    assert!(error.to_string().contains("circular dependency"), "{error}");
    let answers = run(&engine, &["a"]).await;
    assert_eq!(answers[0].as_ref().unwrap()["b"]["c"]["role"], "c");
}

#[tokio::test]
async fn a_flood_of_questions_ends_at_the_cpu_budget() {
    let engine = engine_with("good").await;
    load_bytes(&engine, component("flood", &["good"])).await;
    let call = RoleCall {
        role: "flood".to_owned(),
        options: "\"flood\"".to_owned(),
    };
    let error = engine.extract(&page(), vec![call]).await.pop().unwrap();
    let limit = Limit::Cpu(Duration::from_millis(200));
    assert_eq!(error, Err(PluginError::Limit(limit)));
    assert_good_still_runs(&engine).await;
}
