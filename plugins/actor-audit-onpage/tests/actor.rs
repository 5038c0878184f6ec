//! The actor fetches the page and its site's robots.txt.

use orbweaver_actor_audit_onpage::{Input, run};
use orbweaver_sdk::testing::{Document, Site, block_on, install};
use orbweaver_sdk::{Code, Error};
use serde_json::Value;

fn answer(site: Site, url: &str) -> Result<Value, Error> {
    let _web = install(site);
    Ok(serde_json::to_value(block_on(run(Input {
        url: url.into(),
    }))?)?)
}

#[test]
fn a_page_with_many_faults() {
    let url = "http://shop.example/Old_Shop/page.html?sid=1";
    let site = Site::default()
        .page(
            Document::new(url, include_str!("../fixtures/neglected.html"))
                .header("content-type", "text/html"),
        )
        .page(Document::new(
            "http://shop.example/robots.txt",
            "User-agent: *\nDisallow: /Old_Shop\nNoidea: x\n",
        ));
    let found = answer(site, url).expect("an answer");
    let expected: Value =
        serde_json::from_str(include_str!("../fixtures/neglected.json")).expect("JSON");
    assert_eq!(found, expected, "{found:#}");
}

#[test]
fn a_robots_txt_behind_too_many_requests_is_unreachable() {
    for (status, is_unreachable) in [(404, false), (429, true), (503, true)] {
        let robots = Document::new("https://a.example/robots.txt", "").status(status);
        let site = Site::default()
            .page(Document::new("https://a.example/", "<p>x"))
            .page(robots);
        let found = answer(site, "https://a.example/").expect("an answer");
        let found = found.to_string().contains("robots-txt-unreachable");
        assert_eq!(found, is_unreachable, "{status}");
    }
}

#[test]
fn robots_txt_is_that_of_the_final_site_after_redirects() {
    let site = Site::default()
        .page(
            Document::new("https://a.example/", "<p>x")
                .final_url("https://b.example:8443/")
                .redirect("https://a.example/", 301),
        )
        .page(Document::new(
            "https://b.example:8443/robots.txt",
            "User-agent: *\nDisallow: /\n",
        ));
    let asked = site.asked();
    let found = answer(site, "https://a.example/").expect("an answer");
    let rules: Vec<&Value> = found["findings"]
        .as_array()
        .expect("findings")
        .iter()
        .map(|f| &f["rule"])
        .collect();
    assert!(
        rules.contains(&&Value::from("robots-txt-blocked")),
        "{rules:?}"
    );
    assert_eq!(
        *asked.borrow(),
        [
            "GET https://a.example/",
            "GET https://b.example:8443/robots.txt"
        ]
    );
}

#[test]
fn a_missing_robots_txt_allows_all_and_a_failing_one_is_reported() {
    let page = || Site::default().page(Document::new("https://a.example/", "<p>x"));
    let robots = |status| Document::new("https://a.example/robots.txt", "").status(status);
    let has = |site, rule: &str| {
        let found = answer(site, "https://a.example/").expect("an answer");
        found["findings"]
            .as_array()
            .expect("findings")
            .iter()
            .any(|f| f["rule"] == rule)
    };
    assert!(!has(page().page(robots(404)), "robots-txt-unreachable"));
    assert!(has(page().page(robots(503)), "robots-txt-unreachable"));
    assert!(has(page(), "robots-txt-unreachable"), "no answer at all");
}

#[test]
fn robots_txt_that_a_cap_keeps_from_being_read_is_not_unreachable() {
    let site = Site::default()
        .page(Document::new("https://a.example/", "<p>x"))
        .fails(
            "https://a.example/robots.txt",
            Error::new(Code::Quota, "daily page cap exceeded"),
        );
    let error = answer(site, "https://a.example/").expect_err("an error");
    assert_eq!(error.code(), Code::Quota);
}

#[test]
fn words_are_those_that_readers_see() {
    let html = "<h5 hidden>one two</h5><div style='display:none'>three</div><p>four <b>five</b>";
    let site = Site::default()
        .page(Document::new("https://a.example/", html))
        .page(Document::new("https://a.example/robots.txt", "").status(404));
    let found = answer(site, "https://a.example/").expect("an answer");
    assert_eq!(found["stats"]["word_count"], 2);
    assert_eq!(found["stats"]["text_bytes"], 9);
}

#[test]
fn a_page_that_does_not_respond_is_a_fetch_failure() {
    assert!(matches!(
        answer(Site::default(), "https://a.example/"),
        Err(ref error) if error.is_fetch()
    ));
}
