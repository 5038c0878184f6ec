//! The Model Context Protocol over HTTP: handshake and tools.

mod guards;
mod results;

use std::path::Path;

use serde_json::{Value, json};

use crate::support::http::Answer;
use crate::support::{Client, Service, Site, fixture, plugin_dir};

const ACCEPT: (&str, &str) = ("accept", "application/json, text/event-stream");
const VERSION: &str = "2025-06-18";

async fn send(client: &Client, headers: &[(&str, &str)], message: &Value) -> Answer {
    let mut all = vec![ACCEPT, ("mcp-protocol-version", VERSION)];
    all.extend_from_slice(headers);
    client.post_with("/mcp", &all, message).await
}

/// The result of a request.
async fn ask(client: &Client, method: &str, params: Value) -> Value {
    let message = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
    let answer = send(client, &[], &message).await.ok();
    assert_eq!(
        (&answer["jsonrpc"], &answer["id"]),
        (&json!("2.0"), &json!(7))
    );
    assert!(answer.get("error").is_none(), "{answer}");
    answer["result"].clone()
}

async fn call(client: &Client, tool: &str, arguments: Value) -> Value {
    ask(
        client,
        "tools/call",
        json!({"name": tool, "arguments": arguments}),
    )
    .await
}

/// The structured content of a call that succeeds.
async fn called(client: &Client, tool: &str, arguments: Value) -> Value {
    let result = call(client, tool, arguments).await;
    assert_eq!(result["isError"], false, "{result}");
    let text = result["content"][0]["text"].as_str().unwrap();
    let text: Value = serde_json::from_str(text).unwrap();
    assert_eq!(text, result["structuredContent"], "both forms say the same");
    text
}

/// Code and message of a call that fails.
async fn failed(client: &Client, tool: &str, arguments: Value) -> (String, String) {
    let result = call(client, tool, arguments).await;
    assert_eq!(result["isError"], true, "{result}");
    let error = &result["structuredContent"]["error"];
    let text = |name: &str| error[name].as_str().unwrap().to_owned();
    (text("code"), text("message"))
}

/// A service with the extractors, and this actor.
async fn with_actor(folder: &Path) -> Service {
    for file in std::fs::read_dir(plugin_dir()).unwrap().flatten() {
        let name = file.file_name().into_string().unwrap();
        if name.starts_with("extract-") {
            std::fs::copy(file.path(), folder.join(name)).unwrap();
        }
    }
    let actor = "actor-two-pages-rs";
    std::fs::copy(fixture(actor), folder.join(format!("{actor}.wasm"))).unwrap();
    let folder = folder.to_owned();
    Service::with(move |config| config.plugin_dir = Some(folder)).await
}

#[tokio::test]
async fn a_client_shakes_hands_without_a_session() {
    let service = Service::start().await;
    let client = service.client();
    let hello = json!({
        "protocolVersion": VERSION,
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    });
    let welcome = ask(&client, "initialize", hello).await;
    assert_eq!(welcome["protocolVersion"], VERSION);
    assert_eq!(welcome["serverInfo"]["name"], "orbweaver");
    assert!(welcome["capabilities"]["tools"].is_object(), "{welcome}");
    // Without a session nobody could be told of a change.
    assert!(
        welcome["capabilities"]["tools"]
            .get("listChanged")
            .is_none()
    );
    assert!(welcome["instructions"].as_str().unwrap().contains("scan"));
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(send(&client, &[], &ready).await.status, 202);
    ask(&client, "ping", json!({})).await;
    let stream = client.send("GET", "/mcp", &[ACCEPT], b"").await;
    stream.error(405, "METHOD_NOT_ALLOWED");
}

#[tokio::test]
async fn the_tools_are_endpoints_and_loaded_actors_with_schemas() {
    let folder = tempfile::tempdir().unwrap();
    let service = with_actor(folder.path()).await;
    let listed = ask(&service.client(), "tools/list", json!({})).await;
    let tools = listed["tools"].as_array().unwrap();
    for tool in tools {
        let name = tool["name"].as_str().unwrap();
        let is_legal = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
        assert!(name.len() <= 64 && name.chars().all(is_legal), "{name}");
        assert!(!tool["description"].as_str().unwrap().is_empty(), "{name}");
        let schema = &tool["inputSchema"];
        assert_eq!(schema["type"], "object", "{name}");
        assert!(schema["properties"]["max_chars"].is_object(), "{name}");
        assert!(
            !schema.to_string().contains("$ref\":\"#/components"),
            "{name}: {schema}"
        );
    }
    let find = |name: &str| tools.iter().find(|tool| tool["name"] == name);
    let names = [
        "scan",
        "extract",
        "search",
        "crawl",
        "crawl_status",
        "crawl_list",
        "crawl_pages",
        "crawl_errors",
        "crawl_links",
        "crawl_delete",
        "page",
        "diff",
        "robots_policy",
        "usage",
    ];
    for name in names {
        assert!(find(name).is_some(), "{name}");
    }
    let scan = find("scan").unwrap();
    assert_eq!(scan["inputSchema"]["required"], json!(["url"]));
    assert!(scan["inputSchema"]["properties"]["max_age_seconds"].is_object());
    let actor = find("actor_two-pages-rs").expect("the actor");
    assert!(
        actor["inputSchema"]["properties"]["urls"].is_object(),
        "{actor}"
    );
    assert_eq!(find("page").unwrap()["annotations"]["readOnlyHint"], true);
    assert_eq!(
        find("crawl_delete").unwrap()["annotations"]["destructiveHint"],
        true
    );
    // A plugin that goes takes its tool with it.
    std::fs::remove_file(folder.path().join("actor-two-pages-rs.wasm")).unwrap();
    let mut changes = service.app.pipeline.engine.changes();
    loop {
        let listed = ask(&service.client(), "tools/list", json!({})).await;
        if !listed.to_string().contains("actor_two-pages-rs") {
            break;
        }
        changes.changed().await.unwrap();
    }
}

#[tokio::test]
async fn a_scan_is_the_endpoints_and_is_billed_once() {
    let (service, site) = (Service::start().await, Site::start().await);
    let client = service.client();
    let url = site.url("/article");
    let scan = called(&client, "scan", json!({"url": url})).await;
    assert_eq!((&scan["url"], &scan["status"]), (&json!(url), &json!(200)));
    assert!(
        scan["markdown"]
            .as_str()
            .unwrap()
            .contains("# How orb weavers build")
    );
    assert_eq!(scan["metadata"]["title"], "How orb weavers build");
    assert!(
        scan.get("article").is_none() && scan.get("signals").is_none(),
        "{scan}"
    );
    assert_eq!(service.billed().await, (1, 0));

    let arguments = json!({"url": url, "include": ["signals"], "include_links": true});
    let scan = called(&client, "scan", arguments).await;
    assert_eq!(scan["signals"]["h1"], json!(["How orb weavers build"]));
    assert!(scan["links"].as_array().unwrap().len() > 2);
    assert!(scan.get("markdown").is_none());

    for (role, holds) in [
        ("article", "bridge thread"),
        ("metadata", "What a web is made of."),
        ("links", "https://other.example/"),
        ("structured-data", "schema.org"),
    ] {
        let found = called(&client, "extract", json!({"url": url, "role": role})).await;
        assert_eq!(found["role"], role);
        assert!(found["data"].to_string().contains(holds), "{role}: {found}");
    }
    // A misspelt argument is no secret.
    let scan = called(&client, "scan", json!({"url": url, "include_link": true})).await;
    assert!(
        scan["warnings"][0]
            .as_str()
            .unwrap()
            .contains("include_links"),
        "{scan}"
    );
}

#[tokio::test]
async fn a_client_of_the_newest_version_is_told_when_plugins_change() {
    use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

    let folder = tempfile::tempdir().unwrap();
    let service = with_actor(folder.path()).await;
    let version = "2026-07-28";
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let body = json!({
        "jsonrpc": "2.0", "id": 9, "method": "subscriptions/listen",
        "params": {"notifications": {"toolsListChanged": true}, "_meta": meta},
    })
    .to_string();
    // All plugins are there before anybody listens.
    ask(&service.client(), "tools/list", json!({})).await;
    let mut stream = tokio::net::TcpStream::connect(service.address)
        .await
        .unwrap();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: test\r\nauthorization: Bearer {}\r\naccept: {}\r\n\
         content-type: application/json\r\nmcp-protocol-version: {version}\r\n\
         mcp-method: subscriptions/listen\r\ncontent-length: {}\r\n\r\n{body}",
        crate::support::KEY,
        ACCEPT.1,
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut lines = BufReader::new(stream).lines();
    let mut changed = false;
    while let Some(line) = lines.next_line().await.unwrap() {
        if line.contains("notifications/subscriptions/acknowledged") {
            std::fs::remove_file(folder.path().join("actor-two-pages-rs.wasm")).unwrap();
        }
        if line.contains("notifications/tools/list_changed") {
            changed = true;
            break;
        }
    }
    assert!(changed, "the stream ended without a word");
}
