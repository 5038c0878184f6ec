//! The fetcher on answers in the shape that the site documents.

use orbweaver_sdk::testing::{Document, Site, block_on, install};
use orbweaver_sdk::{Call, Code};
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
    let issues = format!("{REPOSITORY}/issues?state=open&per_page=100&page=1");
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
        json!({"limit": 2}),
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

/// A page of a list: an issue at every fourth number, else a pull request.
fn listed(numbers: std::ops::Range<u64>) -> String {
    let entry = |number| {
        let mut entry = json!({
            "number": number, "title": "A", "html_url": "https://github.com/weaver/orb/issues/1",
            "state": "open", "user": null, "labels": [], "comments": 0, "body": null,
            "created_at": "2024-02-28T00:00:00Z", "updated_at": "2024-02-29T00:00:00Z",
        });
        if number % 4 != 0 {
            entry["pull_request"] = json!({"url": "https://api.github.com/"});
        }
        entry
    };
    json!(numbers.map(entry).collect::<Vec<_>>()).to_string()
}

#[test]
fn a_page_of_issues_is_full_although_pull_requests_are_left_out() {
    let url = |page: u32| format!("{REPOSITORY}/issues?state=open&per_page=100&page={page}");
    let answers = [(url(1), listed(0..100)), (url(2), listed(100..150))];
    let web: Vec<_> = answers
        .iter()
        .map(|(url, body)| (url.as_str(), body.as_str()))
        .collect();
    let numbers = |params| -> Vec<u64> {
        let found = call(fetch, DOMAIN, &web, "weaver/orb/issues", params).unwrap();
        let found = found.as_array().unwrap().iter();
        found.map(|i| i["number"].as_u64().unwrap()).collect()
    };
    let fours = |from: u64, count: u64| (from..from + count).map(|n| n * 4).collect::<Vec<_>>();
    assert_eq!(numbers(json!({})), fours(0, 30));
    assert_eq!(numbers(json!({"limit": 10})), fours(0, 10));
    assert_eq!(numbers(json!({"limit": 10, "page": 3})), fours(20, 10));
    assert_eq!(numbers(json!({"page": 2})), fours(30, 8));
    assert_eq!(numbers(json!({"page": 3})), fours(0, 0));
    assert_eq!(
        numbers(json!({"page": u32::MAX, "limit": 100})),
        fours(0, 0)
    );
}

#[test]
fn a_page_of_issues_costs_few_requests() {
    let answers: Vec<_> = (1..=6)
        .map(|page| {
            (
                format!("{REPOSITORY}/issues?state=open&per_page=100&page={page}"),
                listed((page - 1) * 100..page * 100),
            )
        })
        .collect();
    let site = answers.iter().fold(Site::default(), |site, (url, body)| {
        site.page(Document::new(url, body))
    });
    let asked = site.asked();
    let _web = install(site);
    let count = |params| {
        asked.borrow_mut().clear();
        let call = Call {
            domain: DOMAIN.to_owned(),
            path: "weaver/orb/issues".to_owned(),
            params: serde_json::from_value(params).unwrap(),
        };
        let found = block_on(fetch(call)).map(|items| items.len());
        (found, asked.borrow().len())
    };
    assert_eq!(count(json!({"limit": 25})), (Ok(25), 1));
    assert_eq!(count(json!({"limit": 26})), (Ok(26), 2));
    assert_eq!(count(json!({"limit": 100, "page": 2})), (Ok(25), 5));
    let (behind, requests) = count(json!({"limit": 100, "page": 3}));
    let error = behind.unwrap_err();
    assert!(
        error.is_invalid() && error.message().contains("first 500"),
        "{error}"
    );
    assert_eq!(requests, 5);
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
