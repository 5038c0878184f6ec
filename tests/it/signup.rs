//! Signup.

use chrono::TimeDelta;
use orbweaver_accounts::secret::{SafeUrl, Secret};
use orbweaver_origin::{Origin, Reply, SmtpServer};
use serde_json::{Value, json};

use crate::support::Service;
use crate::support::http::Answer;

const SIGNUP: &str = "/v1/signup";

fn shop(name: &str) -> Value {
    json!({"project_name": name, "email": "owner@shop.example"})
}

async fn sign_up(service: &Service, body: &Value) -> Answer {
    service.stranger().post(SIGNUP, body).await
}

#[tokio::test]
async fn a_free_project_works_at_once() {
    for service in [Service::start().await, Service::on_postgres().await] {
        let answer = sign_up(&service, &shop("my-shop_1")).await;
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        let made = answer.ok();
        assert_eq!(made["project_name"], "my-shop_1");
        assert_eq!(made["tier"], "free");
        let key = made["api_key"].as_str().unwrap();
        assert_eq!(made["prefix"], &key[..12]);
        assert_eq!(made.as_object().unwrap().len(), 5);
        let client = service.stranger().with_key(key);
        assert_eq!(client.get("/v1/usage").await.ok()["tier"], "free");
        let project = service.app.store.project_named("my-shop_1").await.unwrap();
        let project = project.unwrap();
        assert_eq!(made["project_id"], project.id.get());
        assert!(!project.administrator);
    }
}

#[tokio::test]
async fn invalid_fields_are_named_and_use_no_attempt() {
    let service = Service::start().await;
    for (field, body) in [
        ("project_name", json!({"email": "a@b.example"})),
        (
            "project_name",
            json!({"project_name": "", "email": "a@b.example"}),
        ),
        (
            "project_name",
            json!({"project_name": "a b", "email": "a@b.example"}),
        ),
        (
            "project_name",
            json!({"project_name": "ä", "email": "a@b.example"}),
        ),
        (
            "project_name",
            json!({"project_name": "x".repeat(65), "email": "a@b.example"}),
        ),
        ("email", json!({"project_name": "a"})),
        ("email", json!({"project_name": "a", "email": "nobody"})),
        (
            "email",
            json!({"project_name": "a", "email": "a@b.example\r\nBcc: c@d.example"}),
        ),
        (
            "email",
            json!({"project_name": "a", "email": "a@b.example, c@d.example"}),
        ),
        (
            "tier",
            json!({"project_name": "a", "email": "a@b.example", "tier": "gold"}),
        ),
        (
            "tier",
            json!({"project_name": "a", "email": "a@b.example", "tier": "self_hosted"}),
        ),
    ] {
        let message = sign_up(&service, &body).await.error(422, "INVALID_INPUT");
        assert!(message.starts_with(&format!("{field}: ")), "{message}");
    }
    sign_up(&service, &shop("shop")).await.ok();
}

#[tokio::test]
async fn three_attempts_a_day_from_one_address() {
    for service in [Service::start().await, Service::on_postgres().await] {
        sign_up(&service, &shop("one")).await.ok();
        let message = sign_up(&service, &shop("one"))
            .await
            .error(422, "INVALID_INPUT");
        assert_eq!(message, "project_name: is taken");
        sign_up(&service, &shop("two")).await.ok();
        for _ in 0..2 {
            let message = sign_up(&service, &shop("three"))
                .await
                .error(422, "INVALID_INPUT");
            assert!(message.contains("too many attempts"), "{message}");
        }
        // Attempts are stored in the database, not in this process.
        let service = service.restart().await;
        sign_up(&service, &shop("three"))
            .await
            .error(422, "INVALID_INPUT");
        service.clock.advance(TimeDelta::hours(24));
        sign_up(&service, &shop("three")).await.ok();
    }
}

#[tokio::test]
async fn of_ten_concurrent_signups_from_one_address_three_succeed() {
    for service in [Service::start().await, Service::on_postgres().await] {
        let names: Vec<Value> = (0..10)
            .map(|index| shop(&format!("shop-{index}")))
            .collect();
        let answers =
            futures::future::join_all(names.iter().map(|body| sign_up(&service, body))).await;
        let made = answers.iter().filter(|answer| answer.status == 200).count();
        assert_eq!(made, 3);
    }
}

#[tokio::test]
async fn signups_a_day_are_limited() {
    let service = Service::with(|config| {
        config.signup.per_day = 2;
        config.trusted_proxies = vec!["127.0.0.1/32".parse().unwrap()];
    })
    .await;
    let from = async |ip: &str, name: &str| {
        service
            .stranger()
            .post_with(SIGNUP, &[("x-forwarded-for", ip)], &shop(name))
            .await
    };
    from("203.0.113.1", "a").await.ok();
    from("203.0.113.2", "a").await.error(422, "INVALID_INPUT");
    from("203.0.113.2", "b").await.ok();
    let message = from("203.0.113.3", "c").await.error(422, "INVALID_INPUT");
    assert!(message.contains("no more signups today"), "{message}");
    // Midnight is in twelve hours.
    service.clock.advance(TimeDelta::hours(12));
    from("203.0.113.3", "c").await.ok();
}

#[tokio::test]
async fn a_configured_challenge_is_verified() {
    let verifier = Origin::start().await.unwrap();
    verifier.set("/siteverify", Reply::new(200, r#"{"success":false}"#));
    let url = verifier.url("/siteverify");
    let service = Service::with(|config| {
        config.signup.challenge_secret = Some(Secret::new("hush&hush"));
        config.signup.challenge_url = url.parse().unwrap();
        config.trusted_proxies = vec!["127.0.0.1/32".parse().unwrap()];
    })
    .await;
    let message = sign_up(&service, &shop("shop"))
        .await
        .error(422, "INVALID_INPUT");
    assert_eq!(message, "turnstile_token: is required");
    assert_eq!(verifier.count("/siteverify"), 0);

    let mut body = shop("shop");
    body["turnstile_token"] = json!("tok=en");
    let ip = [("x-forwarded-for", "203.0.113.7")];
    let ask = async || service.stranger().post_with(SIGNUP, &ip, &body).await;
    let message = ask().await.error(422, "INVALID_INPUT");
    assert!(message.starts_with("turnstile_token: "), "{message}");
    let sent = verifier.requests().pop().unwrap();
    assert_eq!(sent.method, "POST");
    assert_eq!(
        String::from_utf8_lossy(&sent.body),
        "secret=hush%26hush&response=tok%3Den&remoteip=203.0.113.7"
    );

    // If the verifier is down, no attempt is counted.
    verifier.set("/siteverify", Reply::new(500, "oops"));
    for _ in 0..5 {
        ask().await.error(502, "FETCH_FAILED");
    }
    verifier.set("/siteverify", Reply::new(200, r#"{"success":true}"#));
    ask().await.ok();
}

#[tokio::test]
async fn the_key_is_mailed_once_the_mail_server_answers() {
    let smtp = SmtpServer::start().await.unwrap();
    let url = smtp.url().replace("smtp://", "smtp://user:hidden@");
    smtp.refuse(1);
    let service = Service::with(|config| {
        config.mail.smtp_url = Some(SafeUrl::new(url));
        config.mail.from = "Spiders <spiders@example.com>".to_owned();
    })
    .await;
    let made = sign_up(&service, &shop("shop")).await.ok();
    let key = made["api_key"].as_str().unwrap().to_owned();
    smtp.refused(1).await;
    assert!(smtp.mails().is_empty());
    // The waiting mail survives a restart.
    let service = service.restart().await;
    // Longer than the time after which an interrupted attempt is repeated.
    service.clock.advance(TimeDelta::minutes(6));
    service.app.accounts.mailer.wake();
    let mails = smtp.accepted(1).await;
    assert_eq!(mails[0].from, "spiders@example.com");
    assert_eq!(mails[0].to, ["owner@shop.example"]);
    assert!(mails[0].auth.is_some());
    let message = &mails[0].message;
    assert!(
        message.contains("From: Spiders <spiders@example.com>"),
        "{message}"
    );
    assert!(
        message.contains("Subject: Your Orbweaver project shop"),
        "{message}"
    );
    assert!(message.contains(&key), "{message}");
}

#[tokio::test]
async fn signup_can_be_closed() {
    let service = Service::with(|config| config.signup.open = Some(false)).await;
    sign_up(&service, &shop("shop"))
        .await
        .error(403, "FORBIDDEN");
}
