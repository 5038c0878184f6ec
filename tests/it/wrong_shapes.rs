//! A plugin that answers a built-in role with JSON of another shape: an error of that role, wherever the answer
//! is read.

use orbweaver_engine::manifest;
use orbweaver_origin::Reply;
use serde_json::{Value, json};

use crate::support::{Client, Service};
use crate::tenant_plugins::{allowing, installed, put, read, site, until};

/// The hostile extractor `bad-output` in every role that is part of an answer.
fn shapes() -> Vec<u8> {
    let text = "name = \"shapes\"\nkind = \"extractor\"\nversion = \"1.0.0\"\napi = \"1.0.0\"\n\
                roles = [\"article\", \"links\", \"markdown\", \"metadata\", \"signals\", \
                \"structured-data\"]\n";
    manifest::embed(&read("bad-output"), text).expect("a component")
}

async fn items(client: &Client, path: &str) -> Vec<Value> {
    let list = client.get(path).await.ok();
    list["items"].as_array().expect("a list").clone()
}

#[tokio::test]
async fn a_wrong_shape_is_an_error_of_its_role_and_seen_by_the_author() {
    let service = Service::with(allowing(3)).await;
    let ours = service.other_project("ours").await;
    let site = site().await;
    let url = site.url("/");
    installed(&ours, "shapes", &shapes()).await;
    let scan = json!({"url": url, "include_links": true, "extractors": ["structured-data"]});
    let answer = ours.post("/v1/scan", &scan).await.ok();
    for field in [
        "markdown",
        "article",
        "article_html",
        "metadata",
        "signals",
        "links",
    ] {
        assert_eq!(answer.get(field), Some(&Value::Null), "{field}: {answer}");
    }
    assert_eq!(answer["extensions"]["structured-data"], Value::Null);
    let errors = answer["errors"].as_array().expect("a list");
    for (role, why) in [
        ("article", "article must be an object, not an array"),
        ("links", "links[0] must be an object, not a number"),
        ("markdown", "markdown must be a string, not an array"),
        ("metadata", "metadata must be an object, not an array"),
        ("signals", "signals must be an object, not an array"),
        (
            "structured-data",
            "structured-data must be an object, not an array",
        ),
    ] {
        let error = errors.iter().find(|error| error["role"] == role);
        let error = error.unwrap_or_else(|| panic!("{role}: {answer}"));
        assert_eq!(
            (&error["plugin"], &error["code"]),
            (&json!("shapes"), &json!("bad-output"))
        );
        let message = error["message"].as_str().expect("text");
        assert!(message.ends_with(why), "{message}");
    }
    assert_eq!(errors.len(), 6, "{answer}");

    let shown = ours.get("/v1/plugins/shapes/metrics").await.ok();
    assert_eq!(
        shown["versions"][0]["errors"],
        json!({"bad-output": 6}),
        "{shown}"
    );
    let logs = items(&ours, "/v1/plugins/shapes/logs?level=error").await;
    let said = "bad-output: markdown must be a string, not an array";
    assert!(logs.iter().any(|line| line["message"] == said), "{logs:?}");
    let calls = items(&ours, "/v1/plugins/shapes/calls").await;
    assert_eq!(calls.len(), 6, "{calls:?}");
    assert!(
        calls
            .iter()
            .all(|call| call["error"]["code"] == "bad-output")
    );
}

#[tokio::test]
async fn readers_of_a_wrong_shape_name_the_plugin() {
    let service = Service::with(allowing(3)).await;
    let ours = service.other_project("ours").await;
    let site = site().await;
    let url = site.url("/");
    installed(&ours, "shapes", &shapes()).await;
    let html = json!({"data": "<p>Text"});
    for (path, body, why) in [
        (
            "/v1/cloud/transform",
            html,
            "`shapes` failed: bad output: markdown must be a string",
        ),
        (
            "/v1/cloud/links",
            json!({"url": url}),
            "`shapes` failed: bad output: links[0] must be an object",
        ),
        (
            "/v1/actors/extract-article",
            json!({"url": url}),
            "(plugin `shapes`): bad output: article must be an object",
        ),
        (
            "/v1/actors/structured-data",
            json!({"url": url}),
            "(plugin `shapes`): bad output: structured-data must be an object",
        ),
    ] {
        let answer = ours.post(path, &body).await;
        assert!(answer.status >= 500, "{path}: {}", answer.text());
        assert!(answer.text().contains(why), "{path}: {}", answer.text());
    }
    // A crawl keeps what the roles answer; nothing of another shape is kept.
    let crawl = json!({"url": url, "max_pages": 1, "store_html": false});
    let created = ours.post("/v1/crawls", &crawl).await;
    assert_eq!(created.status, 202, "{}", created.text());
    let run = format!("/v1/crawls/{}", created.json()["id"]);
    until(&ours, &run, |run| run.json()["status"] == "done").await;
    let pages = items(&ours, &format!("{run}/pages")).await;
    let page = format!("/v1/pages/{}?format=signals", pages[0]["id"]);
    let page = ours.get(&page).await.ok();
    assert_eq!(
        (&page["metadata"], &page["signals"]),
        (&Value::Null, &Value::Null),
        "{page}"
    );
}

#[tokio::test]
async fn a_role_may_say_that_the_page_has_none() {
    let service = Service::with(allowing(3)).await;
    let ours = service.other_project("ours").await;
    let site = site().await;
    site.set("/none", Reply::html("<p>Text"));
    let url = json!({"url": site.url("/none")});
    installed(&ours, "shapes", &shapes()).await;
    let answer = ours.post("/v1/scan", &url).await.ok();
    assert_eq!(
        (&answer["markdown"], &answer["article"], &answer["errors"]),
        (&Value::Null, &Value::Null, &json!([])),
        "{answer}"
    );
    let links = ours.post("/v1/cloud/links", &url).await.ok();
    assert_eq!(links["links"], json!([]), "{links}");
    let article = ours.post("/v1/actors/extract-article", &url).await.ok();
    assert_eq!(article["data"]["content"], "", "{article}");
    let data = ours.post("/v1/actors/structured-data", &url).await.ok();
    assert_eq!(data["data"]["counts"], json!({}), "{data}");
}

#[tokio::test]
async fn a_plugin_that_answers_its_test_with_a_wrong_shape_is_refused() {
    let service = Service::with(allowing(3)).await;
    let ours = service.other_project("ours").await;
    // `null` for the page of the self-test: the fixture does not know that the role is built in.
    let text = "name = \"selectors\"\nkind = \"extractor\"\nversion = \"1.0.0\"\n\
                api = \"1.0.0\"\nroles = [\"selectors\"]\n";
    let component = manifest::embed(&read("good"), text).expect("a component");
    let answer = put(&ours, "selectors", &component).await;
    let said = answer.error(422, "INVALID_INPUT");
    let why = "self-test: bad output: selectors must be an object, not null";
    assert!(said.contains(why), "{said}");
}
