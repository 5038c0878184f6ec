//! Components that were built on the day that a version of the contract was published load and run on
//! every later host of its major version. `tests/frozen` has them; they are never built again.

use std::path::Path;
use std::sync::Arc;

use orbweaver_core::ids::ProjectId;
use orbweaver_engine::{
    Delivery, FoundLink, Grants, HookPoint, HookPoints, HookUse, JudgedLink, Page, PageWork,
    RoleCall, RunRef, Source, Visit,
};
use serde_json::{Value, json};

use crate::hook_state::Hosts;
use crate::support::{TestHost, engine, page};

/// A component of a published version.
pub fn component_of(version: &str, name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/frozen");
    let path = folder.join(format!("{version}/components/{name}.wasm"));
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

async fn engine_with(names: &[&str]) -> orbweaver_engine::Engine {
    engine_of("1.0.0", names).await
}

async fn engine_of(version: &str, names: &[&str]) -> orbweaver_engine::Engine {
    let engine = engine();
    for name in names {
        engine
            .load_bytes(component_of(version, name), Source::Upload, Grants::All)
            .await
            .unwrap_or_else(|error| panic!("{name} of {version}: {error}"));
    }
    engine
}

fn parsed(json: &str) -> Value {
    serde_json::from_str(json).unwrap()
}

#[tokio::test]
async fn extractors_of_1_0_run() {
    let engine = engine_with(&["good", "elements"]).await;
    let call = |role: &str, options: &str| RoleCall {
        role: role.into(),
        options: options.into(),
    };
    let calls = vec![
        call("good", "{}"),
        call("elements", r#"{"css":"p","href":"/x"}"#),
    ];
    let answers = engine.extract(&page(), calls).await;
    let answers: Vec<Value> = answers
        .into_iter()
        .map(|answer| parsed(&answer.unwrap()))
        .collect();
    assert_eq!(
        answers[0],
        json!({
            "role": "good", "status": 200, "headers": 1, "hops": 1, "size": 8, "body": 8, "html": 8,
            "words": 44, "text": 5, "options": {}, "calls": 1,
        })
    );
    assert_eq!(
        answers[1]["elements"],
        json!([{
            "name": "p", "text": "hello", "content": "hello", "html": "<p>hello</p>", "id": null,
            "attrs": {}, "children": 0, "parent": "body",
        }])
    );
    assert_eq!(answers[1]["resolved"], "https://example.com/x");
    assert_eq!(answers[1]["info"]["status"], 200);
}

#[tokio::test]
async fn actors_and_fetchers_of_1_0_run_with_and_without_async() {
    actors_and_fetchers_run("1.0.0").await;
}

#[tokio::test]
async fn extractors_actors_and_fetchers_of_1_1_run() {
    actors_and_fetchers_run("1.1.0").await;
}

async fn actors_and_fetchers_run(version: &str) {
    let names = [
        "good",
        "good-actor",
        "sync-actor",
        "good-fetcher",
        "sync-fetcher",
    ];
    let engine = engine_of(version, &names).await;
    let host = |wave| {
        Arc::new(TestHost {
            engine: Some(engine.clone()),
            ..TestHost::new(wave)
        })
    };
    let input = json!({ "url": "https://example.com/" });
    let output = engine.run_actor("good-actor", &input, host(2)).await;
    let said = parsed(&output.unwrap().json);
    assert_eq!(said["sizes"], json!([10, 10]));
    assert_eq!(said["good"]["role"], "good");
    let input = json!("https://example.com/");
    let output = engine.run_actor("sync-actor", &input, host(3)).await;
    let said = parsed(&output.unwrap().json);
    assert_eq!(said["urls"][2], "https://example.com/?3");
    assert_eq!(said["crawl_denied"], true);
    for (domain, wave) in [("example.com", 1), ("sync.example", 2)] {
        let params = json!({});
        let output = engine.run_fetcher(domain, "a/b", &params, host(wave));
        let said = parsed(&output.await.unwrap().json);
        assert_eq!(said[1]["url"], format!("https://{domain}/b"));
    }
}

#[tokio::test]
async fn an_actor_of_the_sdk_of_1_0_runs() {
    let engine = engine_with(&["sdk-actor"]).await;
    let host = Arc::new(TestHost {
        engine: Some(engine.clone()),
        ..TestHost::new(2)
    });
    let input = json!({ "urls": ["https://a.example/", "https://b.example/"] });
    let error = engine.run_actor("two-pages-rs", &input, host).await;
    // There is no extractor for the title, which the actor reports.
    let error = error.unwrap_err();
    assert!(error.to_string().contains("metadata"), "{error}");
}

#[tokio::test]
async fn hooks_of_1_0_run() {
    let engine = engine_with(&["hook-tool", "hook-delivery"]).await;
    let hook = |name: &str, config: Value| HookUse {
        name: name.to_owned(),
        config: config.to_string().into(),
    };
    let config = json!({
        "record": {}, "discover": { "skip": { "/private": "not ours" } },
        "request": { "cookies": "a=b" },
    });
    let url = "http://a.test/";
    let work = PageWork {
        page: Page::from_html(url, "<p>x"),
        visit: Visit {
            url: url.to_owned(),
            status: 200,
            ..Visit::default()
        },
        points: HookPoints::of(&[HookPoint::Response, HookPoint::Record, HookPoint::Discover]),
        outputs: Vec::new(),
        links: vec![
            FoundLink {
                url: format!("{url}private"),
                ..FoundLink::default()
            },
            FoundLink {
                url: format!("{url}public"),
                ..FoundLink::default()
            },
        ],
        retry_within: Some(std::time::Duration::from_secs(120)),
    };
    let hooks = [hook("tool", config)];
    let verdict = engine.page_hooks(&hooks, work).await;
    assert_eq!(verdict.failures, []);
    assert_eq!(parsed(&verdict.records[0].data)["status"], 200);
    let skipped = |link: &JudgedLink| link.skipped.is_some();
    let skipped: Vec<bool> = verdict.links.iter().map(skipped).collect();
    assert_eq!(skipped, [true, false]);
    let (changes, failures) = engine.request_hooks(&hooks, url, 0, 0).await;
    assert_eq!(failures, []);
    assert_eq!(changes[0].1.cookies.as_deref(), Some("a=b"));

    let about = Delivery {
        event: "crawl.done".to_owned(),
        run_id: 7,
        run_url: url.to_owned(),
    };
    let hooks = [hook("delivery", json!({}))];
    let (payload, failures) = engine
        .delivery_hooks(&hooks, &about, r#"{"id":7}"#.to_owned())
        .await;
    assert_eq!(failures, []);
    assert_eq!(parsed(&payload)["event"], "crawl.done");
}

#[tokio::test]
async fn a_hook_with_state_of_1_1_runs() {
    let engine = engine_of("1.1.0", &["hook-keeper"]).await;
    let ours = ProjectId(7);
    assert!(engine.set_hook_hosts(Arc::new(Hosts::default())));
    let ours = engine.of_run(ours, RunRef::Crawl(41));
    let ops = json!([{"op": "get", "key": "a"}, {"op": "put", "key": "a", "value": "x"}]);
    for expected in [Value::Null, json!({"value": "x", "version": 1})] {
        let work = PageWork {
            page: Page::from_html("http://a.test/", "<p>x"),
            visit: Visit::default(),
            points: HookPoints::of(&[HookPoint::Record]),
            outputs: Vec::new(),
            links: Vec::new(),
            retry_within: None,
        };
        let hooks = [HookUse {
            name: "keeper".to_owned(),
            config: json!({ "ops": ops }).to_string().into(),
        }];
        let verdict = ours.page_hooks(&hooks, work).await;
        assert_eq!(verdict.failures, []);
        let told = parsed(&verdict.records[0].data);
        assert_eq!(told, json!({"run": 41, "results": [expected, 1]}));
    }
}
