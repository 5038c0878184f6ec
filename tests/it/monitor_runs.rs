//! A monitor end to end: it crawls, compares and sends webhooks.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use chrono::TimeDelta;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::support::described::undescribed;
use crate::support::http::Answer;
use crate::support::{Client, Receiver, Service};

type Pages = Arc<Mutex<BTreeMap<&'static str, (u16, String)>>>;

/// A site that changes on demand.
struct Changing {
    address: SocketAddr,
    pages: Pages,
}

impl Changing {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let pages = Pages::default();
        let router = Router::new().fallback(page).with_state(Arc::clone(&pages));
        tokio::spawn(async move {
            axum::serve(listener, router).await.expect("a site");
        });
        Self { address, pages }
    }

    fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// A page with this text and links to these paths.
    fn put(&self, path: &'static str, status: u16, text: &str, links: &[&str]) {
        let links: String = links
            .iter()
            .map(|link| format!("<a href=\"{link}\"></a>"))
            .collect();
        let html = format!("<!doctype html><title>{path}</title><p>{text}</p>{links}");
        self.pages
            .lock()
            .expect("no panic")
            .insert(path, (status, html));
    }
}

async fn page(State(pages): State<Pages>, request: Request) -> Response {
    let found = pages
        .lock()
        .expect("no panic")
        .get(request.uri().path())
        .cloned();
    let Some((status, html)) = found else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let status = StatusCode::from_u16(status).expect("a status");
    (status, [(header::CONTENT_TYPE, "text/html")], html).into_response()
}

async fn make(client: &Client, body: &Value) -> String {
    let answer = client.post("/v1/crawls", body).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    format!("/v1/crons/{}", answer.json()["monitor_id"])
}

/// The monitor's run after `last`, once it has ended and its webhook has been delivered.
async fn next_run(client: &Client, monitor: &str, last: &Value) -> Value {
    let has_next = |answer: &Answer| {
        let id = &answer.ok()["last_run_id"];
        !id.is_null() && id != last
    };
    let id = client.until(monitor, has_next).await.ok()["last_run_id"].clone();
    let is_over = |answer: &Answer| {
        let run = answer.ok();
        let has_ended = run["status"] == "done" || run["status"] == "failed";
        has_ended && run["webhook_status"] != "pending"
    };
    client
        .until(&format!("/v1/crawls/{id}"), is_over)
        .await
        .ok()
}

#[tokio::test]
async fn a_monitor_reports_changes_only() {
    let site = Changing::start().await;
    let mut receiver = Receiver::start(&[]).await;
    let service = Service::start().await;
    let client = service.client();
    site.put("/", 200, "home", &["/a", "/b", "/c"]);
    for path in ["/a", "/b", "/c"] {
        site.put(path, 200, "as it was", &[]);
    }
    let body = json!({
        "url": site.url(), "cron": "*/5 * * * *", "delay_ms": 0, "webhook_url": receiver.url(),
        "webhook_events": ["crawl.done", "crawl.diff_detected"], "return_only_changed": true,
    });
    let monitor = make(&client, &body).await;
    let mut last = Value::Null;
    let mut fire = async || {
        service.clock.advance(TimeDelta::minutes(5));
        let run = next_run(&client, &monitor, &last).await;
        assert_eq!(run["status"], "done", "{run}");
        last = run["id"].clone();
        run
    };

    let first = fire().await;
    assert_eq!(first["webhook_status"], "suppressed_no_baseline");
    assert_eq!(
        (&first["previous_run_id"], &first["page_count"]),
        (&Value::Null, &json!(4))
    );
    let second = fire().await;
    assert_eq!(second["webhook_status"], "suppressed_no_change");
    assert_eq!(second["previous_run_id"], first["id"]);

    // One page changes, one disappears, one is new; the home page stays the same.
    site.put("/a", 200, "otherwise", &[]);
    site.put("/", 200, "home", &["/a", "/c", "/new"]);
    site.put("/new", 200, "new", &[]);
    let third = fire().await;
    assert_eq!(third["webhook_status"], "delivered");
    assert_eq!(third["webhook_attempts"], 2);
    let mut told = [receiver.next().await.json(), receiver.next().await.json()];
    told.sort_by_key(|body| body["event"].to_string());
    assert_eq!(told[0]["event"], "crawl.diff_detected");
    assert_eq!(told[1]["event"], "crawl.done");
    let counts = json!({"added": 1, "removed": 1, "changed": 1, "unchanged": 2, "gone": 0,
        "unvisited": 0, "unavailable": 0});
    let document = client.get("/openapi.json").await.ok();
    for body in &told {
        assert_eq!(undescribed(&document, "WebhookEvent", body), [""; 0]);
        assert!(document["webhooks"][body["event"].as_str().unwrap()]["post"].is_object());
        assert_eq!(body["diff"], counts);
        let urls = |kind: &str| body["diff_urls"][kind].as_array().map_or(0, Vec::len);
        assert_eq!((urls("added"), urls("removed"), urls("changed")), (1, 1, 1));
        assert_eq!(body["diff_urls"]["complete"], true);
        assert_eq!(body["id"], third["id"]);
        assert_eq!(body["previous_run_id"], second["id"]);
        assert_eq!(body["status"], "done");
    }
    let path = format!("/v1/crawls/{}/diff/{}", second["id"], third["id"]);
    assert_eq!(client.get(&path).await.ok()["summary"], counts);

    // The site fails, then recovers: neither is a change, and the failed run is no baseline.
    site.put("/", 503, "sorry", &[]);
    let down = fire().await;
    assert_eq!(down["webhook_status"], "suppressed_no_change");
    assert_eq!(down["webhook_last_error"], Value::Null);
    let path = format!("/v1/crawls/{}/diff/{}", third["id"], down["id"]);
    let diff = client.get(&path).await.ok();
    let sorry = json!([{"url": site.url(), "old_status": 200, "new_status": 503}]);
    assert_eq!(diff["unavailable"], sorry);
    assert_eq!(diff["summary"]["unchanged"], 0);
    site.put("/", 200, "home", &["/a", "/c", "/new"]);
    let back = fire().await;
    assert_eq!(back["webhook_status"], "suppressed_no_change");
    assert_eq!(back["previous_run_id"], third["id"]);
    // Nothing was sent for either: the next change comes next.
    site.put("/new", 200, "changed", &[]);
    let changed = fire().await;
    assert_eq!(changed["webhook_status"], "delivered");
    assert_eq!(receiver.next().await.json()["id"], changed["id"]);
}

#[tokio::test]
async fn a_webhook_of_changes_names_the_unavailable_pages_too() {
    let site = Changing::start().await;
    site.put("/", 200, "home", &["/a", "/b"]);
    site.put("/a", 200, "as it was", &[]);
    site.put("/b", 200, "as it was", &[]);
    let mut receiver = Receiver::start(&[]).await;
    let service = Service::with(|config| config.crawl.retries = 0).await;
    let client = service.client();
    let body = json!({
        "url": site.url(), "cron": "*/5 * * * *", "delay_ms": 0, "webhook_url": receiver.url(),
    });
    let monitor = make(&client, &body).await;
    let mut last = Value::Null;
    let mut next = async || {
        service.clock.advance(TimeDelta::minutes(5));
        last = next_run(&client, &monitor, &last).await["id"].clone();
        receiver.next().await.json()
    };
    next().await;
    site.put("/a", 503, "sorry", &[]);
    let none = next().await;
    assert_eq!(
        (&none["diff"]["changed"], &none["diff"]["unavailable"]),
        (&json!(0), &json!(1)),
        "{none}"
    );
    // No page differs.
    assert_eq!(none.get("diff_urls"), None, "{none}");
    site.put("/b", 200, "otherwise", &[]);
    let some = next().await;
    assert_eq!(
        (&some["diff"]["changed"], &some["diff"]["unavailable"]),
        (&json!(1), &json!(1)),
        "{some}"
    );
    let urls = |path: &str| json!([format!("{}{path}", site.url())]);
    assert_eq!(some["diff_urls"]["changed"], urls("b"));
    assert_eq!(some["diff_urls"]["unavailable"], urls("a"));
    let document = client.get("/openapi.json").await.ok();
    assert_eq!(undescribed(&document, "WebhookEvent", &some), [""; 0]);
}

#[tokio::test]
async fn a_monitor_fires_by_the_system_clock() {
    let site = Changing::start().await;
    site.put("/", 200, "home", &[]);
    let mut receiver = Receiver::start(&[]).await;
    let service = Service::on_system_clock().await;
    let client = service.client();
    let body = json!({"url": site.url(), "cron": "* * * * *", "webhook_url": receiver.url()});
    let monitor = make(&client, &body).await;
    let due = client.get(&monitor).await.ok()["next_fires_at"].clone();
    let told = receiver.next().await.json();
    assert_eq!(
        (&told["event"], &told["status"]),
        (&json!("crawl.done"), &json!("done"))
    );
    let shown = client.get(&monitor).await.ok();
    assert_eq!(shown["last_run_id"], told["id"]);
    let time = |value: &Value| -> chrono::DateTime<chrono::Utc> {
        value.as_str().expect("a time").parse().expect("a time")
    };
    assert!(time(&shown["last_fired_at"]) >= time(&due));
    assert!(time(&shown["next_fires_at"]) > time(&due));
}

#[tokio::test]
async fn a_failed_run_says_that_it_was_not_compared() {
    let origin = orbweaver_origin::Origin::start().await.expect("a site");
    let home = || orbweaver_origin::Reply::html("<p>home");
    origin.set("/", home());
    let mut receiver = Receiver::start(&[]).await;
    let service = Service::with(|config| config.crawl.retries = 0).await;
    let client = service.client();
    let body = json!({
        "url": origin.url("/"), "cron": "*/5 * * * *", "delay_ms": 0,
        "webhook_url": receiver.url(), "webhook_events": ["crawl.diff_detected"],
    });
    let monitor = make(&client, &body).await;
    service.clock.advance(TimeDelta::minutes(5));
    let first = next_run(&client, &monitor, &Value::Null).await;
    assert_eq!(first["status"], "done", "{first}");
    origin.set("/", home().header("Content-Encoding", "unknown"));
    service.clock.advance(TimeDelta::minutes(5));
    let failed = next_run(&client, &monitor, &first["id"]).await;
    assert_eq!(
        (&failed["status"], &failed["webhook_status"]),
        (&json!("failed"), &json!("suppressed_no_change")),
        "{failed}"
    );
    let why = failed["webhook_last_error"].as_str().expect("a reason");
    assert!(why.contains("was not compared"), "{why}");
    // Nothing was sent for either run: a change comes first.
    origin.set("/", orbweaver_origin::Reply::html("<p>another home"));
    service.clock.advance(TimeDelta::minutes(5));
    let changed = next_run(&client, &monitor, &failed["id"]).await;
    assert_eq!(changed["webhook_status"], "delivered", "{changed}");
    assert_eq!(receiver.next().await.json()["id"], changed["id"]);
}

#[tokio::test]
async fn a_redirect_that_fails_for_a_while_is_no_change() {
    let origin = orbweaver_origin::Origin::start().await.expect("a site");
    let page = |html: &str| orbweaver_origin::Reply::html(html);
    let redirect = || orbweaver_origin::Reply::redirect(301, "/docs/");
    origin.set("/", page("<a href=/docs>docs</a>"));
    origin.set("/docs", redirect());
    origin.set("/docs/", page("<a href=/docs/x>x</a>"));
    origin.set("/docs/x", page("<p>x"));
    let mut receiver = Receiver::start(&[]).await;
    let service = Service::with(|config| config.crawl.retries = 0).await;
    let client = service.client();
    let body = json!({
        "url": origin.url("/"), "cron": "*/5 * * * *", "delay_ms": 0,
        "webhook_url": receiver.url(), "webhook_events": ["crawl.diff_detected"],
    });
    let monitor = make(&client, &body).await;
    let mut last = Value::Null;
    let mut fire = async || {
        service.clock.advance(TimeDelta::minutes(5));
        let run = next_run(&client, &monitor, &last).await;
        last = run["id"].clone();
        run
    };
    let first = fire().await;
    assert_eq!(first["page_count"], 3, "{first}");
    let busy = orbweaver_origin::Reply::new(503, "busy");
    let silent = page("<p>docs").header("Content-Encoding", "unknown");
    for failing in [busy, silent] {
        origin.set("/docs", failing);
        let failed = fire().await;
        assert_eq!(failed["webhook_status"], "suppressed_no_change", "{failed}");
        origin.set("/docs", redirect());
        let back = fire().await;
        assert_eq!(back["webhook_status"], "suppressed_no_change", "{back}");
        assert_eq!(back["page_count"], 3, "{back}");
    }
    // Nothing was sent before.
    origin.set("/", page("<p>no docs"));
    let removed = fire().await;
    assert_eq!(removed["webhook_status"], "delivered", "{removed}");
    let told = receiver.next().await.json();
    assert_eq!(
        (&told["id"], &told["diff"]["removed"]),
        (&removed["id"], &json!(2)),
        "{told}"
    );
}

#[tokio::test]
async fn a_hook_that_drops_the_start_page_leaves_a_run_to_compare_with() {
    let origin = orbweaver_origin::Origin::start().await.expect("a site");
    let page = |html: &str| orbweaver_origin::Reply::html(html);
    origin.set("/", page("<html lang=en><a href=/de>Deutsch</a>"));
    origin.set("/de", page("<html lang=de><p>erst so"));
    let mut receiver = Receiver::start(&[]).await;
    let service = Service::with(|config| config.crawl.retries = 0).await;
    let client = service.client();
    let body = json!({
        "url": origin.url("/"), "cron": "*/5 * * * *", "delay_ms": 0,
        "webhook_url": receiver.url(), "webhook_events": ["crawl.diff_detected"],
        "hooks": [{"name": "language-filter", "config": {"languages": ["de"]}}],
    });
    let monitor = make(&client, &body).await;
    service.clock.advance(TimeDelta::minutes(5));
    let first = next_run(&client, &monitor, &Value::Null).await;
    assert_eq!(
        (&first["status"], &first["page_count"]),
        (&json!("done"), &json!(1)),
        "{first}"
    );
    // A run whose start page fails, stored or not, has removed nothing, and is none to compare with.
    origin.set("/", page("<html lang=en>").with_status(503));
    service.clock.advance(TimeDelta::minutes(5));
    let down = next_run(&client, &monitor, &first["id"]).await;
    assert_eq!(down["previous_run_id"], first["id"], "{down}");
    assert_eq!(down["webhook_status"], "suppressed_no_change", "{down}");
    origin.set("/", page("<html lang=en><a href=/de>Deutsch</a>"));
    origin.set("/de", page("<html lang=de><p>dann anders"));
    service.clock.advance(TimeDelta::minutes(5));
    let changed = next_run(&client, &monitor, &down["id"]).await;
    assert_eq!(changed["previous_run_id"], first["id"], "{changed}");
    assert_eq!(changed["webhook_status"], "delivered", "{changed}");
    let told = receiver.next().await.json();
    assert_eq!(told["diff"]["changed"], 1, "{told}");
}
