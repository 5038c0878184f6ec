//! A page with every kind of link, and lists.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use std::time::Duration;

use orbweaver_actor_check_links::{Input, MAX_PAGE_LINKS, MAX_RETRIES, run, run_within};
use orbweaver_sdk::testing::{Document, Site, block_on, install};
use orbweaver_sdk::{Code, Error};
use serde_json::{Value, json};

fn check(site: Site, input: Value) -> Result<Value, Error> {
    let _web = install(site);
    let input: Input = serde_json::from_value(input)?;
    Ok(serde_json::to_value(block_on(run(input))?)?)
}

fn at(path: &str, status: u16) -> Document {
    Document::new(&format!("https://site.example{path}"), "").status(status)
}

/// `fixtures/links.html` has a link to each of these.
fn site() -> Site {
    Site::default()
        .page(Document::new(
            "https://site.example/",
            include_str!("../fixtures/links.html"),
        ))
        .page(at("/works", 200))
        .page(at("/gone", 410))
        .page(at("/missing?a=1", 404))
        .page(at("/error", 503))
        .page(at("/nowhere", 302))
        .page(
            at("/moved", 200)
                .final_url("https://site.example/works")
                .redirect("https://site.example/moved", 301),
        )
        .page(
            at("/moved-away", 404)
                .final_url("https://site.example/lost")
                .redirect("https://site.example/moved-away", 302),
        )
        .method("HEAD", at("/no-head", 405))
        .method("GET", at("/no-head", 200))
        .method("HEAD", at("/wrong-head", 404))
        .method("GET", at("/wrong-head", 200))
        .fails(
            "https://site.example/private",
            Error::new(Code::Robots, "robots.txt disallows /private"),
        )
        .fails(
            "https://down.example/",
            Error::new(Code::Connect, "connection refused"),
        )
        .page(Document::new("https://other.example/x", ""))
        .page(at("/map", 200))
}

#[test]
fn a_page_with_every_kind_of_link() {
    let site = site();
    let asked = site.asked();
    let found = check(
        site,
        json!({"url": "https://site.example/", "max_concurrent": 3}),
    )
    .expect("an answer");
    let expected: Value =
        serde_json::from_str(include_str!("../fixtures/links.json")).expect("JSON");
    assert_eq!(found, expected, "{found:#}");
    let asked = asked.borrow();
    for url in [
        "HEAD https://site.example/works",
        "GET https://site.example/",
    ] {
        assert_eq!(asked.iter().filter(|a| *a == url).count(), 1, "{url} once");
    }
    assert!(
        !asked
            .iter()
            .any(|a| a.contains("GET https://site.example/private")),
        "refused is refused"
    );
}

#[test]
fn a_template_is_no_part_of_the_page() {
    let page = "<a href=/works>Works</a>\
                <template><a href=/gone>x</a><map><area href=/map></map></template>";
    let site = Site::default()
        .page(Document::new("https://site.example/", page))
        .page(at("/works", 200));
    let found = check(site, json!({"url": "https://site.example/"})).expect("an answer");
    let items = found["items"].as_array().expect("items");
    let urls: Vec<_> = items.iter().map(|item| item["url"].as_str()).collect();
    assert_eq!(urls, [Some("https://site.example/works")], "{found}");
}

#[test]
fn the_results_of_a_list_are_in_its_order() {
    let urls = json!([
        "https://site.example/error",
        "  https://site.example/works#top",
        "mailto:a@b.example",
        "nonsense",
        "https://site.example/works",
        "http://",
        "https://site.example/gone"
    ]);
    let found = check(site(), json!({"urls": urls, "max_concurrent": 1})).expect("an answer");
    assert_eq!(found["source_url"], Value::Null);
    let items: Vec<String> = found["items"]
        .as_array()
        .expect("items")
        .iter()
        .map(|item| {
            format!(
                "{} {} {}",
                item["url"].as_str().unwrap_or(""),
                item["status"].as_str().unwrap_or(""),
                item["status_code"]
            )
        })
        .collect();
    assert_eq!(
        items,
        [
            "https://site.example/error broken 503",
            "https://site.example/works ok 200",
            "mailto:a@b.example excluded null",
            "nonsense broken null",
            "http:// broken null",
            "https://site.example/gone broken 410",
        ]
    );
    assert_eq!(
        (
            &found["total"],
            &found["ok"],
            &found["broken"],
            &found["excluded"]
        ),
        (&json!(6), &json!(1), &json!(4), &json!(1))
    );
}

#[test]
fn the_links_of_an_error_page_are_checked_too() {
    let links = r#"<a href="/works">home</a>"#;
    let lost = Document::new("https://site.example/lost", links).status(404);
    let found = check(
        site().page(lost),
        json!({"url": "https://site.example/lost"}),
    );
    let found = found.expect("an answer");
    assert_eq!(found["source_url"], "https://site.example/lost");
    assert_eq!(found["source_status_code"], 404);
    assert_eq!((&found["total"], &found["ok"]), (&json!(1), &json!(1)));
}

fn refused(path: &str) -> Site {
    Site::default().page(at(path, 403)).page(at("/gone", 404))
}

#[test]
fn a_browser_recovers_links_blocked_for_robots() {
    let site = refused("/a").rendered(at("/a", 200).cost_usd(0.25));
    let asked = site.asked();
    let urls = json!(["https://site.example/a", "https://site.example/gone"]);
    let found = check(site, json!({"urls": urls, "cloud_retry": true})).expect("an answer");
    assert_eq!(
        found["cloud_retried"], 1,
        "a missing page is missing for everyone"
    );
    assert_eq!(found["cloud_recovered"], 1);
    assert_eq!(found["cloud_cost_usd"], 0.25);
    assert_eq!(found["ok"], 1);
    assert_eq!(
        found["items"][0],
        json!({"url": "https://site.example/a", "status_code": 200, "status": "ok",
        "recovered_via_cloud": true, "error": null, "redirected_to": null})
    );
    assert_eq!(found["items"][1]["status"], "broken");
    assert!(
        asked
            .borrow()
            .contains(&"RENDER https://site.example/a".to_owned())
    );
}

#[test]
fn a_retry_that_fails_leaves_the_link_broken() {
    let site = refused("/a").rendered(at("/a", 403).cost_usd(0.5));
    let found = check(
        site,
        json!({"urls": ["https://site.example/a"], "cloud_retry": true}),
    )
    .expect("an answer");
    assert_eq!(
        (
            &found["cloud_retried"],
            &found["cloud_recovered"],
            &found["broken"]
        ),
        (&json!(1), &json!(0), &json!(1))
    );
    assert_eq!(found["cloud_cost_usd"], 0.5, "a failed retry is paid too");
    assert_eq!(found["items"][0]["recovered_via_cloud"], false);
}

/// Responds only through a proxy.
struct Proxied;

impl orbweaver_sdk::testing::Host for Proxied {
    fn fetch(&self, request: &orbweaver_sdk::http::Request) -> Result<Document, Error> {
        match request.proxy.as_ref().map(|proxy| proxy.pool.as_str()) {
            None => Ok(Document::new(&request.url, "").status(429)),
            Some("mobile") => Ok(Document::new(&request.url, "")),
            Some(other) => Err(Error::new(
                Code::NotConfigured,
                format_args!("no pool {other}"),
            )),
        }
    }
}

#[test]
fn a_proxy_of_the_named_pool_recovers_too() {
    let ask = |input: Value| {
        let _web = install(Proxied);
        let input: Input = serde_json::from_value(input).expect("an input");
        serde_json::to_value(block_on(run(input)).expect("an answer")).expect("JSON")
    };
    let urls = json!(["https://site.example/a"]);
    let found = ask(
        json!({"urls": urls, "cloud_retry": true, "cloud_retry_mode": "proxy", "proxy_pool": "mobile"}),
    );
    assert_eq!(found["cloud_recovered"], 1);
    // The default pool does not exist: no retry, and the error says so.
    let found = ask(json!({"urls": urls, "cloud_retry": true, "cloud_retry_mode": "proxy"}));
    assert_eq!(
        (&found["cloud_retried"], &found["broken"]),
        (&json!(0), &json!(1))
    );
    assert_eq!(
        found["items"][0]["error"],
        "HTTP 429; not retried: no pool residential"
    );
}

#[test]
fn no_more_than_fifty_are_retried() {
    let urls: Vec<String> = (0..70)
        .map(|i| format!("https://site.example/{i}"))
        .collect();
    let mut site = Site::default();
    for i in 0..70 {
        site = site
            .page(at(&format!("/{i}"), 403))
            .rendered(at(&format!("/{i}"), 200));
    }
    let found = check(site, json!({"urls": urls, "cloud_retry": true})).expect("an answer");
    assert_eq!(found["cloud_retried"], MAX_RETRIES);
    assert_eq!(found["broken"], 20);
}

#[test]
fn links_beyond_the_bound_are_counted() {
    let html: String = (0..MAX_PAGE_LINKS + 5)
        .map(|i| format!("<a href='tel:{i}'>x</a>"))
        .collect();
    let site = Site::default().page(Document::new("https://site.example/", &html));
    let found = check(site, json!({"url": "https://site.example/"})).expect("an answer");
    assert_eq!(found["total"], MAX_PAGE_LINKS);
    assert_eq!(found["not_checked"], 5);
}

#[test]
fn links_that_a_cap_keeps_from_being_requested_are_not_checked() {
    let cap = Error::new(Code::Quota, "daily page cap exceeded");
    let site = site().fails("https://site.example/late", cap);
    let asked = site.asked();
    let urls = json!(["https://site.example/works", "https://site.example/late"]);
    let found = check(site, json!({"urls": urls, "cloud_retry": true})).expect("an answer");
    let numbers = ["total", "ok", "broken", "excluded", "not_checked"];
    let numbers = numbers.map(|name| found[name].as_u64());
    assert_eq!(numbers, [1, 1, 0, 0, 1].map(Some), "{found:#}");
    assert_eq!(found["items"].as_array().map(Vec::len), Some(1));
    assert!(
        !asked.borrow().iter().any(|a| a.starts_with("GET ")),
        "no second try"
    );
}

#[test]
fn wrong_input_names_the_field() {
    let many: Vec<String> = (0..201)
        .map(|i| format!("https://site.example/{i}"))
        .collect();
    for (input, field) in [
        (json!({}), "url: "),
        (
            json!({"url": "https://site.example/", "urls": ["https://a.example/"]}),
            "urls: ",
        ),
        (json!({"urls": []}), "urls: "),
        (json!({"urls": many}), "urls: "),
    ] {
        let error = check(Site::default(), input.clone()).expect_err("an error");
        assert!(
            error.is_invalid() && error.message().starts_with(field),
            "{input}: {error}"
        );
    }
}

#[test]
fn a_source_without_a_response_is_a_fetch_failure() {
    let refused = Error::new(Code::Connect, "connection refused");
    let error = check(
        Site::default().fails("https://site.example/", refused),
        json!({"url": "https://site.example/"}),
    );
    assert!(
        matches!(error, Err(ref error) if error.is_fetch()),
        "{error:?}"
    );
}

/// Broken links, asked for with this much time for requests.
fn checked_within(input: Value, patience: Option<Duration>) -> (Value, Vec<String>) {
    let site = site();
    let asked = site.asked();
    let _web = install(site);
    let input: Input = serde_json::from_value(input).expect("an input");
    let found = block_on(run_within(input, patience)).expect("an answer");
    let asked = asked.borrow().clone();
    (serde_json::to_value(found).expect("JSON"), asked)
}

#[test]
fn links_whose_turn_comes_after_the_time_are_not_requested() {
    let urls = [
        "https://site.example/works",
        "https://site.example/error",
        "mailto:a@b.example",
    ];
    let input = json!({"urls": urls, "cloud_retry": true, "cloud_retry_mode": "proxy"});
    let (found, asked) = checked_within(input, Some(Duration::ZERO));
    assert_eq!(asked, Vec::<String>::new());
    assert_eq!(
        (&found["total"], &found["not_checked"]),
        (&json!(1), &json!(2))
    );
    assert_eq!(found["items"][0]["status"], "excluded");
}

#[test]
fn a_page_is_rendered_only_while_it_can_wait_for_the_browser() {
    let input = |mode| {
        json!({
            "urls": ["https://site.example/error"],
            "cloud_retry": true,
            "cloud_retry_mode": mode,
        })
    };
    let minutes = |minutes: u64| Some(Duration::from_secs(60 * minutes));
    for (mode, patience, retried) in [
        ("chrome", minutes(2), 0),
        ("chrome", minutes(4), 1),
        ("chrome", None, 1),
        ("proxy", minutes(2), 1),
    ] {
        let (found, _) = checked_within(input(mode), patience);
        assert_eq!(found["cloud_retried"], retried, "{mode} {patience:?}");
    }
}

#[test]
fn more_parallel_requests_than_the_most_count_as_the_most() {
    let input =
        json!({"urls": ["https://site.example/works"], "max_concurrent": 5_000_000_000_u64});
    let (found, _) = checked_within(input, None);
    assert_eq!(found["ok"], 1);
}

#[test]
fn a_file_that_is_too_large_to_be_read_is_there() {
    let large = |url: &str| (url.to_owned(), Error::new(Code::TooLarge, "30 MiB"));
    let (file, odd) = (
        large("https://site.example/large.iso"),
        large("https://site.example/odd"),
    );
    let site = Site::default()
        .fails(&file.0, file.1)
        .method("HEAD", at("/large.iso", 405))
        // Its headers are too large: HEAD has no body.
        .fails(&odd.0, odd.1);
    let found = check(site, json!({"urls": [file.0, odd.0]})).expect("an answer");
    let item = |at: usize| {
        let item = &found["items"][at];
        (&item["status"], &item["status_code"], &item["error"])
    };
    let null = Value::Null;
    assert_eq!(item(0), (&json!("ok"), &null, &null));
    assert_eq!(item(1), (&json!("broken"), &null, &json!("30 MiB")));
}
