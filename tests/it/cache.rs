//! `max_age_seconds`.

use chrono::TimeDelta;
use orbweaver_core::guard::HostList;
use serde_json::json;

use crate::support::{Service, Site, runs};

async fn answers_from_the_store(service: Service) {
    let site = Site::start().await;
    let client = service.client();
    let url = site.url("/article");
    let fresh = client
        .post("/v1/scan", &json!({"url": url, "include_links": true}))
        .await
        .ok();
    assert_eq!(site.hits("/article"), 1);

    let body = json!({"url": url, "max_age_seconds": 60, "include_links": true});
    let cached = client.post("/v1/scan", &body).await.ok();
    assert_eq!(site.hits("/article"), 1, "the stored page is reused");
    assert_eq!(cached, fresh);

    // The same page, with its URL written differently.
    let spelled = url.replace("/article", "/x/../article#part");
    let body = json!({"url": spelled, "max_age_seconds": 60});
    let result = client.post("/v1/scan", &body).await.ok();
    assert_eq!(result["url"], spelled);
    assert_eq!(result["markdown"], fresh["markdown"]);
    assert_eq!(site.hits("/article"), 1);

    // Results for other options are made from the stored body.
    let body = json!({"url": url, "max_age_seconds": 60, "only_main_content": true});
    let main = client.post("/v1/scan", &body).await.ok();
    assert!(!main["markdown"].as_str().unwrap().contains("Menu entry"));
    assert_eq!(site.hits("/article"), 1);

    // Too old, another user agent, or no `max_age_seconds`: fetched again.
    service.clock.advance(TimeDelta::seconds(61));
    client
        .post("/v1/scan", &json!({"url": url, "max_age_seconds": 60}))
        .await
        .ok();
    assert_eq!(site.hits("/article"), 2);
    let body = json!({"url": url, "max_age_seconds": 60, "user_agent": "Probe/1.0"});
    client.post("/v1/scan", &body).await.ok();
    assert_eq!(site.hits("/article"), 3);
    client.post("/v1/scan", &body).await.ok();
    assert_eq!(site.hits("/article"), 3);
    client.post("/v1/scan", &json!({"url": url})).await.ok();
    assert_eq!(site.hits("/article"), 4);

    // Another project does not see the stored page.
    let other = service.other_project("shop").await;
    other
        .post("/v1/scan", &json!({"url": url, "max_age_seconds": 60}))
        .await
        .ok();
    assert_eq!(site.hits("/article"), 5);
    // Each scan counts, cached or not.
    assert_eq!(service.billed().await, (8, 0));
}

#[tokio::test]
async fn a_recent_page_is_reused_on_sqlite() {
    answers_from_the_store(Service::start().await).await;
}

#[tokio::test]
async fn a_recent_page_is_reused_on_postgres() {
    answers_from_the_store(Service::on_postgres().await).await;
}

#[tokio::test]
async fn a_page_that_was_crawled_with_credentials_is_not_reused_without() {
    let (service, site) = (Service::start().await, Site::start().await);
    let client = service.client();
    let url = site.url("/article");
    let reused = async || {
        let before = site.hits("/article");
        let body = json!({"url": url, "max_age_seconds": 60});
        client.post("/v1/scan", &body).await.ok();
        site.hits("/article") == before
    };
    for with in [
        json!({"cookies": "session=1"}),
        json!({"headers": {"Authorization": "Bearer x"}}),
    ] {
        let mut crawl = json!({"url": url, "max_pages": 1, "delay_ms": 0});
        let fields = with.as_object().unwrap().clone();
        crawl.as_object_mut().unwrap().extend(fields);
        runs::crawled(&client, &crawl).await;
        assert!(!reused().await, "{with}");
        service.clock.advance(TimeDelta::seconds(61));
    }
    runs::crawled(&client, &json!({"url": url, "max_pages": 1, "delay_ms": 0})).await;
    assert!(reused().await);
}

async fn a_page_of_a_deleted_run_is_not_reused(service: Service) {
    let site = Site::start().await;
    let client = service.client();
    let url = site.url("/article");
    let crawl = json!({"url": url, "max_pages": 1, "delay_ms": 0});
    let run = runs::crawled(&client, &crawl).await;
    let body = json!({"url": url, "max_age_seconds": 600});
    client.post("/v1/scan", &body).await.ok();
    assert_eq!(site.hits("/article"), 1, "the crawl's page is reused");
    let deleted = client
        .send("DELETE", &format!("/v1/crawls/{}", run["id"]), &[], b"")
        .await;
    assert_eq!(deleted.status, 204);
    client.post("/v1/scan", &body).await.ok();
    assert_eq!(site.hits("/article"), 2, "it is gone");
    client.post("/v1/scan", &body).await.ok();
    assert_eq!(site.hits("/article"), 2, "the new page is reused");
}

#[tokio::test]
async fn a_page_of_a_deleted_run_is_not_reused_on_sqlite() {
    a_page_of_a_deleted_run_is_not_reused(Service::start().await).await;
}

#[tokio::test]
async fn a_page_of_a_deleted_run_is_not_reused_on_postgres() {
    a_page_of_a_deleted_run_is_not_reused(Service::on_postgres().await).await;
}

#[tokio::test]
async fn a_stored_body_is_extracted_again_without_the_result_cache() {
    let service = Service::with(|config| config.scan.result_cache_mib = 0).await;
    let site = Site::start().await;
    let client = service.client();
    let url = site.url("/windows-1252");
    let fresh = client.post("/v1/scan", &json!({"url": url})).await.ok();
    let cached = client
        .post("/v1/scan", &json!({"url": url, "max_age_seconds": 9.0}))
        .await
        .ok();
    assert_eq!(cached, fresh);
    assert_eq!(site.hits("/windows-1252"), 1);
}

#[tokio::test]
async fn bulk_applies_max_age_to_each_url() {
    let (service, site) = (Service::start().await, Site::start().await);
    let client = service.client();
    client
        .post("/v1/scan", &json!({"url": site.url("/article")}))
        .await
        .ok();
    let body = json!({"urls": [site.url("/article"), site.url("/echo")], "max_age_seconds": 60});
    let answer = client.post("/v1/scan/bulk", &body).await.ok();
    assert!(
        answer["items"]
            .as_array()
            .unwrap()
            .iter()
            .all(|item| item["ok"] == true)
    );
    assert_eq!((site.hits("/article"), site.hits("/echo")), (1, 1));
}

#[tokio::test]
async fn a_stored_page_is_not_served_once_its_host_is_refused() {
    let (service, site) = (Service::start().await, Site::start().await);
    let client = service.client();
    let url = site.url("/article");
    client.post("/v1/scan", &json!({"url": url})).await.ok();
    let mut blocked = HostList::default();
    blocked.add("127.0.0.1");
    service.app.pipeline.fetcher.set_blocklist(blocked);
    let body = json!({"url": url, "max_age_seconds": 600});
    let refused = client.post("/v1/scan", &body).await;
    refused.error(422, "INVALID_INPUT");
    // The second is another spelling that has the same key.
    let urls = [url.clone(), url.replace("://", ":/")];
    let body = json!({"urls": urls, "max_age_seconds": 600});
    let answer = client.post("/v1/scan/bulk", &body).await.ok();
    for (n, item) in answer["items"]
        .as_array()
        .expect("items")
        .iter()
        .enumerate()
    {
        assert_eq!(item["ok"], false, "{item}");
        let error = item["error"].as_str().expect("why");
        let start = format!("SSRF check failed for urls[{n}]: ");
        assert!(error.starts_with(&start), "{error}");
    }
}
