//! GET /v1/robots-policy.

use orbweaver_core::robots::ai_crawlers;
use orbweaver_origin::{Origin, Reply};
use serde_json::{Value, json};

use rustix::time::{ClockId, clock_gettime};

use crate::support::{Service, Site};

#[tokio::test]
async fn the_robots_policy_of_a_site_is_reported() {
    let (service, site) = (Service::start().await, Site::start().await);
    let client = service.client();
    let path = format!("/v1/robots-policy?url={}", site.url("/some/page?x=1"));
    let answer = client.get(&path).await.ok();
    assert_eq!(answer["url"], site.url("/some/page?x=1"));
    assert!(
        answer["robots_txt"]
            .as_str()
            .unwrap()
            .starts_with("User-agent: *")
    );
    assert_eq!(answer["llms_txt"], "# Spiders\n");
    assert_eq!(answer["ai_bot_policy"]["GPTBot"], "disallowed");
    assert_eq!(answer["ai_bot_policy"]["ClaudeBot"], "allowed");
    assert_eq!(answer["ai_bot_policy"].get("ProbeBot"), None);

    client.get(&path).await.ok();
    assert_eq!(site.hits("/robots.txt"), 1, "fetched once per host");

    let answer = client
        .get(&format!("{path}&user_agent=ProbeBot"))
        .await
        .ok();
    assert_eq!(answer["ai_bot_policy"]["ProbeBot"], "partial");
}

#[tokio::test]
async fn invalid_urls_are_refused_and_unreachable_sites_fail() {
    let service = Service::start().await;
    let client = service.client();
    for (query, field) in [
        ("", "url"),
        ("url=nonsense", "url"),
        ("url=http://10.0.0.1/", "url"),
    ] {
        let message = client
            .get(&format!("/v1/robots-policy?{query}"))
            .await
            .error(422, "INVALID_INPUT");
        assert!(message.starts_with(&format!("{field}: ")), "{message}");
    }
    let closed = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .unwrap()
        .local_addr()
        .unwrap();
    let answer = client
        .get(&format!("/v1/robots-policy?url=http://{closed}/"))
        .await;
    answer.error(502, "FETCH_FAILED");
    assert_eq!(Value::Null, answer.json()["error"]["retry_after_seconds"]);
}

#[tokio::test]
async fn content_signals_are_reported_for_the_agent_or_for_all() {
    let (service, origin) = (Service::start().await, Origin::start().await.unwrap());
    let robots = "User-agent: *\nContent-Signal: search=yes, ai-train=no\nAllow: /\n\n\
                  User-agent: ProbeBot\nContent-Signal: /blog ai-input=no\nAllow: /\n";
    origin.set("/robots.txt", Reply::text(robots));
    let path = format!("/v1/robots-policy?url={}", origin.url("/"));
    let answer = service.client().get(&path).await.ok();
    let everybody = json!([{"path": null, "signals": {"ai-train": "no", "search": "yes"}}]);
    assert_eq!(answer["content_signals"], everybody);
    assert_eq!(answer["robots_txt"], robots);
    let path = format!("{path}&user_agent=ProbeBot");
    let answer = service.client().get(&path).await.ok();
    let probe = json!([{"path": "/blog", "signals": {"ai-input": "no"}}]);
    assert_eq!(answer["content_signals"], probe);
}

/// CPU time of the calling thread, in milliseconds.
fn thread_cpu_ms() -> i64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec * 1_000 + time.tv_nsec / 1_000_000
}

/// The service and this test share one thread, so that what holds it up is seen here.
#[tokio::test]
async fn a_robots_txt_full_of_wildcards_holds_up_nobody() {
    let (service, origin) = (Service::start().await, Origin::start().await.unwrap());
    // Every crawler is named, so each one's rules are judged apart.
    let agents = ai_crawlers()
        .iter()
        .map(|name| format!("user-agent: {name}\n"));
    let rules = "disallow: /*a*a*x\n".repeat(20_000);
    let robots = agents.chain([rules]).collect::<String>();
    origin.set("/robots.txt", Reply::text(robots));
    origin.set("/", Reply::html(format!("<p>{}", "word ".repeat(50))));
    let client = service.client();
    let longest = std::sync::Arc::new(std::sync::atomic::AtomicI64::new(0));
    let seen = std::sync::Arc::clone(&longest);
    let watching = tokio::spawn(async move {
        let mut before = thread_cpu_ms();
        loop {
            tokio::task::yield_now().await;
            let now = thread_cpu_ms();
            seen.fetch_max(now - before, std::sync::atomic::Ordering::Relaxed);
            before = now;
        }
    });
    let policy = format!("/v1/robots-policy?url={}", origin.url("/"));
    client.get(&policy).await.ok();
    let url = json!({"url": origin.url("/")});
    client.post("/v1/scan", &url).await.ok();
    watching.abort();
    let longest = longest.load(std::sync::atomic::Ordering::Relaxed);
    assert!(longest < 250, "{longest} ms of computing at once");
}
