//! Which requests are billed.

use serde_json::json;

use crate::support::{Service, Site};

#[tokio::test]
async fn every_response_is_billed_and_nothing_else() {
    let (service, site) = (Service::start().await, Site::start().await);
    let client = service.client();
    client
        .post("/v1/scan", &json!({"url": site.url("/article")}))
        .await
        .ok();
    client
        .post("/v1/scan", &json!({"url": site.url("/status/500")}))
        .await
        .ok();
    assert_eq!(service.billed().await, (2, 0));
    client
        .post("/v1/scan", &json!({"url": "http://10.0.0.1/"}))
        .await
        .error(422, "INVALID_INPUT");
    client
        .post("/v1/scan", &json!({"url": site.url("/hop/20")}))
        .await
        .error(502, "FETCH_FAILED");
    client
        .get(&format!("/v1/robots-policy?url={}", site.url("/")))
        .await
        .ok();
    client.get("/v1/logs").await.ok();
    assert_eq!(service.billed().await, (2, 0));
}
