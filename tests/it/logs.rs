//! GET /v1/logs.

use orbweaver_origin::Origin;
use serde_json::json;

use crate::support::http::Answer;
use crate::support::{Client, KEY, Service};

#[tokio::test]
async fn authenticated_requests_are_listed_newest_first() {
    for service in [Service::start().await, Service::on_postgres().await] {
        let client = service.client();
        service.stranger().get("/v1/logs").await;
        let scan = client.post("/v1/scan", &json!({"url": "nonsense"})).await;
        scan.error(422, "INVALID_INPUT");
        let missing = client.get("/v1/logs?limit=0").await;
        let items = client.get("/v1/logs").await.ok()["items"].clone();
        let items = items.as_array().unwrap();
        assert_eq!(items.len(), 2, "{items:?}");
        assert_eq!(items[0]["path"], "/v1/logs");
        assert_eq!(
            items[0]["request_id"],
            missing.header("x-request-id").unwrap()
        );
        assert_eq!(items[1]["method"], "POST");
        assert_eq!(items[1]["path"], "/v1/scan");
        assert_eq!(items[1]["status"], 422);
        assert_eq!(items[1]["request_id"], scan.header("x-request-id").unwrap());
        assert_eq!(items[1]["client_ip"], "127.0.0.1");
        assert_eq!(items[1]["key_prefix"], &KEY[..12]);
        assert!(items[1]["duration_ms"].is_u64() && items[1]["ts"].is_string());
    }
}

#[tokio::test]
async fn a_key_in_a_path_is_logged_by_its_prefix() {
    let service = Service::start().await;
    let client = service.client();
    let path = format!("/v1/keys/{KEY}");
    client
        .send("DELETE", &path, &[], b"")
        .await
        .error(404, "NOT_FOUND");
    let items = client.get("/v1/logs").await.ok()["items"].clone();
    assert_eq!(items[0]["path"], format!("/v1/keys/{}…", &KEY[..12]));
    assert_eq!(items[0]["status"], 404);
}

#[tokio::test]
async fn a_request_whose_client_hangs_up_is_listed_and_measured() {
    let service = Service::with(|config| {
        config.metrics.listen = Some("127.0.0.1:0".parse().expect("an address"));
    })
    .await;
    let (client, origin) = (service.client(), Origin::start().await.unwrap());
    let body = json!({"url": origin.url("/held/a")});
    let scan = client.begin("/v1/scan", &body).await;
    origin.asked("/held/a", 1).await;
    drop(scan);
    let gone = |answer: &Answer| answer.ok()["items"] != json!([]);
    let gone = client.until("/v1/logs?status_min=499", gone).await.ok();
    let entry = &gone["items"][0];
    assert_eq!(
        (&entry["method"], &entry["path"], &entry["status"]),
        (&json!("POST"), &json!("/v1/scan"), &json!(499))
    );
    assert_eq!(entry["key_prefix"], &KEY[..12]);
    let metrics = Client::new(service.metrics.expect("an address"), None);
    let metrics = metrics.get("/metrics").await.text();
    let counts = |line: &str| {
        let labels = ["route=\"/v1/scan\"", "status=\"499\""];
        line.starts_with("orbweaver_http_requests_total")
            && labels.iter().all(|label| line.contains(label))
    };
    assert!(metrics.lines().any(counts), "{metrics}");
}

#[tokio::test]
async fn the_log_is_paged_and_filtered_by_status() {
    let service = Service::start().await;
    let client = service.client();
    for _ in 0..3 {
        client.get("/v1/logs").await.ok();
        client
            .get("/v1/logs?limit=501")
            .await
            .error(422, "INVALID_INPUT");
    }
    let failed = client
        .get("/v1/logs?status_min=400&status_max=499")
        .await
        .ok();
    assert_eq!(failed["items"].as_array().unwrap().len(), 3);
    let page = client
        .get("/v1/logs?status_min=400&limit=2&offset=2")
        .await
        .ok();
    assert_eq!(page["items"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn invalid_parameters_are_refused_by_name() {
    let service = Service::start().await;
    let client = service.client();
    for (query, field) in [
        ("limit=0", "limit"),
        ("limit=501", "limit"),
        ("limit=ten", "limit"),
        ("limit=-1", "limit"),
        ("limit=", "limit"),
        ("limit=1&limit=2", "limit"),
        ("offset=-1", "offset"),
        ("status_min=1000", "status_min"),
        ("status_max=99999", "status_max"),
    ] {
        let message = client
            .get(&format!("/v1/logs?{query}"))
            .await
            .error(422, "INVALID_INPUT");
        assert!(
            message.starts_with(&format!("{field}: ")),
            "{query}: {message}"
        );
    }
    assert_eq!(client.get("/v1/logs?unknown=1").await.status, 200);
}

#[tokio::test]
async fn a_project_sees_only_its_own_log() {
    let service = Service::start().await;
    service.client().get("/v1/logs").await.ok();
    let other = service.other_project("shop").await;
    assert_eq!(other.get("/v1/logs").await.ok()["items"], json!([]));
}

#[tokio::test]
async fn older_entries_come_from_the_database() {
    let service = Service::start().await;
    let client = service.client();
    for _ in 0..600 {
        client.get("/v1/logs?limit=1").await.ok();
    }
    let oldest = client.get("/v1/logs?limit=500&offset=590").await.ok();
    assert_eq!(oldest["items"].as_array().unwrap().len(), 10);
    let newest = client.get("/v1/logs?limit=500").await.ok();
    let ids: std::collections::HashSet<&str> = newest["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["request_id"].as_str().unwrap())
        .collect();
    assert_eq!(ids.len(), 500);
}

#[tokio::test]
async fn requests_to_nowhere_are_listed_too() {
    let service = Service::start().await;
    let client = service.client();
    let missing = client.get("/v1/nope").await;
    missing.error(404, "NOT_FOUND");
    let wrong = client.send("PUT", "/v1/crawls", &[], b"{}").await;
    assert_eq!(wrong.status, 405);
    let items = client.get("/v1/logs").await.ok()["items"].clone();
    for (item, answer) in [(&items[1], &missing), (&items[0], &wrong)] {
        assert_eq!(item["status"], answer.status, "{items}");
        let id = answer.header("x-request-id").unwrap();
        assert_eq!(item["request_id"], id, "{items}");
    }
    // Without a valid key they are what they were.
    let stranger = service.stranger();
    stranger.get("/v1/nope").await.error(404, "NOT_FOUND");
}
