//! A crawl as a client sees it, from the request to the pages.

use serde_json::{Value, json};

use super::ground::{Answer, Ground};
use super::promises;
use crate::support::{Client, Service, http, wait};

promises! {
    a_crawl_is_started_followed_and_read
    a_cap_reached_during_a_run_ends_it_and_keeps_its_pages
    deleting_a_run_frees_its_slot
    pages_of_long_urls_are_stored_and_found
}

async fn ended(client: &Client, id: &Value) -> Value {
    let has_ended = |answer: &http::Answer| {
        let run = answer.ok();
        run["status"] == "done" || run["status"] == "failed"
    };
    client
        .until(&format!("/v1/crawls/{id}"), has_ended)
        .await
        .ok()
}

/// A page with links to as many others.
async fn fan(pages: usize) -> Ground {
    Ground::of(move |hit| {
        if hit.path.ends_with(".txt") {
            return Answer::status(404);
        }
        let links: Vec<String> = (1..pages).map(|page| format!("/{page}")).collect();
        let links: Vec<&str> = links.iter().map(String::as_str).collect();
        Answer::page("page", &links)
    })
    .await
}

async fn a_crawl_is_started_followed_and_read(service: Service) {
    let ground = fan(20).await;
    let client = service.client();
    let body = json!({ "url": ground.url("/"), "delay_ms": 0 });
    let answer = client.post("/v1/crawls", &body).await;
    assert_eq!(answer.status, 202, "{}", answer.text());
    let id = answer.json()["id"].clone();
    let run = ended(&client, &id).await;
    assert_eq!(run["status"], "done", "{run}");
    assert_eq!(
        (&run["page_count"], &run["error_count"]),
        (&json!(20), &json!(0))
    );
    let pages = client
        .get(&format!("/v1/crawls/{id}/pages?limit=100"))
        .await
        .ok();
    assert_eq!(pages["items"].as_array().expect("a list").len(), 20);
    let links = client
        .get(&format!("/v1/crawls/{id}/links?limit=1000"))
        .await
        .ok();
    assert_eq!(links["items"].as_array().expect("a list").len(), 20 * 19);
    let orphans = client.get(&format!("/v1/crawls/{id}/orphans")).await.ok();
    assert_eq!(orphans["items"], json!([]));
    let page = &pages["items"][0]["id"];
    let page = client
        .get(&format!("/v1/pages/{page}?format=markdown"))
        .await
        .ok();
    assert!(
        page["markdown"].as_str().expect("text").contains("# page"),
        "{page}"
    );
    assert_eq!(service.billed().await, (20, 0));
}

async fn a_cap_reached_during_a_run_ends_it_and_keeps_its_pages(service: Service) {
    let ground = fan(300).await;
    // A project of the free tier: 200 pages a day.
    let client = service.other_project("shop").await;
    let body = json!({ "url": ground.url("/"), "delay_ms": 0 });
    let answer = client.post("/v1/crawls", &body).await;
    assert_eq!(answer.status, 202, "{}", answer.text());
    let run = ended(&client, &answer.json()["id"]).await;
    assert_eq!(
        (&run["status"], &run["page_count"]),
        (&json!("done"), &json!(200)),
        "{run}"
    );
    assert!(
        run["error_message"]
            .as_str()
            .expect("a reason")
            .contains("cap"),
        "{run}"
    );
    let usage = client.get("/v1/usage").await.ok();
    assert_eq!(usage["daily_pages"]["used"], 200, "{usage}");
    assert_eq!(ground.paths().len(), 200);
}

async fn deleting_a_run_frees_its_slot(service: Service) {
    let ground = fan(300).await;
    let client = service.client();
    let body = json!({ "url": ground.url("/"), "delay_ms": 1000 });
    let id = client.post("/v1/crawls", &body).await.json()["id"].clone();
    ground.asked("/").await;
    let answer = client
        .send("DELETE", &format!("/v1/crawls/{id}"), &[], b"")
        .await;
    assert_eq!(answer.status, 204);
    assert_eq!(client.get(&format!("/v1/crawls/{id}")).await.status, 404);
    // The worker stops work on it.
    let run = serde_json::from_value(id).expect("an id");
    let live = &service.app.crawls.live;
    wait::until("the worker stops", async || live.progress(run).is_none()).await;
}

/// PostgreSQL has no index of rows of any length.
async fn pages_of_long_urls_are_stored_and_found(service: Service) {
    // Of digits that cannot be packed.
    let mut state = 7_u64;
    let mut digits = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        format!("{:08x}", state >> 32)
    };
    let digits: String = (0..1_000).map(|_| digits()).collect();
    let long = format!("/long?{digits}");
    let link = long.clone();
    let ground = Ground::of(move |hit| match hit.path.as_str() {
        path if path.ends_with(".txt") => Answer::status(404),
        "/" => Answer::page("home", &[link.as_str()]),
        _ => Answer::page("long", &[]),
    })
    .await;
    let client = service.client();
    let crawl = async |body: Value| {
        let answer = client.post("/v1/crawls", &body).await;
        assert!(matches!(answer.status, 200 | 202), "{}", answer.text());
        ended(&client, &answer.json()["id"]).await
    };
    let run = crawl(json!({"url": ground.url("/"), "delay_ms": 0})).await;
    assert_eq!(
        (&run["status"], &run["page_count"]),
        (&json!("done"), &json!(2))
    );
    let seed = json!({"url": ground.url(&long), "delay_ms": 0});
    let seeded = crawl(seed.clone()).await;
    assert_eq!(
        (&seeded["status"], &seeded["page_count"]),
        (&json!("done"), &json!(1))
    );
    let mut recent = seed;
    recent["max_age_seconds"] = 600.into();
    assert_eq!(crawl(recent).await["id"], seeded["id"]);
    let scan = json!({"url": ground.url(&long), "max_age_seconds": 600});
    let scanned = client.post("/v1/scan", &scan).await.ok();
    assert_eq!(scanned["status"], 200, "{scanned}");
    assert_eq!(ground.count(&long), 2, "once for each crawl");
}
