//! Content that is new after rendering, counted and assessed.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use orbweaver_actor_render_diff::{Input, run};
use orbweaver_sdk::testing::{Document, Site, block_on, install};
use serde_json::{Value, json};

const URL: &str = "https://tea.example/";

fn compare(sent: &str, shown: &str) -> Value {
    let site = Site::default()
        .page(Document::new(URL, sent))
        .rendered(Document::new(URL, shown).cost_usd(0.0025));
    let _web = install(site);
    let output = block_on(run(Input { url: URL.into() })).expect("an answer");
    serde_json::to_value(output).expect("JSON")
}

#[test]
fn a_shop_filled_by_scripts() {
    let found = compare(
        include_str!("../fixtures/sent.html"),
        include_str!("../fixtures/shown.html"),
    );
    let expected: Value =
        serde_json::from_str(include_str!("../fixtures/expected.json")).expect("JSON");
    assert_eq!(found, expected, "{found:#}");
}

#[test]
fn the_same_page_has_no_difference() {
    let page = include_str!("../fixtures/shown.html");
    let delta = &compare(page, page)["delta"];
    assert_eq!(delta["ai_bot_blind_pct"], 0.0);
    assert_eq!(delta["text_chars_only_after_render"], 0);
    for list in [
        "links_only_after_render",
        "headings_only_after_render",
        "json_ld_only_after_render",
    ] {
        assert_eq!(delta[list], json!([]), "{list}");
    }
    let words = delta["assessment"].as_str().expect("words");
    assert!(words.contains("practically all"), "{words}");
}

#[test]
fn each_side_tells_its_status() {
    let site = Site::default()
        .page(Document::new(URL, "<body>").status(503))
        .rendered(Document::new(URL, "<body>").status(403));
    let _web = install(site);
    let output = block_on(run(Input { url: URL.into() })).expect("an answer");
    let found = serde_json::to_value(output).expect("JSON");
    assert_eq!(found["static"]["status_code"], 503);
    assert_eq!(found["rendered"]["status_code"], 403);
}

#[test]
fn a_redirect_by_a_script_is_told() {
    let shown = |final_url: &str| {
        let site = Site::default()
            .page(Document::new(URL, "<body><p>From"))
            .rendered(Document::new(URL, "<body><p>From").final_url(final_url));
        let _web = install(site);
        let output = block_on(run(Input { url: URL.into() })).expect("an answer");
        output.delta.assessment
    };
    let words = shown("https://tea.example/green");
    assert!(
        words.contains("leads on to https://tea.example/green,"),
        "{words}"
    );
    assert!(!shown(&format!("{URL}#top")).contains("leads on"));
}

#[test]
fn an_empty_shell_is_wholly_blind() {
    let shown = "<body><p>Every word of it is written by a script.";
    let delta = &compare("<body><div id=root></div>", shown)["delta"];
    assert_eq!(delta["ai_bot_blind_pct"], 1.0);
    let words = delta["assessment"].as_str().expect("words");
    assert!(words.contains("empty shell"), "{words}");
}

#[test]
fn a_page_without_text_is_not_blind() {
    let delta = &compare("<body>", "<body><img src=a.png>")["delta"];
    assert_eq!(delta["ai_bot_blind_pct"], 0.0);
}

#[test]
fn samples_are_limited_to_25_but_counts_are_not() {
    let links: String = (0..40)
        .map(|i| format!("<a href=/{i}>{i}</a><h2>T{i}</h2>"))
        .collect();
    let delta = &compare("<body>", &format!("<body>{links}"))["delta"];
    assert_eq!(
        delta["links_only_after_render"].as_array().map(Vec::len),
        Some(25)
    );
    assert_eq!(delta["links_only_after_render_count"], 40);
    assert_eq!(
        delta["headings_only_after_render"].as_array().map(Vec::len),
        Some(25)
    );
    assert_eq!(delta["headings_only_after_render_count"], 40);
}

#[test]
fn a_template_is_no_part_of_the_page() {
    let page = "<body><h1>Tea</h1><a href=/green>Green</a>\
                <template><h2>{{name}}</h2><a href=/{{id}}>{{name}}</a></template>";
    let found = compare(page, page);
    for side in ["static", "rendered"] {
        assert_eq!(found[side]["link_count"], 1, "{found}");
        assert_eq!(found[side]["heading_count"], 1, "{found}");
    }
}

#[test]
fn a_second_copy_of_an_object_is_new() {
    let object = "<script type=application/ld+json>{\"@type\":\"Offer\",\"price\":1}</script>";
    let delta = &compare(object, &object.repeat(3))["delta"];
    assert_eq!(delta["json_ld_only_after_render_count"], 2, "{delta}");
    assert_eq!(
        delta["json_ld_only_after_render"],
        json!(["Offer", "Offer"])
    );
}

#[test]
fn text_removed_by_scripts_is_reported() {
    let sent = format!("<body><h1>Hello</h1><p>{}", "word ".repeat(200));
    let delta = &compare(&sent, "<body><p>word")["delta"];
    let words = delta["assessment"].as_str().expect("words");
    assert!(words.contains("remove 200 words"), "{words}");
    assert!(
        words.contains("1 heading of the HTML is changed or removed"),
        "{words}"
    );
}

#[test]
fn a_page_that_does_not_respond_is_not_rendered() {
    let site = Site::default().rendered(Document::new(URL, "<p>x"));
    let asked = site.asked();
    let _web = install(site);
    let result = block_on(run(Input { url: URL.into() }));
    assert!(matches!(result, Err(ref error) if error.is_fetch()));
    assert_eq!(*asked.borrow(), ["GET https://tea.example/"]);
}
