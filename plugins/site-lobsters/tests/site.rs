//! The fetcher on answers in the shape that the site documents.

#![expect(clippy::unwrap_used, reason = "a test's helpers fail the test")]

use orbweaver_sdk::testing::{Document, Site, block_on, install};
use orbweaver_sdk::{Call, Error};
use orbweaver_site_lobsters::fetch;
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

const DOMAIN: &str = "lobste.rs";

#[test]
fn the_front_page_has_stories_and_texts() {
    let web = [
        (
            "https://lobste.rs/hottest.json",
            include_str!("../fixtures/hottest.json"),
        ),
        ("https://lobste.rs/page/2.json", "[]"),
        (
            "https://lobste.rs/t/science.json?page=1",
            include_str!("../fixtures/hottest.json"),
        ),
    ];
    let found = call(&web, "", json!({})).unwrap();
    assert_eq!(
        found[0],
        json!({
            "id": "abc123", "type": "story", "title": "Orb webs, measured",
            "url": "https://spiders.example/webs", "text": null, "author": "weaver",
            "points": 21, "comments": 2, "tags": ["science"],
            "created_at": "2024-02-29T06:34:56.000-06:00",
        })
    );
    assert_eq!(
        (&found[1]["author"], &found[1]["text"]),
        (&json!("asker"), &json!("Which?"))
    );
    assert_eq!(found[1]["url"], "https://lobste.rs/s/def456/ask");
    assert_eq!(
        call(&web, "hottest", json!({"page": 2})).unwrap(),
        json!([])
    );
    assert_eq!(
        call(&web, "t/science", json!({"limit": 1})).unwrap(),
        json!([found[0]])
    );
}

#[test]
fn a_story_comes_with_its_comments() {
    let web = [(
        "https://lobste.rs/s/abc123.json",
        include_str!("../fixtures/story.json"),
    )];
    let found = call(&web, "s/abc123/orb_webs_measured", json!({})).unwrap();
    assert_eq!(found.as_array().unwrap().len(), 3);
    assert_eq!(
        (&found[2]["parent"], &found[2]["depth"]),
        (&json!("c00001"), &json!(1))
    );
    assert_eq!(found[2]["text"], "Only the spiral.");
}

#[test]
fn an_answer_of_another_shape_is_told() {
    let web = [("https://lobste.rs/newest.json", r#"[{"short_id": 1}]"#)];
    let error = call(&web, "newest", json!({})).unwrap_err();
    assert!(
        matches!(&error, Error::Failed(why) if why.contains("no longer fits")),
        "{error}"
    );
}
