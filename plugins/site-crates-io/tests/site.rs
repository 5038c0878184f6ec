//! The fetcher on answers in the shape that the site documents.

#![expect(clippy::unwrap_used, reason = "a test's helpers fail the test")]

use orbweaver_sdk::testing::{Document, Site, block_on, install};
use orbweaver_sdk::{Call, Error};
use orbweaver_site_crates_io::fetch;
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

const DOMAIN: &str = "crates.io";
const CRATE: &str = "https://crates.io/api/v1/crates/orb";

#[test]
fn a_crate_is_its_newest_stable_version() {
    let web = [
        (CRATE, include_str!("../fixtures/crate.json")),
        (
            "https://crates.io/api/v1/crates?q=web&per_page=30&page=1",
            include_str!("../fixtures/search.json"),
        ),
    ];
    let found = call(&web, "crates/orb", json!({})).unwrap();
    assert_eq!(
        found,
        json!([{
            "name": "orb", "version": "1.1.0", "url": "https://crates.io/crates/orb",
            "description": "Builds webs", "license": "MIT OR Apache-2.0", "downloads": 9000,
            "recent_downloads": 700, "homepage": null,
            "repository": "https://github.com/weaver/orb", "documentation": "https://docs.rs/orb",
            "keywords": ["web"], "categories": ["science"], "created_at": "2020-01-01T00:00:00Z",
            "updated_at": "2024-02-29T12:34:56Z", "rust_version": "1.85",
        }])
    );
    let searched = call(&web, "search", json!({"query": "web"})).unwrap();
    assert_eq!(searched[0]["name"], "orb");
}

#[test]
fn versions_are_in_order_and_tell_of_yanks() {
    let web = [(CRATE, include_str!("../fixtures/crate.json"))];
    let found = call(&web, "crates/orb/versions", json!({"limit": 2, "page": 2})).unwrap();
    assert_eq!(found.as_array().unwrap().len(), 1);
    assert_eq!(
        (&found[0]["version"], &found[0]["yanked"]),
        (&json!("1.0.0"), &json!(true))
    );
}

#[test]
fn an_answer_of_another_shape_is_told() {
    let error = call(&[(CRATE, r#"{"errors": []}"#)], "crates/orb", json!({})).unwrap_err();
    assert!(
        matches!(&error, Error::Failed(why) if why.contains("no longer fits")),
        "{error}"
    );
}
