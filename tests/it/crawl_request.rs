//! POST /v1/crawls: every field at its limits, and the effects of a request.

use std::time::Duration;

use chrono::TimeDelta;
use orbweaver_core::webhook::Event;
use orbweaver_crawl::spec::{CrawlSpec, SeedKind};
use orbweaver_fetch::ProxyPool;
use orbweaver_origin::{Origin, Reply};
use serde_json::{Value, json};

use crate::support::runs::{self, SEED, without_workers};
use crate::support::{Client, Service};

/// The specification of the queued run.
async fn spec(service: &Service, id: &Value) -> CrawlSpec {
    let id = id.as_i64().expect("an id").into();
    let run = service
        .app
        .store
        .run(runs::project(service).await, id)
        .await;
    serde_json::from_str(&run.unwrap().expect("a run").spec).unwrap()
}

/// A body with one field besides the URL.
fn with(field: &str, value: Value) -> Value {
    let mut body = json!({"url": SEED});
    body[field] = value;
    body
}

/// Queues a run and removes it again, so that the limit of active runs is not reached.
async fn accepted(service: &Service, body: &Value) -> CrawlSpec {
    let client = service.client();
    let answer = client.post("/v1/crawls", body).await;
    assert_eq!(answer.status, 202, "{body}: {}", answer.text());
    let id = answer.json()["id"].clone();
    let spec = spec(service, &id).await;
    let path = format!("/v1/crawls/{id}");
    assert_eq!(client.send("DELETE", &path, &[], b"").await.status, 204);
    spec
}

#[tokio::test]
async fn a_run_is_queued_with_the_documented_defaults() {
    for postgres in [false, true] {
        let service = without_workers(postgres, |_| {}).await;
        let client = service.client();
        let answer = client
            .post(
                "/v1/crawls",
                &json!({"url": SEED, "params": {"depth": 0}, "zzz": 1}),
            )
            .await;
        assert_eq!(answer.status, 202, "{}", answer.text());
        let body = answer.json();
        let id = body["id"].as_i64().unwrap();
        assert_eq!(
            answer.header("location"),
            Some(format!("/v1/crawls/{id}").as_str())
        );
        assert_eq!(
            body,
            json!({"id": id, "status": "queued", "url": SEED, "enqueued_at": "2026-03-01T12:00:00Z",
                   "warnings": ["params is not a field", "zzz is not a field"]})
        );
        let expected = CrawlSpec {
            max_pages: 1_000,
            depth: 5,
            concurrency: None,
            delay_ms: 250,
            subdomains: false,
            respect_robots: true,
            store_html: true,
            seed_kind: SeedKind::Url,
            webhook_events: vec![Event::Done],
            ..CrawlSpec::new(SEED)
        };
        assert_eq!(spec(&service, &body["id"]).await, expected);
        let run = client.get(&format!("/v1/crawls/{id}")).await.ok();
        assert_eq!(
            run,
            json!({
                "id": id, "url": SEED, "status": "queued", "page_count": 0, "error_count": 0,
                "enqueued_at": "2026-03-01T12:00:00Z", "started_at": null, "finished_at": null,
                "error_message": null, "proxy_url": null, "ai_bot_policy": null,
                "llms_txt": null, "llms_full_txt": null, "webhook_status": null,
                "webhook_attempts": 0, "webhook_last_error": null,
                "monitor_id": null, "previous_run_id": null,
            })
        );
    }
}

#[tokio::test]
async fn fields_are_accepted_at_their_limits() {
    let service = without_workers(false, |config| {
        let proxy = "http://user-{country}:secret@127.0.0.1:3128"
            .parse()
            .unwrap();
        config.fetch.proxy_pools = [(ProxyPool::Isp, vec![proxy])].into();
    })
    .await;
    for (field, values) in [
        ("max_pages", vec![json!(1), json!(100_000), json!(7.0)]),
        ("depth", vec![json!(1), json!(50)]),
        ("concurrency", vec![json!(1), json!(1_000_000)]),
        ("delay_ms", vec![json!(0), json!(3_600_000)]),
        ("subdomains", vec![json!(true)]),
        ("respect_robots", vec![json!(false)]),
        ("store_html", vec![json!(false)]),
        ("follow_refresh", vec![json!(true)]),
        ("seed_kind", vec![json!("sitemap"), json!("url")]),
        ("cookies", vec![json!("a=1; b=2"), json!("a=\"x y\";b=")]),
        (
            "exclude_paths",
            vec![json!([]), json!(["^/private/", "\\.pdf$"])],
        ),
        ("include_paths", vec![json!(["/blog/[0-9]+"])]),
        ("webhook_url", vec![json!("https://hooks.example.com/x")]),
        (
            "webhook_events",
            vec![json!(["crawl.done", "crawl.diff_detected"])],
        ),
        ("return_only_changed", vec![json!(true)]),
        ("user_agent", vec![json!("curl/8"), json!("Orbweaver/1")]),
        (
            "proxy_url",
            vec![
                json!("socks5://u:p@127.0.0.1:1080"),
                json!("https://p.example.com"),
            ],
        ),
        ("proxy_pool", vec![json!("isp")]),
        ("aggressive", vec![json!(false)]),
    ] {
        for value in values {
            let spec = accepted(&service, &with(field, value.clone())).await;
            let kept = serde_json::to_value(spec).unwrap();
            if value == json!(7.0) {
                assert_eq!(kept[field], 7);
            } else {
                assert_eq!(kept[field], value, "{field}");
            }
            // Null counts as absent.
            accepted(&service, &with(field, Value::Null)).await;
        }
    }
    let spec = accepted(
        &service,
        &with("headers", json!({"X-Key": "v", "accept": "*/*"})),
    )
    .await;
    let headers = [("X-Key", "v"), ("accept", "*/*")];
    assert_eq!(
        spec.headers,
        headers.map(|(n, v)| (n.to_owned(), v.to_owned()))
    );
    let pooled = json!({"url": SEED, "proxy_pool": "isp", "proxy_country": "de"});
    let spec = accepted(&service, &pooled).await;
    assert_eq!(spec.proxy_pool, Some(ProxyPool::Isp));
    assert_eq!(spec.proxy_country.as_deref(), Some("DE"));
    let spec = accepted(&service, &with("aggressive", json!(true))).await;
    assert_eq!(
        (spec.delay_ms, spec.concurrency, spec.respect_robots),
        (0, Some(32), false)
    );
}

#[tokio::test]
async fn invalid_fields_are_refused_by_name() {
    let service = without_workers(false, |_| {}).await;
    let client = service.client();
    let long = "a".repeat(20_000);
    let many: Vec<String> = (0..101).map(|n| format!("/{n}")).collect();
    for (field, values) in [
        (
            "url",
            vec![
                json!(1),
                json!(""),
                json!("example.com"),
                json!("ftp://example.com/"),
                json!(" http://example.com/"),
                json!("http:example.com"),
                json!("http://10.0.0.1/"),
                json!("http://[::1]/"),
                json!("http://u:p@example.com/"),
            ],
        ),
        (
            "max_pages",
            vec![json!(0), json!(100_001), json!(-1), json!("5"), json!(1.5)],
        ),
        ("depth", vec![json!(0), json!(51)]),
        ("concurrency", vec![json!(0), json!(-1)]),
        ("delay_ms", vec![json!(-1), json!(3_600_001)]),
        ("subdomains", vec![json!("yes")]),
        ("respect_robots", vec![json!(1)]),
        ("store_html", vec![json!("no")]),
        ("follow_refresh", vec![json!("yes")]),
        ("seed_kind", vec![json!("feed"), json!(1)]),
        ("headers", vec![json!([]), json!("a: b")]),
        ("headers.Host", vec![json!({"Host": "x"})]),
        ("headers.a b", vec![json!({"a b": "x"})]),
        (
            "headers.x",
            vec![json!({"x": "a\r\nb: c"}), json!({"x": long})],
        ),
        ("headers.x-a", vec![json!({"x-a": "1", "X-A": "2"})]),
        (
            "cookies",
            vec![json!("abc"), json!("=v"), json!("a=b\r\nx: y"), json!(long)],
        ),
        ("exclude_paths", vec![json!("^/a"), json!(many)]),
        (
            "exclude_paths[1]",
            vec![json!(["a", "("]), json!(["a", long])],
        ),
        (
            "include_paths[0]",
            vec![json!(["(?=x)"]), json!(["(a{1000}){1000}"])],
        ),
        // Each byte of a URL would take a step for each of its states.
        ("exclude_paths[0]", vec![json!(["a[ab]{400}00c"])]),
        (
            "webhook_url",
            vec![
                json!("nope"),
                json!("http://169.254.169.254/"),
                json!("ftp://x.example/"),
            ],
        ),
        ("webhook_events", vec![json!([]), json!("crawl.done")]),
        ("webhook_events[0]", vec![json!(["crawl.started"])]),
        ("return_only_changed", vec![json!("x")]),
        ("max_age_seconds", vec![json!(-1), json!(400_000_000)]),
        ("user_agent", vec![json!("a\nb"), json!("a".repeat(1_025))]),
        (
            "proxy_url",
            vec![
                json!("socks4://p:1"),
                json!("p:3128"),
                json!("http://10.0.0.1:3128"),
                json!("socks5://192.168.0.1"),
            ],
        ),
        ("proxy_pool", vec![json!("tor"), json!(1)]),
        (
            "proxy_country",
            vec![json!("Germany"), json!("XX"), json!("DE")],
        ),
        ("aggressive", vec![json!("yes")]),
        ("extractors[0]", vec![json!(["nobody-has-this"])]),
    ] {
        let name = field.split(['.', '[']).next().unwrap();
        for value in values {
            let answer = client.post("/v1/crawls", &with(name, value.clone())).await;
            let message = answer.error(422, "INVALID_INPUT");
            let (said, rule) = message.split_once(": ").expect("a field and a message");
            assert_eq!(said, field, "{value}: {message}");
            assert!(!rule.is_empty());
        }
    }
    for (body, message) in [
        (json!({}), "url: is required"),
        (
            with("url", json!(" http://example.com/")),
            "url: must start with http:// or https://",
        ),
        (
            with("headers", json!([])),
            "headers: must be an object, not an array",
        ),
        (
            with("exclude_paths", json!({})),
            "exclude_paths: must be an array, not an object",
        ),
    ] {
        let answer = client.post("/v1/crawls", &body).await;
        assert_eq!(answer.error(422, "INVALID_INPUT"), message);
    }
    let answer = client.send("POST", "/v1/crawls", &[], b"{").await;
    answer.error(400, "INVALID_INPUT");
    // None of them queued a run.
    let list = client.get("/v1/crawls").await.ok();
    assert_eq!(list, json!({"items": [], "next_offset": null}));
}

#[tokio::test]
async fn aggressive_needs_a_higher_tier_and_no_cron() {
    let service = without_workers(false, |_| {}).await;
    let free = service.other_project("small").await;
    let message = free
        .post("/v1/crawls", &with("aggressive", json!(true)))
        .await
        .error(422, "INVALID_INPUT");
    assert!(message.starts_with("aggressive: "), "{message}");
    let mut body = with("aggressive", json!(true));
    body["cron"] = json!("0 6 * * 1");
    let message = service
        .client()
        .post("/v1/crawls", &body)
        .await
        .error(422, "INVALID_INPUT");
    assert!(message.starts_with("aggressive: "), "{message}");
}

#[tokio::test]
async fn a_country_that_no_proxy_of_the_pool_can_choose_is_refused() {
    let service = without_workers(false, |config| {
        let proxy = "http://127.0.0.1:3128".parse().unwrap();
        config.fetch.proxy_pools = [(ProxyPool::Isp, vec![proxy])].into();
    })
    .await;
    let pooled = json!({"url": SEED, "proxy_pool": "isp", "proxy_country": "de"});
    let answer = service.client().post("/v1/crawls", &pooled).await;
    let message = answer.error(501, "NOT_IMPLEMENTED");
    assert!(message.contains("{country}"), "{message}");
    accepted(&service, &json!({"url": SEED, "proxy_pool": "isp"})).await;
}

#[tokio::test]
async fn an_unconfigured_pool_names_its_setting() {
    let service = without_workers(false, |_| {}).await;
    let client = service.client();
    let message = client
        .post("/v1/crawls", &with("proxy_pool", json!("mobile")))
        .await
        .error(501, "NOT_IMPLEMENTED");
    assert!(message.contains("fetch.proxy_pools"), "{message}");
    // Validation of the body comes first, and proxy_url has precedence over the pool.
    for (field, wrong) in [("depth", json!(0)), ("cron", json!("nonsense"))] {
        let mut body = with("proxy_pool", json!("mobile"));
        body[field] = wrong;
        let message = client.post("/v1/crawls", &body).await;
        let message = message.error(422, "INVALID_INPUT");
        assert!(message.starts_with(&format!("{field}: ")), "{message}");
    }
    let mut body = with("proxy_pool", json!("mobile"));
    body["proxy_url"] = json!("http://user:hunter2@127.0.0.1:3128");
    let run = client.post("/v1/crawls", &body).await;
    assert_eq!(run.status, 202);
    let run = client
        .get(&format!("/v1/crawls/{}", run.json()["id"]))
        .await;
    assert_eq!(run.ok()["proxy_url"], "http://***@127.0.0.1:3128");
    assert!(!run.text().contains("hunter2"));
}

#[tokio::test]
async fn an_idempotency_key_returns_the_original_run_whatever_the_body() {
    for postgres in [false, true] {
        let service = without_workers(postgres, |_| {}).await;
        let client = service.client();
        let key = "0e0e7a52-92ac-4a25-8d3f-6d1d4d7fbd5a";
        let headers = [("idempotency-key", key)];
        let first = client
            .post_with("/v1/crawls", &headers, &json!({"url": SEED}))
            .await;
        assert_eq!(first.status, 202);
        assert_eq!(first.header("idempotent-replayed"), None);
        for body in [
            json!({"url": SEED}),
            json!({"url": "http://127.0.0.1:8081/other"}),
            json!({"url": SEED, "depth": 51}),
        ] {
            let again = client.post_with("/v1/crawls", &headers, &body).await;
            assert_eq!(again.status, 202, "{}", again.text());
            assert_eq!(again.header("idempotent-replayed"), Some("true"));
            assert_eq!(again.json(), first.json());
            assert_eq!(again.header("location"), first.header("location"));
        }
        // The keys of another project are separate.
        let other = service.other_project("other").await;
        let theirs = other
            .post_with("/v1/crawls", &headers, &json!({"url": SEED}))
            .await;
        assert_eq!(theirs.header("idempotent-replayed"), None);
        assert_ne!(theirs.json()["id"], first.json()["id"]);
        client
            .post_with(
                "/v1/crawls",
                &[("idempotency-key", "7")],
                &json!({"url": SEED}),
            )
            .await
            .error(422, "INVALID_INPUT");
        service.clock.advance(TimeDelta::hours(24));
        let later = client
            .post_with("/v1/crawls", &headers, &json!({"url": SEED}))
            .await;
        assert_eq!(later.header("idempotent-replayed"), None);
        assert_ne!(later.json()["id"], first.json()["id"]);
        assert_eq!(
            client.get("/v1/crawls").await.ok()["items"]
                .as_array()
                .unwrap()
                .len(),
            2
        );
    }
}

#[tokio::test]
async fn a_recent_finished_run_is_returned_instead_of_a_new_one() {
    for postgres in [false, true] {
        let service = without_workers(postgres, |_| {}).await;
        let client = service.client();
        let done = runs::done(&service, &[]).await;
        service.clock.advance(TimeDelta::seconds(100));
        let ask = async |client: &Client, url: &str, seconds: u64| {
            let body = json!({"url": url, "max_age_seconds": seconds});
            let answer = client.post("/v1/crawls", &body).await;
            (answer.status, answer.json())
        };
        // The URL is compared in normalised form.
        let (status, run) = ask(&client, "http://127.0.0.1:8081/#top", 100).await;
        assert_eq!(
            (status, &run["id"], &run["status"]),
            (200, &json!(done.get()), &json!("done"))
        );
        let (status, fresh) = ask(&client, SEED, 99).await;
        assert_eq!(status, 202);
        assert_ne!(fresh["id"], done.get());
        // A queued run has not finished; another page needs its own run.
        assert_eq!(
            ask(&client, "http://127.0.0.1:8081/else", 1_000).await.0,
            202
        );
        let other = service.other_project("other").await;
        assert_eq!(ask(&other, SEED, 1_000).await.0, 202);
    }
}

#[tokio::test]
async fn a_run_beyond_the_cap_waits_if_requested() {
    for service in [Service::start().await, Service::on_postgres().await] {
        let origin = Origin::start().await.expect("a site");
        origin.set("/robots.txt", Reply::text(""));
        origin.set_under("/held/", |_| Reply::html("<p>page"));
        // Tier free allows two.
        let client = service.other_project("small").await;
        let crawl = |n: u32, queue: bool| {
            let client = &client;
            let body = json!({"url": origin.url(&format!("/held/{n}")), "queue": queue});
            async move { client.post("/v1/crawls", &body).await }
        };
        for n in 0..2 {
            assert_eq!(crawl(n, false).await.status, 202);
            origin.asked(&format!("/held/{n}"), 1).await;
        }
        let refused = crawl(2, false).await;
        let message = refused.error(429, "RATE_LIMITED");
        assert!(
            message.contains(": 2 (setting tiers.free.concurrent_runs)"),
            "{message}"
        );
        assert!(message.contains("\"queue\": true"), "{message}");
        let site = json!({"url": origin.url("/held/2")});
        let refused = client.post("/v1/llms-txt-build", &site).await;
        let message = refused.error(429, "RATE_LIMITED");
        assert!(
            message.contains(": 2 (setting tiers.free.concurrent_runs)"),
            "{message}"
        );
        let mut waiting = Vec::new();
        for n in 3..6 {
            let answer = crawl(n, true).await;
            assert_eq!(answer.status, 202, "{}", answer.text());
            assert_eq!(answer.json()["status"], "queued");
            waiting.push((n, answer.header("location").expect("a place").to_owned()));
        }
        let usage = client.get("/v1/usage").await.ok();
        assert_eq!(usage["concurrent_runs"]["used"], 2, "{usage}");
        // A waiting run stays ahead of later requests.
        crawl(6, false).await.error(429, "RATE_LIMITED");
        assert_eq!(origin.count("/held/3"), 0);
        let service = match service.app.store.is_shared() {
            true => service,
            // Runs still wait after a restart.
            false => service.restart().await,
        };
        let client = client.at(service.address);
        for (n, path) in waiting {
            client
                .until(&path, |answer| {
                    origin.release();
                    answer.ok()["status"] == "done"
                })
                .await;
            assert!(origin.count(&format!("/held/{n}")) > 0);
        }
    }
}

#[tokio::test]
async fn the_limit_of_active_runs_holds_until_one_ends() {
    for postgres in [false, true] {
        let service = without_workers(postgres, |_| {}).await;
        // Tier free allows two.
        let client = service.other_project("small").await;
        let body = json!({"url": SEED});
        let posts = (0..6).map(|_| client.post("/v1/crawls", &body));
        let answers = futures::future::join_all(posts).await;
        let (made, refused): (Vec<_>, Vec<_>) =
            answers.into_iter().partition(|answer| answer.status == 202);
        assert_eq!((made.len(), refused.len()), (2, 4));
        for answer in &refused {
            answer.error(429, "RATE_LIMITED");
            let seconds = answer
                .header("retry-after")
                .expect("Retry-After")
                .parse::<u64>();
            assert_eq!(
                answer.json()["error"]["retry_after_seconds"],
                seconds.unwrap()
            );
        }
        // A cancelled run frees its slot.
        let path = made[0].header("location").unwrap();
        assert_eq!(client.send("DELETE", path, &[], b"").await.status, 204);
        let again = client.post("/v1/crawls", &json!({"url": SEED})).await;
        assert_eq!(again.status, 202, "{}", again.text());
    }
}

#[tokio::test]
async fn blocked_domains_follow_changes_of_the_list() {
    let folder = tempfile::tempdir().unwrap();
    let (hosts, plain) = (folder.path().join("hosts"), folder.path().join("plain.txt"));
    std::fs::write(&hosts, "# malware\n0.0.0.0 bad.example.com\n").unwrap();
    std::fs::write(&plain, "worse.example.org\n127.0.0.9\n").unwrap();
    let service = without_workers(false, |config| {
        config.blocklist.sources = [&hosts, &plain]
            .map(|path| path.display().to_string())
            .to_vec();
    })
    .await;
    let client = service.client();
    for url in [
        "http://bad.example.com/",
        "https://a.b.BAD.example.com./x",
        "http://worse.example.org:8080/",
        "http://127.0.0.9/",
    ] {
        for path in ["/v1/crawls", "/v1/scan"] {
            let message = client
                .post(path, &json!({"url": url}))
                .await
                .error(422, "INVALID_INPUT");
            assert!(
                message.starts_with("url: ") && message.contains("blocklist"),
                "{message}"
            );
        }
    }
    let free = client
        .post("/v1/crawls", &json!({"url": "http://notbad.example.com/"}))
        .await;
    assert_eq!(free.status, 202, "{}", free.text());
    std::fs::write(&hosts, "0.0.0.0 late.example.net other.example.net\n").unwrap();
    let listed = json!({"url": "http://www.late.example.net/"});
    for _ in 0..600 {
        let answer = client.post("/v1/crawls", &listed).await;
        if answer.status == 422 {
            // A domain of the other list stays blocked; one that this list no longer has is not.
            let message = client
                .post("/v1/crawls", &json!({"url": "http://worse.example.org/"}))
                .await
                .error(422, "INVALID_INPUT");
            assert!(message.contains("blocklist"), "{message}");
            let freed = client
                .post("/v1/crawls", &json!({"url": "http://bad.example.com/"}))
                .await;
            assert_eq!(freed.status, 202);
            return;
        }
        let path = answer.header("location").expect("a run").to_owned();
        assert_eq!(client.send("DELETE", &path, &[], b"").await.status, 204);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("the list was not read again");
}
