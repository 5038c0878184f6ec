//! A run from its request to its result.

use chrono::TimeDelta;
use orbweaver_accounts::tiers::Cap;
use orbweaver_core::webhook::sign;
use orbweaver_crawl::webhooks;
use orbweaver_origin::{Origin, Reply};
use orbweaver_server::config::Role;
use serde_json::{Value, json};

use super::{RUNS, begin, finished, is_hidden, items, run, service, service_with};
use crate::support::described::undescribed;
use crate::support::{Receiver, runs};

#[tokio::test]
async fn a_run_answers_at_once_and_keeps_progress_items_and_result() {
    let (service, _folder) = service().await;
    let client = service.client();
    let path = begin(&client, &json!({"do": "emit", "n": 450})).await;
    let run = finished(&client, &path).await;
    assert_eq!(run["status"], "done", "{run}");
    assert_eq!(run["result"], json!({"emitted": 450}));
    assert_eq!(
        run["progress"],
        json!({"done": 450, "total": 450, "message": "emitting"})
    );
    assert_eq!(
        (&run["item_count"], &run["attempts"]),
        (&json!(450), &json!(1))
    );
    assert_eq!(run["error"], Value::Null);
    assert_eq!(run["webhook_status"], Value::Null);
    for time in ["enqueued_at", "started_at", "finished_at"] {
        assert!(run[time].is_string(), "{time}: {run}");
    }

    let all = items(&client, &path).await;
    let all = all.as_array().unwrap();
    let numbers: Vec<i64> = all.iter().filter_map(|item| item["n"].as_i64()).collect();
    assert_eq!(numbers, (0..450).collect::<Vec<_>>(), "each once, in order");
    assert_eq!(all[7]["name"], "ä, \"7\"");

    let window = client
        .get(&format!("{path}/items?limit=2&offset=448"))
        .await;
    assert_eq!(
        window.ok(),
        json!({"items": all[448..], "next_offset": null})
    );
    let window = client.get(&format!("{path}/items?limit=2&offset=3")).await;
    assert_eq!(window.ok()["next_offset"], 5);
    let lines = client
        .get(&format!("{path}/items?format=ndjson&limit=500"))
        .await;
    assert_eq!(lines.header("content-type"), Some("application/x-ndjson"));
    assert_eq!(lines.text().lines().count(), 450);
    let lines = client
        .get(&format!("{path}/items?format=csv&limit=2"))
        .await;
    assert_eq!(
        lines.text(),
        "position,item\n0,\"{\"\"n\"\":0,\"\"name\"\":\"\"ä, \\\"\"0\\\"\"\"\"}\"\n\
         1,\"{\"\"n\"\":1,\"\"name\"\":\"\"ä, \\\"\"1\\\"\"\"\"}\"\n"
    );
}

#[tokio::test]
async fn runs_are_listed_by_actor_and_state_the_youngest_first() {
    let (service, _folder) = service().await;
    let client = service.client();
    let done = run(&client, &json!({"do": "emit"})).await;
    let failed = run(&client, &json!({"do": "panic"})).await;
    let ids = async |query: &str| {
        let list = client.get(&format!("{RUNS}{query}")).await.ok();
        let items = list["items"].as_array().unwrap().clone();
        let ids: Vec<Value> = items.iter().map(|item| item["id"].clone()).collect();
        (json!(ids), list["next_offset"].clone())
    };
    assert_eq!(ids("").await.0, json!([failed["id"], done["id"]]));
    assert_eq!(ids("?status=done").await.0, json!([done["id"]]));
    assert_eq!(ids("?status=cancelled").await.0, json!([]));
    assert_eq!(ids("?limit=1").await, (json!([failed["id"]]), json!(1)));
    assert_eq!(
        ids("?limit=1&offset=1").await,
        (json!([done["id"]]), Value::Null)
    );
    let error = client.get(&format!("{RUNS}?status=over")).await;
    error.error(422, "INVALID_INPUT");
    let other = client.get("/v1/actors/check-links/runs").await.ok();
    assert_eq!(other["items"], json!([]));
}

#[tokio::test]
async fn a_run_knows_its_request_its_id_and_its_time() {
    let (service, _folder) = service().await;
    let client = service.client();
    let answer = client.post(RUNS, &json!({"do": "context"})).await;
    let id = answer.json()["id"].clone();
    let request = answer.header("x-request-id").unwrap().to_owned();
    let run = finished(&client, &format!("{RUNS}/{id}")).await;
    let told = &run["result"];
    assert_eq!(told["run_id"], id);
    assert_eq!(told["request_id"], request.as_str());
    assert_eq!(run["request_id"], request.as_str());
    assert_eq!(
        (&told["attempts"], &told["cancelled"]),
        (&json!(1), &json!(false))
    );
    let left = told["deadline_ms"].as_u64().unwrap();
    assert!((3_000_000..=3_600_000).contains(&left), "{left}");
    // A request waits for the answer: no run, and the time of a call.
    let answer = client
        .post("/v1/actors/job-tool", &json!({"do": "context"}))
        .await;
    let told = answer.ok()["data"].clone();
    assert_eq!(told["run_id"], Value::Null);
    assert_eq!(told["request_id"], answer.header("x-request-id").unwrap());
    assert!(told["deadline_ms"].as_u64().unwrap() <= 180_000, "{told}");
}

#[tokio::test]
async fn a_request_that_waits_gets_no_items_and_is_told_where_it_would() {
    let (service, _folder) = service().await;
    let answer = service
        .client()
        .post("/v1/actors/job-tool", &json!({"do": "emit"}))
        .await;
    let message = answer.error(422, "INVALID_INPUT");
    assert!(message.contains("POST /v1/actors/{name}/runs"), "{message}");
}

#[tokio::test]
async fn a_run_is_billed_as_a_request_for_the_same() {
    let (service, _folder) = service().await;
    let client = service.client();
    let origin = Origin::start().await.unwrap();
    origin.set("/page", Reply::html("<p>here"));
    let input = json!({"do": "fetch", "n": 3, "url": origin.url("/page")});
    let done = run(&client, &input).await;
    assert_eq!(done["status"], "done", "{done}");
    assert_eq!(
        done["billing"],
        json!({"pages": 3, "cloud_pages": 0, "cost_usd": 0.0})
    );
    assert_eq!(service.billed().await, (3, 0));
    // A failure costs what was fetched until then.
    let input = json!({"do": "fetch", "n": 1, "url": origin.url("/fault/closed")});
    let failed = run(&client, &input).await;
    assert_eq!(failed["status"], "failed");
    assert_eq!(failed["error"]["code"], "FETCH_FAILED", "{failed}");
    assert_eq!(service.billed().await, (3, 0));
}

#[tokio::test]
async fn the_request_is_checked_before_anything_is_queued() {
    let (service, _folder) = service().await;
    let client = service.client();
    let error = client
        .post(RUNS, &json!({}))
        .await
        .error(422, "INVALID_INPUT");
    assert!(error.starts_with("do: is required"), "{error}");
    client
        .post("/v1/actors/no-such/runs", &json!({}))
        .await
        .error(404, "NOT_FOUND");
    let links = "/v1/actors/check-links/runs";
    let error = client
        .post(links, &json!({"url": "http://10.0.0.1/"}))
        .await;
    let error = error.error(422, "INVALID_INPUT");
    assert!(error.starts_with("url: 10.0.0.1"), "{error}");
    let path = format!("{RUNS}?webhook_url=http://169.254.169.254/");
    let error = client.post(&path, &json!({"do": "emit"})).await;
    let error = error.error(422, "INVALID_INPUT");
    assert!(error.starts_with("webhook_url: "), "{error}");
    let list = client.get(RUNS).await.ok();
    assert_eq!(list["items"], json!([]));
}

#[tokio::test]
async fn an_idempotency_key_queues_one_run() {
    let (service, _folder) = service().await;
    let client = service.client();
    let key = [("idempotency-key", "6f1c1f7e-6a0f-4c9d-9f0a-0a3f5b2c7d11")];
    let input = json!({"do": "emit"});
    let first = client.post_with(RUNS, &key, &input).await;
    assert_eq!(first.status, 202);
    assert_eq!(first.header("idempotent-replayed"), None);
    let again = client.post_with(RUNS, &key, &input).await;
    assert_eq!(again.status, 202);
    assert_eq!(again.json()["id"], first.json()["id"]);
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    assert_eq!(again.header("location"), first.header("location"));
    let other = client.post_with(RUNS, &key, &json!({"do": "panic"})).await;
    other.error(409, "CONFLICT");
    // The key is the project's.
    let stranger = service.other_project("other").await;
    let other = stranger.post_with(RUNS, &key, &input).await;
    assert_ne!(other.json()["id"], first.json()["id"]);
}

#[tokio::test]
async fn a_retry_gets_its_run_although_no_page_is_left() {
    let (service, _folder) = service_with(|config| {
        config
            .tiers
            .get_mut("free")
            .expect("the tier")
            .pages_per_day = Cap::at(1);
    })
    .await;
    let client = service.other_project("shop").await;
    let key = [("idempotency-key", "0d9b7a52-4c0e-4c55-8d0f-3f0a0c4e9a11")];
    let input = json!({"do": "emit"});
    let first = client.post_with(RUNS, &key, &input).await;
    assert_eq!(first.status, 202, "{}", first.text());
    let place = first.header("location").expect("a place");
    assert_eq!(finished(&client, place).await["status"], "done");
    client.post(RUNS, &input).await.error(429, "RATE_LIMITED");
    let again = client.post_with(RUNS, &key, &input).await;
    assert_eq!(again.status, 202, "{}", again.text());
    assert_eq!(again.json()["id"], first.json()["id"]);
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    let other = client.post_with(RUNS, &key, &json!({"do": "panic"})).await;
    other.error(409, "CONFLICT");
}

#[tokio::test]
async fn another_project_sees_nothing_of_a_run() {
    let (service, _folder) = service().await;
    let client = service.client();
    let stranger = service.other_project("other").await;
    let path = begin(&client, &json!({"do": "emit"})).await;
    assert!(is_hidden(&stranger, &path).await);
    assert_eq!(stranger.get(RUNS).await.ok()["items"], json!([]));
    assert_eq!(finished(&client, &path).await["status"], "done");
    // Nor does the path of another actor show it.
    let elsewhere = path.replace("job-tool", "check-links");
    assert!(is_hidden(&client, &elsewhere).await);
}

#[tokio::test]
async fn its_end_is_told_once_by_a_signed_webhook() {
    let (service, _folder) = service_with(|_| {}).await;
    let client = service.client();
    let mut receiver = Receiver::start(&[]).await;
    let path = format!("{RUNS}?webhook_url={}", receiver.url());
    let document = client.get("/openapi.json").await.ok();
    assert!(document["webhooks"]["actor.run_complete"]["post"].is_object());
    service.clock.advance(TimeDelta::nanoseconds(1_234_567));
    for (input, status) in [("emit", "done"), ("panic", "failed")] {
        let begun = client.post(&path, &json!({"do": input})).await;
        let id = begun.json()["id"].clone();
        let told = receiver.next().await;
        let body = told.json();
        assert_eq!(body["event"], "actor.run_complete");
        assert_eq!(undescribed(&document, "ActorRunEnded", &body), [""; 0]);
        assert_eq!((&body["id"], &body["actor"]), (&id, &json!("job-tool")));
        assert_eq!(body["status"], status, "{body}");
        assert_eq!(body["request_id"], begun.header("x-request-id").unwrap());
        if status == "done" {
            assert_eq!(
                (&body["item_count"], &body["error"]),
                (&json!(3), &Value::Null)
            );
        } else {
            assert_eq!(body["error"]["code"], "PLUGIN_FAILED");
        }
        assert_eq!(told.header("x-crawler-actor-run-id"), id.to_string());
        let project = runs::project(&service).await;
        let at = service.app.clock.now();
        let secret = webhooks::secret(&service.app.store, project, at)
            .await
            .unwrap();
        let signed = sign(&secret, told.header("webhook-id"), at, &told.body);
        assert_eq!(told.header("webhook-signature"), signed.standard);
        let path = format!("{RUNS}/{id}");
        let run = finished(&client, &path).await;
        assert_eq!(body["finished_at"], run["finished_at"]);
    }
    // Each end is told once: the next delivery is the next run's.
    let last = client.post(&path, &json!({"do": "emit"})).await;
    assert_eq!(receiver.next().await.json()["id"], last.json()["id"]);
}

#[tokio::test]
async fn check_links_emits_each_link_and_answers_requests_as_before() {
    let (service, _folder) = service().await;
    let client = service.client();
    let origin = Origin::start().await.unwrap();
    origin.set("/a", Reply::html("<p>a"));
    let urls: Vec<String> = ["/a", "/gone", "/a#again"]
        .map(|path| origin.url(path))
        .into();
    let input = json!({"urls": urls});
    let waited = client.post("/v1/actors/check-links", &input).await.ok();
    assert_eq!(waited.as_object().unwrap().len(), 4, "{waited}");
    let begun = client
        .post("/v1/actors/check-links/runs", &input)
        .await
        .json();
    let path = format!("/v1/actors/check-links/runs/{}", begun["id"]);
    let run = finished(&client, &path).await;
    assert_eq!(run["result"], waited["data"]);
    assert_eq!(
        run["progress"],
        json!({"done": 2, "total": 2, "message": "links checked"})
    );
    let mut found = items(&client, &path).await.as_array().unwrap().clone();
    found.sort_by_key(|item| item["url"].to_string());
    assert_eq!(json!(found), waited["data"]["items"]);
    assert_eq!(service.billed().await, (4, 0));
}

#[tokio::test]
async fn a_process_that_stood_still_does_not_begin_its_own_run_again() {
    let ((service, _folder), origin) = (service().await, Origin::start().await.unwrap());
    let client = service.client();
    origin.set("/held/page", Reply::html("<p>here"));
    let input = json!({"do": "fetch", "n": 1, "url": origin.url("/held/page")});
    let path = begin(&client, &input).await;
    origin.asked("/held/page", 1).await;
    // The lease has run out when the worker looks for work.
    service.clock.advance(TimeDelta::minutes(1));
    let other = run(&client, &json!({"do": "emit"})).await;
    assert_eq!(other["status"], "done", "{other}");
    origin.release();
    let ended = finished(&client, &path).await;
    assert_eq!(ended["status"], "done", "{ended}");
    assert_eq!(ended["attempts"], 1, "{ended}");
    assert_eq!(origin.count("/held/page"), 1);
}

#[tokio::test]
async fn a_project_has_a_limited_queue() {
    let (service, _folder) = service_with(|config| {
        config.roles = vec![Role::Api];
        config.jobs.queue_per_project = 2;
    })
    .await;
    let client = service.client();
    for _ in 0..2 {
        begin(&client, &json!({"do": "emit"})).await;
    }
    let answer = client.post(RUNS, &json!({"do": "emit"})).await;
    let message = answer.error(429, "RATE_LIMITED");
    assert!(message.contains("jobs.queue_per_project"), "{message}");
    assert!(answer.header("retry-after").is_some());
    // Another project's queue is its own.
    begin(
        &service.other_project("other").await,
        &json!({"do": "emit"}),
    )
    .await;
}
