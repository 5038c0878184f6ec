//! Extractors that need the outputs of others, in scans.

use orbweaver_engine::manifest;
use orbweaver_store::{NewPluginVersion, PluginBounds, PluginKey};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::support::{Client, Service, Site, fixture, wait};
use crate::tenant_plugins::until;

/// A fixture as the extractor of this name, version and role, with these needs.
fn component(fixture_name: &str, name: &str, version: &str, needs: &[&str]) -> Vec<u8> {
    let text = format!(
        "name = \"{name}\"\nkind = \"extractor\"\nversion = \"{version}\"\napi = \"1.0.0\"\n\
         needs = {needs:?}\n"
    );
    let bytes = std::fs::read(fixture(fixture_name)).expect("a fixture");
    manifest::embed(&bytes, &text).expect("a component")
}

/// Loads it in its first version.
async fn load(client: &Client, fixture_name: &str, name: &str, needs: &[&str]) {
    let bytes = component(fixture_name, name, "1", needs);
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

#[tokio::test]
async fn what_was_made_without_a_role_that_failed_is_made_again() {
    let (service, site) = (Service::start().await, Site::start().await);
    let client = service.client();
    load(&client, "inputs", "outer", &["later"]).await;
    let calls = async || client.get("/v1/plugins/outer").await.ok()["calls"].clone();
    for made in [1, 2] {
        scan(&client, &site).await;
        assert_eq!(calls().await, made, "no answer is kept");
    }
    load(&client, "good", "later", &[]).await;
    for _ in 0..2 {
        scan(&client, &site).await;
        assert_eq!(calls().await, 3, "the answer is kept");
    }
    assert_eq!(site.hits("/article"), 1);
}

/// What needs another upload may arrive before it: here two that need each other, if the newer one is
/// loaded first.
#[tokio::test]
async fn an_upload_that_did_not_load_is_tried_again_when_others_have_changed() {
    let service = Service::on_postgres().await;
    let node = service.node().await;
    let client = service.client();
    load(&client, "good", "b", &[]).await;
    load(&client, "inputs", "a", &["b"]).await;
    let there = client.at(node.address);
    until(&there, "/v1/plugins", |answer| {
        let list = answer.json();
        version(&list, "a").is_some() && version(&list, "b").is_some()
    })
    .await;
    let component = component("inputs", "b", "2", &["a"]);
    let newer = NewPluginVersion {
        key: PluginKey {
            project: None,
            kind: "extractor".to_owned(),
            name: "b".to_owned(),
        },
        version: "2".to_owned(),
        digest: hex::encode(Sha256::digest(&component)),
        size: component.len() as u64,
        grants: None,
        uploaded_at: service.app.clock.now(),
    };
    let bounds = PluginBounds {
        kept_versions: 5,
        per_project: None,
        all_projects: 5,
    };
    let store = &service.app.store;
    let saved = store.save_plugin(&newer, component, bounds).await;
    saved.expect("a new version");
    for node in [&service, &node] {
        let failures = || node.app.actors.overlay.failures();
        wait::until("the new version fails", async || failures() > 0).await;
        let list = node.client().get("/v1/plugins").await.ok();
        assert_eq!(version(&list, "b"), Some("1"), "{list}");
    }
    load(&client, "good", "a", &[]).await;
    for node in [&service, &node] {
        let client = client.at(node.address);
        until(&client, "/v1/plugins", |answer| {
            version(&answer.json(), "b") == Some("2")
        })
        .await;
        let overlay = &node.app.actors.overlay;
        wait::until("nothing fails", async || overlay.failures() == 0).await;
    }
}

fn version<'a>(list: &'a Value, name: &str) -> Option<&'a str> {
    let items = list["items"].as_array()?;
    items.iter().find(|item| item["name"] == name)?["version"].as_str()
}
