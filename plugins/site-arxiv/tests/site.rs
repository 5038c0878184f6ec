//! The fetcher on answers in the shape that the site documents.

use orbweaver_sdk::Code;
use orbweaver_site_arxiv::fetch;
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

const DOMAIN: &str = "arxiv.org";
const PAPER: &str = "https://export.arxiv.org/api/query?id_list=2402.00001";

#[test]
fn a_paper_has_its_authors_and_abstract() {
    let web = [(PAPER, include_str!("../fixtures/feed.xml"))];
    let found = call(fetch, DOMAIN, &web, "abs/2402.00001", json!({})).unwrap();
    assert_eq!(
        found,
        json!([{
            "id": "2402.00001v2", "title": "On the geometry of orb webs <in three dimensions>",
            "authors": ["Orb Weaver", "Fly \u{e4}. Net"],
            "abstract": "We measure webs & find spirals.",
            "primary_category": "physics.bio-ph", "categories": ["physics.bio-ph", "math.MG"],
            "url": "https://arxiv.org/abs/2402.00001v2",
            "pdf_url": "https://arxiv.org/pdf/2402.00001v2", "doi": "10.1000/webs.1",
            "journal": "Webs 1 (2024) 1-12", "comment": "12 pages, 3 figures",
            "published_at": "2024-02-01T09:00:00Z", "updated_at": "2024-02-20T10:00:00Z",
        }])
    );
}

#[test]
fn categories_and_searches_are_pages_of_papers() {
    let list = "https://export.arxiv.org/api/query?search_query=cat:math.MG&sortBy=submittedDate&sortOrder=descending&start=5&max_results=5";
    let search =
        "https://export.arxiv.org/api/query?search_query=all:orb%20web&start=0&max_results=30";
    let feed = include_str!("../fixtures/feed.xml");
    let web = [(list, feed), (search, feed)];
    let found = call(
        fetch,
        DOMAIN,
        &web,
        "list/math.MG",
        json!({"limit": 5, "page": 2}),
    )
    .unwrap();
    assert_eq!(found.as_array().unwrap().len(), 1);
    assert_eq!(
        call(fetch, DOMAIN, &web, "search", json!({"query": "orb web"})).unwrap(),
        found
    );
}

#[test]
fn a_missing_paper_and_an_invalid_feed_are_reported() {
    let empty = call(
        fetch,
        DOMAIN,
        &[(PAPER, include_str!("../fixtures/empty.xml"))],
        "abs/2402.00001",
        json!({}),
    );
    assert!(matches!(empty, Err(ref error) if error.is_invalid()));
    for body in [
        "<html><body>down</body></html>",
        "{}",
        "<feed><entry></entry></feed>",
    ] {
        let error = call(fetch, DOMAIN, &[(PAPER, body)], "abs/2402.00001", json!({})).unwrap_err();
        assert!(
            error.code() == Code::Failed && error.message().contains("has an unknown form"),
            "{error}"
        );
    }
}
