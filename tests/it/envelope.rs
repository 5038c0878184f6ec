//! Every error, from any layer, has the same envelope.

use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;
use orbweaver_api as api;
use orbweaver_core::setting::Millis;
use orbweaver_server::serve;
use serde_json::json;

use crate::support::{Client, Service};

#[tokio::test]
async fn unknown_paths_and_methods_use_the_envelope() {
    let service = Service::start().await;
    let client = service.client();
    for path in [
        "/v1",
        "/v1/nothing",
        "/v1/scan/",
        "/v2/scan",
        "/docs/nothing.js",
        "/%ff",
    ] {
        client.get(path).await.error(404, "NOT_FOUND");
    }
    for (method, path, allow) in [
        ("GET", "/v1/scan", "POST"),
        ("DELETE", "/v1/scan/bulk", "POST"),
        ("POST", "/v1/health", "GET"),
        ("PUT", "/v1/logs", "GET"),
        ("BREW", "/v1/logs", "GET"),
        ("POST", "/openapi.json", "GET"),
    ] {
        let answer = client.send(method, path, &[], b"").await;
        answer.error(405, "METHOD_NOT_ALLOWED");
        let allowed = answer
            .header("allow")
            .unwrap_or_else(|| panic!("Allow: {method} {path}"));
        assert!(allowed.contains(allow), "{method} {path}: {allowed}");
    }
}

#[tokio::test]
async fn invalid_json_bodies_use_the_envelope() {
    let service = Service::start().await;
    let client = service.client();
    for body in [
        "",
        "{",
        "url=x",
        "{\"url\":",
        "\u{1}",
        "{\"url\":\"http://a.example/\"}}",
    ] {
        let answer = client.send("POST", "/v1/scan", &[], body.as_bytes()).await;
        answer.error(400, "INVALID_INPUT");
    }
    for (body, starts) in [
        (json!([]), "body: "),
        (json!("x"), "body: "),
        (json!({}), "url: is required"),
        (json!({"url": null}), "url: must be a string"),
        (json!({"url": 7}), "url: must be a string"),
        (
            json!({"url": "http://a.example/", "max_age_seconds": -1}),
            "max_age_seconds: must be",
        ),
        (
            json!({"url": "http://a.example/", "max_age_seconds": "1"}),
            "max_age_seconds: must be",
        ),
        (
            json!({"url": "http://a.example/", "metadata_only": 1}),
            "metadata_only: must be true or",
        ),
        (
            json!({"url": "http://a.example/", "cloud_mode": "moon"}),
            "cloud_mode: must be one of",
        ),
        (
            json!({"url": "http://a.example/", "extractors": "x"}),
            "extractors: must be",
        ),
    ] {
        let message = client
            .post("/v1/scan", &body)
            .await
            .error(422, "INVALID_INPUT");
        assert!(message.starts_with(starts), "{body}: {message}");
    }
}

#[tokio::test]
async fn a_wrong_member_of_an_action_or_a_wait_is_named() {
    let service = Service::start().await;
    let client = service.client();
    let milliseconds = "must be a whole number between 1 and 10000, not string \"x\"";
    for (options, expected) in [
        (
            json!({"actions": [{"type": "wait", "milliseconds": "x"}]}),
            format!("actions[0].milliseconds: {milliseconds}"),
        ),
        (
            json!({"actions": [{"type": "scroll"}, {"type": "click", "selector": 5}]}),
            "actions[1].selector: must be a string, not integer `5`".to_owned(),
        ),
        (
            json!({"actions": [{"type": "type", "selector": "a"}]}),
            "actions[0].text: is required".to_owned(),
        ),
        (
            json!({"actions": [{"selector": "a"}]}),
            "actions[0].type: is required".to_owned(),
        ),
        (
            json!({"actions": [{"type": 5}]}),
            "actions[0].type: must be one of `click`, `type`, `press`, `scroll`, `wait`, `screenshot`, \
             not integer `5`"
                .to_owned(),
        ),
        (
            json!({"wait_for": {"milliseconds": -1}}),
            "wait_for.milliseconds: must be a whole number between 0 and 10000, not integer `-1`"
                .to_owned(),
        ),
        (
            json!({"wait_for": {"event": "idle"}}),
            "wait_for.event: must be one of `load`, `domcontentloaded`, `networkidle`, not `idle`"
                .to_owned(),
        ),
        (
            json!({"wait_for": "idle"}),
            "wait_for: must be load, domcontentloaded, networkidle, or an object of event, selector \
             and milliseconds, not string \"idle\""
                .to_owned(),
        ),
    ] {
        let mut body = json!({"url": "https://example.com/", "cloud_mode": "browser"});
        let fields = body.as_object_mut().expect("an object");
        fields.extend(options.as_object().expect("an object").clone());
        let said = client.post("/v1/scan", &body).await;
        assert_eq!(said.error(422, "INVALID_INPUT"), expected, "{options}");
    }
}

#[tokio::test]
async fn a_body_over_the_limit_is_refused_with_or_without_a_length() {
    let service = Service::with(|config| config.http.max_body_bytes = 1_000).await;
    let client = service.client();
    let body = json!({"url": "http://a.example/", "x": "x".repeat(2_000)}).to_string();
    let answer = client.send("POST", "/v1/scan", &[], body.as_bytes()).await;
    answer.error(413, "PAYLOAD_TOO_LARGE");

    let key = crate::support::KEY;
    let chunk = "x".repeat(2_000);
    let request = format!(
        "POST /v1/scan HTTP/1.1\r\nhost: test\r\nauthorization: Bearer {key}\r\n\
         connection: close\r\ntransfer-encoding: chunked\r\n\r\n7d0\r\n{chunk}\r\n0\r\n\r\n"
    );
    client
        .raw(request.as_bytes())
        .await
        .error(413, "PAYLOAD_TOO_LARGE");
}

#[tokio::test]
async fn a_request_with_two_hosts_or_none_is_refused() {
    let service = Service::start().await;
    let client = service.client();
    let request = |version, hosts| {
        format!(
            "GET /v1/usage HTTP/{version}\r\n{hosts}authorization: Bearer {}\r\nconnection: close\r\n\r\n",
            crate::support::KEY
        )
    };
    for hosts in ["host: a.example\r\nhost: b.example\r\n", ""] {
        let answer = client.raw(request("1.1", hosts).as_bytes()).await;
        let why = answer.error(400, "INVALID_INPUT");
        assert_eq!(why, "Host: must be given once", "{hosts:?}");
    }
    // HTTP/1.0 knows no such header.
    let answer = client.raw(request("1.0", "").as_bytes()).await;
    assert_eq!(answer.status, 200);
}

#[tokio::test]
async fn the_body_limit_is_sixteen_mebibytes() {
    let service = Service::start().await;
    let request = format!(
        "POST /v1/scan HTTP/1.1\r\nhost: test\r\nauthorization: Bearer {}\r\n\
         connection: close\r\ncontent-length: {}\r\n\r\n",
        crate::support::KEY,
        (16 << 20) + 1
    );
    service
        .client()
        .raw(request.as_bytes())
        .await
        .error(413, "PAYLOAD_TOO_LARGE");
}

#[tokio::test]
async fn a_request_beyond_the_time_limit_is_ended() {
    let service = Service::with(|config| {
        config.http.request_timeout_ms = Millis(100);
        config.http.body_timeout_ms = Millis(50);
    })
    .await;
    let key = crate::support::KEY;
    // The body is never sent.
    let request = format!(
        "POST /v1/scan HTTP/1.1\r\nhost: test\r\nauthorization: Bearer {key}\r\n\
         connection: close\r\ncontent-length: 10\r\n\r\n{{"
    );
    service
        .client()
        .raw(request.as_bytes())
        .await
        .error(408, "TIMEOUT");

    let site = crate::support::Site::start().await;
    let body = json!({"url": site.url("/slow/60000")});
    service
        .client()
        .post("/v1/scan", &body)
        .await
        .error(408, "TIMEOUT");
}

#[tokio::test]
async fn every_response_has_a_unique_id() {
    let service = Service::start().await;
    let mut ids = std::collections::HashSet::new();
    for path in [
        "/v1/health",
        "/v1/ready",
        "/nothing",
        "/v1/logs",
        "/openapi.json",
        "/docs/",
    ] {
        let answer = service.stranger().get(path).await;
        let id = answer
            .header("x-request-id")
            .unwrap_or_else(|| panic!("{path}"))
            .to_owned();
        assert!(ids.insert(id), "{path}");
    }
}

#[tokio::test]
async fn a_panic_is_an_ordinary_error_without_details() {
    let service = Service::start().await;
    let panics = get(async || -> &'static str { panic!("a secret") });
    let plain = get(async || (StatusCode::IM_A_TEAPOT, "not the envelope"));
    let router = Router::new().route("/panic", panics).route("/plain", plain);
    let entry = api::around(router, service.app.app().clone(), Vec::new());
    let running = serve::start_with(service.app.clone(), entry).await.unwrap();
    let client = Client::new(running.address.unwrap(), None);
    let message = client.get("/panic").await.error(500, "INTERNAL");
    assert!(!message.contains("secret"), "{message}");
    // An answer of a layer without the envelope is wrapped in it.
    client.get("/plain").await.error(418, "INVALID_INPUT");
    client.get("/nothing").await.error(404, "NOT_FOUND");
}

#[tokio::test]
async fn pages_have_a_csp_and_every_response_nosniff() {
    let service = Service::start().await;
    for path in ["/v1/health", "/nothing", "/openapi.json", "/docs/"] {
        let answer = service.stranger().get(path).await;
        assert_eq!(
            answer.header("x-content-type-options"),
            Some("nosniff"),
            "{path}"
        );
    }
    let page = service.stranger().get("/docs/").await;
    let policy = page.header("content-security-policy").expect("a policy");
    assert!(policy.contains("frame-ancestors 'none'"), "{policy}");
    assert_eq!(page.header("x-frame-options"), Some("DENY"));
}
