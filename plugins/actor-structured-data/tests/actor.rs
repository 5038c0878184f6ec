//! The actor returns the role's answer for the fetched page.

use orbweaver_actor_structured_data::{Input, run};
use orbweaver_sdk::Error;
use orbweaver_sdk::testing::{Document, Site, block_on, install};
use serde_json::{Value, json};

const URL: &str = "https://shop.example/lamp";

fn answer(site: Site) -> Result<Value, Error> {
    let _web = install(site.role(
        "structured-data",
        orbweaver_extract_structured_data::extract,
    ));
    let output = block_on(run(Input { url: URL.into() }))?;
    Ok(serde_json::to_value(output)?)
}

#[test]
fn every_syntax_is_counted_and_listed() {
    let html = include_str!("../fixtures/lamp.html");
    let found = answer(Site::default().page(Document::new(URL, html))).expect("an answer");
    let expected: Value =
        serde_json::from_str(include_str!("../fixtures/lamp.json")).expect("JSON");
    assert_eq!(found, expected, "{found:#}");
    for (syntax, count) in found["counts"].as_object().expect("an object") {
        let items = found["data"][syntax].as_array().expect("an array");
        assert_eq!(count, items.len(), "{syntax}");
        assert!(!items.is_empty(), "the page has {syntax}");
    }
}

#[test]
fn a_page_without_any_has_every_key() {
    let found = answer(Site::default().page(Document::new(URL, "<p>Hello"))).expect("an answer");
    for syntax in [
        "json-ld",
        "microdata",
        "rdfa",
        "opengraph",
        "dublincore",
        "microformat",
    ] {
        assert_eq!(found["counts"][syntax], 0);
        assert_eq!(found["data"][syntax], json!([]));
    }
}

#[test]
fn an_error_page_tells_its_status() {
    let page = Document::new(URL, "<p>Gone").status(410);
    let found = answer(Site::default().page(page)).expect("an answer");
    assert_eq!(found["status_code"], 410);
}

#[test]
fn a_page_that_does_not_respond_is_a_fetch_failure() {
    assert!(matches!(
        answer(Site::default()),
        Err(ref error) if error.is_fetch()
    ));
}
