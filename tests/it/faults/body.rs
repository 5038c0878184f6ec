//! Faults 1 to 7 and 27: bodies that never come, never end, or differ from their headers.

use orbweaver_core::setting::Millis;
use serde_json::json;

use super::support::Faulty;

#[tokio::test]
async fn fault_01_accepts_never_answers() {
    let faulty = Faulty::with(|fetch| fetch.limits.first_byte_ms = Millis(2_000)).await;
    assert_eq!(faulty.failure("/fault/silent").await, "timeout");
    let message = faulty.refused("/fault/silent").await;
    assert!(message.contains("2000 ms"), "names the limit: {message}");
    faulty.is_well().await;
}

#[tokio::test]
async fn fault_02_slow_body_is_aborted_and_not_stored() {
    let faulty = Faulty::with(|fetch| fetch.limits.min_rate_window_ms = Millis(2_000)).await;
    assert_eq!(faulty.failure("/fault/drip").await, "slow");
    // If the received part had been stored as a page, this would find it.
    let body = json!({"url": faulty.origin.url("/fault/drip"), "max_age_seconds": 86_400});
    let again = faulty.client().post("/v1/scan", &body).await;
    again.error(502, "FETCH_FAILED");
    faulty.is_well().await;

    let faulty = Faulty::with(|fetch| {
        fetch.limits.min_rate = 0;
        fetch.limits.total_ms = Millis(2_000);
    })
    .await;
    assert_eq!(faulty.failure("/fault/drip").await, "timeout");
    faulty.is_well().await;
}

#[tokio::test]
async fn fault_03_endless_body_stops_at_the_limit() {
    let faulty = Faulty::start().await;
    assert_eq!(faulty.failure("/fault/endless").await, "too_large");
    let message = faulty.refused("/fault/endless").await;
    assert!(message.contains("4194304"), "names the limit: {message}");
    faulty.is_well().await;
}

#[tokio::test]
async fn fault_04_a_terabyte_is_refused_before_reading() {
    let faulty = Faulty::start().await;
    // Nothing follows the headers: the announced length must suffice.
    assert_eq!(faulty.failure("/fault/terabyte").await, "too_large");
    faulty.is_well().await;
}

#[tokio::test]
async fn fault_05_body_shorter_than_announced() {
    let faulty = Faulty::start().await;
    assert_eq!(faulty.failure("/fault/short").await, "incomplete_body");
    faulty.is_well().await;
}

#[tokio::test]
async fn fault_06_body_longer_than_announced() {
    let faulty = Faulty::start().await;
    assert_eq!(faulty.scan("/fault/surplus").await["bytes"], 4);
    let next = faulty.scan("/echo").await["article"].to_string();
    assert!(!next.contains("smuggle"), "{next}");
    faulty.is_well().await;
    let requests = faulty.origin.requests();
    let surplus = requests
        .iter()
        .find(|request| request.path() == "/fault/surplus")
        .unwrap()
        .connection;
    let reused = requests
        .iter()
        .filter(|request| request.connection == surplus)
        .map(|request| request.path())
        .next_back();
    assert_eq!(
        reused,
        Some("/fault/surplus"),
        "that connection is not reused"
    );
}

#[tokio::test]
async fn fault_07_broken_chunks() {
    let faulty = Faulty::start().await;
    assert_eq!(faulty.failure("/fault/bad-chunk").await, "protocol");
    assert_eq!(faulty.failure("/fault/cut-chunk").await, "incomplete_body");
    faulty.is_well().await;
}

#[tokio::test]
async fn fault_27_bodies_of_statuses_without_one() {
    let faulty = Faulty::start().await;
    let result = faulty.scan("/fault/no-content").await;
    assert_eq!(
        (&result["status"], &result["bytes"]),
        (&json!(204), &json!(0))
    );
    let result = faulty.scan("/fault/early-hints").await;
    assert_eq!(
        (&result["status"], &result["bytes"]),
        (&json!(200), &json!(11))
    );
    faulty.is_well().await;
}
