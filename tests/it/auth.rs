//! API keys in requests.

use crate::support::{Client, KEY, Service};

const LOGS: &str = "/v1/logs";

#[tokio::test]
async fn requests_without_a_valid_key_are_refused() {
    let service = Service::start().await;
    let stranger = service.stranger();
    stranger.get(LOGS).await.error(401, "UNAUTHORIZED");
    for value in [
        "Bearer",
        "Bearer ",
        "Basic dXNlcjpwYXNz",
        "Bearer orb_short",
        "Bearer orb_BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB",
        KEY,
    ] {
        let answer = stranger
            .send("GET", LOGS, &[("authorization", value)], b"")
            .await;
        answer.error(401, "UNAUTHORIZED");
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"), "{value}");
    }
    // The key is checked before the body: without a key, nobody sees validation messages.
    let answer = stranger.send("POST", "/v1/scan", &[], b"no json").await;
    answer.error(401, "UNAUTHORIZED");
}

#[tokio::test]
async fn the_authorization_scheme_ignores_case() {
    let service = Service::start().await;
    let value = format!("bearer {KEY}");
    let answer = service
        .stranger()
        .send("GET", LOGS, &[("authorization", &value)], b"")
        .await;
    assert_eq!(answer.status, 200);
}

#[tokio::test]
async fn a_key_works_from_the_moment_it_is_created() {
    let service = Service::start().await;
    let stranger = Client::new(
        service.address,
        Some("orb_CCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCC"),
    );
    stranger.get(LOGS).await.error(401, "UNAUTHORIZED");
    let other = service.other_project("shop").await;
    assert_eq!(other.get(LOGS).await.status, 200);
}

#[tokio::test]
async fn a_keys_last_use_is_recorded() {
    let service = Service::start().await;
    service.client().get(LOGS).await.ok();
    let project = service
        .app
        .store
        .project_named("default")
        .await
        .unwrap()
        .unwrap();
    let keys = service.app.store.keys(project.id).await.unwrap();
    assert_eq!(keys.len(), 1);
    assert_eq!(keys[0].prefix, &KEY[..12]);
    assert_eq!(keys[0].last_used_at, Some(service.app.clock.now()));
}
