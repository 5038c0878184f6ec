//! Actors over HTTP: input, host services, billing, errors, and plugin files that come and go.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use orbweaver_origin::{Origin, Reply};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::http::Answer;
use crate::support::{Service, fixture, plugin_dir};

/// A service whose plugin folder holds the shipped plugins and these fixtures.
async fn with(fixtures: &[&str]) -> (Service, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    for file in std::fs::read_dir(plugin_dir()).unwrap().flatten() {
        let name = file.file_name().into_string().unwrap();
        if name.starts_with("extract-") {
            std::fs::copy(file.path(), folder.path().join(name)).unwrap();
        }
    }
    for name in fixtures {
        std::fs::copy(fixture(name), in_folder(folder.path(), name)).unwrap();
    }
    let path = folder.path().to_owned();
    let service = Service::with(move |config| config.plugin_dir = Some(path)).await;
    (service, folder)
}

/// The path of a fixture in a plugin folder.
fn in_folder(folder: &Path, name: &str) -> PathBuf {
    let prefix = if name.starts_with("actor-") {
        ""
    } else {
        "actor-"
    };
    folder.join(format!("{prefix}{name}.wasm"))
}

async fn visit(service: &Service, urls: &[String]) -> Answer {
    let input = json!({"urls": urls});
    service
        .client()
        .post("/v1/actors/two-pages-rs", &input)
        .await
}

#[tokio::test]
async fn an_actor_fetches_extracts_and_is_billed_per_url() {
    let (service, _folder) = with(&["actor-two-pages-rs"]).await;
    let origin = Origin::start().await.unwrap();
    origin.set("/a", Reply::html("<title>A</title>"));
    origin.set(
        "/b",
        Reply::new(404, "<title>B</title>").header("Content-Type", "text/html"),
    );
    let urls = [origin.url("/a"), origin.url("/b"), origin.url("/a#again")];
    let answer = visit(&service, &urls).await.ok();
    assert_eq!(answer["actor"], "two-pages-rs");
    assert_eq!(answer["url"], Value::Null);
    assert!(answer["elapsed_ms"].is_u64());
    let items = answer["data"]["items"].as_array().unwrap();
    let seen: Vec<_> = items
        .iter()
        .map(|item| (&item["status"], &item["title"]))
        .collect();
    assert_eq!(json!(seen), json!([[200, "A"], [404, "B"], [200, "A"]]));
    assert_eq!(
        service.billed().await,
        (2, 0),
        "a page for each distinct URL"
    );
}

#[tokio::test]
async fn urls_without_a_response_are_free_and_others_are_billed() {
    let (service, _folder) = with(&["actor-two-pages-rs"]).await;
    let origin = Origin::start().await.unwrap();
    origin.set("/a", Reply::html("<title>A</title>"));
    let urls = [origin.url("/a"), origin.url("/fault/closed")];
    visit(&service, &urls).await.error(502, "FETCH_FAILED");
    assert_eq!(service.billed().await, (1, 0));
    origin.set("/sitemap.xml", Reply::text("<urlset/>"));
    let files = [origin.url("/robots.txt"), origin.url("/sitemap.xml")];
    visit(&service, &files).await.ok();
    assert_eq!(
        service.billed().await,
        (2, 0),
        "a successful call costs at least this"
    );
}

#[tokio::test]
async fn the_input_is_checked_by_the_schema_and_its_urls_by_the_ssrf_guard() {
    let (service, _folder) = with(&["actor-two-pages-rs"]).await;
    for (input, message) in [
        (json!({}), "urls: is required"),
        (json!({"urls": "x"}), "urls: must be of type array"),
        (json!({"urls": [1]}), "urls[0]: must be of type string"),
        (
            json!({"urls": ["http://a.example/"], "odd": 1}),
            "odd: is unknown",
        ),
        (json!({"urls": ["http://10.0.0.1/"]}), "urls[0]: 10.0.0.1"),
        (
            json!({"urls": ["http://a.example/", "ftp://a.example/"]}),
            "urls[1]: only http",
        ),
    ] {
        let answer = service
            .client()
            .post("/v1/actors/two-pages-rs", &input)
            .await;
        let said = answer.error(422, "INVALID_INPUT");
        assert!(said.starts_with(message), "{input}: {said}");
    }
    assert_eq!(service.billed().await, (0, 0));
}

#[tokio::test]
async fn robots_txt_and_redirects_to_private_addresses_are_denied_to_actors() {
    let (service, _folder) = with(&["actor-two-pages-rs"]).await;
    let origin = Origin::start().await.unwrap();
    origin.set(
        "/robots.txt",
        Reply::text("User-agent: Orbweaver\nDisallow: /hidden"),
    );
    origin.set("/hidden", Reply::html("x"));
    let answer = visit(&service, &[origin.url("/hidden")]).await;
    let said = answer.error(422, "INVALID_INPUT");
    assert!(said.contains("robots.txt"), "{said}");
    assert_eq!(origin.count("/hidden"), 0);
    let away = origin.url("/fault/redirect/302?http://169.254.169.254/latest");
    let said = visit(&service, &[away]).await.error(422, "INVALID_INPUT");
    assert!(said.contains("169.254.0.0/16"), "{said}");
    assert_eq!(service.billed().await, (0, 0));
}

#[tokio::test]
async fn a_repeated_request_is_neither_run_nor_billed_again() {
    let (service, _folder) = with(&["actor-two-pages-rs"]).await;
    let origin = Origin::start().await.unwrap();
    origin.set("/a", Reply::html("<title>A</title>"));
    let key = [("idempotency-key", "3c0a2c0e-5f0b-4c39-9d0c-0d8f9a3f5b10")];
    let input = json!({"urls": [origin.url("/a")]});
    let path = "/v1/actors/two-pages-rs";
    let first = service.client().post_with(path, &key, &input).await;
    let second = service.client().post_with(path, &key, &input).await;
    assert_eq!(first.ok(), second.ok());
    assert_eq!(second.header("idempotent-replayed"), Some("true"));
    assert_eq!(origin.count("/a"), 1);
    assert_eq!(service.billed().await, (1, 0));
}

#[tokio::test]
async fn a_failing_plugin_fails_only_its_own_call() {
    let (service, _folder) = with(&["spin-actor"]).await;
    let call = service
        .client()
        .post("/v1/actors/spin-actor", &json!({}))
        .await;
    let said = call.error(500, "PLUGIN_FAILED");
    assert!(said.contains("deadline"), "{said}");
    assert_eq!(service.stranger().get("/v1/ready").await.status, 200);
}

#[tokio::test]
async fn caps_hold_for_actors() {
    let (service, _folder) = with(&["actor-two-pages-rs"]).await;
    let origin = Origin::start().await.unwrap();
    origin.set("/a", Reply::html("<title>A</title>"));
    let client = service.other_project("capped").await;
    let input = json!({"urls": [origin.url("/a")]});
    let project = service
        .app
        .store
        .project_named("capped")
        .await
        .unwrap()
        .unwrap()
        .id;
    // All pages that tier free has for a day.
    let all = orbweaver_store::Amount::pages(200);
    let held = service
        .app
        .accounts
        .quota
        .reserve(project, all)
        .await
        .unwrap();
    let answer = client.post("/v1/actors/two-pages-rs", &input).await;
    let said = answer.error(429, "RATE_LIMITED");
    assert!(said.contains("daily page cap exceeded"), "{said}");
    assert!(answer.header("retry-after").is_some());
    assert_eq!(origin.count("/a"), 0);
    drop(held);
}

/// Repeats the request until the status is as expected: the folder is polled.
async fn until(service: &Service, path: &str, status: u16) -> Answer {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let answer = service.client().post(path, &json!({"urls": []})).await;
        if answer.status == status {
            return answer;
        }
        assert!(Instant::now() < end, "{path}: {}", answer.text());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn removing_a_plugin_file_removes_its_route_until_it_returns() {
    let (service, folder) = with(&["actor-two-pages-rs"]).await;
    let path = "/v1/actors/two-pages-rs";
    let operation = "/paths/~1v1~1actors~1two-pages-rs/post";
    let document = service.stranger().get("/openapi.json").await.ok();
    let described = document.pointer(operation).unwrap();
    let schema = &described["requestBody"]["content"]["application/json"]["schema"];
    assert_eq!(schema["$ref"], "#/components/schemas/ActorTwoPagesRsInput");
    let schema = &document["components"]["schemas"]["ActorTwoPagesRsInput"];
    assert_eq!(schema["required"], json!(["urls"]));
    assert_eq!(
        described["x-extension"], true,
        "not an actor of the documented API"
    );
    let listed = service.client().get("/v1/actors").await.ok();
    assert_eq!(listed["items"][0]["name"], "two-pages-rs");
    assert_eq!(listed["items"][0]["path"], path);
    assert_eq!(listed["items"][0]["input_schema"]["type"], "object");

    std::fs::remove_file(in_folder(folder.path(), "actor-two-pages-rs")).unwrap();
    let said = until(&service, path, 404).await.error(404, "NOT_FOUND");
    assert_eq!(said, "there is no actor `two-pages-rs`: no actor is loaded");
    let document = service.stranger().get("/openapi.json").await.ok();
    assert_eq!(document.pointer(operation), None);

    let from = fixture("actor-two-pages-rs");
    std::fs::copy(from, in_folder(folder.path(), "actor-two-pages-rs")).unwrap();
    until(&service, path, 422).await;
    let document = service.stranger().get("/openapi.json").await.ok();
    assert!(document.pointer(operation).is_some());
}
