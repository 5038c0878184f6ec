//! Plugins of the same code, which share an instance on a page.

use orbweaver_engine::{Engine, Json, Kind, PluginError, manifest};

use crate::support::{assert_good_still_runs, call, engine, fixture, load_bytes, page};
use crate::wat::Extractor;

/// The code of a component as a plugin that serves the role of its name.
fn named(code: &[u8], name: &str, limits: &str) -> Vec<u8> {
    let text = format!(
        "name = \"{name}\"\nkind = \"extractor\"\nversion = \"1\"\napi = \"1.0.0\"\n\
         roles = [\"{name}\"]\n{limits}"
    );
    manifest::embed(code, &text).unwrap()
}

/// Roles of a page on one thread, so that no idle one takes a part of them into an instance of its own.
async fn on_one_thread(engine: &Engine, roles: &[&str]) -> Vec<Result<Json, PluginError>> {
    let engine = engine.clone();
    let calls = roles.iter().map(|role| call(role)).collect();
    tokio::task::spawn_blocking(move || engine.extract_blocking(&page(), calls))
        .await
        .unwrap()
}

/// The number of calls that the instance of each answer of `good` had served.
async fn served(engine: &Engine, roles: &[&str]) -> Vec<u64> {
    let answers = on_one_thread(engine, roles).await.into_iter();
    answers
        .map(|answer| {
            let value: serde_json::Value = serde_json::from_str(&answer.unwrap()).unwrap();
            value["calls"].as_u64().unwrap()
        })
        .collect()
}

#[tokio::test]
async fn plugins_of_the_same_code_share_an_instance_and_have_figures_of_their_own() {
    let engine = engine();
    let code = fixture("good");
    for name in ["good", "good-too", "third"] {
        load_bytes(&engine, named(&code, name, "")).await;
    }
    load_bytes(&engine, fixture("peek")).await;
    // Another component in between does not part them.
    let roles = ["good", "peek", "good-too", "third"];
    let answers = on_one_thread(&engine, &roles).await;
    assert!(answers[1].as_ref().unwrap().contains("\"env\":0"));
    assert_eq!(
        served(&engine, &["good", "good-too", "third"]).await,
        [1, 2, 3]
    );
    for name in roles {
        let plugin = engine.plugin(Kind::Extractor, name).unwrap();
        let calls = if name == "peek" { 1 } else { 2 };
        assert_eq!((plugin.calls, plugin.errors), (calls, 0), "{name}");
        assert!(plugin.peak_memory > 0, "{name}");
    }
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn a_plugin_that_is_swapped_or_has_other_limits_runs_on_its_own() {
    let engine = engine();
    let code = fixture("good");
    load_bytes(&engine, named(&code, "good", "")).await;
    load_bytes(&engine, named(&code, "good-too", "")).await;
    let limits = "[limits]\nmemory-mib = 32\n";
    load_bytes(&engine, named(&code, "third", limits)).await;
    let roles = ["good", "third", "good-too"];
    assert_eq!(served(&engine, &roles).await, [1, 1, 2]);
    // The same answers from other bytes: a custom section makes them another component.
    let mut other = code.clone();
    other.extend_from_slice(&[0, 3, 1, b'z', 9]);
    load_bytes(&engine, named(&other, "good-too", "")).await;
    assert_eq!(served(&engine, &["good", "good-too"]).await, [1, 1]);
    // And back.
    load_bytes(&engine, named(&code, "good-too", "")).await;
    assert_eq!(served(&engine, &["good", "good-too"]).await, [1, 2]);
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn a_trap_is_the_failure_of_one_plugin() {
    let engine = engine();
    let code = fixture("trap");
    for name in ["before", "panic", "after", "last"] {
        load_bytes(&engine, named(&code, name, "")).await;
    }
    load_bytes(&engine, fixture("good")).await;
    let answers = on_one_thread(&engine, &["before", "panic", "after", "last"]).await;
    assert_eq!(answers[0].as_deref(), Ok("1"));
    let error = answers[1].as_ref().unwrap_err().to_string();
    assert!(error.contains("a message for the log"), "{error}");
    // A new instance for the rest.
    assert_eq!(answers[2].as_deref(), Ok("1"));
    assert_eq!(answers[3].as_deref(), Ok("2"));
    for (name, errors) in [("before", 0), ("panic", 1), ("after", 0), ("last", 0)] {
        let plugin = engine.plugin(Kind::Extractor, name).unwrap();
        assert_eq!((plugin.calls, plugin.errors), (1, errors), "{name}");
    }
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn what_one_plugin_leaves_behind_is_not_the_failure_of_another() {
    let engine = engine();
    // Serves one call, and traps in a second one.
    let once = Extractor {
        core: "(global $calls (mut i32) (i32.const 0))",
        attack: "(if (global.get $calls) (then unreachable)) (global.set $calls (i32.const 1))",
        ..Extractor::default()
    };
    let code = once.build();
    for name in ["first", "second", "third"] {
        load_bytes(&engine, named(&code, name, "")).await;
    }
    load_bytes(&engine, fixture("good")).await;
    for answer in on_one_thread(&engine, &["first", "second", "third"]).await {
        assert_eq!(answer.as_deref(), Ok("null"));
    }
    for name in ["first", "second", "third"] {
        let plugin = engine.plugin(Kind::Extractor, name).unwrap();
        assert_eq!((plugin.calls, plugin.errors), (1, 0), "{name}");
    }
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn each_plugin_of_the_same_code_passes_a_self_test_of_its_own() {
    let engine = engine();
    let page_roles = crate::shipped::plugin("extract-links");
    load_bytes(&engine, page_roles.clone()).await;
    let error = engine
        .load_bytes(
            named(&page_roles, "no-such-role", ""),
            orbweaver_engine::Source::Upload,
            orbweaver_engine::Grants::All,
        )
        .await
        .unwrap_err();
    assert!(error.to_string().contains("does not serve"), "{error}");
}
