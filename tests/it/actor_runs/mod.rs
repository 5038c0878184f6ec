//! Runs of actors in the background, over HTTP.

mod crash;
mod end;
mod own;
mod whole;

use orbweaver_server::config::Config;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::http::Answer;
use crate::support::{Client, Service, fixture, plugin_dir};

/// Where runs of the tests' actor are.
const RUNS: &str = "/v1/actors/job-tool/runs";

/// A plugin folder with the tests' actor, and with the actor that checks links.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let links = "actor-check-links.wasm";
    std::fs::copy(plugin_dir().join(links), folder.path().join(links)).unwrap();
    let tool = folder.path().join("actor-job-tool.wasm");
    std::fs::copy(fixture("job-tool"), tool).unwrap();
    folder
}

async fn service() -> (Service, TempDir) {
    service_with(|_| {}).await
}

async fn service_with(change: impl FnOnce(&mut Config)) -> (Service, TempDir) {
    let folder = folder();
    let path = folder.path().to_owned();
    let service = Service::with(move |config| {
        config.plugin_dir = Some(path);
        change(config);
    })
    .await;
    (service, folder)
}

/// Starts a run; its path.
async fn begin(client: &Client, input: &Value) -> String {
    let answer = client.post(RUNS, input).await;
    assert_eq!(answer.status, 202, "{}", answer.text());
    let reference = answer.json();
    assert_eq!(reference["actor"], "job-tool");
    let path = format!("{RUNS}/{}", reference["id"]);
    assert_eq!(answer.header("location"), Some(path.as_str()));
    path
}

/// Waits for the end of a run, which is the end of its events.
async fn finished(client: &Client, path: &str) -> Value {
    let events = client.get(&format!("{path}/events")).await;
    assert_eq!(events.status, 200, "{}", events.text());
    assert!(events.text().contains("event: end"), "{}", events.text());
    client.get(path).await.ok()
}

/// Runs the tests' actor to its end.
async fn run(client: &Client, input: &Value) -> Value {
    let path = begin(client, input).await;
    finished(client, &path).await
}

/// The items of a run.
async fn items(client: &Client, path: &str) -> Value {
    let list = client.get(&format!("{path}/items?limit=100000")).await.ok();
    assert_eq!(list["next_offset"], json!(null));
    list["items"].clone()
}

/// Whether nothing of a run is there for this client.
async fn is_hidden(client: &Client, path: &str) -> bool {
    let mut answers: Vec<Answer> = Vec::new();
    for part in ["", "/items", "/events"] {
        answers.push(client.get(&format!("{path}{part}")).await);
    }
    answers.push(client.send("DELETE", path, &[], b"").await);
    let cancel = format!("{path}/cancel");
    answers.push(client.send("POST", &cancel, &[], b"").await);
    answers.iter().all(|answer| answer.status == 404)
}
