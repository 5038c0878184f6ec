//! Caps: they are never exceeded, and refused requests are never billed.

use std::sync::atomic::{AtomicU64, Ordering};

use chrono::TimeDelta;
use futures::StreamExt as _;
use orbweaver_accounts::quota::QuotaError;
use orbweaver_accounts::tiers::Cap;
use orbweaver_core::ids::ProjectId;
use orbweaver_origin::{Origin, Reply};
use orbweaver_store::Amount;
use serde_json::{Value, json};

use crate::support::http::Answer;
use crate::support::{Client, Service, Site, wait};

async fn id(service: &Service, name: &str) -> ProjectId {
    let project = service.app.store.project_named(name).await.unwrap();
    project.expect("a project").id
}

/// Makes this many scans, 64 at a time; returns how many succeeded and the other answers.
async fn scans(client: &Client, url: &str, count: usize) -> (u64, Vec<Answer>) {
    let body = json!({"url": url, "metadata_only": true, "max_age_seconds": 3600});
    let made = AtomicU64::new(0);
    let answers: Vec<Option<Answer>> = futures::stream::iter(0..count)
        .map(|_| async {
            let answer = client.post("/v1/scan", &body).await;
            if answer.status == 200 {
                made.fetch_add(1, Ordering::Relaxed);
                return None;
            }
            Some(answer)
        })
        .buffer_unordered(64)
        .collect()
        .await;
    (
        made.load(Ordering::Relaxed),
        answers.into_iter().flatten().collect(),
    )
}

#[tokio::test]
async fn the_200th_page_is_scanned_and_the_201st_refused() {
    let site = Site::start().await;
    for service in [Service::start().await, Service::on_postgres().await] {
        let client = service.other_project("shop").await;
        let (made, refused) = scans(&client, &site.url("/article"), 130).await;
        assert_eq!((made, refused.len()), (130, 0));

        // The remaining scans after a restart, and on PostgreSQL from two processes.
        let service = service.restart().await;
        let client = client.at(service.address);
        let other = match service.app.store.is_shared() {
            true => Some(service.node().await),
            false => None,
        };
        let second = client.at(other.as_ref().unwrap_or(&service).address);
        let url = site.url("/article");
        let ((here, mut refused), (there, more)) =
            tokio::join!(scans(&client, &url, 64), scans(&second, &url, 64));
        refused.extend(more);
        assert_eq!((here + there, refused.len()), (70, 58));
        for answer in refused {
            let message = answer.error(429, "RATE_LIMITED");
            assert_eq!(message, "daily page cap exceeded");
            assert_eq!(answer.header("retry-after"), Some("43200"));
            assert_eq!(answer.json()["error"]["retry_after_seconds"], 43_200);
        }
        let project = id(&service, "shop").await;
        let day = service.app.clock.now().date_naive();
        let days = service.app.store.usage_days(project, day).await.unwrap();
        assert_eq!(days.iter().map(|day| day.pages).sum::<u64>(), 200);
        let total = service.app.store.usage_total(project).await.unwrap();
        assert_eq!(total, (200, 0, 0));
        for client in [&client, &second] {
            let usage = client.get("/v1/usage").await.ok();
            assert_eq!(usage["today"]["pages"], 200);
            assert_eq!(
                usage["daily_pages"],
                json!({"used": 200, "cap": 200, "percent": 100.0})
            );
            let history = client.get("/v1/usage/history?days=1").await.ok();
            assert_eq!(history["days"][0]["pages"], 200);
        }

        // On a new day, pages are available again.
        service.clock.advance(TimeDelta::hours(12));
        let (made, _) = scans(&client, &url, 1).await;
        assert_eq!(made, 1);
    }
}

#[tokio::test]
async fn a_running_crawl_does_not_reserve_all_pages_of_the_day() {
    let (service, site) = (Service::start().await, Site::start().await);
    let origin = Origin::start().await.expect("a site");
    let links: String = (0..400)
        .map(|n| format!("<a href=/held/{n}>{n}</a>"))
        .collect();
    origin.set("/robots.txt", Reply::text(""));
    origin.set("/", Reply::html(links));
    origin.set_under("/held/", |_| Reply::html("<p>page"));
    let client = service.other_project("shop").await;
    let crawl = json!({"url": origin.url("/"), "delay_ms": 0, "concurrency": 4});
    let started = client.post("/v1/crawls", &crawl).await;
    assert_eq!(started.status, 202, "{}", started.text());
    origin.asked("/held/0", 1).await;

    // The crawl is running with a maximum of 1,000 pages; the daily cap is 200.
    let (made, refused) = scans(&client, &site.url("/article"), 60).await;
    assert_eq!((made, refused.len()), (60, 0));
    let second = client
        .post("/v1/crawls", &json!({"url": site.url("/article")}))
        .await;
    assert_eq!(second.status, 202, "{}", second.text());
    // Pages that it still reserves would be missing at the cap.
    let second = format!("/v1/crawls/{}", second.json()["id"]);
    client
        .until(&second, |answer| answer.ok()["status"] == "done")
        .await;

    // Crawl and scans together reach the cap exactly.
    let path = format!("/v1/crawls/{}", started.json()["id"]);
    let run = client
        .until(&path, |answer| {
            origin.release();
            answer.ok()["status"] != "running"
        })
        .await
        .ok();
    assert_eq!(run["status"], "done", "{run}");
    assert_eq!(run["error_message"], "daily page cap exceeded", "{run}");
    let usage = client.get("/v1/usage").await.ok();
    assert_eq!(usage["daily_pages"]["used"], 200, "{usage}");
}

#[tokio::test]
async fn a_crawl_waits_for_pages_that_others_have_only_set_aside() {
    let (service, origin) = (
        Service::start().await,
        Origin::start().await.expect("a site"),
    );
    let links: String = (0..10).map(|n| format!("<a href=/p/{n}>{n}</a>")).collect();
    origin.set("/robots.txt", Reply::text(""));
    origin.set("/", Reply::html(links));
    origin.set_under("/p/", |_| Reply::html("<p>page"));
    let client = service.other_project("shop").await;
    let quota = &service.app.accounts.quota;
    let project = id(&service, "shop").await;
    let held = quota.reserve(project, Amount::pages(195)).await.unwrap();
    let crawl = json!({"url": origin.url("/"), "delay_ms": 0});
    let run = client.post("/v1/crawls", &crawl).await;
    assert_eq!(run.status, 202, "{}", run.text());
    let used = async || {
        let usage = client.get("/v1/usage").await.ok();
        usage["daily_pages"]["used"].as_u64().unwrap()
    };
    wait::until("the crawl has used five pages", async || used().await >= 5).await;
    drop(held);
    let path = format!("/v1/crawls/{}", run.json()["id"]);
    let run = client
        .until(&path, |answer| answer.ok()["status"] != "running")
        .await
        .ok();
    assert_eq!(run["status"], "done", "{run}");
    assert_eq!(run["error_message"], Value::Null, "{run}");
    assert_eq!(used().await, 11);
}

#[tokio::test]
async fn work_on_one_url_sets_aside_no_pages_for_more() {
    let (service, origin) = (
        Service::start().await,
        Origin::start().await.expect("a site"),
    );
    origin.set("/robots.txt", Reply::text(""));
    origin.set_under("/held/", |_| Reply::html("<p>page"));
    let client = service.other_project("shop").await;
    let url = origin.url("/held/one");
    let caller = client.clone();
    let call = tokio::spawn(async move {
        let urls = json!({"urls": [url]});
        caller.post("/v1/actors/check-links", &urls).await
    });
    origin.asked("/held/one", 1).await;
    let quota = &service.app.accounts.quota;
    let project = id(&service, "shop").await;
    let rest = quota
        .reserve_up_to(project, Amount::pages(200))
        .await
        .unwrap();
    assert_eq!(rest.left(), Amount::pages(199));
    drop(rest);
    origin.release();
    call.await.unwrap().ok();

    let crawl = json!({"url": origin.url("/held/two"), "delay_ms": 0});
    let run = client.post("/v1/crawls", &crawl).await;
    assert_eq!(run.status, 202, "{}", run.text());
    origin.asked("/held/two", 1).await;
    let rest = quota
        .reserve_up_to(project, Amount::pages(200))
        .await
        .unwrap();
    assert_eq!(rest.left(), Amount::pages(198));
    origin.release();
}

#[tokio::test]
async fn the_monthly_cap_holds_below_the_daily_cap() {
    let site = Site::start().await;
    let service = Service::with(|config| {
        config.tiers.get_mut("free").unwrap().pages_per_month = Cap::at(3);
    })
    .await;
    let client = service.other_project("shop").await;
    let (made, refused) = scans(&client, &site.url("/article"), 5).await;
    assert_eq!(made, 3);
    for answer in refused {
        let message = answer.error(429, "RATE_LIMITED");
        assert_eq!(message, "monthly page cap exceeded");
        // From noon of March 1st.
        let wait = (30 * 86_400 + 43_200).to_string();
        assert_eq!(answer.header("retry-after"), Some(wait.as_str()));
    }
}

#[tokio::test]
async fn items_past_the_cap_fail_one_by_one() {
    let site = Site::start().await;
    let service = Service::with(|config| {
        config.tiers.get_mut("free").unwrap().pages_per_day = Cap::at(3);
    })
    .await;
    let client = service.other_project("shop").await;
    let urls = json!([
        site.url("/article"),
        "nonsense",
        site.url("/hop/20"),
        site.url("/article"),
        site.url("/empty")
    ]);
    let answer = client.post("/v1/scan/bulk", &json!({"urls": urls})).await;
    let items = answer.ok()["items"].clone();
    let ok: Vec<bool> = (0..5)
        .map(|index| items[index]["ok"].as_bool().unwrap())
        .collect();
    assert_eq!(ok, [true, false, false, false, false]);
    for index in [3, 4] {
        assert_eq!(items[index]["error"], "daily page cap exceeded");
        assert_eq!(items[index]["url"], urls[index]);
    }
    // The first three are billed, whatever their result; the refused ones are not.
    let project = id(&service, "shop").await;
    let day = service.app.clock.now().date_naive();
    let days = service.app.store.usage_days(project, day).await.unwrap();
    assert_eq!(days[0].pages, 3);
    let again = client.post("/v1/scan/bulk", &json!({"urls": urls})).await;
    let items = again.ok()["items"].clone();
    assert_eq!(items.as_array().unwrap().len(), 5);
    assert!(
        items
            .as_array()
            .unwrap()
            .iter()
            .all(|item| item["ok"] == Value::Bool(false))
    );
}

#[tokio::test]
async fn a_failed_scan_returns_its_page() {
    let site = Site::start().await;
    let service = Service::with(|config| {
        config.tiers.get_mut("free").unwrap().pages_per_day = Cap::at(1);
    })
    .await;
    let client = service.other_project("shop").await;
    for _ in 0..3 {
        let body = json!({"url": site.url("/hop/20")});
        client
            .post("/v1/scan", &body)
            .await
            .error(502, "FETCH_FAILED");
    }
    let (made, refused) = scans(&client, &site.url("/article"), 2).await;
    assert_eq!((made, refused.len()), (1, 1));
}

#[tokio::test]
async fn a_repeated_request_at_the_cap_is_answered() {
    let site = Site::start().await;
    let service = Service::with(|config| {
        config.tiers.get_mut("free").unwrap().pages_per_day = Cap::at(1);
    })
    .await;
    let project = {
        service.other_project("shop").await;
        id(&service, "shop").await
    };
    let quota = &service.app.accounts.quota;
    let mut reserved = quota
        .reserve_for(project, Amount::pages(1), "token")
        .await
        .unwrap();
    let usage = reserved.usage("token", "scan", Amount::pages(1), 0);
    service.app.store.bill(usage).await.unwrap();
    let other = quota.reserve_for(project, Amount::pages(1), "other").await;
    assert!(matches!(other, Err(QuotaError::Capped(_))));
    let mut again = quota
        .reserve_for(project, Amount::pages(1), "token")
        .await
        .unwrap();
    let usage = again.usage("token", "scan", Amount::pages(1), 0);
    service.app.store.bill(usage).await.unwrap();
    let shares = quota
        .reserve_each(project, &["new".to_owned(), "token".to_owned()])
        .await
        .unwrap();
    assert_eq!(
        shares.iter().map(Result::is_ok).collect::<Vec<_>>(),
        [false, true]
    );
    let day = service.app.clock.now().date_naive();
    let days = service.app.store.usage_days(project, day).await.unwrap();
    assert_eq!(days[0].pages, 1);
    drop(site);
}

#[tokio::test]
async fn reserved_blocks_shrink_split_and_are_returned() {
    for service in [Service::start().await, Service::on_postgres().await] {
        service.other_project("shop").await;
        let project = id(&service, "shop").await;
        let (quota, store) = (&service.app.accounts.quota, &service.app.store);
        let mut block = quota
            .reserve_up_to(project, Amount::pages(150))
            .await
            .unwrap();
        assert!(block.short().is_none());
        let second = quota
            .reserve_up_to(project, Amount::pages(150))
            .await
            .unwrap();
        assert_eq!(second.left(), Amount::pages(50));
        assert_eq!(
            second.short().unwrap().to_string(),
            "daily page cap exceeded"
        );
        assert!(!second.short().unwrap().is_billed);
        let refused = quota.reserve(project, Amount::pages(1)).await;
        let Err(QuotaError::Capped(cap)) = refused else {
            panic!("{refused:?}");
        };
        // Other work may return what it has set aside long before midnight.
        assert_eq!((cap.is_billed, cap.retry_after_seconds), (false, 30));
        drop(second);
        let usage = block.usage("a", "crawl", Amount::pages(40), 0);
        store.bill(usage).await.unwrap();
        let part = block.split(Amount::pages(10));
        assert_eq!(
            (block.left(), part.left()),
            (Amount::pages(100), Amount::pages(10))
        );
        drop(part);
        // 40 are billed, 100 are reserved: 60 are left once the returned pages are written.
        store.keys(project).await.unwrap();
        let rest = quota
            .reserve_up_to(project, Amount::pages(1_000))
            .await
            .unwrap();
        assert_eq!(rest.left(), Amount::pages(60));
        drop((block, rest));
        store.keys(project).await.unwrap();
        let mut all = quota.reserve(project, Amount::pages(160)).await.unwrap();
        assert_eq!(all.left(), Amount::pages(160));
        let usage = all.usage("b", "crawl", Amount::pages(160), 0);
        store.bill(usage).await.unwrap();
        let refused = quota.reserve(project, Amount::pages(1)).await;
        let Err(QuotaError::Capped(cap)) = refused else {
            panic!("{refused:?}");
        };
        assert_eq!((cap.is_billed, cap.retry_after_seconds), (true, 43_200));
    }
}

#[tokio::test]
async fn reservations_of_a_dead_process_expire() {
    for postgres in [false, true] {
        let service = match postgres {
            false => Service::start().await,
            true => Service::on_postgres().await,
        };
        service.other_project("shop").await;
        let project = id(&service, "shop").await;
        let held = service
            .app
            .accounts
            .quota
            .reserve(project, Amount::pages(200))
            .await
            .unwrap();
        // As after kill -9: nothing is returned.
        std::mem::forget(held);
        let service = service.restart().await;
        // Other nodes may be alive, but no other process uses a SQLite file.
        if postgres {
            let refused = service
                .app
                .accounts
                .quota
                .reserve(project, Amount::pages(1))
                .await;
            assert!(matches!(refused, Err(QuotaError::Capped(_))));
            service.clock.advance(TimeDelta::minutes(6));
        }
        let granted = service
            .app
            .accounts
            .quota
            .reserve(project, Amount::pages(200))
            .await;
        assert_eq!(granted.unwrap().left(), Amount::pages(200));
    }
}

#[tokio::test]
async fn reservations_of_a_live_process_are_renewed() {
    let service = Service::start().await;
    service.other_project("shop").await;
    let project = id(&service, "shop").await;
    let quota = &service.app.accounts.quota;
    let held = quota.reserve(project, Amount::pages(200)).await.unwrap();
    for _ in 0..3 {
        service.clock.advance(TimeDelta::minutes(4));
        quota.renew().await.unwrap();
    }
    let refused = quota.reserve(project, Amount::pages(1)).await;
    assert!(matches!(refused, Err(QuotaError::Capped(_))));
    assert_eq!(held.left(), Amount::pages(200));
}

#[tokio::test]
async fn cloud_pages_count_against_both_caps() {
    let service = Service::start().await;
    service.other_project("shop").await;
    let project = id(&service, "shop").await;
    let quota = &service.app.accounts.quota;
    let cloud = quota
        .reserve_up_to(project, Amount::cloud(500))
        .await
        .unwrap();
    assert_eq!(cloud.left(), Amount::cloud(100));
    let error = quota
        .reserve(project, Amount::cloud(1))
        .await
        .unwrap_err()
        .to_string();
    assert_eq!(error, "daily cloud page cap exceeded");
    let pages = quota
        .reserve_up_to(project, Amount::pages(500))
        .await
        .unwrap();
    assert_eq!(pages.left(), Amount::pages(100));
}

#[tokio::test]
async fn a_suspended_project_is_refused_until_resumed() {
    let service = Service::start().await;
    let client = service.other_project("shop").await;
    client.get("/v1/logs").await.ok();
    let project = id(&service, "shop").await;
    let store = &service.app.store;
    let now = service.app.clock.now();
    assert!(store.suspend_project(project, Some(now)).await.unwrap());
    // Done as on the command line: this process has to notice it.
    let refused = client.until("/v1/logs", |answer| answer.status != 200);
    refused.await.error(403, "FORBIDDEN");
    let refused = service
        .app
        .accounts
        .quota
        .reserve(project, Amount::pages(1))
        .await;
    assert!(matches!(refused, Err(QuotaError::Suspended)));
    store.suspend_project(project, None).await.unwrap();
    client
        .until("/v1/logs", |answer| answer.status == 200)
        .await;
}
