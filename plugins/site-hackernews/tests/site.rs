//! The fetcher on answers in the shape that the site documents.

use orbweaver_sdk::Code;
use orbweaver_site_hackernews::fetch;
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

const DOMAIN: &str = "news.ycombinator.com";
const TOP: &str = "https://hacker-news.firebaseio.com/v0/topstories.json";
const ITEM: &str = "https://hacker-news.firebaseio.com/v0/item";

#[test]
fn the_front_page_has_its_stories_in_order_without_deleted_ones() {
    let items: Vec<String> = [4001, 4002, 4003]
        .map(|id| format!("{ITEM}/{id}.json"))
        .to_vec();
    let web = [
        (TOP, include_str!("../fixtures/topstories.json")),
        (&items[0], include_str!("../fixtures/item-4001.json")),
        (&items[1], include_str!("../fixtures/item-4002.json")),
        (&items[2], include_str!("../fixtures/item-4003.json")),
    ];
    let stories = call(fetch, DOMAIN, &web, "top", json!({})).unwrap();
    assert_eq!(stories.as_array().unwrap().len(), 2);
    assert_eq!(
        stories[0],
        json!({
            "id": "4001", "type": "story", "title": "Orb webs, measured",
            "url": "https://spiders.example/webs", "text": null, "author": "weaver",
            "points": 57, "comments": 2, "created_at": "2024-02-29T12:34:56Z",
        })
    );
    assert_eq!(stories[1]["text"], "Which web & why?\nSecond thought.");
    assert_eq!(
        stories[1]["url"],
        "https://news.ycombinator.com/item?id=4002"
    );
    let second = call(fetch, DOMAIN, &web, "", json!({"limit": 1, "page": 2})).unwrap();
    assert_eq!(second[0]["id"], "4002");
}

#[test]
fn a_thread_is_flat_and_in_order() {
    let url = "https://hn.algolia.com/api/v1/items/4001";
    let web = [(url, include_str!("../fixtures/thread.json"))];
    let items = call(fetch, DOMAIN, &web, "item/4001", json!({})).unwrap();
    let order: Vec<_> = items
        .as_array()
        .unwrap()
        .iter()
        .map(|i| (&i["id"], &i["depth"]))
        .collect();
    assert_eq!(
        json!(order),
        json!([["4001", 0], ["4010", 1], ["4011", 2], ["4012", 1]])
    );
    assert_eq!(items[2]["parent"], "4010");
    assert_eq!(items[1]["text"], "Sticky.");
    let error = call(fetch, DOMAIN, &web, "item/x", json!({})).unwrap_err();
    assert!(error.is_invalid());
}

#[test]
fn empty_fields_are_as_those_left_out() {
    let (story, thread) = (
        format!("{ITEM}/4001.json"),
        "https://hn.algolia.com/api/v1/items/4001",
    );
    let web = [
        (TOP, "[4001]"),
        (
            story.as_str(),
            r#"{"id": 4001, "type": "job", "by": "weaver", "title": "Ask", "url": "", "text": ""}"#,
        ),
        (
            thread,
            r#"{"id": 4001, "type": "comment", "title": "", "url": "", "text": "<p>", "children": []}"#,
        ),
    ];
    for (path, title) in [("top", json!("Ask")), ("item/4001", json!(null))] {
        let items = call(fetch, DOMAIN, &web, path, json!({})).unwrap();
        assert_eq!(items[0]["title"], title, "{path}");
        assert_eq!(
            items[0]["url"], "https://news.ycombinator.com/item?id=4001",
            "{path}"
        );
        assert_eq!(items[0]["text"], json!(null), "{path}");
    }
}

#[test]
fn a_shortened_link_keeps_its_address() {
    let story = format!("{ITEM}/4001.json");
    let text = r#"See <a href=\"https:&#x2F;&#x2F;spiders.example&#x2F;webs\" rel=\"nofollow\">https:&#x2F;&#x2F;spiders.exa...</a>"#;
    let body = format!(r#"{{"id": 4001, "type": "story", "text": "{text}"}}"#);
    let web = [(TOP, "[4001]"), (&story, body.as_str())];
    let stories = call(fetch, DOMAIN, &web, "top", json!({})).unwrap();
    assert_eq!(stories[0]["text"], "See https://spiders.example/webs");
}

#[test]
fn people_and_searches_are_found() {
    let web = [
        (
            "https://hacker-news.firebaseio.com/v0/user/weaver.json",
            include_str!("../fixtures/user-weaver.json"),
        ),
        (
            "https://hacker-news.firebaseio.com/v0/user/nobody.json",
            "null",
        ),
        (
            "https://hn.algolia.com/api/v1/search?query=orb%20webs&tags=story&hitsPerPage=30&page=0",
            include_str!("../fixtures/search.json"),
        ),
    ];
    let user = call(fetch, DOMAIN, &web, "user/weaver", json!({})).unwrap();
    assert_eq!(
        (&user[0]["points"], &user[0]["text"]),
        (&json!(2937), &json!("Builds webs."))
    );
    assert!(matches!(
        call(fetch, DOMAIN, &web, "user/nobody", json!({})),
        Err(ref error) if error.is_invalid()
    ));
    let found = call(fetch, DOMAIN, &web, "search", json!({"query": "orb webs"})).unwrap();
    assert_eq!(
        (&found[0]["id"], &found[0]["comments"]),
        (&json!("4001"), &json!(2))
    );
    assert!(matches!(
        call(fetch, DOMAIN, &web, "search", json!({})),
        Err(ref error) if error.is_invalid()
    ));
}

#[test]
fn an_answer_of_another_shape_is_reported() {
    let error = call(fetch, DOMAIN, &[(TOP, r#"{"ids": []}"#)], "top", json!({})).unwrap_err();
    assert!(
        error.code() == Code::Failed && error.message().contains("has an unknown form"),
        "{error}"
    );
}
