//! What is taken of a request's body and parameters, and how a refusal names the field and the rule.

use serde_json::json;

use crate::support::{Client, Service, Site};

/// What is said of a raw body that is no valid input.
async fn refused(client: &Client, path: &str, body: impl AsRef<[u8]>) -> String {
    let answer = client.send("POST", path, &[], body.as_ref()).await;
    answer.error(422, "INVALID_INPUT")
}

#[tokio::test]
async fn a_word_of_another_type_is_refused_with_the_words() {
    let service = Service::start().await;
    let client = service.client();
    for (path, field, words) in [
        ("/v1/crawls", "seed_kind", "`url` or `sitemap`"),
        ("/v1/crawls", "proxy_pool", "one of `datacenter`, `isp`"),
        ("/v1/crawls", "render", "one of `never`, `auto`, `always`"),
        ("/v1/scan", "cloud_mode", "one of `none`, `auto`"),
        ("/v1/cloud/scrape", "return_format", "one of "),
    ] {
        for value in ["5", "1.5", "true", "[]", "{}", "{\"url\":null}"] {
            let body = format!(r#"{{"url":"http://a.example/","{field}":{value}}}"#);
            let said = refused(&client, path, &body).await;
            let rule = format!("{field}: must be {words}");
            assert!(said.starts_with(&rule), "{body}: {said}");
        }
    }
    let url = "http://a.example/";
    for (body, said) in [
        (
            json!({"url": url, "extract": 5}),
            "extract: must be an object, not integer `5`",
        ),
        (
            json!({"url": url, "max_pages": -1}),
            "max_pages: must be a whole number between 1 and 100000, not integer `-1`",
        ),
        (
            json!({"url": url, "depth": "5"}),
            "depth: must be a whole number between 1 and 50, not string \"5\"",
        ),
        (
            json!({"url": url, "delay_ms": 1.5}),
            "delay_ms: must be a whole number between 0 and 3600000, not floating point `1.5`",
        ),
        (
            json!({"url": url, "extract": {"schema": false}}),
            "extract.schema: must be an object",
        ),
    ] {
        let answer = client.post("/v1/crawls", &body).await;
        assert_eq!(answer.error(422, "INVALID_INPUT"), said, "{body}");
    }
    for (path, said) in [
        (
            "/v1/logs?status_min=99999",
            "status_min: must be a whole number between 0 and 999",
        ),
        (
            "/v1/logs?limit=-1",
            "limit: must be a whole number between 1 and 500",
        ),
        (
            "/v1/cloud/scrapers?page=18446744073709551615",
            "page: must be between 1 and 1000000",
        ),
    ] {
        let answer = client.get(path).await;
        assert_eq!(answer.error(422, "INVALID_INPUT"), said, "{path}");
    }
}

#[tokio::test]
async fn a_body_that_is_no_text_is_not_json() {
    let service = Service::start().await;
    let client = service.client();
    for body in [
        b"{\"url\":\"http://a.example/\",\"other\":\"\xff\"}".as_slice(),
        b"{\"url\":\"http://a.example/\xff\"}",
        b"{\"other\xc3\":1}",
    ] {
        let answer = client.send("POST", "/v1/scan", &[], body).await;
        let said = answer.error(400, "INVALID_INPUT");
        assert!(said.contains("not UTF-8"), "{said}");
    }
    let said = refused(&client, "/v1/scan", br#"{"url":"http://a.example/\ud800"}"#).await;
    assert!(said.starts_with("url: must not have a lone"), "{said}");
    let coded = [("content-encoding", "gzip")];
    let answer = client.send("POST", "/v1/scan", &coded, b"\x1f\x8b").await;
    let said = answer.error(415, "INVALID_INPUT");
    assert!(said.contains("gzip"), "{said}");
    assert_eq!(answer.header("accept-encoding"), Some("identity"));
    let plain = [("content-encoding", "identity")];
    let answer = client.send("POST", "/v1/scan", &plain, b"{}").await;
    answer.error(422, "INVALID_INPUT");
}

#[tokio::test]
async fn a_member_is_given_once_in_actors_inputs_too() {
    let service = Service::start().await;
    let client = service.client();
    let twice = r#"{"url":"http://a.example/","url":"http://b.example/"}"#;
    for path in ["/v1/scan", "/v1/actors/check-links"] {
        assert_eq!(refused(&client, path, twice).await, "url: is given twice");
    }
    let inner = r#"{"url":"http://a.example/","extractor_options":{"a":{"b":1,"b":2}}}"#;
    let said = refused(&client, "/v1/scan", inner).await;
    assert_eq!(said, "extractor_options.a.b: is given twice");
}

#[tokio::test]
async fn a_user_agent_is_printable_ascii_wherever_it_is_given() {
    let service = Service::start().await;
    let client = service.client();
    let url = "http://a.example/";
    for agent in ["caf\u{e9}", "\u{65e5}\u{672c}", "a\u{84}", "a\tb", "a\nb"] {
        for (path, body) in [
            ("/v1/scan", json!({"url": url, "user_agent": agent})),
            ("/v1/scan/bulk", json!({"urls": [url], "user_agent": agent})),
            ("/v1/crawls", json!({"url": url, "user_agent": agent})),
            ("/v1/batch", json!({"urls": [url], "user_agent": agent})),
        ] {
            let said = client.post(path, &body).await.error(422, "INVALID_INPUT");
            let rule = "user_agent: must be printable ASCII";
            assert!(said.starts_with(rule), "{path} {agent:?}: {said}");
        }
    }
    let long = json!({"url": url, "user_agent": "a".repeat(1_025)});
    let said = client
        .post("/v1/scan", &long)
        .await
        .error(422, "INVALID_INPUT");
    assert_eq!(said, "user_agent: must be at most 1024 characters");
    let document = service.stranger().get("/openapi.json").await.ok();
    let schemas = &document["components"]["schemas"];
    for request in ["ScanRequest", "BulkRequest", "CrawlRequest", "BatchRequest"] {
        let field = &schemas[request]["properties"]["user_agent"];
        assert_eq!(field["pattern"], "^[ -~]*$", "{request}");
        assert_eq!(field["maxLength"], 1_024, "{request}");
    }
}

#[tokio::test]
async fn a_host_that_only_one_parser_takes_is_refused_everywhere() {
    let service = Service::start().await;
    let client = service.client();
    for host in ["a{b", "a}b.example", "a\"b", "a`b"] {
        let url = format!("http://{host}/");
        for path in ["/v1/scan", "/v1/map", "/v1/crawls", "/v1/cloud/render"] {
            let said = client
                .post(path, &json!({"url": url}))
                .await
                .error(422, "INVALID_INPUT");
            assert!(said.starts_with("url: "), "{path}: {said}");
            assert!(said.contains("host has the character"), "{path}: {said}");
        }
    }
}

#[tokio::test]
async fn null_is_no_body_where_the_body_is_optional() {
    let service = Service::start().await;
    let client = service.client();
    for body in ["null", " null\n", "", " "] {
        let rotated = client
            .send("POST", "/v1/keys/rotate", &[], body.as_bytes())
            .await;
        rotated.ok();
        let missing = "/v1/plugins/no-such/rollback";
        let answer = client.send("POST", missing, &[], body.as_bytes()).await;
        answer.error(404, "NOT_FOUND");
    }
}

#[tokio::test]
async fn a_whole_number_may_be_written_with_a_fraction_of_zero() {
    let (service, site) = (Service::start().await, Site::start().await);
    let client = service.client();
    let missing = "/v1/plugins/no-such/rollback";
    let answer = client
        .send("POST", missing, &[], br#"{"number":3.0}"#)
        .await;
    answer.error(404, "NOT_FOUND");
    let body = br#"{"url":"http://a.example/","wait_for":{"milliseconds":20000.0}}"#;
    let said = refused(&client, "/v1/scan", body).await;
    assert!(said.starts_with("wait_for.milliseconds: "), "{said}");
    let body = format!(r#"{{"url":"{}","max_pages":1.0}}"#, site.url("/article"));
    let run = client
        .send("POST", "/v1/crawls", &[], body.as_bytes())
        .await;
    assert_eq!(run.status, 202, "{}", run.text());
    let export = format!("/v1/crawls/{}/export", run.json()["id"]);
    let body = br#"{"to":"s3://a-bucket","status":200.0,
        "credentials":{"access_key_id":"a","secret_access_key":"b"}}"#;
    let said = refused(&client, &export, body).await;
    assert!(said.starts_with("credentials."), "{said}");
}

#[tokio::test]
async fn more_than_a_hundred_urls_are_400_whatever_they_are() {
    let service = Service::start().await;
    let client = service.client();
    let many = json!({"urls": vec![1; 101]});
    let answer = client.post("/v1/scan/bulk", &many).await;
    answer.error(400, "INVALID_INPUT");
    let one = json!({"urls": ["http://a.example/", {"a": 1}]});
    let answer = client.post("/v1/scan/bulk", &one).await;
    let said = answer.error(422, "INVALID_INPUT");
    assert!(said.starts_with("urls[1]: must be a string"), "{said}");
}

#[tokio::test]
async fn what_the_document_says_of_null_is_so() {
    let service = Service::start().await;
    let client = service.client();
    let receiver = json!({"url": "https://127.0.0.1:9443/hook", "events": null});
    let answer = client
        .send("PUT", "/v1/webhook", &[], receiver.to_string().as_bytes())
        .await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    let document = service.stranger().get("/openapi.json").await.ok();
    let schemas = &document["components"]["schemas"];
    for (schema, field) in [
        ("WebhookReceiverRequest", "events"),
        ("CrawlRequest", "webhook_events"),
        ("BatchRequest", "webhook_events"),
    ] {
        let field = &schemas[schema]["properties"][field];
        assert_eq!(field["type"], json!(["array", "null"]), "{schema}");
        assert!(field["items"]["enum"].is_array(), "{schema}");
    }
}

#[tokio::test]
async fn a_segment_that_is_no_text_names_nothing() {
    let service = Service::start().await;
    let client = service.client();
    for (method, path) in [
        ("DELETE", "/v1/keys/%ff"),
        ("GET", "/v1/plugins/a%c3/logs"),
        ("POST", "/v1/actors/%ff"),
    ] {
        let answer = client.send(method, path, &[], b"{}").await;
        let said = answer.error(404, "NOT_FOUND");
        assert!(said.contains('%'), "{path}: {said}");
    }
    let long = format!("/v1/plugins/markdown/logs?request_id={}", "a".repeat(65));
    let said = client.get(&long).await.error(422, "INVALID_INPUT");
    assert_eq!(said, "request_id: must be at most 64 characters");
}

#[tokio::test]
async fn spaces_behind_a_seed_are_not_its_own() {
    let (service, site) = (Service::start().await, Site::start().await);
    let url = site.url("/article");
    let body = json!({"url": format!("{url}  "), "max_pages": 1});
    let run = service.client().post("/v1/crawls", &body).await;
    assert_eq!(run.status, 202, "{}", run.text());
    assert_eq!(run.json()["url"], url);
}

#[tokio::test]
async fn a_nul_in_a_name_is_no_fault_of_the_service() {
    // PostgreSQL takes it in no text.
    let service = Service::on_postgres().await;
    let client = service.client();
    for path in [
        "actors/%00/runs",
        "actors/%00/runs/1",
        "actors/%00",
        "plugins/%00",
        "plugins/%00/versions",
        "plugins/%00/logs",
        "plugins/%00/calls",
        "plugins/%00/figures",
        "plugins/%00/state",
        "cloud/fetch/%00/x",
        "secrets/%00",
        "keys/%00",
        "logs?key_prefix=%00",
        "pages?url=%00",
        "crawls?url=%00",
        "robots-policy?url=%00",
    ] {
        for method in ["GET", "POST", "PUT", "DELETE"] {
            let json = [("content-type", "application/json")];
            let answer = client
                .send(method, &format!("/v1/{path}"), &json, b"{\"value\":\"v\"}")
                .await;
            assert!(answer.status < 500, "{method} {path}: {}", answer.text());
        }
    }
    let runs = client.get("/v1/actors/%00/runs").await.ok();
    assert_eq!(runs["items"], json!([]));
}
