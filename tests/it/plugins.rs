//! The administration of plugins: uploads on every node, grants, and permissions.

use std::time::{Duration, Instant};

use orbweaver_engine::manifest;
use orbweaver_origin::{Origin, Reply};
use serde_json::{Value, json};

use crate::support::http::Answer;
use crate::support::{Client, Service, fixture};

const PATH: &str = "/v1/plugins/two-pages-rs";
const WASM: [(&str, &str); 1] = [("content-type", "application/wasm")];

fn component() -> Vec<u8> {
    std::fs::read(fixture("actor-two-pages-rs")).unwrap()
}

async fn put(client: &Client, query: &str) -> Answer {
    let path = format!("{PATH}{query}");
    client.send("PUT", &path, &WASM, &component()).await
}

async fn delete(client: &Client, path: &str) -> Answer {
    client.send("DELETE", path, &[], b"").await
}

fn find<'a>(list: &'a Value, name: &str) -> Option<&'a Value> {
    let items = list["items"].as_array().unwrap();
    items.iter().find(|item| item["name"] == name)
}

/// Repeats the request until the status is as expected: nodes check for changes every second.
async fn until(client: &Client, status: u16) {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let answer = client.post("/v1/actors/two-pages-rs", &json!({})).await;
        if answer.status == status {
            return;
        }
        assert!(Instant::now() < end, "{}", answer.text());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn an_upload_reaches_every_node_and_a_restart(service: Service) {
    let node = service.node().await;
    let first = put(&service.client(), "?grant=all").await;
    assert_eq!(first.status, 201, "{}", first.text());
    let item = first.json();
    assert_eq!(
        (&item["kind"], &item["source"]),
        (&json!("actor"), &json!("upload"))
    );
    assert_eq!(item["granted"]["http"], json!(["*"]));
    // On this node at once, on others soon.
    let here = service
        .client()
        .post("/v1/actors/two-pages-rs", &json!({}))
        .await;
    here.error(422, "INVALID_INPUT");
    until(&node.client(), 422).await;
    assert_eq!(
        put(&service.client(), "?grant=all").await.status,
        200,
        "replaced"
    );

    let origin = Origin::start().await.unwrap();
    origin.set("/a", Reply::html("<title>A</title>"));
    let service = service.restart().await;
    let input = json!({"urls": [origin.url("/a")]});
    let answer = service
        .client()
        .post("/v1/actors/two-pages-rs", &input)
        .await
        .ok();
    assert_eq!(
        answer["data"]["items"][0]["title"], "A",
        "its grants are kept, too"
    );

    assert_eq!(delete(&service.client(), PATH).await.status, 204);
    until(&node.client(), 404).await;
    delete(&service.client(), PATH)
        .await
        .error(404, "NOT_FOUND");
}

#[tokio::test]
async fn an_upload_reaches_every_node_and_survives_a_restart_on_sqlite() {
    an_upload_reaches_every_node_and_a_restart(Service::start().await).await;
}

#[tokio::test]
async fn an_upload_reaches_every_node_and_survives_a_restart_on_postgres() {
    an_upload_reaches_every_node_and_a_restart(Service::on_postgres().await).await;
}

#[tokio::test]
async fn an_upload_gets_only_the_named_permissions() {
    let service = Service::start().await;
    let client = service.client();
    let said = put(&client, "").await.error(422, "INVALID_INPUT");
    assert!(
        said.starts_with("body: ") && said.contains("http"),
        "{said}"
    );
    let said = put(&client, "?grant=everything")
        .await
        .error(422, "INVALID_INPUT");
    assert!(said.starts_with("grant: "), "{said}");
    let answer = put(
        &client,
        "?grant=http%3Dhttps%3A%2F%2Fa.example&grant=extract",
    )
    .await;
    assert_eq!(
        answer.json()["granted"]["http"],
        json!(["https://a.example"])
    );
    let origin = Origin::start().await.unwrap();
    let input = json!({"urls": [origin.url("/")]});
    let call = client.post("/v1/actors/two-pages-rs", &input).await;
    let said = call.error(500, "PLUGIN_FAILED");
    let url = origin.url("");
    let why =
        format!("permission http does not cover {url}: it was not granted; add ?grant=http={url} ");
    assert!(said.contains(&why), "{said}");
    assert_eq!(origin.requests().len(), 0);
}

#[tokio::test]
async fn an_upload_is_warned_of_grants_in_vain_and_of_domains_that_others_serve() {
    let service = Service::start().await;
    let client = service.client();
    let bytes = std::fs::read(fixture("good-fetcher")).expect("a fixture");
    let text = manifest::read_text(&bytes).expect("a manifest");
    let upload = async |name: &str, query: &str| {
        let renamed = text.replace("\"good-fetcher\"", &format!("\"{name}\""));
        let component = manifest::embed(&bytes, &renamed).expect("a component");
        let path = format!("/v1/plugins/{name}{query}");
        let answer = client.send("PUT", &path, &WASM, &component).await;
        assert_eq!(answer.status, 201, "{}", answer.text());
        answer.json()["warnings"].clone()
    };
    assert_eq!(upload("b-fetcher", "?grant=http").await, Value::Null);
    let warnings = upload("a-fetcher", "?grant=http&grant=state&grant=all").await;
    let said = |domain: &str| {
        format!(
            "fetcher.domains: the fetcher `b-fetcher` lists {domain} as well; `b-fetcher` serves it"
        )
    };
    assert_eq!(
        warnings,
        json!([
            "grant: `state` has no effect, because the manifest does not ask for it",
            said("example.com"),
            said("*.example.org"),
        ])
    );
}

#[tokio::test]
async fn an_invalid_plugin_is_refused_with_a_reason() {
    let service = Service::start().await;
    let client = service.client();
    let said = client
        .send("PUT", PATH, &WASM, b"nothing")
        .await
        .error(422, "INVALID_INPUT");
    assert!(said.starts_with("body: not a component"), "{said}");
    let said = client
        .send("PUT", "/v1/plugins/other", &WASM, &component())
        .await
        .error(422, "INVALID_INPUT");
    assert_eq!(
        said,
        "name: the component is actor `two-pages-rs`, not `other`"
    );
    let said = client
        .send("PUT", PATH, &[], &component())
        .await
        .error(422, "INVALID_INPUT");
    assert!(said.starts_with("Content-Type: "), "{said}");
    let long = format!(
        "PUT {PATH} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/wasm\r\nauthorization: Bearer {}\r\ncontent-length: 67108865\r\n\r\n",
        crate::support::KEY
    );
    client
        .raw(long.as_bytes())
        .await
        .error(413, "PAYLOAD_TOO_LARGE");
    client
        .post("/v1/actors/two-pages-rs", &json!({}))
        .await
        .error(404, "NOT_FOUND");
}

#[tokio::test]
async fn only_administrators_manage_plugins() {
    let service = Service::start().await;
    let other = service.other_project("other").await;
    other.get("/v1/plugins").await.error(403, "FORBIDDEN");
    put(&other, "?grant=all").await.error(403, "FORBIDDEN");
    delete(&other, PATH).await.error(403, "FORBIDDEN");
    service
        .stranger()
        .get("/v1/plugins")
        .await
        .error(401, "UNAUTHORIZED");

    let list = service.client().get("/v1/plugins").await.ok();
    let links = find(&list, "links").unwrap();
    assert_eq!(
        (&links["kind"], &links["source"]),
        (&json!("extractor"), &json!("folder"))
    );
    assert_eq!(list["refused"], json!([]));
    // A plugin of the folder is removed only with its file.
    let said = delete(&service.client(), "/v1/plugins/links")
        .await
        .error(404, "NOT_FOUND");
    assert!(said.contains("folder"), "{said}");
}
