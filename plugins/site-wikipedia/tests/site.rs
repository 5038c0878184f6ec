//! The fetcher on answers in the shape that the site documents.

#![expect(clippy::unwrap_used, reason = "a test's helpers fail the test")]

use orbweaver_sdk::testing::{Document, Site, block_on, install};
use orbweaver_sdk::{Call, Error};
use orbweaver_site_wikipedia::fetch;
use serde_json::{Value, json};

/// What a path gives on a web of these answers.
fn call(web: &[(&str, &str)], path: &str, params: Value) -> Result<Value, Error> {
    let pages = web.iter().fold(Site::default(), |site, (url, body)| {
        site.page(Document::new(url, body).header("content-type", "application/json"))
    });
    let _web = install(pages);
    let call = Call {
        domain: DOMAIN.to_owned(),
        path: path.to_owned(),
        params: serde_json::from_value(params).unwrap(),
    };
    let items = block_on(fetch(call))?;
    Ok(serde_json::to_value(items).unwrap())
}

#[test]
fn unknown_paths_are_named_with_the_known_ones() {
    let error = call(&[], "no/such/path/at/all", json!({})).unwrap_err();
    assert!(
        matches!(&error, Error::InvalidInput(why) if why.starts_with("path: `no/such")),
        "{error}"
    );
}

const DOMAIN: &str = "en.wikipedia.org";
const SUMMARY: &str = "https://en.wikipedia.org/api/rest_v1/page/summary/Orb-weaver_spider";

#[test]
fn an_article_has_its_summary() {
    let web = [(SUMMARY, include_str!("../fixtures/summary.json"))];
    let articles = call(&web, "wiki/Orb-weaver spider", json!({})).unwrap();
    assert_eq!(
        articles,
        json!([{
            "page_id": 1234, "title": "Orb-weaver spider",
            "url": "https://en.wikipedia.org/wiki/Orb-weaver_spider",
            "description": "Family of spiders",
            "extract": "Orb-weavers build wheel-shaped webs.", "language": "en",
            "image": "https://upload.wikimedia.org/whole.jpg",
            "updated_at": "2024-02-29T12:34:56Z",
        }])
    );
}

#[test]
fn a_search_gives_articles() {
    let url = "https://en.wikipedia.org/w/rest.php/v1/search/page?q=orb%20web&limit=5";
    let web = [(url, include_str!("../fixtures/search.json"))];
    let found = call(&web, "search", json!({"query": "orb web", "limit": 5})).unwrap();
    assert_eq!(found[0]["extract"], "An orb web & its builder");
    assert_eq!(
        found[0]["url"],
        "https://en.wikipedia.org/wiki/Orb-weaver_spider"
    );
    assert_eq!(found[0]["image"], "https://upload.wikimedia.org/thumb.jpg");
}

#[test]
fn an_answer_of_another_shape_is_told() {
    let error = call(
        &[(SUMMARY, r#"{"title": 1}"#)],
        "wiki/Orb-weaver_spider",
        json!({}),
    )
    .unwrap_err();
    assert!(
        matches!(&error, Error::Failed(why) if why.contains("no longer fits")),
        "{error}"
    );
}

#[test]
fn only_languages_are_asked() {
    for domain in [
        "x/@evil.example/.wikipedia.org",
        ".wikipedia.org",
        "wikipedia.org",
    ] {
        let call = Call {
            domain: domain.to_owned(),
            path: "wiki/X".to_owned(),
            params: serde_json::from_value(json!({})).unwrap(),
        };
        assert!(
            matches!(block_on(fetch(call)), Err(Error::InvalidInput(_))),
            "{domain}"
        );
    }
}
