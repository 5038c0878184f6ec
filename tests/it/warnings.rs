//! Warnings of answers: fields without effect, and parts that are missing.

use orbweaver_origin::{Origin, Reply};
use serde_json::{Value, json};

use crate::support::Service;
use crate::support::http::Answer;
use crate::support::runs;

fn warnings(answer: &Answer) -> Vec<String> {
    let said = answer.json()["warnings"].clone();
    let said: Vec<String> = serde_json::from_value(said).unwrap_or_default();
    assert_eq!(
        said.is_empty(),
        answer.header("orbweaver-warnings").is_none()
    );
    said
}

#[tokio::test]
async fn options_without_effect_and_patterns_that_never_match_are_named() {
    let service = runs::without_workers(false, |_| {}).await;
    let client = service.client();
    let crawl = async |body: Value| {
        let answer = client.post("/v1/crawls", &body).await;
        assert!(matches!(answer.status, 201 | 202), "{}", answer.text());
        warnings(&answer)
    };
    let url = runs::SEED;
    let said = crawl(json!({"url": url, "exclude_paths": ["^/a", "ä"]})).await;
    assert!(
        said.len() == 1 && said[0].starts_with("exclude_paths[1] "),
        "{said:?}"
    );
    assert!(said[0].ends_with("%C3%A4"), "{said:?}");
    let said = crawl(json!({"url": url, "include_paths": ["e f"], "limits": 1})).await;
    assert!(
        said.len() == 2 && said[1].starts_with("include_paths[0] "),
        "{said:?}"
    );
    let said = crawl(json!({"url": url, "return_only_changed": true})).await;
    assert!(
        said.len() == 1 && said[0].starts_with("return_only_changed "),
        "{said:?}"
    );
    let said = crawl(json!({"url": url, "cron": "0 0 * * *", "max_age_seconds": 60})).await;
    assert!(
        said.len() == 1 && said[0].starts_with("max_age_seconds "),
        "{said:?}"
    );
    let monitor = json!({"url": url, "cron": "0 0 * * *", "return_only_changed": true});
    assert_eq!(crawl(monitor).await, [""; 0]);
}

#[tokio::test]
async fn a_repeated_answer_warns_again() {
    let (service, origin) = (Service::start().await, Origin::start().await.unwrap());
    let client = service.client();
    let high = "<title>High</title><p style='height:60000px'>a";
    origin.set("/", Reply::html(high));
    let render = json!({"url": origin.url("/"), "return_format": "png"});
    let crawl = json!({"url": origin.url("/"), "return_only_changed": true, "max_pages": 1});
    for (path, body, status, key) in [
        (
            "/v1/cloud/render",
            render,
            200,
            "0d5c3a6e-6f0b-4c39-8a7e-3f5a7a4c1b01",
        ),
        (
            "/v1/crawls",
            crawl,
            202,
            "0d5c3a6e-6f0b-4c39-8a7e-3f5a7a4c1b02",
        ),
    ] {
        let header = [("idempotency-key", key)];
        let first = client.post_with(path, &header, &body).await;
        let again = client.post_with(path, &header, &body).await;
        assert_eq!(first.status, status, "{}", first.text());
        assert_eq!(again.header("idempotent-replayed"), Some("true"), "{path}");
        assert_eq!(warnings(&first).len(), 1, "{path}");
        assert_eq!(warnings(&again), warnings(&first), "{path}");
        let headers = again.headers.iter();
        let named = headers.filter(|(name, _)| name == "orbweaver-warnings");
        assert_eq!(named.count(), 1, "{path}");
    }
}

#[tokio::test]
async fn a_cloud_crawl_that_a_cap_cuts_says_so() {
    let (service, origin) = (Service::start().await, Origin::start().await.unwrap());
    let client = service.other_project("shop").await;
    let links = |count| {
        let links = (0..count).map(|n| format!("<a href=/page/{n}>{n}</a> "));
        Reply::html(format!(
            "<p>{}</p>{}",
            "Words. ".repeat(100),
            links.collect::<String>()
        ))
    };
    origin.set("/", links(20));
    origin.set("/few", links(2));
    origin.set_under("/page/", |_| {
        Reply::html(format!("<p>{}", "Words. ".repeat(100)))
    });
    let crawl = async |path: &str, limit: u32| {
        let body = json!({"url": origin.url(path), "limit": limit});
        client.post("/v1/cloud/crawl", &body).await.ok()
    };
    for (path, limit, items) in [("/", 3, 3), ("/few", 10, 3)] {
        let answer = crawl(path, limit).await;
        assert_eq!(answer["items"].as_array().unwrap().len(), items, "{answer}");
        assert_eq!(answer["error_message"], Value::Null);
    }
    service.has_used("shop", 0, 89).await;
    // Of the 100 that the tier has, 5 are left.
    let answer = crawl("/", 15).await;
    assert_eq!(answer["items"].as_array().unwrap().len(), 5, "{answer}");
    let said = answer["error_message"].as_str().unwrap();
    assert!(said.contains("leave 5 cloud pages of the 15"), "{said}");
}

#[tokio::test]
async fn a_screenshot_that_is_cut_says_so() {
    let (service, origin) = (Service::start().await, Origin::start().await.unwrap());
    let client = service.client();
    let high =
        |pixels: u32| Reply::html(format!("<title>High</title><p style='height:{pixels}px'>a"));
    origin.set("/high", high(60_000));
    origin.set("/low", high(600));
    let cut = async |path: &str| {
        let body = json!({"url": origin.url(path)});
        let png = client.post("/v1/cloud/screenshot", &body).await;
        assert_eq!(png.status, 200, "{}", png.text());
        let body = json!({"url": origin.url(path), "return_format": "png"});
        let render = client.post("/v1/cloud/render", &body).await;
        let scan = json!({"url": origin.url(path), "screenshot_inline": true});
        let scan = client.post("/v1/scan", &scan).await.ok();
        [
            png.header("orbweaver-warnings").is_some(),
            !warnings(&render).is_empty(),
            scan["screenshot_notice"].is_string(),
        ]
    };
    assert_eq!(cut("/high").await, [true; 3]);
    assert_eq!(cut("/low").await, [false; 3]);
}
