//! Who is answered, what is refused, and how failures are told.

use serde_json::json;

use super::{ACCEPT, called, failed, send};
use crate::support::{Service, Site};

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
    for accept in ["*/*", "text/*, application/*;q=0.5"] {
        let listed = client.post_with("/mcp", &[("accept", accept)], &list).await;
        assert!(listed.ok()["result"]["tools"].is_array(), "{accept}");
    }
    let text = [ACCEPT, ("content-type", "text/plain")];
    let answer = client
        .send("POST", "/mcp", &text, list.to_string().as_bytes())
        .await;
    answer.error(415, "INVALID_INPUT");
    let json = [ACCEPT, ("content-type", "application/json")];
    for (body, status, rule) in [
        ("{bad", 400, "the body is not JSON"),
        ("", 400, "the body is not JSON"),
        ("{}", 422, "body: must be one JSON-RPC"),
        ("[]", 422, "body: must be one JSON-RPC"),
    ] {
        let answer = client.send("POST", "/mcp", &json, body.as_bytes()).await;
        let said = answer.error(status, "INVALID_INPUT");
        assert!(said.starts_with(rule), "{body}: {said}");
    }
    let unknown = [json[0], json[1], ("mcp-protocol-version", "1999-01-01")];
    let answer = client
        .send("POST", "/mcp", &unknown, list.to_string().as_bytes())
        .await;
    let said = answer.error(400, "INVALID_INPUT");
    assert!(said.contains("rotocol"), "{said}");
    // A client of a later version reads in the protocol's own error what there is to choose from.
    let later = "2099-01-01";
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": later,
        "io.modelcontextprotocol/clientInfo": {"name": "later", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let discover = json!({
        "jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": meta},
    });
    let named = [
        json[0],
        json[1],
        ("mcp-protocol-version", later),
        ("mcp-method", "server/discover"),
    ];
    let answer = client
        .send("POST", "/mcp", &named, discover.to_string().as_bytes())
        .await;
    assert_eq!(answer.status, 400, "{}", answer.text());
    let error = &answer.json()["error"];
    assert_eq!(error["code"], -32_022, "{error}");
    let supported = error["data"]["supported"].as_array().unwrap();
    assert!(supported.contains(&json!("2025-11-25")), "{error}");
    // Parameters that do not fit are said to be that, and not a method that there is not.
    for (method, params, code) in [
        (
            "tools/call",
            json!({"name": "usage", "arguments": [1]}),
            -32_602,
        ),
        ("tools/nothing", json!({}), -32_601),
    ] {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let answer = send(&client, &[], &message).await;
        let error = &answer.json()["error"];
        assert_eq!(error["code"], code, "{error}");
        assert!(
            error["message"].as_str().unwrap().contains(method),
            "{error}"
        );
    }
    let large = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "x": "x".repeat(3_000)});
    send(&client, &[], &large)
        .await
        .error(413, "PAYLOAD_TOO_LARGE");
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
    let mut last = send(&client, &[], &message).await;
    // A slow machine may have given one more meanwhile.
    for _ in 0..10 {
        if last.status == 429 {
            break;
        }
        last = send(&client, &[], &message).await;
    }
    last.error(429, "RATE_LIMITED");
    assert!(last.header("retry-after").is_some());
}
