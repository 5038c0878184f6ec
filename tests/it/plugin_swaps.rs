//! Uploads and rollbacks of a plugin while it is called: no call fails, and each is answered by one
//! version.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use orbweaver_accounts::tiers::Cap;
use orbweaver_origin::Reply;
use serde_json::{Value, json};

use crate::support::{Client, Service};
use crate::tenant_plugins::{allowing, extractor, installed, site};

/// Scans until it is told to stop; returns the number of scans.
async fn call_on(client: Client, url: String, stop: Arc<AtomicBool>) -> usize {
    let mut calls = 0;
    while !stop.load(Ordering::Relaxed) {
        // Another page each time, for which no result is kept.
        let scan = json!({"url": format!("{url}/{calls}"), "extractors": ["mine"]});
        let answer = client.post("/v1/scan", &scan).await.ok();
        assert_eq!(answer["errors"], json!([]), "{answer}");
        assert_eq!(answer["extensions"]["mine"]["role"], "special", "{answer}");
        calls += 1;
    }
    calls
}

async fn swapped_under_load(scope: &str) {
    let service = Service::with(|config| {
        allowing(1)(config);
        config.plugins.kept_versions = 100;
        let tier = config.tiers.get_mut("free").expect("a tier");
        tier.pages_per_day = Cap(None);
        tier.pages_per_month = Cap(None);
        // The callers send more requests than a client should.
        config.http.rate.key.per_second = 0;
        config.http.rate.address.per_second = 0;
    })
    .await;
    let client = match scope {
        "instance" => service.client(),
        _ => service.other_project("ours").await,
    };
    let origin = site().await;
    origin.set_under("/any/", |request| {
        Reply::html(format!("<title>{}</title>", request.target))
    });
    let upload = async |version: &str| {
        let component = extractor("mine", version, "special");
        let path = format!("mine?scope={scope}");
        installed(&client, &path, &component).await["number"].clone()
    };
    let first = upload("1.0.0").await;
    let stop = Arc::new(AtomicBool::new(false));
    let callers: Vec<_> = (0..4)
        .map(|caller| {
            let url = origin.url(&format!("/any/{caller}"));
            let (client, stop) = (client.at(service.address), Arc::clone(&stop));
            tokio::spawn(call_on(client, url, stop))
        })
        .collect();
    let mut numbers: BTreeSet<String> = BTreeSet::new();
    for swap in 0..25 {
        let number = upload(if swap % 2 == 0 { "2.0.0" } else { "3.0.0" }).await;
        numbers.insert(number.to_string());
        let rollback: Value = json!({"number": first});
        let path = format!("/v1/plugins/mine/rollback?scope={scope}");
        assert_eq!(client.post(&path, &rollback).await.ok()["version"], "1.0.0");
    }
    stop.store(true, Ordering::Relaxed);
    let mut calls = 0;
    for caller in callers {
        calls += caller.await.expect("no call failed");
    }
    assert!(calls >= 8, "{calls} calls");
    assert!(numbers.len() >= 2, "{numbers:?}");
    let path = format!("/v1/plugins/mine/metrics?scope={scope}");
    let metrics = client.get(&path).await.ok();
    let versions = metrics["versions"].as_array().expect("versions");
    let failed = versions
        .iter()
        .map(|version| version["error_count"].as_u64());
    assert_eq!(failed.sum::<Option<u64>>(), Some(0), "{metrics}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_projects_plugin_is_swapped_and_rolled_back_under_load() {
    swapped_under_load("project").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_instances_plugin_is_swapped_and_rolled_back_under_load() {
    swapped_under_load("instance").await;
}
