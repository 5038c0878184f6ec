//! The fetcher on answers in the shape that the site documents.

use orbweaver_sdk::Code;
use orbweaver_site_lobsters::fetch;
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
    let found = call(fetch, DOMAIN, &web, "", json!({})).unwrap();
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
        call(fetch, DOMAIN, &web, "hottest", json!({"page": 2})).unwrap(),
        json!([])
    );
    assert_eq!(
        call(fetch, DOMAIN, &web, "t/science", json!({"limit": 1})).unwrap(),
        json!([found[0]])
    );
}

/// A page of a list whose stories have these numbers as ids.
fn stories(numbers: std::ops::Range<u32>) -> String {
    let story = |number: u32| {
        json!({
            "short_id": number.to_string(), "title": "A", "url": "", "score": 1,
            "comment_count": 0, "comments_url": "https://lobste.rs/s/a", "submitter_user": "weaver",
            "tags": [], "created_at": "2024-02-29T06:34:56.000-06:00",
        })
    };
    json!(numbers.map(story).collect::<Vec<_>>()).to_string()
}

#[test]
fn pages_of_any_limit_follow_each_other() {
    for (path, urls) in [
        ("hottest", ["hottest.json", "page/2.json", "page/3.json"]),
        (
            "newest",
            ["newest.json", "newest/page/2.json", "newest/page/3.json"],
        ),
        (
            "t/c++",
            [
                "t/c%2B%2B.json?page=1",
                "t/c%2B%2B.json?page=2",
                "t/c%2B%2B.json?page=3",
            ],
        ),
    ] {
        let urls = urls.map(|url| format!("https://lobste.rs/{url}"));
        let bodies = [stories(0..25), stories(25..50), stories(50..60)];
        let web: Vec<_> = urls
            .iter()
            .zip(&bodies)
            .map(|(url, body)| (url.as_str(), body.as_str()))
            .collect();
        let ids = |limit: u32, page: u32| -> Vec<u32> {
            let params = json!({"limit": limit, "page": page});
            let found = call(fetch, DOMAIN, &web, path, params).unwrap();
            let found = found.as_array().unwrap().iter();
            found
                .map(|item| item["id"].as_str().unwrap().parse().unwrap())
                .collect()
        };
        for (limit, page, expected) in [
            (10, 1, 0..10),
            (10, 2, 10..20),
            (10, 3, 20..30),
            (25, 2, 25..50),
            (50, 1, 0..50),
            (50, 2, 50..60),
            (100, 1, 0..60),
        ] {
            let expected: Vec<u32> = expected.collect();
            assert_eq!(ids(limit, page), expected, "{path} {limit} {page}");
        }
    }
}

#[test]
fn a_story_comes_with_its_comments() {
    let web = [(
        "https://lobste.rs/s/abc123.json",
        include_str!("../fixtures/story.json"),
    )];
    let found = call(fetch, DOMAIN, &web, "s/abc123/orb_webs_measured", json!({})).unwrap();
    assert_eq!(found.as_array().unwrap().len(), 3);
    assert_eq!(
        (&found[2]["parent"], &found[2]["depth"]),
        (&json!("c00001"), &json!(1))
    );
    assert_eq!(found[2]["text"], "Only the spiral.");
}

#[test]
fn an_answer_of_another_shape_is_reported() {
    let web = [("https://lobste.rs/newest.json", r#"[{"short_id": 1}]"#)];
    let error = call(fetch, DOMAIN, &web, "newest", json!({})).unwrap_err();
    assert!(
        error.code() == Code::Failed && error.message().contains("has an unknown form"),
        "{error}"
    );
}
