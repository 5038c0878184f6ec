//! Hooks: their answers, budgets, isolation, grants and manifests.

use std::sync::Arc;
use std::time::Duration;

use orbweaver_engine::{
    Delivery, Engine, FoundLink, Grants, HookPoint, HookPoints, HookUse, Kind, Limit, Page,
    PageFate, PageParts, PageVerdict, PageWork, Permissions, PluginError, Source, Visit,
};
use serde_json::{Value, json};

use crate::hostile::{flooded, log};
use crate::support::{
    assert_good_still_runs, config, engine_with, fixture, load, load_bytes, patient_engine_with,
};

fn tool(config: &Value) -> HookUse {
    HookUse {
        name: "tool".to_owned(),
        config: Arc::from(config.to_string()),
    }
}

fn work(points: &[HookPoint], links: &[&str]) -> PageWork {
    let page = Page::new(PageParts {
        url: "http://example.com/a".into(),
        final_url: "http://example.com/b".into(),
        status: 200,
        body: Arc::from(&b"<p>hello"[..]),
        html: Arc::from("<p>hello"),
        ..PageParts::default()
    });
    PageWork {
        page,
        visit: Visit {
            url: "http://example.com/b".to_owned(),
            status: 200,
            depth: 3,
            attempts: 1,
        },
        points: HookPoints::of(points),
        outputs: vec![("prices".to_owned(), "[1]".to_owned())],
        links: links
            .iter()
            .map(|url| FoundLink {
                url: (*url).to_owned(),
                anchor: format!("to {url}"),
                ..FoundLink::default()
            })
            .collect(),
        retry_within: Some(std::time::Duration::from_secs(120)),
    }
}

const EVERY: [HookPoint; 3] = [HookPoint::Response, HookPoint::Record, HookPoint::Discover];

async fn run(engine: &Engine, configs: &[Value], work: PageWork) -> PageVerdict {
    let hooks: Vec<HookUse> = configs.iter().map(tool).collect();
    engine.page_hooks(&hooks, work).await
}

fn only_error(verdict: &PageVerdict) -> &PluginError {
    match verdict.failures.as_slice() {
        [failure] => &failure.error,
        other => panic!("not one failure: {other:?}"),
    }
}

#[tokio::test]
async fn a_hook_sees_the_page_and_one_instance_serves_its_functions() {
    let engine = engine_with("hook-tool").await;
    for _ in 0..2 {
        let verdict = run(&engine, &[json!({"record": {}})], work(&EVERY, &[])).await;
        assert_eq!(verdict.failures, []);
        let seen: Value = serde_json::from_str(&verdict.records[0].data).unwrap();
        let expected = json!({
            "url": "http://example.com/b", "page_url": "http://example.com/b", "status": 200,
            "depth": 3, "attempts": 1, "html": 8, "body": 8, "outputs": ["prices"],
            "records": 0, "calls": 2,
        });
        // `response` was the first call of this instance; the page before it left nothing.
        assert_eq!(seen, expected);
    }
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn only_the_wanted_functions_are_called() {
    let engine = engine_with("hook-tool").await;
    let bad = json!({"do": "trap"});
    let config = json!({"response": bad, "record": bad, "discover": {"skip": {"x": "no"}}});
    let verdict = run(
        &engine,
        &[config],
        work(&[HookPoint::Discover], &["http://x/"]),
    )
    .await;
    assert_eq!(verdict.failures, []);
    assert_eq!(verdict.links[0].skipped.as_ref().unwrap().reason, "no");
}

#[tokio::test]
async fn hooks_run_in_order_and_each_sees_what_the_last_one_left() {
    let engine = engine_with("hook-tool").await;
    let first = json!({
        "record": {"emit": ["1", "2"]},
        "discover": {
            "skip": {"/secret": "private"},
            "rewrite": {"/old": "/new"},
            "first": {"/old": 4},
            "add": [{"url": "http://example.com/added", "priority": 2}],
        },
    });
    let second = json!({
        "record": {"replace": ["3"]},
        "discover": {"skip": {"/new": "not new either"}, "first": {"/added": 9}},
    });
    let links = [
        "http://example.com/secret",
        "http://example.com/old",
        "http://example.com/c",
    ];
    let verdict = run(&engine, &[first, second], work(&EVERY, &links)).await;
    assert_eq!(verdict.failures, []);
    let records: Vec<_> = verdict
        .records
        .iter()
        .map(|record| record.data.as_str())
        .collect();
    assert_eq!(records, ["3"]);
    let shown: Vec<(&str, i32, Option<&str>)> = verdict
        .links
        .iter()
        .map(|link| {
            let why = link.skipped.as_ref().map(|why| why.reason.as_str());
            (link.url.as_str(), link.priority, why)
        })
        .collect();
    assert_eq!(
        shown,
        [
            ("http://example.com/secret", 0, Some("private")),
            ("http://example.com/new", 4, Some("not new either")),
            ("http://example.com/c", 0, None),
            ("http://example.com/added", 9, None),
        ]
    );
}

#[tokio::test]
async fn a_drop_or_a_retry_ends_what_follows_it() {
    let engine = engine_with("hook-tool").await;
    let dropping = json!({"record": {"drop": "not ours"}, "discover": {"first": {"c": 1}}});
    let trapping = json!({"record": {"do": "trap"}});
    let verdict = run(&engine, &[dropping, trapping.clone()], work(&EVERY, &["c"])).await;
    let PageFate::Dropped(why) = &verdict.fate else {
        panic!("{:?}", verdict.fate);
    };
    assert_eq!(
        (why.hook.as_str(), why.reason.as_str()),
        ("tool", "not ours")
    );
    assert_eq!(
        verdict.links[0].priority, 0,
        "the second hook was asked about links"
    );
    assert_eq!(verdict.failures, []);
    let retrying = json!({"response": {"retry": 2}, "record": {}});
    let verdict = run(&engine, &[retrying, trapping], work(&EVERY, &["c"])).await;
    assert!(
        matches!(verdict.fate, PageFate::Retry(1, _)),
        "{:?}",
        verdict.fate
    );
    assert!(verdict.failures.is_empty() && verdict.records.is_empty());
    // What can't be fetched again is used, with all that follows.
    let last = PageWork {
        retry_within: None,
        ..work(&EVERY, &["c"])
    };
    let retrying = json!({"response": {"retry": 2}, "record": {}});
    let verdict = run(&engine, &[retrying], last).await;
    assert_eq!((verdict.fate, verdict.records.len()), (PageFate::Kept, 1));
}

#[tokio::test]
async fn a_failed_hook_changes_nothing_and_the_next_one_runs() {
    let engine = engine_with("hook-tool").await;
    for bad in ["trap", "error"] {
        let failing = json!({"record": {"do": bad}, "discover": {"skip": {"c": "x"}}});
        let next = json!({"record": {"emit": ["1"]}});
        let verdict = run(&engine, &[failing, next], work(&EVERY, &["c"])).await;
        let failure = &verdict.failures[0];
        assert_eq!(
            (failure.hook.as_str(), failure.point),
            ("tool", HookPoint::Record)
        );
        // A trap ends the instance, so that its links are not judged; an error does not.
        assert_eq!(verdict.links[0].skipped.is_some(), bad == "error");
        assert_eq!(verdict.records.len(), 1);
        let message = failure.error.to_string();
        assert!(!message.contains('\u{1b}'), "{message}");
    }
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn a_hook_ends_at_its_budgets() {
    let (engine, patient) = (
        engine_with("hook-tool").await,
        patient_engine_with("hook-tool").await,
    );
    for point in ["response", "record", "discover"] {
        let verdict = run(
            &engine,
            &[json!({point: {"do": "spin"}})],
            work(&EVERY, &["c"]),
        )
        .await;
        let cpu = Limit::Cpu(Duration::from_millis(500));
        assert_eq!(only_error(&verdict), &PluginError::Limit(cpu), "{point}");
        let verdict = run(
            &patient,
            &[json!({point: {"do": "eat"}})],
            work(&EVERY, &["c"]),
        )
        .await;
        let error = only_error(&verdict);
        assert!(
            matches!(error, PluginError::Limit(Limit::Memory(_))),
            "{point}: {error}"
        );
    }
    for point in ["response", "record", "discover"] {
        for (what, expected) in [
            ("recurse", Some(Limit::Stack)),
            ("shout", None),
            ("ask", Some(Limit::Cpu(Duration::from_millis(500)))),
        ] {
            let verdict = run(
                &engine,
                &[json!({point: {"do": what}})],
                work(&EVERY, &["c"]),
            )
            .await;
            match (only_error(&verdict), expected) {
                (PluginError::Limit(limit), Some(expected)) => {
                    assert_eq!(limit, &expected, "{point} {what}");
                }
                // Refused before it is copied.
                (PluginError::Limit(Limit::HostCall(_) | Limit::Memory(_)), None) => {}
                (error, _) => panic!("{point} {what}: {error}"),
            }
        }
    }
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn a_hooks_log_is_cut_and_cleaned_and_nothing_is_left_for_the_next_page() {
    let log = log();
    let engine = engine_with("hook-tool").await;
    let flood = [json!({"record": {"do": "log"}})];
    let verdict = run(&engine, &flood, work(&EVERY, &[])).await;
    assert_eq!(verdict.failures, [], "lines beyond the budget are dropped");
    let lines = flooded(&log, "hook:tool");
    // The budget, and a note on the dropped lines.
    assert_eq!(lines.len(), 20 + 1, "{lines:?}");
    assert!(lines[0].contains(r"\u{1b}[2J"), "{}", lines[0]);
    assert!(lines[0].contains("forged line"), "a line end is escaped");
    assert!(lines[1].len() < 5_000, "{} bytes", lines[1].len());
    assert!(lines[20].contains("dropped_lines=19982"), "{}", lines[20]);
    // More pages than slots of the pool, so that every slot is used again.
    for _ in 0..50 {
        let verdict = run(&engine, &[json!({"record": {}})], work(&EVERY, &[])).await;
        let seen: Value = serde_json::from_str(&verdict.records[0].data).unwrap();
        // `response` and `record`, of this page.
        assert_eq!(seen["calls"], 2);
    }
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn a_delivery_hook_ends_at_its_budgets_and_leaves_the_payload() {
    let log = log();
    let engine = patient_engine_with("hook-delivery").await;
    let quick = engine_with("hook-delivery").await;
    let about = Delivery {
        event: "crawl.done".to_owned(),
        run_id: 7,
        run_url: "https://example.com/".to_owned(),
    };
    let deliver = async |what: &str| {
        let hooks = [HookUse {
            name: "delivery".to_owned(),
            config: Arc::from(json!({"do": what}).to_string()),
        }];
        let payload = r#"{"id":7}"#.to_owned();
        let engine = if what == "spin" { &quick } else { &engine };
        engine.delivery_hooks(&hooks, &about, payload).await
    };
    for what in [
        "spin",
        "eat",
        "recurse",
        "shout",
        "panic",
        "unreachable",
        "exit",
        "divide",
        "error",
        "empty",
        "not-json",
        "nan",
        "control",
        "deep",
        "big",
    ] {
        let (payload, failures) = deliver(what).await;
        assert_eq!(payload, r#"{"id":7}"#, "{what}");
        let [failure] = failures.as_slice() else {
            panic!("{what}: {failures:?}");
        };
        let error = &failure.error;
        let is_right = match what {
            "spin" => *error == PluginError::Limit(Limit::Cpu(Duration::from_millis(500))),
            "eat" => matches!(error, PluginError::Limit(Limit::Memory(_))),
            "recurse" => *error == PluginError::Limit(Limit::Stack),
            "shout" => *error == PluginError::Limit(Limit::HostCall(4 << 20)),
            "error" => matches!(error, PluginError::Reported(_)),
            "empty" | "not-json" | "nan" | "control" | "deep" => {
                matches!(error, PluginError::BadOutput(_))
            }
            "big" => matches!(error, PluginError::Limit(Limit::Output(_))),
            _ => matches!(error, PluginError::Trap(_)),
        };
        assert!(is_right, "{what}: {error}");
        assert!(!error.to_string().contains('\u{1b}'), "{what}: {error}");
    }
    // What floods the log, grows until it is refused or looks around has an answer.
    for what in ["fill", "peek", "remember", "remember"] {
        let (payload, failures) = deliver(what).await;
        assert_eq!(failures, [], "{what}");
        let expected = match what {
            "peek" => "[0,0,0]",
            "remember" => "\"\"",
            _ => payload.as_str(),
        };
        assert_eq!(payload, expected, "{what}");
    }
    assert_eq!(deliver("log").await.0, "null");
    assert_eq!(flooded(&log, "hook:delivery").len(), 20 + 1);
    assert_good_still_runs(&engine).await;
}

/// The tool with a manifest that needs the role `good`.
fn needy() -> Vec<u8> {
    let text = "name = \"tool\"\nkind = \"hook\"\nversion = \"2\"\napi = \"1.0.0\"\n\
                hooks = [\"record\", \"discover\"]\nneeds = [\"good\"]\n";
    orbweaver_engine::manifest::embed(&fixture("hook-tool"), text).unwrap()
}

#[tokio::test]
async fn a_record_gets_the_outputs_that_its_hook_needs() {
    let engine = engine_with("hook-tool").await;
    let asks = [json!({"record": {"input": "good"}}), json!({"record": {}})];
    let verdict = run(&engine, &asks, work(&EVERY, &[])).await;
    assert!(
        verdict.records[0].data.contains("not-granted"),
        "{verdict:?}"
    );
    load_bytes(&engine, needy()).await;
    let before = engine.plugin(Kind::Extractor, "good").unwrap().calls;
    let verdict = run(&engine, &asks, work(&EVERY, &[])).await;
    let good: Value = serde_json::from_str(&verdict.records[0].data).unwrap();
    assert_eq!(
        (&good["role"], &good["status"]),
        (&json!("good"), &json!(200))
    );
    // What the crawl names comes as before, and what is needed is no output of the crawl.
    let seen: Value = serde_json::from_str(&verdict.records[1].data).unwrap();
    assert_eq!(seen["outputs"], json!(["prices"]));
    // Nothing is made for a hook that is asked about links only.
    let links = run(&engine, &asks, work(&[HookPoint::Discover], &["c"])).await;
    assert_eq!(links.failures, []);
    let after = engine.plugin(Kind::Extractor, "good").unwrap().calls;
    assert_eq!(after, before + 1, "once for both");
}

#[tokio::test]
async fn a_request_hook_ends_at_its_cpu_time() {
    let engine = engine_with("hook-tool").await;
    let hooks = [tool(&json!({"request": {"do": "spin"}}))];
    let (changes, failures) = engine
        .request_hooks(&hooks, "http://127.0.0.1:80/", 0, 0)
        .await;
    assert!(changes.is_empty());
    assert!(
        matches!(failures[0].error, PluginError::Limit(Limit::Cpu(_))),
        "{failures:?}"
    );
}

#[tokio::test]
async fn a_request_change_that_breaks_a_rule_is_the_hook_s_failure_and_counted() {
    let engine = engine_with("hook-tool").await;
    for (change, why) in [
        (
            json!({"headers": {"Host": "evil.example", "x-a": "1"}}),
            "header `Host` frames the message",
        ),
        (
            json!({"headers": {"Cookie": "a=b"}}),
            "header `Cookie`: set it with",
        ),
        (
            json!({"cookies": "a\r\nb"}),
            "cookies must not hold control characters",
        ),
    ] {
        let hooks = [tool(&json!({"request": change}))];
        let url = "http://127.0.0.1:80/";
        let (changes, failures) = engine.request_hooks(&hooks, url, 0, 0).await;
        assert!(changes.is_empty(), "{changes:?}");
        let told = failures[0].error.told();
        assert!(told.starts_with(&format!("bad-output: {why}")), "{told}");
    }
    let figures = engine.figures(Kind::Hook, "tool");
    assert_eq!(figures[0].errors, [("bad-output", 3)]);
}

#[tokio::test]
async fn an_answer_beyond_its_bounds_is_refused() {
    let engine = engine_with("hook-tool").await;
    for bad in [
        json!({"discover": {"short": true}}),
        json!({"discover": {"flood": 1_001}}),
        json!({"record": {"emit": ["{"]}}),
        json!({"record": {"emit": vec!["1"; 1_001]}}),
        json!({"record": {"big": 2 << 20}}),
        json!({"record": {"big": 6 << 20}}),
    ] {
        let verdict = run(&engine, std::slice::from_ref(&bad), work(&EVERY, &["c"])).await;
        let error = only_error(&verdict);
        let is_bound = matches!(
            error,
            PluginError::BadOutput(_) | PluginError::Limit(Limit::Output(_))
        );
        assert!(is_bound, "{bad}: {error}");
        assert!(
            verdict.records.is_empty() && verdict.links.len() == 1,
            "{bad}"
        );
    }
}

#[tokio::test]
async fn a_dropped_call_interrupts_the_hook() {
    let engine = engine_with("hook-tool").await;
    let configs = [json!({"record": {"do": "spin"}})];
    let spinning = run(&engine, &configs, work(&EVERY, &[]));
    let cut = tokio::time::timeout(Duration::from_millis(50), spinning).await;
    assert!(cut.is_err());
    // Both worker threads are free again long before the budget is used up.
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn a_request_hook_is_asked_only_where_its_grant_covers_the_url() {
    let engine = Engine::new(config()).unwrap();
    let grants = Permissions {
        http: vec!["http://127.0.0.1:81".to_owned()],
        ..Permissions::default()
    };
    let loaded = engine
        .load_bytes(fixture("hook-tool"), Source::Upload, Grants::Only(grants))
        .await;
    loaded.unwrap();
    let hooks = [tool(
        &json!({"request": {"headers": {"x-a": "1"}, "cookies": "a=b"}}),
    )];
    for (url, is_asked) in [
        ("http://127.0.0.1:81/x", true),
        ("http://127.0.0.1:82/x", false),
        // Asked for by the manifest, and not granted.
        ("http://a.test:81/x", false),
    ] {
        let (changes, failures) = engine.request_hooks(&hooks, url, 0, 0).await;
        assert_eq!(failures, []);
        assert_eq!(changes.len(), usize::from(is_asked), "{url}");
    }
}

#[tokio::test]
async fn a_hook_that_is_not_loaded_is_a_failure() {
    let engine = engine_with("hook-tool").await;
    let missing = HookUse {
        name: "nobody".to_owned(),
        config: Arc::from("{}"),
    };
    assert!(
        engine
            .hook_points(std::slice::from_ref(&missing))
            .has(HookPoint::Record)
    );
    let hooks = [missing, tool(&json!({"record": {"emit": ["1"]}}))];
    let verdict = engine.page_hooks(&hooks, work(&EVERY, &["c"])).await;
    let error = only_error(&verdict);
    assert!(
        matches!(error, PluginError::NotFound { kind: "hook", .. }),
        "{error}"
    );
    assert_eq!((verdict.records.len(), verdict.links.len()), (1, 1));
}

#[tokio::test]
async fn a_hook_is_listed_with_its_functions_and_can_be_removed() {
    let engine = engine_with("hook-tool").await;
    let info = engine.plugin(Kind::Hook, "tool").unwrap();
    assert_eq!(info.hooks.len(), 4);
    assert_eq!((info.limits.fetches, info.roles.len()), (0, 0));
    assert!(engine.remove(Kind::Hook, "tool"));
    assert!(engine.plugin(Kind::Hook, "tool").is_none());
    load(&engine, &["hook-tool"]).await;
    let verdict = run(&engine, &[json!({"record": {}})], work(&EVERY, &[])).await;
    assert_eq!(verdict.failures, []);
    let calls = engine.plugin(Kind::Hook, "tool").unwrap().calls;
    assert!(calls > 0, "calls are counted over all versions");
}
