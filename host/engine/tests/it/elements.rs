//! The interface `dom`, and the parts of a page in one call: for extractors of the pool and for tasks.

use std::sync::Arc;
use std::time::Duration;

use orbweaver_engine::{
    Engine, Grants, Kind, Limit, NoHost, Page, PageParts, PluginError, RoleCall, Source,
};
use serde_json::{Value, json};

use crate::support::{assert_good_still_runs, config, engine_with, fixture, load};

const HTML: &str = "<!DOCTYPE html><base href='/b/'><ul id=l class='x y'><li id=1>one <b>bold</b>\
                    <script>s&amp;</script><li>two &amp; three</ul>";

fn page() -> Arc<Page> {
    Page::new(PageParts {
        url: "https://elements.example/".into(),
        final_url: "https://elements.example/a/".into(),
        status: 203,
        headers: vec![("x-a".into(), "1".into()), ("x-b".into(), "2".into())],
        body: Arc::from(HTML.as_bytes()),
        html: HTML.into(),
        cost_usd: 0.25,
        ..PageParts::default()
    })
}

/// What the extractor says of the page.
async fn extractor(engine: &Engine, page: &Arc<Page>, asked: &Value) -> Result<Value, PluginError> {
    let call = RoleCall {
        role: "elements".into(),
        options: asked.to_string(),
    };
    let answer = engine.extract(page, vec![call]).await.pop().unwrap();
    answer.map(|json| serde_json::from_str(&json).unwrap())
}

/// What the actor says of this HTML.
async fn actor(engine: &Engine, html: &str, mut asked: Value) -> Result<Value, PluginError> {
    asked["html"] = html.into();
    let output = engine
        .run_actor("elements-actor", &asked, Arc::new(NoHost))
        .await?;
    Ok(serde_json::from_str(&output.json).unwrap())
}

#[tokio::test]
async fn both_kinds_of_guests_find_and_read_the_same_elements() {
    let engine = engine_with("elements").await;
    load(&engine, &["elements-actor"]).await;
    let items = json!([
        {
            "name": "li", "text": "one bold", "content": "one bolds&amp;", "id": "1",
            "html": "<li id=\"1\">one <b>bold</b><script>s&amp;</script></li>",
            "attrs": { "id": "1" }, "children": 2, "parent": "ul",
        },
        {
            "name": "li", "text": "two & three", "content": "two & three", "id": null,
            "html": "<li>two &amp; three</li>", "attrs": {}, "children": 0, "parent": "ul",
        },
    ]);
    for (asked, expected) in [
        (json!({ "css": ".x > li" }), items.clone()),
        (json!({ "css": ":scope > li", "in": "ul.y" }), items.clone()),
        (json!({ "css": "li", "limit": 1 }), json!([items[0]])),
        (json!({ "css": "li", "limit": 0 }), json!([])),
        (json!({ "css": "p" }), json!([])),
    ] {
        let here = extractor(&engine, &page(), &asked).await.unwrap();
        assert_eq!(here["elements"], expected, "{asked}");
        let there = actor(&engine, HTML, asked.clone()).await.unwrap();
        assert_eq!(there["elements"], expected, "{asked}, as a task");
    }
    for (href, expected) in [
        ("../c?d#e", json!("https://elements.example/c?d#e")),
        ("x", json!("https://elements.example/b/x")),
        ("mailto:a@b.example", Value::Null),
        ("http://[", Value::Null),
    ] {
        let asked = json!({ "css": "p", "href": href });
        let here = extractor(&engine, &page(), &asked).await.unwrap();
        assert_eq!(here["resolved"], expected, "{href}");
        let there = actor(&engine, HTML, asked).await.unwrap();
        assert_eq!(there["resolved"], expected, "{href}, as a task");
    }
}

#[tokio::test]
async fn a_page_tells_everything_in_one_call_and_its_body_in_parts() {
    let engine = engine_with("elements").await;
    load(&engine, &["elements-actor"]).await;
    let asked = json!({ "css": "p" });
    let said = extractor(&engine, &page(), &asked).await.unwrap();
    assert_eq!(
        said["info"],
        json!({
            "url": "https://elements.example/", "final_url": "https://elements.example/a/",
            "status": 203, "headers": 2, "redirects": 0, "size": HTML.len(), "cost_usd": 0.25,
        })
    );
    assert_eq!(said["same"], true);
    assert_eq!(said["read"], json!(["<!DOCTYPE", "OCTY", "l>", ""]));
    // HTML that was not fetched has no status, and cost nothing.
    let said = actor(&engine, HTML, asked).await.unwrap();
    assert_eq!(said["info"]["status"], Value::Null);
    assert_eq!(said["info"]["cost_usd"], Value::Null);
    assert_eq!(said["same"], true);
}

#[tokio::test]
async fn wrong_selectors_and_numbers_are_errors_that_name_the_argument() {
    let engine = engine_with("elements").await;
    load(&engine, &["elements-actor"]).await;
    let long = "a".repeat(5_000);
    for (asked, field) in [
        (json!({ "css": "p >" }), "css"),
        (json!({ "css": long }), "css"),
        (json!({ "css": "p", "in": "::before" }), "css"),
        (json!({ "id": 0 }), "element"),
        (json!({ "id": u32::MAX }), "element"),
    ] {
        let here = extractor(&engine, &page(), &asked).await.unwrap();
        let there = actor(&engine, HTML, asked.clone()).await.unwrap();
        for mut said in [here, there] {
            let said = match asked["id"].is_null() {
                true => said["elements"].take(),
                false => said,
            };
            assert_eq!(said["code"], "invalid-input", "{asked}: {said}");
            assert_eq!(said["field"], field, "{asked}: {said}");
        }
    }
}

/// On this page a search with [`DEAR`] looks at every sibling of every element.
fn dear_page() -> String {
    "<p>x</p>".repeat(40_000)
}

const DEAR: &str = "p ~ p ~ i, p:has(~ i)";

#[tokio::test]
async fn a_search_that_costs_too_much_is_over_its_budget() {
    let engine = engine_with("elements").await;
    load(&engine, &["elements-actor"]).await;
    let html = dear_page();
    let asked = json!({ "css": DEAR });
    let here = extractor(
        &engine,
        &Page::from_html("https://a.example/", &html),
        &asked,
    )
    .await;
    let there = actor(&engine, &html, asked).await;
    for said in [here.unwrap(), there.unwrap()] {
        assert_eq!(said["elements"]["code"], "budget", "{said}");
    }
    assert_good_still_runs(&engine).await;
}

#[tokio::test]
async fn searches_count_as_cpu_time_and_end_with_it() {
    let cpu = Duration::from_millis(300);
    let mut config = config();
    config.limits.extractor.default.cpu_ms = 300;
    config.limits.actor.default.cpu_ms = 300;
    let engine = Engine::new(config).unwrap();
    load(&engine, &["good"]).await;
    for name in ["elements", "elements-actor"] {
        engine
            .load_bytes(fixture(name), Source::Upload, Grants::All)
            .await
            .unwrap();
    }
    let html = dear_page();
    let asked = json!({ "css": DEAR, "work": true });
    let here = extractor(
        &engine,
        &Page::from_html("https://a.example/", &html),
        &asked,
    )
    .await;
    assert_eq!(here, Err(PluginError::Limit(Limit::Cpu(cpu))));
    let there = actor(&engine, &html, asked).await;
    assert_eq!(there, Err(PluginError::Limit(Limit::Cpu(cpu))));
    for (kind, name) in [
        (Kind::Extractor, "elements"),
        (Kind::Actor, "elements-actor"),
    ] {
        assert!(engine.plugin(kind, name).unwrap().cpu >= cpu, "{name}");
    }
    assert_good_still_runs(&engine).await;
}
