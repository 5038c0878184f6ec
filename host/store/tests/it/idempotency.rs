//! Idempotency-Keys and kept answers.

use std::time::Duration;

use chrono::TimeDelta;
use orbweaver_store::{Claim, KeptAnswer, KeyHash, NewKey, Options, PackedAnswer, Retention};

use crate::store::{now, open, project};

crate::support::on_both_databases! {
    an_idempotency_key_is_claimed_once
    long_ended_keys_and_old_answers_are_purged
}

async fn an_idempotency_key_is_claimed_once(options: Options) {
    let body_of = |body: &[u8]| PackedAnswer::pack(body).unwrap();
    let store = open(&options).await;
    let a = project(&store, "a").await;
    let (body, other) = ([1_u8; 32], [2_u8; 32]);
    let claim = async |body: &[u8; 32], at| {
        store
            .claim_idempotency(a, "/v1/scan", "key", body, at)
            .await
            .unwrap()
    };
    assert_eq!(claim(&body, now()).await, Claim::Run { since: now() });
    assert_eq!(claim(&body, now()).await, Claim::Busy);
    assert_eq!(claim(&other, now()).await, Claim::OtherBody);
    store
        .release_idempotency(a, "/v1/scan", "key")
        .await
        .unwrap();
    // After a failure one retry runs again, under the token of the first: it may be billed.
    let retried = now() + TimeDelta::seconds(5);
    assert_eq!(claim(&other, retried).await, Claim::OtherBody);
    assert_eq!(claim(&body, retried).await, Claim::Run { since: now() });
    assert_eq!(claim(&body, retried).await, Claim::Busy);
    store
        .keep_answer(
            a,
            "/v1/scan",
            "key",
            201,
            Some(("content-type: application/json\n", &body_of(b"{}"))),
        )
        .await
        .unwrap();
    let kept = KeptAnswer {
        status: 201,
        headers: "content-type: application/json\n".to_owned(),
        body: body_of(b"{}"),
    };
    assert_eq!(kept.body.unpack().unwrap(), b"{}");
    let later = now() + TimeDelta::hours(23);
    assert_eq!(claim(&body, later).await, Claim::Replay(kept));
    store
        .release_idempotency(a, "/v1/scan", "key")
        .await
        .unwrap();
    assert!(
        matches!(claim(&body, later).await, Claim::Replay(_)),
        "an answer is not given up"
    );
    // A node that stalled while another one answered is late.
    store
        .keep_answer(a, "/v1/scan", "key", 422, Some(("", &body_of(b"[]"))))
        .await
        .unwrap();
    assert!(
        matches!(claim(&body, later).await, Claim::Replay(kept) if kept.status == 201),
        "the first answer stays"
    );
    let free = now() + TimeDelta::hours(24);
    assert_eq!(claim(&other, free).await, Claim::Run { since: free });
    // It is still being worked on.
    let seconds = |count| free + TimeDelta::seconds(count);
    store
        .renew_idempotency(a, "/v1/scan", "key", seconds(10))
        .await
        .unwrap();
    assert_eq!(claim(&other, seconds(39)).await, Claim::Busy);
    // Its process died: one retry runs again, under the same token.
    assert_eq!(claim(&body, seconds(40)).await, Claim::OtherBody);
    assert_eq!(claim(&other, seconds(40)).await, Claim::Run { since: free });
    assert_eq!(claim(&other, seconds(40)).await, Claim::Busy);
    // Too large to keep: it is not worked on again.
    store
        .keep_answer(a, "/v1/scan", "key", 200, None)
        .await
        .unwrap();
    let again = free + TimeDelta::hours(1);
    assert_eq!(claim(&other, again).await, Claim::TooLarge);
}

async fn long_ended_keys_and_old_answers_are_purged(options: Options) {
    let store = open(&options).await;
    let a = project(&store, "a").await;
    let rotate = async |name: &str, at| {
        let key = NewKey {
            hash: KeyHash::digest(name),
            prefix: "orb_aaaaaaaa",
            label: Some(name),
        };
        let rotated = store.rotate_keys(a, &key, at, "cli", at).await;
        rotated.unwrap().expect("a place for a key");
    };
    let day = TimeDelta::days(1);
    rotate("second", now()).await;
    rotate("third", now() + day).await;
    for number in 0..1_100 {
        let key = number.to_string();
        let claimed = store.claim_idempotency(a, "/v1/scan", &key, &[0; 32], now());
        claimed.await.unwrap();
    }
    let month = Duration::from_secs(30 * 86_400);
    let keep = Retention {
        scans: month,
        request_log: month,
        plugin_records: month,
    };
    let labels = async || -> Vec<Option<String>> {
        let keys = store.keys(a).await.unwrap();
        keys.into_iter().map(|key| key.label).collect()
    };
    assert_eq!(store.purge(&keep, now() + day).await.unwrap(), 0);
    assert_eq!(store.purge(&keep, now() + day * 2).await.unwrap(), 1_100);
    assert_eq!(labels().await.len(), 3);
    // The first key ended on the first day.
    assert_eq!(store.purge(&keep, now() + day * 91).await.unwrap(), 1);
    let left = ["second", "third"].map(|label| Some(label.to_owned()));
    assert_eq!(labels().await, left);
    assert_eq!(store.purge(&keep, now() + day * 400).await.unwrap(), 1);
    assert_eq!(labels().await, [Some("third".to_owned())]);
}
