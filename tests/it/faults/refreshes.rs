//! Fault 16: refreshes, which are recorded, and followed as redirects when a request asks for it.

use orbweaver_origin::{Origin, Reply};
use serde_json::{Value, json};

use super::support::Faulty;
use crate::support::runs;

/// A page that leads to a URL after so many seconds.
fn leading(seconds: u32, url: &str) -> Reply {
    Reply::html(format!(
        "<title>Moves</title><meta http-equiv=refresh content='{seconds}; url={url}'><p>wait"
    ))
}

fn linking(paths: &[&str]) -> Reply {
    let links = paths.iter().map(|path| format!("<a href='{path}'>x</a> "));
    Reply::html(links.collect::<String>())
}

/// Where a scan that follows refreshes ends.
async fn followed(faulty: &Faulty, path: &str) -> Value {
    let body = json!({"url": faulty.origin.url(path), "follow_refresh": true});
    faulty.scan_with(&body).await["final_url"].clone()
}

/// Paths of the pages of a run.
async fn paths(faulty: &Faulty, run: &Value) -> Vec<String> {
    faulty.rows(run).await.into_keys().collect()
}

#[tokio::test]
async fn fault_16_scans_follow_a_refresh_when_asked() {
    let faulty = Faulty::start().await;
    let origin = &faulty.origin;
    let header = Reply::html("<p>wait").header("Refresh", "5; url=/good");
    origin
        .set("/meta", leading(0, "/good"))
        .set("/header", header);
    let good = origin.url("/good");
    for (path, seconds) in [("/meta", 0), ("/header", 5)] {
        let before = origin.count("/good");
        let plain = faulty.scan(path).await;
        assert_eq!(plain["final_url"], origin.url(path));
        assert_eq!(
            plain["signals"]["refresh"],
            json!({"seconds": seconds, "url": good})
        );
        assert_eq!(origin.count("/good"), before);
        let body = json!({"url": origin.url(path), "follow_refresh": true});
        let followed = faulty.scan_with(&body).await;
        assert_eq!(followed["url"], origin.url(path));
        assert_eq!(followed["final_url"], good);
        assert_eq!(followed["metadata"]["title"], "Good");
        assert_eq!(followed["signals"]["refresh"], Value::Null);
    }
    let body = json!({"urls": [origin.url("/meta"), good], "follow_refresh": true});
    let answer = faulty.client().post("/v1/scan/bulk", &body).await.ok();
    let ends = |item: usize| &answer["items"][item]["result"]["final_url"];
    assert_eq!([ends(0), ends(1)], [&good, &good], "{answer}");
    faulty.is_well().await;
}

#[tokio::test]
async fn fault_16_a_page_that_only_reloads_itself_is_the_answer() {
    let faulty = Faulty::start().await;
    let origin = &faulty.origin;
    for (path, reply) in [
        ("/live", leading(60, "/live")),
        ("/top", leading(0, "/top#top")),
        ("/logout", leading(900, "/good")),
        ("/broken", leading(0, "http://[::1")),
        ("/gone", leading(0, "/good").with_status(404)),
    ] {
        origin.set(path, reply);
        assert_eq!(followed(&faulty, path).await, origin.url(path));
        assert_eq!(origin.count(path), 1, "{path}");
    }
    assert_eq!(origin.count("/good"), 0);
    // It waits for its cookie.
    origin.set_under("/cookie", |request| match request.header("cookie") {
        Some(_) => Reply::html("<p>come in"),
        None => leading(0, "/cookie").header("Set-Cookie", "seen=1"),
    });
    assert_eq!(followed(&faulty, "/cookie").await, origin.url("/cookie"));
    assert_eq!(origin.count("/cookie"), 2);
    // As in browsers, the target is resolved by the page's base.
    let base = "<base href=/dir/><meta http-equiv=refresh content=0;url=page>";
    origin
        .set("/base", Reply::html(base))
        .set("/dir/page", linking(&[]));
    assert_eq!(followed(&faulty, "/base").await, origin.url("/dir/page"));
    faulty.is_well().await;
}

#[tokio::test]
async fn fault_16_stored_answers_with_and_without_it_are_kept_apart() {
    let faulty = Faulty::start().await;
    let origin = &faulty.origin;
    origin.set("/meta", leading(0, "/good"));
    let scan = async |path: &str, follows: bool| {
        let body =
            json!({"url": origin.url(path), "max_age_seconds": 600, "follow_refresh": follows});
        faulty.scan_with(&body).await["final_url"].clone()
    };
    for _ in 0..2 {
        assert_eq!(scan("/meta", false).await, origin.url("/meta"));
        assert_eq!(scan("/meta", true).await, origin.url("/good"));
    }
    assert_eq!((origin.count("/meta"), origin.count("/good")), (2, 1));
    // A crawl that follows it stores the page to which it leads, under that page's URL.
    let run = faulty.crawl("/meta", json!({"follow_refresh": true})).await;
    assert_eq!(paths(&faulty, &run).await, ["/good"]);
    assert_eq!(scan("/good", false).await, origin.url("/good"));
    assert_eq!(scan("/meta", false).await, origin.url("/meta"));
    assert_eq!(scan("/meta", true).await, origin.url("/good"));
    assert_eq!((origin.count("/meta"), origin.count("/good")), (3, 2));
    faulty.is_well().await;
}

#[tokio::test]
async fn fault_16_a_crawl_goes_on_from_a_page_that_refreshes_when_asked() {
    let faulty = Faulty::start().await;
    let origin = &faulty.origin;
    origin
        .set("/", leading(0, "/start"))
        .set("/start", linking(&["/next"]))
        .set("/next", linking(&["/"]));
    let plain = faulty.crawl("/", json!({})).await;
    assert_eq!(plain["status"], "done", "{plain}");
    assert_eq!(paths(&faulty, &plain).await, ["/"]);
    assert_eq!(origin.count("/start"), 0);
    let client = faulty.client();
    let list = format!("/v1/crawls/{}/pages", plain["id"]);
    let page = &client.get(&list).await.ok()["items"][0];
    let page = format!("/v1/pages/{}?format=signals", page["id"]);
    assert_eq!(
        client.get(&page).await.ok()["signals"]["refresh"],
        json!({"seconds": 0, "url": origin.url("/start")})
    );
    let run = faulty.crawl("/", json!({"follow_refresh": true})).await;
    assert_eq!(
        (&run["status"], &run["error_count"]),
        (&json!("done"), &json!(0))
    );
    assert_eq!(paths(&faulty, &run).await, ["/next", "/start"]);
    let list = format!("/v1/crawls/{}/pages?include=redirects,depth", run["id"]);
    let pages = client.get(&list).await.ok();
    let start = &pages["items"][0];
    assert_eq!(
        (&start["url"], &start["depth"]),
        (&json!(origin.url("/start")), &json!(0))
    );
    assert_eq!(
        start["redirects"],
        json!([{"url": origin.url("/"), "status": 200}])
    );
    faulty.is_well().await;
}

#[tokio::test]
async fn fault_16_pages_that_refresh_to_one_page_are_that_page() {
    let faulty = Faulty::start().await;
    let origin = &faulty.origin;
    origin
        .set("/", linking(&["/a", "/b", "/moved", "/target"]))
        .set("/a", leading(0, "/target"))
        .set("/b", leading(3, "/a"))
        .set("/moved", Reply::redirect(302, "/b"))
        .set("/target", linking(&[]));
    for concurrency in [1, 4] {
        let options = json!({"follow_refresh": true, "concurrency": concurrency});
        let run = faulty.crawl("/", options).await;
        assert_eq!(run["error_count"], 0, "{run}");
        assert_eq!(paths(&faulty, &run).await, ["/", "/target"]);
        let orphans = format!("/v1/crawls/{}/orphans", run["id"]);
        let orphans = faulty.client().get(&orphans).await.ok();
        assert_eq!(orphans["items"], json!([]));
    }
    faulty.is_well().await;
}

#[tokio::test]
async fn fault_16_refreshes_and_redirects_have_one_limit() {
    let faulty = Faulty::start().await;
    let origin = &faulty.origin;
    origin
        .set("/a", leading(0, "/b"))
        .set("/b", Reply::redirect(302, "/c"))
        .set("/c", Reply::html("<p>wait").header("Refresh", "0;/a"));
    let requests = || {
        let counts = ["/a", "/b", "/c"].map(|path| origin.count(path));
        counts.iter().sum::<usize>()
    };
    let body = json!({"url": origin.url("/a"), "follow_refresh": true});
    let answer = faulty.client().post("/v1/scan", &body).await;
    let message = answer.error(502, "FETCH_FAILED");
    assert!(message.contains("more than 10 redirects"), "{message}");
    assert_eq!(requests(), 11);
    let run = faulty.crawl("/a", json!({"follow_refresh": true})).await;
    assert_eq!(run["status"], "failed", "{run}");
    let message = run["error_message"].as_str().expect("why");
    assert!(message.contains("more than 10 redirects"), "{message}");
    assert_eq!(requests(), 22);
    faulty.is_well().await;
}

#[tokio::test]
async fn fault_16_scope_robots_txt_and_guard_hold_for_refreshes() {
    let faulty = Faulty::start().await;
    let (origin, other) = (&faulty.origin, Origin::start().await.expect("a site"));
    let pages = ["/away", "/inside", "/mail", "/forbidden", "/good"];
    origin
        .set(
            "/robots.txt",
            Reply::text("User-agent: *\nDisallow: /secret"),
        )
        .set("/", linking(&pages))
        .set("/away", leading(0, &other.url("/")))
        .set("/inside", leading(0, "http://10.0.0.1/"))
        .set("/mail", leading(0, "mailto:a@b.example"))
        .set("/forbidden", leading(0, "/secret"))
        .set("/secret", linking(&[]));
    let run = faulty.crawl("/", json!({"follow_refresh": true})).await;
    assert_eq!(
        (&run["status"], &run["error_count"]),
        (&json!("done"), &json!(0))
    );
    assert_eq!(
        paths(&faulty, &run).await,
        ["/", "/away", "/good", "/inside", "/mail"]
    );
    assert_eq!(run["skipped"]["robots"], 1, "{run}");
    assert_eq!(origin.count("/secret") + other.requests().len(), 0);
    // A start page sets the scope, as one that redirects does, and is not exempt from the guard.
    other
        .set("/", linking(&["/more"]))
        .set("/more", linking(&[]));
    let run = faulty.crawl("/away", json!({"follow_refresh": true})).await;
    assert_eq!(
        paths(&faulty, &run).await,
        [other.url("/"), other.url("/more")]
    );
    let run = faulty
        .crawl("/inside", json!({"follow_refresh": true}))
        .await;
    assert_eq!(run["status"], "failed", "{run}");
    let body = json!({"url": origin.url("/inside"), "follow_refresh": true});
    let answer = faulty.client().post("/v1/scan", &body).await;
    let message = answer.error(422, "INVALID_INPUT");
    assert!(message.contains("10.0.0.0/8"), "{message}");
    // What no crawler fetches is for browsers: the page is the answer.
    let app = Reply::html("<p>Open it").header("Refresh", "0; url=shop-app://item/1");
    origin
        .set("/script", leading(0, "javascript:go()"))
        .set("/app", app);
    for path in ["/mail", "/script", "/app"] {
        assert_eq!(followed(&faulty, path).await, origin.url(path));
    }
    faulty.is_well().await;
}

#[tokio::test]
async fn fault_16_a_recent_run_answers_requests_that_take_refreshes_alike() {
    let faulty = Faulty::start().await;
    let (origin, client) = (&faulty.origin, faulty.client());
    origin.set("/", leading(0, "/good"));
    let ask = async |follows: bool| {
        let body = json!({"url": origin.url("/"), "delay_ms": 0, "max_age_seconds": 600,
            "follow_refresh": follows});
        let answer = client.post("/v1/crawls", &body).await;
        let run = answer.json()["id"].as_i64().expect("a run");
        runs::ended(&faulty.service, run.into()).await;
        (answer.status, run)
    };
    let (status, plain) = ask(false).await;
    assert_eq!(status, 202);
    let (status, following) = ask(true).await;
    assert_eq!(status, 202);
    assert_eq!(ask(false).await, (200, plain));
    assert_eq!(ask(true).await, (200, following));
    faulty.is_well().await;
}

#[tokio::test]
async fn fault_16_batches_and_monitors_follow_refreshes_when_asked() {
    let faulty = Faulty::start().await;
    let (origin, client) = (&faulty.origin, faulty.client());
    origin.set("/meta", leading(0, "/good"));
    for (follows, path) in [(false, "/meta"), (true, "/good")] {
        let body = json!({"urls": [origin.url("/meta")], "follow_refresh": follows});
        let created = client.post("/v1/batch", &body).await;
        assert_eq!(created.status, 202, "{}", created.text());
        let run = created.json();
        let id = run["id"].as_i64().expect("a run");
        runs::ended(&faulty.service, id.into()).await;
        assert_eq!(paths(&faulty, &run).await, [path]);
    }
    let body = json!({"url": origin.url("/meta"), "delay_ms": 0, "cron": "* * * * *",
        "follow_refresh": true});
    let created = client.post("/v1/crawls", &body).await;
    assert_eq!(created.status, 201, "{}", created.text());
    // The worker's last sign of life is old once the clock is put on.
    faulty.is_well().await;
    faulty.service.clock.advance(chrono::TimeDelta::minutes(1));
    let monitor = format!("/v1/crawls?monitor_id={}", created.json()["monitor_id"]);
    let fired = |answer: &Value| answer["items"][0]["finished_at"].is_string();
    let listed = client
        .until(&monitor, |answer| fired(&answer.ok()))
        .await
        .ok();
    assert_eq!(paths(&faulty, &listed["items"][0]).await, ["/good"]);
}
