//! GET /v1/robots-policy.

use orbweaver_origin::{Origin, Reply};
use serde_json::{Value, json};

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
