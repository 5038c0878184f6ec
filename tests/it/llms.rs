//! POST /v1/llms-txt-build: which crawl it uses, and what it lists.

use chrono::TimeDelta;
use orbweaver_origin::{Origin, Reply};
use serde_json::{Value, json};

use crate::support::http::Answer;
use crate::support::{Client, Service, runs};

const PATH: &str = "/v1/llms-txt-build";

async fn site() -> Origin {
    let origin = Origin::start().await.unwrap();
    let links = "<title>Start</title><a href=/a>a</a> <a href=/b>b</a> <a href=/c>c</a>";
    origin.set("/", Reply::html(links));
    origin.set("/a", Reply::html("<title>A</title>"));
    let noindex = "<title>B</title><meta name=robots content='noindex, follow'>";
    origin.set("/b", Reply::html(noindex));
    origin.set(
        "/c",
        Reply::html("<title>C</title>").header("X-Robots-Tag", "noindex"),
    );
    origin
}

async fn build(client: &Client, body: &Value) -> (i64, Answer) {
    let file = client.post(PATH, body).await;
    assert_eq!(file.status, 200, "{}", file.text());
    let run = file.header("orbweaver-crawl-id").expect("the crawl");
    (run.parse().unwrap(), file)
}

#[tokio::test]
async fn the_answer_names_its_crawl_and_the_caller_decides_how_old_it_may_be() {
    for service in [Service::start().await, Service::on_postgres().await] {
        let (origin, client) = (site().await, service.client());
        let url = origin.url("/");
        let (first, file) = build(&client, &json!({"url": url})).await;
        let run = client.get(&format!("/v1/crawls/{first}")).await.ok();
        let ended = file.header("orbweaver-crawl-finished-at").unwrap();
        let ended: chrono::DateTime<chrono::Utc> = ended.parse().unwrap();
        assert_eq!(json!(ended), run["finished_at"]);
        service.clock.advance(TimeDelta::minutes(10));
        assert_eq!(build(&client, &json!({"url": url})).await.0, first);
        let (second, _) = build(&client, &json!({"url": url, "max_age_seconds": 0})).await;
        assert!(second > first);
        service.clock.advance(TimeDelta::minutes(5));
        let young = json!({"url": url, "max_age_seconds": 400});
        assert_eq!(build(&client, &young).await.0, second);
        let younger = json!({"url": url, "max_age_seconds": 200});
        assert!(build(&client, &younger).await.0 > second);
    }
}

#[tokio::test]
async fn a_page_that_calls_itself_a_copy_is_not_listed_beside_the_other() {
    let (service, origin) = (Service::start().await, Origin::start().await.unwrap());
    let links = "<title>Start</title><a href=/a>a</a> <a href=/copy>b</a> <a href=/lone>c</a>";
    origin.set("/", Reply::html(links));
    origin.set(
        "/a",
        Reply::html("<title>A</title><link rel=canonical href='/a?utm_source=x'>"),
    );
    origin.set(
        "/copy",
        Reply::html("<title>Copy</title><link rel=canonical href=/a>"),
    );
    let lone = "<title>Lone</title><link rel=canonical href='https://elsewhere.example/'>";
    origin.set("/lone", Reply::html(lone));
    let (_, file) = build(&service.client(), &json!({"url": origin.url("/")})).await;
    let text = file.text();
    assert!(text.contains("[A](") && text.contains("[Lone]("), "{text}");
    assert!(!text.contains("[Copy]("), "{text}");
}

#[tokio::test]
async fn a_repeated_answer_has_its_headers() {
    let (service, origin) = (Service::start().await, site().await);
    let key = [("idempotency-key", "7a5f0d0c-3f4b-4d27-9d0e-5a3b6f1e2c11")];
    let body = json!({"url": origin.url("/")});
    let ask = async || service.client().post_with(PATH, &key, &body).await;
    let (first, again) = (ask().await, ask().await);
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    for name in [
        "content-type",
        "orbweaver-crawl-id",
        "orbweaver-crawl-finished-at",
    ] {
        assert!(first.header(name).is_some(), "{name}");
        assert_eq!(again.header(name), first.header(name), "{name}");
    }
    assert_eq!(again.body, first.body);
}

#[tokio::test]
async fn a_newer_crawl_for_something_else_does_not_hide_one_that_fits() {
    let (service, origin) = (Service::start().await, site().await);
    let (client, url) = (service.client(), origin.url("/"));
    let (built, _) = build(&client, &json!({"url": url})).await;
    service.clock.advance(TimeDelta::hours(2));
    runs::crawled(&client, &json!({"url": url, "delay_ms": 0})).await;
    let old = json!({"url": url, "max_age_seconds": 10_000});
    assert_eq!(build(&client, &old).await.0, built);
}

#[tokio::test]
async fn pages_that_are_not_to_be_indexed_are_not_listed() {
    let (service, origin) = (Service::start().await, site().await);
    let (_, file) = build(&service.client(), &json!({"url": origin.url("/")})).await;
    let listed = [("Start", "/"), ("A", "/a")];
    let listed = listed.map(|(title, path)| format!("- [{title}]({})\n", origin.url(path)));
    assert_eq!(
        file.text(),
        format!("# Start\n\n## Pages\n\n{}", listed.concat())
    );
}

#[tokio::test]
async fn a_start_page_that_answers_with_an_error_is_an_error() {
    let (service, origin) = (Service::start().await, site().await);
    let url = origin.url("/nowhere");
    let said = service.client().post(PATH, &json!({"url": url})).await;
    let said = said.error(502, "FETCH_FAILED");
    assert_eq!(said, format!("{url} answered with status 404"));
    // Once the page is there, nobody waits until that crawl is too old.
    origin.set("/nowhere", Reply::html("<title>Here</title>"));
    let (_, file) = build(&service.client(), &json!({"url": url})).await;
    assert!(file.text().starts_with("# Here\n"), "{}", file.text());
}

#[tokio::test]
async fn a_crawl_that_a_cap_cut_is_not_used_again() {
    let (service, origin) = (Service::start().await, site().await);
    let client = service.other_project("shop").await;
    service.has_used("shop", 198, 0).await;
    let body = json!({"url": origin.url("/")});
    let (cut, _) = build(&client, &body).await;
    let run = client.get(&format!("/v1/crawls/{cut}")).await.ok();
    assert_eq!(run["error_message"], "daily page cap exceeded", "{run}");
    client.post(PATH, &body).await.error(429, "RATE_LIMITED");
    service.clock.advance(TimeDelta::days(1));
    let body = json!({"url": origin.url("/"), "max_age_seconds": 200_000});
    assert!(build(&client, &body).await.0 > cut);
}

#[tokio::test]
async fn a_caller_comes_back_to_its_crawl_at_a_cap_too() {
    let (service, origin) = (Service::start().await, Origin::start().await.unwrap());
    origin.set("/held/start", Reply::html("<title>Start</title>"));
    let client = service.other_project("shop").await;
    let body = json!({"url": origin.url("/held/start"), "wait_seconds": 0});
    let crawl = async || {
        let waiting = client.post(PATH, &body).await;
        waiting.error(408, "TIMEOUT");
        waiting.json()["error"]["crawl_id"].clone()
    };
    let first = crawl().await;
    origin.asked("/held/start", 1).await;
    // All pages that the tier has for a day.
    service.has_used("shop", 200, 0).await;
    assert_eq!(crawl().await, first);
    let other = json!({"url": origin.url("/other")});
    client.post(PATH, &other).await.error(429, "RATE_LIMITED");
    origin.release();
}
