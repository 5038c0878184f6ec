//! Extractors that need the outputs of others, in scans.

use orbweaver_engine::manifest;
use serde_json::{Value, json};

use crate::support::{Client, Service, Site, fixture};

/// Loads a fixture as the extractor of this name and role, with these needs.
async fn load(client: &Client, component: &str, name: &str, needs: &[&str]) {
    let text = format!(
        "name = \"{name}\"\nkind = \"extractor\"\nversion = \"1\"\napi = \"1.0.0\"\nneeds = {needs:?}\n"
    );
    let bytes = std::fs::read(fixture(component)).expect("a fixture");
    let bytes = manifest::embed(&bytes, &text).expect("a component");
    let headers = [("content-type", "application/wasm")];
    let path = format!("/v1/plugins/{name}");
    let put = client.send("PUT", &path, &headers, &bytes).await;
    assert!(matches!(put.status, 200 | 201), "{}", put.text());
}

async fn scan(client: &Client, site: &Site) -> Value {
    let body =
        json!({"url": site.url("/article"), "extractors": ["outer"], "max_age_seconds": 3600});
    client.post("/v1/scan", &body).await.ok()["extensions"]["outer"].clone()
}

#[tokio::test]
async fn a_replaced_plugin_changes_the_answers_of_those_that_need_it() {
    let (service, site) = (Service::start().await, Site::start().await);
    let client = service.client();
    load(&client, "good", "a", &[]).await;
    load(&client, "inputs", "outer", &["a"]).await;
    let first = scan(&client, &site).await;
    assert_eq!(first["a"]["status"], 200, "{first}");
    assert_eq!(scan(&client, &site).await, first);

    // The page and the plugin that is asked for are as before.
    load(&client, "inputs", "a", &[]).await;
    let second = scan(&client, &site).await;
    assert_eq!(second["a"]["good"], "not-granted", "{second}");
    assert_eq!(site.hits("/article"), 1);
}
