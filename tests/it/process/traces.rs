//! Traces, configured by the standard environment variables.

use orbweaver_origin::Origin;

use super::{Served, command};
use crate::support::{Client, KEY};

#[tokio::test]
async fn traces_reach_the_collector_of_the_environment() {
    let data = tempfile::tempdir().unwrap();
    let collector = Origin::start().await.unwrap();
    collector.set("/v1/traces", orbweaver_origin::Reply::new(200, "{}"));
    let mut served = Served::start(
        command(&data)
            .env("ORBWEAVER_BOOTSTRAP_KEY", KEY)
            .env("ORBWEAVER_LOG__FILTER", "error")
            .env("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url(""))
            .env("OTEL_EXPORTER_OTLP_HEADERS", "api-key=secret%20word")
            .env("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=test"),
    );
    let client = Client::new(served.address, Some(KEY));
    assert_eq!(client.get("/v1/logs?limit=7").await.status, 200);
    // Unsent spans are sent when the service stops.
    served.signal("TERM");
    let stopped = tokio::task::spawn_blocking(move || served.process.wait().unwrap());
    assert_eq!(stopped.await.unwrap().code(), Some(0));
    let request = collector
        .requests()
        .into_iter()
        .find(|request| request.path() == "/v1/traces")
        .expect("a batch of spans");
    let header = |name: &str| {
        let found = request
            .headers
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.clone())
    };
    assert_eq!(header("api-key").as_deref(), Some("secret word"));
    let body: serde_json::Value = serde_json::from_slice(&request.body).unwrap();
    let sent = &body["resourceSpans"][0];
    let about = sent["resource"]["attributes"].to_string();
    for part in ["orbweaver", "deployment.environment", "service.version"] {
        assert!(about.contains(part), "{part}: {about}");
    }
    let spans = sent["scopeSpans"][0]["spans"].as_array().unwrap();
    let span = spans
        .iter()
        .find(|span| span["attributes"].to_string().contains("/v1/logs"))
        .unwrap_or_else(|| panic!("the request's span: {body}"));
    assert_eq!(span["name"], "request");
    assert_eq!(span["traceId"].as_str().unwrap().len(), 32);
    assert_eq!(span["spanId"].as_str().unwrap().len(), 16);
    let attributes = span["attributes"].to_string();
    assert!(
        attributes.contains(r#"{"key":"status","value":{"intValue":"200"}}"#),
        "{attributes}"
    );
    assert!(!body.to_string().contains(KEY), "keys are in no trace");
}

#[test]
fn a_collector_that_cannot_be_used_is_explained() {
    let data = tempfile::tempdir().unwrap();
    let output = command(&data)
        .args(["serve", "--listen", "127.0.0.1:0"])
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4317")
        .env("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("OTEL_EXPORTER_OTLP_PROTOCOL") && said.contains("4318"),
        "{said}"
    );
}
