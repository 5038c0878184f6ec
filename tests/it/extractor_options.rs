//! The field `extractor_options`: options reach extractors, are checked, and are part of what is
//! cached.

use orbweaver_origin::{Origin, Reply};
use serde_json::{Value, json};

use crate::support::{Client, Service, fixture};

/// A service with the extractor `good`, which returns its options.
async fn service() -> Service {
    let service = Service::start().await;
    let component = std::fs::read(fixture("good")).expect("a fixture");
    let wasm = [("content-type", "application/wasm")];
    let path = "/v1/plugins/good";
    let answer = service.client().send("PUT", path, &wasm, &component).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    service
}

async fn site() -> Origin {
    let origin = Origin::start().await.expect("a site");
    let html = "<title>T</title><nav>Menu of the site</nav><main><h1>Head</h1><p>The text.</main>";
    origin
        .set("/robots.txt", Reply::text(""))
        .set("/", Reply::html(html));
    origin
}

async fn seen(client: &Client, path: &str, body: &Value) -> Value {
    let answer = client.post(path, body).await.ok();
    let result = match path {
        "/v1/scan" => &answer,
        _ => &answer["items"][0]["result"],
    };
    assert_eq!(result["errors"], json!([]), "{answer}");
    result["extensions"]["good"]["options"].clone()
}

#[tokio::test]
async fn options_reach_the_extractor_and_are_part_of_the_cache_key() {
    let service = service().await;
    let client = service.client();
    let origin = site().await;
    let url = origin.url("/");
    for depth in [1, 2, 1] {
        let options = json!({"depth": depth});
        let scan = json!({
            "url": url, "max_age_seconds": 600, "extractors": ["good"],
            "extractor_options": {"good": options},
        });
        assert_eq!(seen(&client, "/v1/scan", &scan).await, options);
        let bulk = json!({
            "urls": [url], "max_age_seconds": 600, "extractors": ["good"],
            "extractor_options": {"good": options},
        });
        assert_eq!(seen(&client, "/v1/scan/bulk", &bulk).await, options);
    }
    let plain = json!({"url": url, "max_age_seconds": 600, "extractors": ["good"]});
    let none = seen(&client, "/v1/scan", &plain).await;
    assert_eq!(none, json!({}), "an extractor is given JSON");
}

#[tokio::test]
async fn options_of_a_built_in_role_come_over_the_request_s_own() {
    let service = service().await;
    let client = service.client();
    let origin = site().await;
    let url = origin.url("/");
    let whole = client.post("/v1/scan", &json!({"url": url})).await.ok();
    let options = json!({"markdown": {"only_main_content": true}});
    let body = json!({"url": url, "extractor_options": options});
    let main = client.post("/v1/scan", &body).await.ok();
    let has_menu = |answer: &Value| answer["markdown"].as_str().expect("text").contains("Menu");
    assert!(has_menu(&whole) && !has_menu(&main), "{main}");
}

#[tokio::test]
async fn invalid_options_are_refused_by_field() {
    let service = service().await;
    let client = service.client();
    let scan = json!({"url": "http://127.0.0.1:8081/"});
    let bulk = json!({"urls": ["http://127.0.0.1:8081/"]});
    for (options, expected) in [
        (
            json!({"markdown": {"only_main_content": 1}}),
            "extractor_options.markdown.only_main_content: must be of type boolean",
        ),
        (
            json!({"nobody": {}}),
            "extractor_options.nobody: is not an extractor that is loaded",
        ),
        (
            json!({"good": {}}),
            "extractor_options.good: is not run by this request",
        ),
        (
            json!({"markdown": 7}),
            "extractor_options.markdown: must be an object",
        ),
        (
            json!({"markdown": {"x": "y".repeat(70_000)}}),
            "extractor_options.markdown: must be at most 65536 bytes",
        ),
    ] {
        for (path, request) in [("/v1/scan", &scan), ("/v1/scan/bulk", &bulk)] {
            let mut body = request.clone();
            body["extractor_options"] = options.clone();
            let said = client.post(path, &body).await.error(422, "INVALID_INPUT");
            assert!(said.starts_with(expected), "{path}: {said}");
        }
    }
    let mut crawl = scan.clone();
    crawl["extractor_options"] = json!({"markdown": {}});
    let said = client
        .post("/v1/crawls", &crawl)
        .await
        .error(422, "INVALID_INPUT");
    assert!(
        said.starts_with("extractor_options.markdown: is not run"),
        "{said}"
    );
}

#[tokio::test]
async fn a_crawl_and_its_stored_pages_take_options() {
    let service = service().await;
    let client = service.client();
    let origin = site().await;
    let body = json!({
        "url": origin.url("/"), "extractors": ["good"],
        "extractor_options": {"good": {"depth": 3}},
    });
    let created = client.post("/v1/crawls", &body).await.json();
    let path = format!("/v1/crawls/{}", created["id"]);
    client
        .until(&path, |answer| !answer.ok()["finished_at"].is_null())
        .await;
    let pages = client.get(&format!("{path}/pages")).await.ok();
    let page = format!("/v1/pages/{}?format=markdown", pages["items"][0]["id"]);
    let whole = client.get(&page).await.ok();
    assert_eq!(whole["extensions"]["good"]["options"], json!({"depth": 3}));
    assert!(whole["markdown"].as_str().expect("text").contains("Menu"));
    let options = "%7B%22markdown%22%3A%7B%22only_main_content%22%3Atrue%7D%7D";
    let main = client
        .get(&format!("{page}&extractor_options={options}"))
        .await
        .ok();
    assert!(
        !main["markdown"].as_str().expect("text").contains("Menu"),
        "{main}"
    );
    for (given, expected) in [
        ("7", "extractor_options: must be a JSON object of objects"),
        (
            "%7B%22article%22%3A%7B%7D%7D",
            "extractor_options.article: is not run",
        ),
    ] {
        let path = format!("{page}&extractor_options={given}");
        let said = client.get(&path).await.error(422, "INVALID_INPUT");
        assert!(said.starts_with(expected), "{said}");
    }
}
