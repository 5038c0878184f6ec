//! Well-behaved extractors.

use std::sync::Arc;
use std::time::Duration;

use orbweaver_core::ids::ProjectId;
use orbweaver_engine::{
    Engine, EngineConfig, ErrorCode, Grants, Json, Kind, Page, PluginError, RoleCall, Source,
    manifest,
};
use serde_json::json;

use crate::support::{
    assert_good_still_runs, call, config, engine, engine_with, extract, fixture, load, page,
};

fn value(json: Result<Json, PluginError>) -> serde_json::Value {
    serde_json::from_str(&json.unwrap()).unwrap()
}

#[tokio::test]
async fn a_guest_sees_the_page_and_its_options() {
    let engine = engine_with("peek").await;
    let page = page();
    let got = value(extract(&engine, "good").await);
    assert_eq!(got["role"], "good");
    assert_eq!(got["status"], 200);
    assert_eq!(
        (got["headers"].as_u64(), got["hops"].as_u64()),
        (Some(1), Some(1))
    );
    assert_eq!(
        (
            got["size"].as_u64(),
            got["body"].as_u64(),
            got["html"].as_u64()
        ),
        (Some(8), Some(8), Some(8))
    );
    assert_eq!(got["words"], page.snapshot().words.len());
    assert_eq!(got["text"], page.snapshot().text.len());
    assert_eq!(got["options"]["attack"], true);
}

#[tokio::test]
async fn roles_of_one_component_share_an_instance_and_pages_do_not() {
    let engine = engine_with("peek").await;
    for _ in 0..2 {
        let answers = engine
            .extract(&page(), vec![call("good"), call("peek"), call("good-too")])
            .await;
        let calls: Vec<_> = answers
            .into_iter()
            .map(|answer| value(answer)["calls"].as_u64())
            .collect();
        assert_eq!(calls, [Some(1), None, Some(2)]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn threads_wait_for_an_instance_where_the_pool_has_fewer_than_threads() {
    let engine = Engine::new(EngineConfig {
        max_instances: 1,
        extractor_threads: 4,
        ..config()
    })
    .unwrap();
    load(&engine, &["good", "peek", "state-leak", "hook-tool"]).await;
    let pages = (0..24).map(|at| {
        let engine = match at % 2 {
            0 => engine.clone(),
            _ => engine.of_project(ProjectId(at)),
        };
        async move {
            let roles = ["good", "peek", "good-too", "state-leak"].map(call);
            engine.extract(&page(), roles.to_vec()).await
        }
    });
    let pages = futures::future::join_all(pages);
    let answers = tokio::time::timeout(Duration::from_secs(120), pages).await;
    for answer in answers
        .expect("no thread waits for ever")
        .into_iter()
        .flatten()
    {
        assert!(answer.is_ok(), "{:?}", answer.err());
    }
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn answers_come_in_the_order_of_the_calls() {
    let engine = engine_with("peek").await;
    let roles = ["good-too", "no-such-role", "peek", "good"];
    let answers = engine.extract(&page(), roles.map(call).to_vec()).await;
    let [too, missing, peek, good] = <[_; 4]>::try_from(answers).unwrap();
    assert_eq!(value(too)["role"], "good-too");
    assert_eq!(
        missing,
        Err(PluginError::NotFound {
            kind: "extractor",
            name: "no-such-role".into()
        })
    );
    assert_eq!(value(peek)["env"], 0);
    assert_eq!(value(good)["role"], "good");
}

#[tokio::test]
async fn the_wasi_base_reveals_nothing() {
    let engine = engine_with("peek").await;
    let first = value(extract(&engine, "peek").await);
    assert_eq!(first["env"], 0);
    assert_eq!(first["stdin"], 0, "closed");
    assert_eq!(
        first,
        value(extract(&engine, "peek").await),
        "hash seeds repeat"
    );
}

#[tokio::test]
async fn many_pages_at_once_all_get_answers() {
    let engine = engine_with("peek").await;
    let tasks: Vec<_> = (0..100)
        .map(|i| {
            let engine = engine.clone();
            tokio::spawn(async move {
                let html = format!("<p>{}", "x".repeat(i));
                let page = Page::from_html("https://example.com/", &html);
                let answers = engine
                    .extract(&page, vec![call("good"), call("peek")])
                    .await;
                answers.into_iter().map(value).next().unwrap()["html"].as_u64()
            })
        })
        .collect();
    for (i, task) in tasks.into_iter().enumerate() {
        assert_eq!(task.await.unwrap(), Some(i as u64 + 3));
    }
    assert_eq!(engine.plugin(Kind::Extractor, "good").unwrap().calls, 100);
}

#[tokio::test]
async fn a_page_is_parsed_once_for_all_and_shared() {
    let engine = engine_with("peek").await;
    let page = page();
    engine
        .extract(&page, vec![call("good")])
        .await
        .pop()
        .unwrap()
        .unwrap();
    let parsed = Arc::clone(page.snapshot());
    engine
        .extract(&page, vec![call("good")])
        .await
        .pop()
        .unwrap()
        .unwrap();
    assert!(Arc::ptr_eq(&parsed, page.snapshot()));
}

#[test]
fn the_blocking_call_gives_the_same_answer() {
    let engine: Engine = engine();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(load(&engine, &["good"]));
    let plain = RoleCall {
        role: "good".into(),
        options: String::new(),
    };
    let blocking = engine
        .extract_blocking(&page(), vec![plain.clone()])
        .pop()
        .unwrap();
    let waiting = runtime
        .block_on(engine.extract(&page(), vec![plain]))
        .pop()
        .unwrap();
    assert_eq!(blocking, waiting);
    assert!(blocking.is_ok());
}

#[tokio::test]
async fn an_extractor_with_wasi_grants_runs_beside_the_pool() {
    let engine = engine();
    let with_clock = orbweaver_engine::manifest::embed(
        &crate::support::fixture("clock-random"),
        "name = \"clock\"\nkind = \"extractor\"\nversion = \"1\"\napi = \"1.0.0\"\n[permissions]\nwasi = [\"clocks\"]\n",
    )
    .unwrap();
    crate::support::load_bytes(&engine, with_clock).await;
    load(&engine, &["good"]).await;
    let answers = engine
        .extract(&page(), vec![call("clock"), call("good")])
        .await;
    let seconds: u64 = answers[0].as_ref().unwrap().parse().unwrap();
    assert!(seconds > 1_700_000_000, "{seconds}");
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn options_that_a_plugin_gives_a_role_are_checked_by_its_schema() {
    let engine = engine();
    let text = r#"
        name = "good"
        kind = "extractor"
        version = "1"
        api = "1.0.0"
        [schema]
        input = '{"type": "object", "properties": {"max_rows": {"type": "integer", "maximum": 100}}}'
    "#;
    let component = manifest::embed(&fixture("good"), text).unwrap();
    let loaded = engine.load_bytes(component, Source::Upload, Grants::All);
    loaded.await.unwrap();
    for (options, rule) in [
        (r#"{"max_rows": 101}"#, "max_rows: must be at most 100"),
        (r#"{"max_rows": "1"}"#, "max_rows: must be of type integer"),
        ("[1]", "options: must be an object"),
        ("null", "options: must be an object"),
        ("{", "options: EOF while parsing"),
    ] {
        let answer = engine.extract_for_plugin("good", &page(), options).await;
        let error = answer.expect_err(options);
        assert_eq!(error.code, ErrorCode::InvalidInput, "{options}");
        assert!(error.message.starts_with(rule), "{options}: {error}");
    }
    for (options, seen) in [
        (r#"{"max_rows": 2.0}"#, json!({"max_rows": 2})),
        ("{}", json!({})),
    ] {
        let answer = engine.extract_for_plugin("good", &page(), options).await;
        let answer: serde_json::Value = serde_json::from_str(&answer.unwrap()).unwrap();
        assert_eq!(answer["options"], seen, "{options}");
    }
    let page = page();
    let missing = engine.extract_for_plugin("none", &page, r#"{"a": 1}"#);
    let error = missing.await.unwrap_err();
    assert_eq!(error.code, ErrorCode::Failed, "{error}");
}
