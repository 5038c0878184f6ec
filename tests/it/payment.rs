//! Paid signups: intents, checkouts, and the events that complete them.

use chrono::TimeDelta;
use hmac::{Hmac, KeyInit as _, Mac as _};
use orbweaver_accounts::secret::{SafeUrl, Secret};
use orbweaver_origin::{Origin, Reply, SmtpServer};
use orbweaver_server::config::Config;
use serde_json::{Value, json};
use sha2::Sha256;

use crate::support::Service;
use crate::support::http::Answer;

const SIGNUP: &str = "/v1/signup";
const WEBHOOK: &str = "/v1/billing/webhook";

fn pro(name: &str) -> Value {
    json!({"project_name": name, "email": "owner@shop.example", "tier": "pro"})
}

/// Path and query of a URL of this service.
fn path(url: &Value) -> String {
    let url = url.as_str().unwrap();
    let (_, rest) = url.split_once("://").unwrap();
    rest[rest.find('/').unwrap()..].to_owned()
}

#[tokio::test]
async fn without_a_provider_opening_the_checkout_counts_as_payment() {
    for service in [Service::start().await, Service::on_postgres().await] {
        let stranger = service.stranger();
        let made = stranger.post(SIGNUP, &pro("shop")).await.ok();
        assert_eq!(made.as_object().unwrap().len(), 4);
        assert_eq!(
            (&made["project_name"], &made["tier"]),
            (&json!("shop"), &json!("pro"))
        );
        let intent = made["intent_id"].as_i64().unwrap();
        let store = &service.app.store;
        assert_eq!(store.project_named("shop").await.unwrap(), None);
        // Its name stays reserved in the meantime.
        let message = stranger
            .post(SIGNUP, &pro("shop"))
            .await
            .error(422, "INVALID_INPUT");
        assert_eq!(message, "project_name: is taken");

        let checkout = format!("/v1/billing/checkout?intent_id={intent}");
        let answer = stranger.get(&checkout).await.ok();
        assert_eq!(answer["checkout_url"], made["checkout_url"]);
        assert_eq!(
            (&answer["mock"], &answer["tier"]),
            (&json!(true), &json!("pro"))
        );

        let visit = path(&made["checkout_url"]);
        let forged = visit.replace("token=", "token=0");
        stranger.get(&forged).await.error(404, "NOT_FOUND");
        let other = visit.replace(&format!("/{intent}?"), &format!("/{}?", intent + 1));
        stranger.get(&other).await.error(404, "NOT_FOUND");

        // A look ahead pays nothing: the key would be lost with its answer's body.
        let head = stranger.send("HEAD", &visit, &[], b"").await;
        assert_eq!(head.status, 200);
        assert_eq!(store.project_named("shop").await.unwrap(), None);

        let (first, second) = tokio::join!(stranger.get(&visit), stranger.get(&visit));
        let paid = [first.ok(), second.ok()];
        let keys: Vec<&str> = paid
            .iter()
            .filter_map(|paid| paid["api_key"].as_str())
            .collect();
        assert_eq!(keys.len(), 1, "one project, one key: {paid:?}");
        let usage = stranger.with_key(keys[0]).get("/v1/usage").await.ok();
        assert_eq!(usage["tier"], "pro");
        let again = stranger.get(&visit).await.ok();
        assert_eq!(again["status"], "completed");
        assert!(again.get("api_key").is_none());
        stranger.get(&checkout).await.error(409, "CONFLICT");
        assert_eq!(store.projects().await.unwrap().len(), 2);
    }
}

#[tokio::test]
async fn invalid_checkouts_are_refused() {
    let service = Service::start().await;
    let stranger = service.stranger();
    stranger
        .get("/v1/billing/checkout?intent_id=4711")
        .await
        .error(404, "NOT_FOUND");
    for query in ["", "?intent_id=", "?intent_id=x"] {
        let message = stranger
            .get(&format!("/v1/billing/checkout{query}"))
            .await
            .error(422, "INVALID_INPUT");
        assert!(message.starts_with("intent_id: "), "{message}");
    }
    stranger
        .post(WEBHOOK, &json!({}))
        .await
        .error(501, "NOT_IMPLEMENTED");
    let closed = Service::with(|config| config.billing.mock = Some(false)).await;
    let made = closed.stranger().post(SIGNUP, &pro("shop")).await.ok();
    closed
        .stranger()
        .get(&path(&made["checkout_url"]))
        .await
        .error(501, "NOT_IMPLEMENTED");
    let mock = format!("/v1/billing/mock/{}?token=00", made["intent_id"]);
    let closed = closed.stranger();
    closed.get(&mock).await.error(404, "NOT_FOUND");
}

#[tokio::test]
async fn intents_have_ids_that_cannot_be_guessed() {
    for service in [Service::start().await, Service::on_postgres().await] {
        let mut ids = Vec::new();
        for name in ["one", "two"] {
            let made = service.stranger().post(SIGNUP, &pro(name)).await.ok();
            ids.push(made["intent_id"].as_i64().unwrap());
        }
        assert!(ids[0].abs_diff(ids[1]) > 1_000, "{ids:?}");
        assert!(ids.iter().all(|id| *id > 1_000 && *id < 1 << 53), "{ids:?}");
        let checkout = |id: i64| format!("/v1/billing/checkout?intent_id={id}");
        let stranger = service.stranger();
        for neighbour in [1, 2, ids[0] - 1, ids[0] + 1] {
            stranger
                .get(&checkout(neighbour))
                .await
                .error(404, "NOT_FOUND");
        }
        stranger.get(&checkout(ids[0])).await.ok();
    }
}

#[tokio::test]
async fn signup_and_mock_payment_are_off_on_public_addresses() {
    let public = |config: &mut Config| config.listen = ([0, 0, 0, 0], 0).into();
    let service = Service::with(public).await;
    let message = service
        .stranger()
        .post(SIGNUP, &pro("shop"))
        .await
        .error(403, "FORBIDDEN");
    assert!(message.contains("signups"), "{message}");
    let service = Service::with(|config| {
        public(config);
        config.signup.open = Some(true);
    })
    .await;
    let made = service.stranger().post(SIGNUP, &pro("shop")).await.ok();
    let checkout = path(&made["checkout_url"]);
    service
        .stranger()
        .get(&checkout)
        .await
        .error(501, "NOT_IMPLEMENTED");
    let metrics = Service::with(|config| {
        config.metrics.listen = Some(([0, 0, 0, 0], 0).into());
    })
    .await;
    metrics
        .stranger()
        .post(SIGNUP, &pro("shop"))
        .await
        .error(403, "FORBIDDEN");
}

/// A service with a payment provider and a mail server.
async fn paying() -> (Service, Origin, SmtpServer) {
    let (provider, smtp) = (
        Origin::start().await.unwrap(),
        SmtpServer::start().await.unwrap(),
    );
    let session =
        json!({"id": "cs_1", "url": "https://pay.example/cs_1", "object": "checkout.session"});
    provider.set(
        "/v1/checkout/sessions",
        Reply::new(200, session.to_string()).header("Content-Type", "application/json"),
    );
    let (provider_url, smtp_url) = (provider.url(""), smtp.url());
    let service = Service::with(|config| {
        config.billing.provider_key = Some(Secret::new("sk_test_hidden"));
        config.billing.provider_url = provider_url.parse().unwrap();
        config.billing.webhook_secret = Some(Secret::new("whsec_hidden"));
        config
            .billing
            .prices
            .insert("pro".to_owned(), "price_1".to_owned());
        config.mail.smtp_url = Some(SafeUrl::new(smtp_url));
        config.public_url = Some("https://crawl.example/".parse().unwrap());
    })
    .await;
    (service, provider, smtp)
}

#[tokio::test]
async fn the_provider_creates_the_checkout_session() {
    let (service, provider, _smtp) = paying().await;
    let made = service.stranger().post(SIGNUP, &pro("shop")).await.ok();
    assert_eq!(made["checkout_url"], "https://pay.example/cs_1");
    let intent = made["intent_id"].as_i64().unwrap();
    let sent = provider.requests().pop().unwrap();
    assert_eq!(sent.header("authorization"), Some("Bearer sk_test_hidden"));
    assert!(sent.header("idempotency-key").is_some());
    let form = String::from_utf8(sent.body).unwrap();
    for part in [
        "mode=subscription".to_owned(),
        "line_items%5B0%5D%5Bprice%5D=price_1".to_owned(),
        format!("metadata%5Bintent_id%5D={intent}"),
        "customer_email=owner%40shop.example".to_owned(),
        "success_url=https%3A%2F%2Fcrawl.example%2Fdocs".to_owned(),
    ] {
        assert!(form.contains(&part), "{part}: {form}");
    }
    // On the same day, the provider is asked again with the same idempotency key.
    let checkout = format!("/v1/billing/checkout?intent_id={intent}");
    let again = service.stranger().get(&checkout).await.ok();
    assert_eq!(again["mock"], false);
    let requests = provider.requests();
    assert_eq!(
        requests[0].header("idempotency-key"),
        requests[1].header("idempotency-key")
    );

    let agency = json!({"project_name": "big", "email": "o@big.example", "tier": "agency"});
    let refused = service.stranger().post(SIGNUP, &agency).await;
    let message = refused.error(422, "INVALID_INPUT");
    assert_eq!(message, "tier: cannot be bought here");
    // It has not taken the name.
    service.stranger().post(SIGNUP, &pro("big")).await.ok();
    // With a real provider there is no mock.
    let mock = format!("/v1/billing/mock/{intent}?token=00");
    service.stranger().get(&mock).await.error(404, "NOT_FOUND");

    provider.set("/v1/checkout/sessions", Reply::new(401, "{}"));
    service
        .stranger()
        .get(&checkout)
        .await
        .error(502, "FETCH_FAILED");
}

fn paid(intent: i64) -> String {
    json!({"type": "checkout.session.completed", "data": {"object": {
        "client_reference_id": intent.to_string(), "payment_status": "paid",
        "payment_link": null, "metadata": {"intent_id": intent.to_string(), "tier": "pro"}}}})
    .to_string()
}

async fn deliver(service: &Service, secret: &str, body: &str) -> Answer {
    let seconds = service.app.clock.now().timestamp();
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(format!("{seconds}.{body}").as_bytes());
    let signature = format!(
        "t={seconds},v1={}",
        hex::encode(mac.finalize().into_bytes())
    );
    let headers = [("stripe-signature", signature.as_str())];
    service
        .stranger()
        .send("POST", WEBHOOK, &headers, body.as_bytes())
        .await
}

#[tokio::test]
async fn a_signed_webhook_completes_the_intent_once() {
    let (service, _provider, smtp) = paying().await;
    let made = service.stranger().post(SIGNUP, &pro("shop")).await.ok();
    let body = paid(made["intent_id"].as_i64().unwrap());
    deliver(&service, "whsec_wrong", &body)
        .await
        .error(400, "INVALID_INPUT");
    service
        .stranger()
        .send("POST", WEBHOOK, &[], body.as_bytes())
        .await
        .error(400, "INVALID_INPUT");
    let store = &service.app.store;
    assert_eq!(store.project_named("shop").await.unwrap(), None);

    let (first, second) = tokio::join!(
        deliver(&service, "whsec_hidden", &body),
        deliver(&service, "whsec_hidden", &body),
    );
    assert_eq!(first.ok(), json!({"received": true}));
    assert_eq!(second.ok(), json!({"received": true}));
    deliver(&service, "whsec_hidden", &body).await.ok();
    assert_eq!(store.projects().await.unwrap().len(), 2);
    let mails = smtp.accepted(1).await;
    let key = mails[0]
        .message
        .lines()
        .find(|line| line.starts_with("orb_"))
        .expect("a key");
    let usage = service.stranger().with_key(key).get("/v1/usage").await;
    assert_eq!(usage.ok()["tier"], "pro");
    assert_eq!(smtp.mails().len(), 1);

    // Other events are accepted and ignored.
    deliver(&service, "whsec_hidden", r#"{"type":"invoice.paid"}"#)
        .await
        .ok();
    deliver(&service, "whsec_hidden", &paid(4_711)).await.ok();
    assert_eq!(store.projects().await.unwrap().len(), 2);
}

#[tokio::test]
async fn a_payment_of_something_else_completes_no_intent() {
    let (service, _provider, smtp) = paying().await;
    let made = service.stranger().post(SIGNUP, &pro("shop")).await.ok();
    let intent = made["intent_id"].to_string();
    // The buyer of a cheap payment link names the intent in the link's URL.
    for metadata in [json!({}), json!(null), json!({"order": intent})] {
        let body = json!({"type": "checkout.session.completed", "data": {"object": {
            "client_reference_id": intent, "payment_status": "paid",
            "payment_link": "plink_1", "metadata": metadata}}});
        let answer = deliver(&service, "whsec_hidden", &body.to_string()).await;
        assert_eq!(answer.ok(), json!({"received": true}));
    }
    let store = &service.app.store;
    assert_eq!(store.project_named("shop").await.unwrap(), None);
    assert_eq!(smtp.mails().len(), 0);
}

#[tokio::test]
async fn a_late_payment_still_creates_the_project() {
    let service = Service::start().await;
    let stranger = service.stranger();
    let made = stranger.post(SIGNUP, &pro("shop")).await.ok();
    service.clock.advance(TimeDelta::hours(25));
    let free = json!({"project_name": "shop", "email": "o@other.example"});
    stranger.post(SIGNUP, &free).await.ok();
    let paid = stranger.get(&path(&made["checkout_url"])).await.ok();
    let intent = made["intent_id"].as_i64().unwrap();
    assert_eq!(paid["project_name"], format!("shop-{intent}"));
    let key = paid["api_key"].as_str().unwrap();
    assert_eq!(
        stranger.with_key(key).get("/v1/usage").await.ok()["tier"],
        "pro"
    );
}
