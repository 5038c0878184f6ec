//! What hooks change of a crawl, on both databases.

use orbweaver_crawl::hooks::request::{HookSpec, OnError};
use orbweaver_crawl::spec::{CrawlSpec, SeedKind};
use orbweaver_engine::{Grants, Source};
use orbweaver_store::crawl::{NoteKind, Run, RunFailure, RunNote, RunState, SkipReason};
use serde_json::{Value, json};

use super::ground::{Answer, Ground};
use super::{crawl, paths, promises, spec};
use crate::support::{Service, fixture};

promises! {
    skipped_links_are_not_fetched_and_listed_with_their_reason
    rewritten_and_added_urls_pass_the_checks_of_links
    links_that_are_taken_in_two_parts_count_once
    urls_of_higher_priority_are_fetched_first
    a_sitemap_s_urls_are_judged
    records_are_stored_with_their_page_and_go_with_it
    a_dropped_page_is_not_stored_and_its_links_are_followed
    a_failed_hook_keeps_the_page_or_ends_the_run
    nothing_is_sent_after_a_strict_hook_has_failed
    a_response_is_fetched_again_as_often_as_the_run_retries
    requests_are_changed_within_the_rules
    a_failed_extractor_is_counted_and_listed
}

async fn load(service: &Service, name: &str) {
    let bytes = std::fs::read(fixture(name)).expect("a fixture");
    let engine = &service.app.pipeline.engine;
    let loaded = engine.load_bytes(bytes, Source::Upload, Grants::All).await;
    loaded.expect("a plugin");
}

fn with(ground: &Ground, on_error: OnError, config: Value) -> CrawlSpec {
    CrawlSpec {
        hooks: vec![HookSpec {
            name: "tool".to_owned(),
            config,
            on_error,
        }],
        concurrency: Some(1),
        ..spec(&ground.url("/"))
    }
}

/// A crawl with the hook `tool`.
async fn hooked(service: &Service, ground: &Ground, config: Value) -> Run {
    load(service, "hook-tool").await;
    crawl(service, &with(ground, OnError::Keep, config)).await
}

async fn notes(service: &Service, run: &Run, kind: NoteKind) -> Vec<RunNote> {
    let store = &service.app.store;
    let notes = store
        .run_notes(run.project, run.id, kind, 0, 0, 1_000)
        .await;
    notes.expect("a database")
}

async fn records(service: &Service, run: &Run) -> Vec<(String, String)> {
    let store = &service.app.store;
    let start = (orbweaver_core::ids::PageId(0), -1);
    let records = store
        .run_records(run.project, run.id, start, 0, 1_000)
        .await;
    let records = records.expect("a database").into_iter();
    records.map(|record| (record.url, record.data)).collect()
}

/// Pages of these paths, each with links to all of them.
async fn mesh(paths: &'static [&'static str]) -> Ground {
    Ground::of(move |hit| match hit.path.as_str() {
        path if path.ends_with(".txt") => Answer::status(404),
        _ => Answer::page("page", paths),
    })
    .await
}

async fn skipped_links_are_not_fetched_and_listed_with_their_reason(service: Service) {
    let ground = mesh(&["/a", "/b?x=1#top", "/secret/1", "/secret/2"]).await;
    let config =
        json!({"discover": {"skip": {"/secret": "it is private"}, "skip_anchor": {"/b": "b"}}});
    let run = hooked(&service, &ground, config).await;
    assert_eq!(paths(&service, &run).await, ["", "a"]);
    let skipped = notes(&service, &run, NoteKind::Hook).await;
    let shown: Vec<(&str, &str)> = skipped
        .iter()
        .map(|note| (note.url.as_str(), note.message.as_str()))
        .collect();
    let url = |path: &str| ground.url(path);
    assert_eq!(
        shown,
        [
            (url("/b?x=1").as_str(), "b"),
            (&url("/secret/1"), "it is private"),
            (&url("/secret/2"), "it is private"),
        ],
        "each once, although both pages link to them"
    );
    assert_eq!(run.progress.skipped_for(SkipReason::Hook), 6);
    assert_eq!(
        (run.status, run.progress.plugin_errors),
        (RunState::Done, 0)
    );
}

async fn rewritten_and_added_urls_pass_the_checks_of_links(service: Service) {
    let ground = Ground::of(|hit| match hit.path.as_str() {
        "/robots.txt" => Answer::text("User-agent: *\nDisallow: /closed"),
        path if path.ends_with(".txt") => Answer::status(404),
        "/" => Answer::page("page", &["/old/1", "/old/2", "/away", "/file", "/bad"]),
        _ => Answer::page("page", &[]),
    })
    .await;
    let base = ground.url("");
    let config = json!({"discover": {
        "rewrite": {
            "/old": "/new", "/away": "@other.example/", "/file": "/../x#f", "/bad": "\\@h:99999/",
        },
        "add": [
            {"url": format!("{base}/new/1")},
            {"url": format!("{base}/added")},
            {"url": format!("{base}/closed")},
            {"url": "http://other.example/"},
            {"url": "file:///etc/passwd"},
            {"url": "not a URL"},
        ],
    }});
    let run = hooked(&service, &ground, config).await;
    let found = paths(&service, &run).await;
    assert_eq!(
        found,
        ["", "added", "new/1", "new/2", "x"],
        "{:?}",
        run.progress
    );
    assert_eq!(run.progress.skipped_for(SkipReason::Robots), 1);
    assert!(
        run.progress.skipped_for(SkipReason::Scope) >= 4,
        "{:?}",
        run.progress
    );
    let asked = ground.paths();
    assert_eq!(ground.count("/new/1"), 1, "{asked:?}");
    assert!(
        !asked.iter().any(|path| path.starts_with("/old")),
        "{asked:?}"
    );
}

/// A page has more links than the run has use for at first, because most lead to no page.
async fn links_that_are_taken_in_two_parts_count_once(service: Service) {
    load(&service, "hook-tool").await;
    let ground = Ground::of(|hit| match hit.path.as_str() {
        path if path.ends_with(".txt") => Answer::status(404),
        "/links" => {
            let bad = (0..1_500).map(|n| format!("/bad/{n}"));
            let ends = ["/secret", "/old", "/good"].map(str::to_owned);
            let links: Vec<String> = bad.chain(ends).collect();
            let links: Vec<&str> = links.iter().map(String::as_str).collect();
            Answer::page("links", &links)
        }
        path if path.starts_with("/bad/") => {
            Answer::status(200).with("content-encoding", "unknown")
        }
        _ => Answer::page("page", &[]),
    })
    .await;
    let config = json!({"discover": {
        "skip": {"/secret": "it is private"},
        "rewrite": {"/old": "/new"},
        "add": [{"url": ground.url("/added")}, {"url": "http://other.example/"}],
    }, "only": "/links"});
    let few = CrawlSpec {
        url: ground.url("/links"),
        max_pages: 4,
        concurrency: None,
        ..with(&ground, OnError::Keep, config)
    };
    let run = crawl(&service, &few).await;
    let all = ["added", "good", "links", "new"];
    assert_eq!(paths(&service, &run).await, all, "{run:?}");
    let counts = [SkipReason::Hook, SkipReason::Scope, SkipReason::Budget];
    let counts = counts.map(|reason| run.progress.skipped_for(reason));
    assert_eq!(counts, [1, 1, 0], "{run:?}");
}

async fn urls_of_higher_priority_are_fetched_first(service: Service) {
    let ground = mesh(&["/low", "/a", "/b", "/high/1", "/c", "/high/2"]).await;
    let config = json!({"discover": {"first": {"/high": 5, "/low": -5}}});
    let run = hooked(&service, &ground, config).await;
    assert_eq!(run.page_count, 7);
    assert_eq!(
        ground.paths(),
        ["/", "/high/1", "/high/2", "/a", "/b", "/c", "/low"]
    );
}

async fn a_sitemap_s_urls_are_judged(service: Service) {
    load(&service, "hook-tool").await;
    let ground = Ground::of(|hit| match hit.path.as_str() {
        "/sitemap.xml" => {
            let host = &hit.headers["host"];
            let urls: String = ["/a", "/skip", "/old", "/z"]
                .iter()
                .map(|path| format!("<url><loc>http://{host}{path}</loc></url>"))
                .collect();
            Answer::text(format!("<urlset>{urls}</urlset>"))
        }
        path if path.ends_with(".txt") => Answer::status(404),
        _ => Answer::page("page", &["/linked"]),
    })
    .await;
    let config = json!({"discover": {
        "skip": {"/skip": "no"}, "rewrite": {"/old": "/new"}, "first": {"/z": 1},
        "add": [{"url": ground.url("/added")}],
    }});
    let listed = CrawlSpec {
        seed_kind: SeedKind::Sitemap,
        ..with(&ground, OnError::Keep, config)
    };
    let run = crawl(&service, &listed).await;
    assert_eq!(paths(&service, &run).await, ["a", "added", "new", "z"]);
    let skipped = notes(&service, &run, NoteKind::Hook).await;
    assert_eq!(
        (skipped.len(), skipped[0].url.clone()),
        (1, ground.url("/skip"))
    );
}

async fn records_are_stored_with_their_page_and_go_with_it(service: Service) {
    load(&service, "hook-tool").await;
    let ground = mesh(&["/a", "/b"]).await;
    let config = json!({"record": {"emit": ["{\"n\":1}", "\"two\""]}, "only": "/b"});
    let spec = CrawlSpec {
        hooks: ["tool", "mask-personal-data"]
            .map(|name| HookSpec {
                name: name.to_owned(),
                config: if name == "tool" {
                    config.clone()
                } else {
                    json!({})
                },
                on_error: OnError::Fail,
            })
            .to_vec(),
        ..spec(&ground.url("/"))
    };
    let run = crawl(&service, &spec).await;
    assert_eq!(
        (run.status, run.error_message.clone()),
        (RunState::Done, None)
    );
    let mut stored = records(&service, &run).await;
    stored.sort();
    assert_eq!(stored.len(), 4, "{stored:?}");
    let of_b: Vec<&str> = stored
        .iter()
        .filter(|(url, _)| url.ends_with("/b"))
        .map(|(_, data)| data.as_str())
        .collect();
    assert_eq!(of_b, ["\"two\"", "{\"n\":1}"]);
    let text: Value = serde_json::from_str(&stored[0].1).expect("JSON");
    assert_eq!(
        (&text["url"], &text["title"]),
        (&json!(ground.url("/")), &json!("page"))
    );
    let store = &service.app.store;
    store
        .delete_run(run.project, run.id, service.app.clock.now())
        .await
        .expect("a database");
    while !store.remove_deleted().await.expect("a database").finished {}
    assert_eq!(store.count_run_notes(run.id).await.expect("a database"), 0);
    assert_eq!(records(&service, &run).await, []);
}

async fn a_dropped_page_is_not_stored_and_its_links_are_followed(service: Service) {
    let ground = Ground::of(|hit| match hit.path.as_str() {
        path if path.ends_with(".txt") => Answer::status(404),
        "/" => Answer::page("page", &["/drop/1"]),
        "/drop/1" => Answer::page("page", &["/a"]),
        _ => Answer::page("page", &[]),
    })
    .await;
    let config = json!({"record": {"drop": "not ours"}, "only": "/drop"});
    let run = hooked(&service, &ground, config).await;
    assert_eq!(paths(&service, &run).await, ["", "a"]);
    assert_eq!(
        (run.page_count, run.progress.dropped, run.progress.fetched),
        (2, 1, 2)
    );
    let dropped = notes(&service, &run, NoteKind::Hook).await;
    assert_eq!(dropped[0].url, ground.url("/drop/1"));
    assert_eq!(
        (dropped[0].plugin.as_str(), dropped[0].message.as_str()),
        ("tool", "not ours")
    );
    // It was fetched, and is billed as any page.
    assert_eq!(service.billed().await.0, 3);
    // It counts against the maximum, so that a hook that drops everything ends, too.
    let all = json!({"response": {"drop": "nothing"}});
    let spec = CrawlSpec {
        max_pages: 2,
        ..with(&ground, OnError::Keep, all)
    };
    let run = crawl(&service, &spec).await;
    assert_eq!((run.page_count, run.progress.dropped), (0, 2));
}

async fn a_failed_hook_keeps_the_page_or_ends_the_run(service: Service) {
    let ground = mesh(&["/a", "/bad", "/c"]).await;
    for bad in ["trap", "error", "spin"] {
        let config = json!({"record": {"do": bad}, "only": "/bad"});
        let run = hooked(&service, &ground, config.clone()).await;
        assert_eq!(run.status, RunState::Done);
        assert_eq!(paths(&service, &run).await, ["", "a", "bad", "c"], "{bad}");
        assert_eq!((run.progress.plugin_errors, run.error_count), (1, 0));
        let failures = notes(&service, &run, NoteKind::Plugin).await;
        assert_eq!(
            (failures.len(), failures[0].url.clone()),
            (1, ground.url("/bad"))
        );
        assert!(
            failures[0].message.starts_with("record: "),
            "{:?}",
            failures[0]
        );
        let strict = crawl(&service, &with(&ground, OnError::Fail, config)).await;
        assert_eq!(strict.status, RunState::Failed, "{bad}");
        let why = strict.error_message.expect("a reason");
        assert!(why.starts_with("hook `tool` failed on http://"), "{why}");
        assert!(strict.page_count >= 2, "pages before it are kept");
    }
}

async fn nothing_is_sent_after_a_strict_hook_has_failed(service: Service) {
    let ground = mesh(&["/a", "/bad"]).await;
    let forbidden = json!({"headers": {"Host": "evil.example"}});
    for bad in [json!({"do": "trap"}), json!({"do": "error"}), forbidden] {
        let config = json!({"request": bad, "only": "/bad"});
        let before = ground.count("/bad");
        let run = hooked(&service, &ground, config.clone()).await;
        assert_eq!(
            (run.status, run.progress.plugin_errors),
            (RunState::Done, 1)
        );
        assert_eq!(paths(&service, &run).await, ["", "a", "bad"], "{bad}");
        assert_eq!(ground.count("/bad"), before + 1, "without the change");
        let strict = crawl(&service, &with(&ground, OnError::Fail, config)).await;
        assert_eq!(strict.status, RunState::Failed, "{bad}");
        let why = strict.error_message.clone().expect("a reason");
        assert!(why.starts_with("hook `tool` failed on http://"), "{why}");
        assert!(why.contains("/bad: request: "), "{why}");
        assert_eq!(ground.count("/bad"), before + 1, "nothing is sent");
        let stored = paths(&service, &strict).await;
        assert!(!stored.iter().any(|path| path == "bad"), "{stored:?}");
    }
}

async fn a_response_is_fetched_again_as_often_as_the_run_retries(service: Service) {
    let ground = mesh(&["/a"]).await;
    // The run retries twice: with one retry the third attempt is not made, with five the last
    // response is used.
    for (asked, expected) in [(1, 2), (5, 3)] {
        let before = ground.log().len();
        let config = json!({"response": {"retry": asked}, "only": "/a"});
        let run = hooked(&service, &ground, config).await;
        assert_eq!(paths(&service, &run).await, ["", "a"]);
        let log = ground.log();
        let hits = log
            .iter()
            .skip(before)
            .filter(|hit| hit.path == "/a")
            .count();
        assert_eq!(hits, expected, "{asked}");
        let left_out = notes(&service, &run, NoteKind::Hook).await;
        assert!(left_out.is_empty(), "it is stored in the end: {left_out:?}");
    }
}

async fn requests_are_changed_within_the_rules(service: Service) {
    let ground = mesh(&["/a"]).await;
    let config = json!({"request": {
        "headers": {"X-Section": "news", "accept-language": "fr"},
        "cookies": "a=b",
        "user_agent": "Hooked/1",
        "attempts": true,
    }});
    let run = hooked(&service, &ground, config).await;
    assert_eq!((run.page_count, run.progress.plugin_errors), (2, 0));
    let log = ground.log();
    let hit = log.iter().find(|hit| hit.path == "/a").expect("a request");
    let header = |name: &str| hit.headers.get(name).map(String::as_str);
    assert_eq!(header("x-section"), Some("news"));
    assert_eq!(header("accept-language"), Some("fr"));
    assert_eq!(header("cookie"), Some("a=b"));
    assert_eq!(header("user-agent"), Some("Hooked/1"));
    assert_eq!(header("x-attempts"), Some("0"));
    // No scan can ask for the page in this way.
    let scan = json!({"url": ground.url("/a"), "max_age_seconds": 600});
    service.client().post("/v1/scan", &scan).await.ok();
    assert_eq!(ground.count("/a"), 2);
    // A name that the host controls is the hook's failure, and nothing of the change is sent.
    let config = json!({"request": {"headers": {"Host": "evil.example", "x-other": "1"}}});
    let before = ground.log().len();
    let run = hooked(&service, &ground, config).await;
    assert_eq!((run.page_count, run.progress.plugin_errors), (2, 2));
    let log = ground.log();
    assert!(
        log.iter()
            .skip(before)
            .all(|hit| !hit.headers.contains_key("x-other"))
    );
    let failures = notes(&service, &run, NoteKind::Plugin).await;
    assert!(failures[0].message.contains("`Host`"), "{failures:?}");
}

async fn a_failed_extractor_is_counted_and_listed(service: Service) {
    load(&service, "trap").await;
    let ground = mesh(&["/a"]).await;
    let spec = CrawlSpec {
        extractors: vec!["panic".to_owned()],
        ..spec(&ground.url("/"))
    };
    let run = crawl(&service, &spec).await;
    assert_eq!(
        (run.page_count, run.error_count, run.progress.plugin_errors),
        (2, 0, 2)
    );
    let store = &service.app.store;
    let start = orbweaver_store::crawl::FailurePlace::START;
    let failures = store.run_failures(run.project, run.id, start, 1, 10).await;
    let failures = failures.expect("a database");
    let [RunFailure::Plugin(note)] = failures.as_slice() else {
        panic!("{failures:?}");
    };
    assert_eq!(note.plugin, "panic");
    assert!(note.message.contains("trap"), "{note:?}");
}
