//! Services that work before they answer have the whole of their own time limit, however soon a page must
//! begin to answer.

use orbweaver_accounts::secret::{SafeUrl, Secret};
use orbweaver_core::setting::Millis;
use orbweaver_origin::{Origin, Reply};
use orbweaver_server::config::Config;
use serde_json::{Value, json};

use crate::support::http::Answer;
use crate::support::{Client, Service};

/// A page, and the services below `/held/`, which answer once that is released.
async fn origin() -> Origin {
    let origin = Origin::start().await.expect("an origin");
    let reply = |value: Value| {
        Reply::new(200, value.to_string()).header("Content-Type", "application/json")
    };
    let message = json!({"content": "{\"price\": 19}"});
    origin
        .set("/robots.txt", Reply::text(""))
        .set(
            "/page",
            Reply::html("<title>Chair</title><p>It costs 19 euros."),
        )
        .set(
            "/held/provider/scrape",
            reply(json!([{"url": origin.url("/page"), "status": 200, "content": "<p>By it"}])),
        )
        .set(
            "/held/model/chat/completions",
            reply(json!({"choices": [{"message": message}]})),
        )
        .set("/held/hook", Reply::new(200, ""));
    origin
}

async fn service(change: impl FnOnce(&mut Config)) -> Service {
    Service::with(|config| {
        config.fetch.limits.first_byte_ms = Millis(1_000);
        change(config);
    })
    .await
}

/// Lets a service answer once a page that was asked for after it had no time left.
async fn release_late(client: &Client, origin: &Origin, path: &str) {
    origin.asked(path, 1).await;
    let body = json!({"url": origin.url("/held/page")});
    let message = client.post("/v1/scan", &body).await;
    let message = message.error(502, "FETCH_FAILED");
    assert!(message.contains("no response within"), "{message}");
    origin.release();
}

/// The answer to a request that waits for the service at a path.
async fn answered(service: &Service, origin: &Origin, path: &str, asked: (&str, Value)) -> Answer {
    let client = service.client();
    let (answer, ()) = tokio::join!(
        client.post(asked.0, &asked.1),
        release_late(&client, origin, path),
    );
    assert_eq!(origin.count(path), 1, "{path}");
    answer
}

#[tokio::test]
async fn a_provider_may_take_its_time() {
    let origin = origin().await;
    let service = service(|config| {
        config.cloud.vendor_url = Some(SafeUrl::new(origin.url("/held/provider")));
        config.cloud.vendor_key = Some(Secret::new("sk-provider"));
    })
    .await;
    let body = json!({"url": origin.url("/page"), "force_backend": "vendor"});
    let asked = ("/v1/cloud/scrape", body);
    let answer = answered(&service, &origin, "/held/provider/scrape", asked).await;
    let content = answer.ok()["content"].to_string();
    assert!(content.contains("By it"), "{content}");
}

#[tokio::test]
async fn a_language_model_may_take_its_time() {
    let origin = origin().await;
    let model = json!({"url": origin.url("/held/model"), "model": "small"});
    let service = service(|config| {
        config.cloud.llm = serde_json::from_value(model).expect("settings");
    })
    .await;
    let extract = json!({"prompt": "The price"});
    let asked = (
        "/v1/scan",
        json!({"url": origin.url("/page"), "extract": extract}),
    );
    let answer = answered(&service, &origin, "/held/model/chat/completions", asked).await;
    let answer = answer.ok();
    assert_eq!(answer["extracted"], json!({"price": 19}), "{answer}");
}

#[tokio::test]
async fn a_receiver_may_take_its_time() {
    let origin = origin().await;
    let service = service(|config| config.webhooks.timeout_ms = Millis(60_000)).await;
    let client = service.client();
    let body = json!({"url": origin.url("/page"), "max_pages": 1,
        "webhook_url": origin.url("/held/hook")});
    let created = client.post("/v1/crawls", &body).await;
    assert_eq!(created.status, 202, "{}", created.text());
    release_late(&client, &origin, "/held/hook").await;
    let run = format!("/v1/crawls/{}", created.json()["id"]);
    let is_over = |answer: &Answer| {
        let status = &answer.ok()["webhook_status"];
        *status == "delivered" || *status == "dead"
    };
    let run = client.until(&run, is_over).await.ok();
    assert_eq!(
        (&run["webhook_status"], &run["webhook_attempts"]),
        (&json!("delivered"), &json!(1))
    );
}
