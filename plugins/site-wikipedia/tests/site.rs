//! The fetcher on answers in the shape that the site documents.

use orbweaver_sdk::Code;
use orbweaver_site_wikipedia::fetch;
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

const DOMAIN: &str = "en.wikipedia.org";
const SUMMARY: &str = "https://en.wikipedia.org/api/rest_v1/page/summary/Orb-weaver_spider";

#[test]
fn an_article_has_its_summary() {
    let web = [(SUMMARY, include_str!("../fixtures/summary.json"))];
    let articles = call(fetch, DOMAIN, &web, "wiki/Orb-weaver spider", json!({})).unwrap();
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
    let found = call(
        fetch,
        DOMAIN,
        &web,
        "search",
        json!({"query": "orb web", "limit": 5}),
    )
    .unwrap();
    assert_eq!(found[0]["extract"], "An orb web & its builder");
    assert_eq!(
        found[0]["url"],
        "https://en.wikipedia.org/wiki/Orb-weaver_spider"
    );
    assert_eq!(found[0]["image"], "https://upload.wikimedia.org/thumb.jpg");
}

#[test]
fn an_answer_of_another_shape_is_reported() {
    let error = call(
        fetch,
        DOMAIN,
        &[(SUMMARY, r#"{"title": 1}"#)],
        "wiki/Orb-weaver_spider",
        json!({}),
    )
    .unwrap_err();
    assert!(
        error.code() == Code::Failed && error.message().contains("has an unknown form"),
        "{error}"
    );
}

#[test]
fn only_language_domains_are_requested() {
    for domain in [
        "x/@evil.example/.wikipedia.org",
        ".wikipedia.org",
        "wikipedia.org",
    ] {
        let refused = call(fetch, domain, &[], "wiki/X", json!({}));
        assert!(
            matches!(refused, Err(ref error) if error.is_invalid()),
            "{domain}"
        );
    }
}
