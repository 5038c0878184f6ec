//! GET /v1/usage, its history, and the state of the cloud backends.

use chrono::TimeDelta;
use orbweaver_server::config::Config;
use orbweaver_store::NewUsage;
use serde_json::{Value, json};

use crate::support::vendor::Vendor;
use crate::support::{Service, Site};

fn event(service: &Service, project: orbweaver_core::ids::ProjectId, token: &str) -> NewUsage {
    NewUsage {
        project,
        token: token.to_owned(),
        call: "cloud/scrape",
        pages: 1,
        cloud_pages: 2,
        cost_micros: 1_500,
        at: service.app.clock.now(),
        reservation: None,
    }
}

#[tokio::test]
async fn usage_has_both_variants() {
    for service in [Service::start().await, Service::on_postgres().await] {
        let client = service.other_project("shop").await;
        let project = service.app.store.project_named("shop").await.unwrap();
        let project = project.unwrap().id;
        let store = &service.app.store;
        store.bill(event(&service, project, "a")).await.unwrap();
        service.clock.advance(TimeDelta::days(1));
        store.bill(event(&service, project, "b")).await.unwrap();
        store.bill(event(&service, project, "b")).await.unwrap();
        assert_eq!(
            client.get("/v1/usage").await.ok(),
            json!({
                "tier": "free",
                "caps": {"pages_per_day": 200, "pages_per_month": 1500, "cloud_pages_per_day": 100},
                "today": {"date": "2026-03-02", "pages": 1, "cloud_pages": 2,
                          "cloud_cost_usd": 0.0015, "pages_pct": 1.5, "cloud_pages_pct": 2.0},
                "month": {"pages": 2, "cloud_pages": 4, "cloud_cost_usd": 0.003, "pages_pct": 0.4},
                "retry_after_seconds": 43_200,
                "daily_pages": {"used": 3, "cap": 200, "percent": 1.5},
                "monthly_pages": {"used": 6, "cap": 1500, "percent": 0.4},
                "concurrent_runs": {"used": 0, "cap": 2},
            })
        );
        let history = client.get("/v1/usage/history?days=3").await.ok();
        let day = |date: &str, pages: u64, cost: f64| json!({"date": date, "pages": pages, "cloud_pages": 2 * pages, "cloud_cost_usd": cost});
        assert_eq!(
            history["days"],
            json!([
                day("2026-02-28", 0, 0.0),
                day("2026-03-01", 1, 0.0015),
                day("2026-03-02", 1, 0.0015)
            ])
        );
        let calls = client.get("/v1/usage/calls?days=3").await.ok();
        let call = |date: &str| json!({"date": date, "call": "cloud/scrape", "pages": 1, "cloud_pages": 2, "cloud_cost_usd": 0.0015});
        assert_eq!(
            calls["items"],
            json!([call("2026-03-01"), call("2026-03-02")])
        );
        client
            .get("/v1/usage/calls?days=0")
            .await
            .error(422, "INVALID_INPUT");
        assert_eq!(store.usage_total(project).await.unwrap(), (2, 4, 3_000));
        let costs_alone = NewUsage {
            cloud_pages: 0,
            cost_micros: 500,
            ..event(&service, project, "c")
        };
        store.bill(costs_alone).await.unwrap();
        let today = client.get("/v1/usage").await.ok()["today"].clone();
        assert_eq!(today["cloud_cost_usd"], 0.002, "{today}");
        // The first of these events is exactly one day old.
        let health = client.get("/v1/health/cloud").await.ok();
        assert_eq!(
            health["last_24h"],
            json!({"cloud_pages": 2, "cloud_cost_usd": 0.002})
        );
        assert_eq!(health["configured"], false);
        assert_eq!(health["balance_usd"], 0.0);
    }
}

#[tokio::test]
async fn an_absurd_cost_is_bounded() {
    let vendor = Vendor::start().await;
    let of_vendor = |config: &mut Config| vendor.configure(config);
    for service in [
        Service::with(of_vendor).await,
        Service::on_postgres_with(of_vendor).await,
    ] {
        let client = service.client();
        let body = json!({"url": Site::start().await.url("/absurd"), "force_backend": "vendor"});
        for _ in 0..2 {
            let page = client.post("/v1/cloud/scrape", &body).await.ok();
            assert_eq!(page["cost_usd"], 10_000.0, "{page}");
        }
        let usage = client.get("/v1/usage").await.ok();
        assert_eq!(usage["month"]["cloud_cost_usd"], 20_000.0, "{usage}");
        let history = client.get("/v1/usage/history?days=1").await.ok();
        assert_eq!(history["days"][0]["cloud_cost_usd"], 20_000.0, "{history}");
        let calls = client.get("/v1/usage/calls?days=1").await;
        assert_eq!(calls.status, 200, "{}", calls.text());
        let health = client.get("/v1/health/cloud").await.ok();
        assert_eq!(health["last_24h"]["cloud_cost_usd"], 20_000.0, "{health}");
    }
}

#[tokio::test]
async fn without_caps_there_are_no_percentages() {
    let service = Service::start().await;
    let usage = service.client().get("/v1/usage").await.ok();
    assert_eq!(usage["tier"], "self_hosted");
    assert_eq!(
        usage["caps"],
        json!({"pages_per_day": null, "pages_per_month": null, "cloud_pages_per_day": null})
    );
    assert_eq!(
        usage["daily_pages"],
        json!({"used": 0, "cap": null, "percent": null})
    );
    assert_eq!(usage["today"]["pages_pct"], Value::Null);
    assert_eq!(usage["concurrent_runs"], json!({"used": 0, "cap": 5}));
}

#[tokio::test]
async fn scans_and_tier_changes_show_at_once() {
    let (service, site) = (Service::start().await, Site::start().await);
    let client = service.other_project("shop").await;
    for pages in 1..4 {
        client
            .post("/v1/scan", &json!({"url": site.url("/article")}))
            .await
            .ok();
        let usage = client.get("/v1/usage").await.ok();
        assert_eq!(usage["today"]["pages"], pages);
    }
    let project = service.app.store.project_named("shop").await.unwrap();
    let change = orbweaver_store::ProjectChange {
        tier: Some("pro"),
        ..Default::default()
    };
    let store = &service.app.store;
    store
        .change_project(project.unwrap().id, &change)
        .await
        .unwrap();
    // Done as on the command line: this process notices it by itself.
    let changed = client.until("/v1/usage", |answer| answer.ok()["tier"] != "free");
    assert_eq!(changed.await.ok()["daily_pages"]["cap"], 2_000);
}

#[tokio::test]
async fn the_history_has_the_requested_length() {
    let service = Service::start().await;
    let client = service.client();
    for (query, days) in [("", 30), ("?days=1", 1), ("?days=365", 365)] {
        let history = client.get(&format!("/v1/usage/history{query}")).await.ok();
        let listed = history["days"].as_array().unwrap();
        assert_eq!(listed.len(), days);
        assert_eq!(listed[days - 1]["date"], "2026-03-01");
    }
    for query in ["days=0", "days=366", "days=x", "days=-1"] {
        let message = client
            .get(&format!("/v1/usage/history?{query}"))
            .await
            .error(422, "INVALID_INPUT");
        assert!(message.starts_with("days: "), "{message}");
    }
}

#[tokio::test]
async fn only_trusted_proxies_set_the_client_address() {
    let direct = Service::start().await;
    let behind = Service::with(|config| {
        config.trusted_proxies = ["127.0.0.0/8", "10.0.0.0/8"]
            .map(|net| net.parse().unwrap())
            .to_vec();
    })
    .await;
    for (forwarded, expected) in [
        ("198.51.100.9, 203.0.113.7, 10.1.2.3", "203.0.113.7"),
        // Some proxies add the port.
        ("198.51.100.9, 203.0.113.7:4242", "203.0.113.7"),
        (
            "198.51.100.9, [2001:db8::7]:4242, 10.1.2.3:1",
            "2001:db8::7",
        ),
        ("198.51.100.9, [2001:db8::7]", "2001:db8::7"),
        ("198.51.100.9, ::ffff:203.0.113.7", "203.0.113.7"),
        // What stands before an entry that is no address is hearsay.
        ("198.51.100.9, unknown, 10.1.2.3", "10.1.2.3"),
        ("198.51.100.9, unknown", "127.0.0.1"),
        ("198.51.100.9, 203.0.113.7, ,", "203.0.113.7"),
        ("", "127.0.0.1"),
    ] {
        for (service, expected) in [(&direct, "127.0.0.1"), (&behind, expected)] {
            let client = service.client();
            let headers = [("x-forwarded-for", forwarded)];
            client.send("GET", "/v1/usage", &headers, b"").await.ok();
            let log = client.get("/v1/logs").await.ok();
            assert_eq!(log["items"][0]["client_ip"], expected, "{forwarded}");
        }
    }
}
