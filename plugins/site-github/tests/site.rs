//! The fetcher on answers in the shape that the site documents.

use orbweaver_sdk::Code;
use orbweaver_site_github::fetch;
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

const DOMAIN: &str = "github.com";
const REPOSITORY: &str = "https://api.github.com/repos/weaver/orb";

#[test]
fn a_repository_and_its_owner_are_described() {
    let web = [
        (REPOSITORY, include_str!("../fixtures/repository.json")),
        (
            "https://api.github.com/users/weaver",
            include_str!("../fixtures/user.json"),
        ),
        (
            "https://api.github.com/search/repositories?q=orb&per_page=30&page=1",
            include_str!("../fixtures/search.json"),
        ),
    ];
    let found = call(fetch, DOMAIN, &web, "weaver/orb", json!({})).unwrap();
    assert_eq!(
        found,
        json!([{
            "type": "repository", "name": "weaver/orb", "url": "https://github.com/weaver/orb",
            "description": "Builds webs", "homepage": "https://spiders.example",
            "language": "Rust", "stars": 80, "forks": 9, "open_issues": 2,
            "license": "Apache-2.0", "topics": ["spiders", "webs"], "default_branch": "main",
            "archived": false, "fork": false, "created_at": "2020-01-01T00:00:00Z",
            "updated_at": "2024-02-29T12:34:56Z", "pushed_at": "2024-02-29T12:00:00Z",
        }])
    );
    let account = call(fetch, DOMAIN, &web, "weaver", json!({})).unwrap();
    assert_eq!(
        (&account[0]["type"], &account[0]["followers"]),
        (&json!("account"), &json!(20))
    );
    let searched = call(fetch, DOMAIN, &web, "search", json!({"query": "orb"})).unwrap();
    assert_eq!(searched[0], found[0]);
}

#[test]
fn issues_exclude_pull_requests_and_releases_have_their_tags() {
    let issues = format!("{REPOSITORY}/issues?state=open&per_page=2&page=3");
    let releases = format!("{REPOSITORY}/releases?per_page=30&page=1");
    let web = [
        (issues.as_str(), include_str!("../fixtures/issues.json")),
        (releases.as_str(), include_str!("../fixtures/releases.json")),
    ];
    let found = call(
        fetch,
        DOMAIN,
        &web,
        "weaver/orb/issues",
        json!({"limit": 2, "page": 3}),
    )
    .unwrap();
    assert_eq!(found.as_array().unwrap().len(), 1);
    assert_eq!(
        (&found[0]["author"], &found[0]["labels"]),
        (&json!("fly"), &json!(["bug"]))
    );
    let found = call(fetch, DOMAIN, &web, "weaver/orb/releases", json!({})).unwrap();
    assert_eq!(
        (&found[0]["tag"], &found[0]["text"]),
        (&json!("v1.0.0"), &json!("Holds flies."))
    );
}

#[test]
fn an_answer_of_another_shape_is_reported() {
    let error = call(
        fetch,
        DOMAIN,
        &[(REPOSITORY, r#"{"full_name": "x"}"#)],
        "weaver/orb",
        json!({}),
    )
    .unwrap_err();
    assert!(
        error.code() == Code::Failed && error.message().contains("missing field"),
        "{error}"
    );
}
