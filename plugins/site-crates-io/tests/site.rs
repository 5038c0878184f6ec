//! The fetcher on answers in the shape that the site documents.

use orbweaver_sdk::Code;
use orbweaver_site_crates_io::fetch;
use orbweaver_sites::testing::call;
use serde_json::json;

#[test]
fn unknown_paths_are_named_with_the_known_ones() {
    let error = call(fetch, DOMAIN, &[], "no/such/path/at/all", json!({})).unwrap_err();
    assert!(
        error.is_invalid() && error.message().starts_with("path: `no/such"),
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
    let found = call(fetch, DOMAIN, &web, "crates/orb", json!({})).unwrap();
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
    let searched = call(fetch, DOMAIN, &web, "search", json!({"query": "web"})).unwrap();
    assert_eq!(searched[0]["name"], "orb");
}

#[test]
fn versions_are_in_order_and_show_yanks() {
    let web = [(CRATE, include_str!("../fixtures/crate.json"))];
    let found = call(
        fetch,
        DOMAIN,
        &web,
        "crates/orb/versions",
        json!({"limit": 2, "page": 2}),
    )
    .unwrap();
    assert_eq!(found.as_array().unwrap().len(), 1);
    assert_eq!(
        (&found[0]["version"], &found[0]["yanked"]),
        (&json!("1.0.0"), &json!(true))
    );
}

#[test]
fn an_answer_of_another_shape_is_reported() {
    let error = call(
        fetch,
        DOMAIN,
        &[(CRATE, r#"{"errors": []}"#)],
        "crates/orb",
        json!({}),
    )
    .unwrap_err();
    assert!(
        error.code() == Code::Failed && error.message().contains("has an unknown form"),
        "{error}"
    );
}
