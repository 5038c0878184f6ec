//! The fetcher on answers in the shape that the site documents.

use orbweaver_sdk::Code;
use orbweaver_site_npm::fetch;
use orbweaver_sites::testing::call;
use serde_json::{Value, json};

#[test]
fn unknown_paths_are_named_with_the_known_ones() {
    let error = call(fetch, DOMAIN, &[], "no/such/path/at/all", json!({})).unwrap_err();
    assert!(
        error.is_invalid() && error.message().starts_with("path: `no/such"),
        "{error}"
    );
}

const DOMAIN: &str = "npmjs.com";
const LATEST: &str = "https://registry.npmjs.org/%40weaver%2Forb/latest";
const DOWNLOADS: &str = "https://api.npmjs.org/downloads/point/last-week/%40weaver%2Forb";

#[test]
fn a_package_has_its_newest_version_and_its_downloads() {
    let web = [
        (LATEST, include_str!("../fixtures/latest.json")),
        (DOWNLOADS, include_str!("../fixtures/downloads.json")),
    ];
    let found = call(fetch, DOMAIN, &web, "package/@weaver/orb", json!({})).unwrap();
    assert_eq!(
        found,
        json!([{
            "name": "@weaver/orb", "version": "1.1.0",
            "url": "https://www.npmjs.com/package/@weaver/orb", "description": "Builds webs",
            "license": "MIT", "homepage": "https://spiders.example",
            "repository": "git+https://github.com/weaver/orb.git", "keywords": ["web"],
            "author": "Orb Weaver", "dependencies": {"silk": "^2.0.0"}, "size": 54321,
            "downloads_last_week": 4321, "deprecated": null, "updated_at": null,
        }])
    );
}

#[test]
fn old_forms_of_package_data_are_read() {
    let old = r#"{"name":"old","version":"0.1.0","license":{"type":"BSD","url":"http://x"},"repository":"git://x","keywords":"a b","author":"Me <me@x>","homepage":false,"dist":{}}"#;
    let web = [
        ("https://registry.npmjs.org/old/0.1.0", old),
        (
            "https://api.npmjs.org/downloads/point/last-week/old",
            include_str!("../fixtures/downloads.json"),
        ),
    ];
    let found = call(fetch, DOMAIN, &web, "package/old/v/0.1.0", json!({})).unwrap();
    assert_eq!(
        (&found[0]["license"], &found[0]["repository"]),
        (&json!("BSD"), &json!("git://x"))
    );
    assert_eq!(
        (&found[0]["keywords"], &found[0]["homepage"]),
        (&json!(["a b"]), &Value::Null)
    );
}

#[test]
fn a_search_gives_packages() {
    let url = "https://registry.npmjs.org/-/v1/search?text=web&size=10&from=10";
    let web = [(url, include_str!("../fixtures/search.json"))];
    let found = call(
        fetch,
        DOMAIN,
        &web,
        "search",
        json!({"query": "web", "limit": 10, "page": 2}),
    )
    .unwrap();
    assert_eq!(
        (&found[0]["name"], &found[0]["author"]),
        (&json!("@weaver/orb"), &json!("weaver"))
    );
}

#[test]
fn an_answer_of_another_shape_is_reported() {
    let error = call(
        fetch,
        DOMAIN,
        &[(LATEST, "[]")],
        "package/@weaver/orb",
        json!({}),
    )
    .unwrap_err();
    assert!(
        error.code() == Code::Failed && error.message().contains("has an unknown form"),
        "{error}"
    );
}
