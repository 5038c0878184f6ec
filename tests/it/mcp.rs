//! The Model Context Protocol over HTTP: handshake, tools, results, errors, guards.

use std::path::Path;

use orbweaver_origin::{Origin, Reply};
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
async fn errors_are_results_with_the_apis_code_and_message() {
    let (service, site) = (Service::start().await, Site::start().await);
    let client = service.client();
    for (tool, arguments, code, starts) in [
        ("scan", json!({}), "INVALID_INPUT", "url: is required"),
        (
            "scan",
            json!({"url": 7}),
            "INVALID_INPUT",
            "url: must be a string",
        ),
        (
            "scan",
            json!({"url": "http://10.0.0.1/"}),
            "INVALID_INPUT",
            "url: ",
        ),
        (
            "scan",
            json!({"url": "http://169.254.169.254/latest/"}),
            "INVALID_INPUT",
            "url: ",
        ),
        (
            "scan",
            json!({"url": "file:///etc/passwd"}),
            "INVALID_INPUT",
            "url: ",
        ),
        (
            "scan",
            json!({"url": site.url("/to?http://192.168.0.1/")}),
            "INVALID_INPUT",
            "url: ",
        ),
        (
            "scan",
            json!({"url": "http://x.example/", "max_chars": 1}),
            "INVALID_INPUT",
            "max_chars: ",
        ),
        (
            "scan",
            json!({"url": "http://x.example/", "include": ["secrets"]}),
            "INVALID_INPUT",
            "include: ",
        ),
        (
            "extract",
            json!({"url": "http://x.example/"}),
            "INVALID_INPUT",
            "role: ",
        ),
        (
            "extract",
            json!({"url": site.url("/article"), "role": "no-such"}),
            "INVALID_INPUT",
            "extractors",
        ),
        (
            "crawl",
            json!({"url": "http://10.0.0.1/"}),
            "INVALID_INPUT",
            "url: ",
        ),
        (
            "crawl",
            json!({"url": site.url("/"), "depth": 51}),
            "INVALID_INPUT",
            "depth: ",
        ),
        (
            "crawl",
            json!({"url": site.url("/"), "wait_seconds": 10_000}),
            "INVALID_INPUT",
            "wait_seconds: ",
        ),
        (
            "crawl_status",
            json!({"id": 404}),
            "NOT_FOUND",
            "there is no such",
        ),
        ("crawl_status", json!({"id": "../keys"}), "", ""),
        (
            "crawl_pages",
            json!({"id": 404, "limit": 5_000}),
            "INVALID_INPUT",
            "limit: ",
        ),
        ("page", json!({}), "INVALID_INPUT", "id: is required"),
        ("page", json!({"id": 404}), "NOT_FOUND", "there is no such"),
        (
            "diff",
            json!({"old_id": 1, "new_id": 2}),
            "NOT_FOUND",
            "there is no such",
        ),
        ("search", json!({"query": " "}), "INVALID_INPUT", "query: "),
    ] {
        let (said, message) = failed(&client, tool, arguments.clone()).await;
        if !code.is_empty() {
            assert_eq!(said, code, "{tool} {arguments}: {message}");
        }
        assert!(message.starts_with(starts), "{tool} {arguments}: {message}");
        assert!(!message.contains("orb_"), "{message}");
    }
    // What is no tool is an error of the protocol.
    for name in ["nothing", "actor_nothing", "actor_", "map/../scan"] {
        let params = json!({"name": name, "arguments": {}});
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let answer = send(&client, &[], &message).await.ok();
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
    assert_eq!(service.billed().await, (0, 0));
}

#[tokio::test]
async fn only_a_valid_key_is_answered_and_each_sees_its_own_project() {
    let (service, site) = (Service::start().await, Site::start().await);
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let refused = send(&service.stranger(), &[], &list).await;
    refused.error(401, "UNAUTHORIZED");
    assert_eq!(refused.header("www-authenticate"), Some("Bearer"));
    let wrong = service.client().with_key("orb_wrong");
    send(&wrong, &[], &list).await.error(401, "UNAUTHORIZED");

    let arguments = json!({"url": site.url("/article"), "max_pages": 1, "wait_seconds": 60});
    let run = called(&service.client(), "crawl", arguments).await;
    let other = service.other_project("other").await;
    let (code, _) = failed(&other, "crawl_status", json!({"id": run["id"]})).await;
    assert_eq!(code, "NOT_FOUND");
    let page = &run["pages"][0]["id"];
    let (code, _) = failed(&other, "page", json!({"id": page})).await;
    assert_eq!(code, "NOT_FOUND");
}

#[tokio::test]
async fn pages_of_other_sites_may_not_ask() {
    let service = Service::start().await;
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    for origin in ["https://evil.example", "http://test", "null"] {
        let answer = send(&service.client(), &[("origin", origin)], &list).await;
        answer.error(403, "FORBIDDEN");
    }
    let public = "https://crawl.example";
    let service = Service::with(|config| {
        config.public_url = Some(public.parse().expect("a URL"));
    })
    .await;
    let answer = send(&service.client(), &[("origin", public)], &list).await;
    assert!(answer.ok()["result"]["tools"].is_array());
}

#[tokio::test]
async fn a_request_of_another_form_has_the_envelope() {
    let service = Service::with(|config| config.http.max_body_bytes = 2_000).await;
    let client = service.client();
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let plain = client
        .post_with("/mcp", &[("accept", "text/html")], &list)
        .await;
    plain.error(406, "INVALID_INPUT");
    let text = [ACCEPT, ("content-type", "text/plain")];
    let answer = client
        .send("POST", "/mcp", &text, list.to_string().as_bytes())
        .await;
    answer.error(415, "INVALID_INPUT");
    let large = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "x": "x".repeat(3_000)});
    send(&client, &[], &large)
        .await
        .error(413, "PAYLOAD_TOO_LARGE");
}

#[tokio::test]
async fn a_crawl_is_waited_for_with_progress_and_its_pages_are_read() {
    let service = Service::start().await;
    let origin = Origin::start().await.unwrap();
    let long = format!(
        "<title>Long</title><h1>Long</h1><p>{}</p>",
        "word ".repeat(3_000)
    );
    origin.set(
        "/",
        Reply::html("<title>Home</title><a href='/long'>x</a><a href='/b'>y</a>"),
    );
    origin.set("/long", Reply::html(long.as_str()));
    origin.set("/b", Reply::html("<title>B</title><p>Second page</p>"));
    let client = service.client();

    let params = json!({
        "name": "crawl",
        "arguments": {"url": origin.url("/"), "delay_ms": 0, "respect_robots": false, "wait_seconds": 60},
        "_meta": {"progressToken": "t1"},
    });
    let message = json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": params});
    let answer = send(&client, &[], &message).await;
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    let events: Vec<Value> = answer
        .text()
        .lines()
        .filter_map(|line| line.strip_prefix("data:"))
        .filter_map(|data| serde_json::from_str(data).ok())
        .collect();
    let (last, told) = events.split_last().expect("events");
    assert!(!told.is_empty(), "{events:?}");
    let mut before = -1.0;
    for event in told {
        assert_eq!(event["method"], "notifications/progress");
        assert_eq!(event["params"]["progressToken"], "t1");
        let now = event["params"]["progress"].as_f64().unwrap();
        assert!(now > before, "{events:?}");
        before = now;
    }
    assert_eq!(last["id"], 3);
    let run = &last["result"]["structuredContent"];
    assert_eq!(
        (&run["status"], &run["page_count"]),
        (&json!("done"), &json!(3)),
        "{run}"
    );
    let links: Vec<&Value> = last["result"]["content"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|block| block["type"] == "resource_link")
        .collect();
    assert_eq!(links.len(), 3, "{last}");

    let id = &run["id"];
    let pages = called(&client, "crawl_pages", json!({"id": id})).await;
    let long = pages["items"]
        .as_array()
        .unwrap()
        .iter()
        .find(|page| page["url"] == origin.url("/long"))
        .unwrap();
    // A long text comes in parts that join without loss.
    let mut text = String::new();
    let mut offset = json!(0);
    let mut parts = 0;
    while !offset.is_null() {
        let arguments = json!({"id": long["id"], "offset": offset, "max_chars": 4_000});
        let part = called(&client, "page", arguments).await;
        text.push_str(part["markdown"].as_str().unwrap());
        offset = part["next_offset"].clone();
        parts += 1;
    }
    assert!(parts > 3, "{parts}");
    assert_eq!(text.matches("word").count(), 3_000);

    // The same page as a resource, by its link.
    let link = links
        .iter()
        .find(|link| link["name"] == origin.url("/long"))
        .unwrap();
    let read = ask(&client, "resources/read", json!({"uri": link["uri"]})).await;
    let contents = &read["contents"][0];
    assert_eq!(contents["mimeType"], "text/markdown");
    assert_eq!(contents["text"], text);
    let listed = ask(&client, "resources/templates/list", json!({})).await;
    assert_eq!(listed["resourceTemplates"].as_array().unwrap().len(), 2);
    for (uri, code) in [
        ("orbweaver://pages/999999/markdown", -32002),
        ("orbweaver://pages/1/../../v1/keys", -32602),
        ("file:///etc/passwd", -32002),
    ] {
        let message =
            json!({"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": uri}});
        let answer = send(&client, &[], &message).await.ok();
        assert_eq!(answer["error"]["code"], code, "{uri}: {answer}");
    }

    let same = json!({"old_id": id, "new_id": id});
    let diff = called(&client, "diff", same).await;
    assert_eq!(diff["summary"]["unchanged"], 3);
    let list = called(&client, "crawl_list", json!({"limit": 1})).await;
    assert_eq!(list["items"][0]["id"], *id);
    called(&client, "crawl_delete", json!({"id": id})).await;
    let (code, _) = failed(&client, "crawl_status", json!({"id": id})).await;
    assert_eq!(code, "NOT_FOUND");
}

#[tokio::test]
async fn a_long_result_is_cut_and_says_so() {
    let service = Service::start().await;
    let origin = Origin::start().await.unwrap();
    let links: String = (0..400)
        .map(|n| format!("<p><a href='/{n}'>Link number {n}</a></p>"))
        .collect();
    origin.set("/", Reply::html(format!("<title>Many</title>{links}")));
    let client = service.client();
    let arguments = json!({"url": origin.url("/"), "include": ["markdown", "metadata"], "include_links": true, "max_chars": 5_000});
    let scan = called(&client, "scan", arguments).await;
    assert!(scan.to_string().len() < 6_000, "{}", scan.to_string().len());
    assert_eq!(scan["metadata"]["title"], "Many", "short parts stay whole");
    let cuts = scan["truncated"].as_array().unwrap();
    let links = cuts
        .iter()
        .find(|cut| cut["field"] == "/links")
        .expect("the links");
    assert_eq!(
        (&links["of"], &links["unit"]),
        (&json!(400), &json!("items"))
    );
    assert!(
        scan["rest"].as_str().unwrap().contains("max_chars"),
        "{scan}"
    );

    let crawl = json!({"url": origin.url("/"), "delay_ms": 0, "max_pages": 1, "respect_robots": false, "wait_seconds": 60});
    let run = called(&client, "crawl", crawl).await;
    // A list that is cut goes on where it was cut.
    let mut targets = Vec::new();
    let mut offset = json!(0);
    while !offset.is_null() {
        let arguments =
            json!({"id": run["id"], "limit": 1_000, "offset": offset, "max_chars": 10_000});
        let part = called(&client, "crawl_links", arguments).await;
        let items = part["items"].as_array().unwrap();
        targets.extend(
            items
                .iter()
                .map(|link| link["to_url"].as_str().unwrap().to_owned()),
        );
        offset = part["next_offset"].clone();
    }
    assert_eq!(targets.len(), 400);
    targets.sort();
    targets.dedup();
    assert_eq!(targets.len(), 400);
}

#[tokio::test]
async fn an_actor_is_called_by_its_tool_and_billed_as_the_endpoint() {
    let folder = tempfile::tempdir().unwrap();
    let service = with_actor(folder.path()).await;
    let origin = Origin::start().await.unwrap();
    origin.set("/a", Reply::html("<title>A</title>"));
    let client = service.client();
    let answer = called(
        &client,
        "actor_two-pages-rs",
        json!({"urls": [origin.url("/a")]}),
    )
    .await;
    assert_eq!(answer["actor"], "two-pages-rs");
    assert_eq!(answer["data"]["items"][0]["title"], "A");
    assert_eq!(service.billed().await, (1, 0));
    for arguments in [json!({}), json!({"urls": ["http://10.0.0.1/"]})] {
        let (code, _) = failed(&client, "actor_two-pages-rs", arguments).await;
        assert_eq!(code, "INVALID_INPUT");
    }
}

#[tokio::test]
async fn limits_of_the_key_hold_for_tools() {
    use orbweaver_api::config::RateLimit;
    let service = Service::with(|config| {
        config.http.rate.key = RateLimit {
            per_second: 1,
            burst: 3,
        };
    })
    .await;
    let client = service.client();
    for _ in 0..3 {
        // One request counts once, though its tool asks the API.
        called(&client, "usage", json!({})).await;
    }
    let message =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "usage"}});
    let refused = send(&client, &[], &message).await;
    refused.error(429, "RATE_LIMITED");
    assert!(refused.header("retry-after").is_some());
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
