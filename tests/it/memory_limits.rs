//! Limits of the memory that the bodies of requests and answers hold.

use std::net::SocketAddr;

use orbweaver_accounts::secret::Secret;
use orbweaver_api::config::RateLimit;
use orbweaver_core::setting::Millis;
use orbweaver_origin::{Origin, Reply};
use orbweaver_server::config::Config;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::support::http::LONG;
use crate::support::http2::{PREFACE, frame};
use crate::support::runs::{self, Written};
use crate::support::{KEY, Service, Site};

/// A connection with the head of a POST request that announces this many bytes.
async fn begun(service: &Service, path: &str, announced: usize) -> TcpStream {
    let mut stream = TcpStream::connect(service.address).await.unwrap();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: test\r\nauthorization: Bearer {KEY}\r\n\
         content-length: {announced}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream
}

#[tokio::test]
async fn values_are_counted_before_they_are_built() {
    let service = Service::start().await;
    let client = service.client();
    let many = format!("[{}0]", r#"{"":0},"#.repeat(60_000));
    let odd = format!(r#"{{"url":"http://a.example/","odd":{many}}}"#);
    let message = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"scan","arguments":{{"x":{many}}}}}}}"#
    );
    for (path, body, member) in [
        ("/v1/scan", &odd, "odd"),
        ("/v1/actors/check-links", &odd, "odd"),
        ("/v1/actors/check-links/runs", &odd, "odd"),
        ("/v1/cloud/fetch/news.ycombinator.com", &odd, "odd"),
        ("/mcp", &message, "params"),
    ] {
        let headers = [
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
        ];
        let answer = client.send("POST", path, &headers, body.as_bytes()).await;
        let why = answer.error(422, "INVALID_INPUT");
        let rule = "must have at most 50000 values below its own items";
        assert_eq!(why, format!("{member}: {rule}"), "{path}");
    }
    let long = json!({"url": "nonsense", "odd": vec![0; 250_000]});
    let why = client.post("/v1/scan", &long).await;
    let why = why.error(422, "INVALID_INPUT");
    assert_eq!(why, "odd: must leave the body at most 250000 values");
}

#[tokio::test]
async fn endpoints_without_a_key_take_small_bodies() {
    let service = Service::with(|config| {
        config.billing.webhook_secret = Some(Secret::new("whsec_test"));
    })
    .await;
    for (path, most) in [("/v1/signup", 64 << 10), ("/v1/billing/webhook", 512 << 10)] {
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
            most + 1
        );
        let answer = service.stranger().raw(request.as_bytes()).await;
        let why = answer.error(413, "PAYLOAD_TOO_LARGE");
        assert!(why.contains(&most.to_string()), "{why}");
    }
}

#[tokio::test]
async fn what_is_not_configured_is_said_before_the_body_is_read() {
    let service = Service::start().await;
    let request = "POST /v1/billing/webhook HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\
                   content-length: 100000\r\n\r\n";
    let answer = service.stranger().raw(request.as_bytes()).await;
    answer.error(501, "NOT_IMPLEMENTED");
}

#[tokio::test]
async fn a_project_holds_its_share_of_the_memory_for_bodies() {
    let service = Service::with(|config| {
        config.http.request_memory_mib = 1;
        config.http.rate.key.per_second = 0;
        config.http.rate.address.per_second = 0;
    })
    .await;
    let client = service.client();
    let part = format!("{{{}", " ".repeat(300_000));
    let large = json!({"url": "x".repeat(150_000)}).to_string();
    let nonsense = json!({"url": "nonsense"});
    let holding = async {
        loop {
            let mut held = begun(&service, "/v1/scan", 400_000).await;
            held.write_all(part.as_bytes()).await.unwrap();
            // The service reads meanwhile. If it has not, the large body may have come first, and the
            // held one is refused.
            for _ in 0..20 {
                client.post("/v1/scan", &nonsense).await;
            }
            let answer = client.send("POST", "/v1/scan", &[], large.as_bytes()).await;
            if answer.status == 429 {
                return (held, answer);
            }
        }
    };
    let (held, refused) = tokio::time::timeout(LONG, holding).await.unwrap();
    let why = refused.error(429, "RATE_LIMITED");
    assert!(why.contains("http.request_memory_mib"), "{why}");
    assert_eq!(refused.header("retry-after"), Some("5"));
    let other = service.other_project("other").await;
    let of_other = other.send("POST", "/v1/scan", &[], large.as_bytes()).await;
    of_other.error(422, "INVALID_INPUT");
    let small = client.post("/v1/scan", &nonsense).await;
    small.error(422, "INVALID_INPUT");

    drop(held);
    client
        .send_until("POST", "/v1/scan", large.as_bytes(), |answer| {
            answer.status == 422
        })
        .await;
}

#[tokio::test]
async fn a_batch_has_an_answer_of_bounded_size() {
    let (service, site) = (
        Service::with(|config| config.http.max_answer_bytes = 20_000).await,
        Site::start().await,
    );
    let urls: Vec<String> = (0..30)
        .map(|n| site.url(&format!("/article?{n}")))
        .collect();
    let body = json!({"urls": urls, "concurrency": 1});
    let answer = service.client().post("/v1/scan/bulk", &body).await.ok();
    let items = answer["items"].as_array().unwrap();
    assert_eq!(items.len(), urls.len());
    let done = items.iter().take_while(|item| item["ok"] == true).count();
    assert!(done > 0 && done < urls.len(), "{done}");
    for (item, url) in items.iter().zip(&urls).skip(done) {
        assert_eq!(item["url"], *url);
        let why = item["error"].as_str().unwrap();
        assert!(why.contains("http.max_answer_bytes"), "{why}");
    }
    assert_eq!(service.billed().await, (done as u64, 0));
    // One was fetched to find that it does not fit.
    assert_eq!(site.hits("/article"), done + 1);
}

/// Asks for a page on a stream whose window stays closed.
async fn without_window(at: SocketAddr, path: &str, key: Option<&str>) -> TcpStream {
    let mut stream = TcpStream::connect(at).await.unwrap();
    let mut said = PREFACE.to_vec();
    // SETTINGS_INITIAL_WINDOW_SIZE: 0.
    said.extend(frame(4, 0, 0, &[0, 4, 0, 0, 0, 0]));
    // :method GET, :scheme http, and :path by its name in HPACK's static table.
    let mut head = vec![0x82, 0x86, 0x04, u8::try_from(path.len()).unwrap()];
    head.extend(path.as_bytes());
    if let Some(key) = key {
        // authorization by its name in the table: not to be kept in the table of the connection.
        let bearer = format!("Bearer {key}");
        head.extend([0x0f, 0x08, u8::try_from(bearer.len()).unwrap()]);
        head.extend(bearer.as_bytes());
    }
    said.extend(frame(1, 5, 1, &head));
    stream.write_all(&said).await.unwrap();
    // Headers need no window. From here on the service holds the answer's body.
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head).await.unwrap();
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; length as usize];
        stream.read_exact(&mut payload).await.unwrap();
        if head[3] == 1 {
            return stream;
        }
    }
}

#[tokio::test]
async fn an_answer_that_nobody_reads_is_dropped() {
    let service = Service::with(|config| {
        config.http.answer_memory_mib = 1;
        config.http.write_timeout_ms = Millis(2_000);
        config.http.idle_timeout_ms = Millis(2_000);
        // No answer to a ping ends the connection.
        config.http.http2_ping_ms = Millis(0);
        config.http.rate.keyless = RateLimit {
            per_second: 0,
            burst: 1,
        };
        config.http.rate.address = RateLimit {
            per_second: 0,
            burst: 1,
        };
    })
    .await;
    let client = service.stranger();
    let document: Value = client.get("/openapi.json").await.ok();
    let bytes = document.to_string().len();
    assert!(
        bytes > 180_000,
        "two of {bytes} bytes are more than a share"
    );

    let mut closed = without_window(service.address, "/openapi.json", None).await;
    let refused = client
        .until("/openapi.json", |answer| answer.status == 429)
        .await;
    let why = refused.error(429, "RATE_LIMITED");
    assert!(why.contains("http.answer_memory_mib"), "{why}");
    client
        .until("/openapi.json", |answer| answer.status == 200)
        .await;

    let mut rest = Vec::new();
    let ended = tokio::time::timeout(LONG, closed.read_to_end(&mut rest)).await;
    let _ = ended.expect("a connection with nothing else on it is closed");
}

fn of_little_memory(config: &mut Config) {
    config.http.answer_memory_mib = 1;
    config.http.write_timeout_ms = Millis(3_600_000);
    config.http.http2_ping_ms = Millis(0);
}

/// A large page of few words.
fn hidden() -> String {
    format!("<p>Few words.<!--{}-->", "x".repeat(250_000))
}

/// Holds most of the first project's share of the memory for answers, as long as the connection is there:
/// with the answer for the first page of a run, whose path follows.
async fn hold(service: &Service, run: &Value) -> (TcpStream, String) {
    let path = first_page(service, run).await;
    let held = without_window(service.address, &path, Some(KEY)).await;
    (held, path)
}

async fn first_page(service: &Service, run: &Value) -> String {
    let client = service.client();
    let pages = client.get(&format!("/v1/crawls/{run}/pages")).await;
    format!("/v1/pages/{}", pages.ok()["items"][0]["id"])
}

/// A service whose memory for answers is held.
async fn nearly_full(origin: &Origin) -> (Service, TcpStream, String) {
    let service = Service::with(of_little_memory).await;
    origin.set("/hidden", Reply::html(hidden()));
    let crawl = json!({"url": origin.url("/hidden"), "max_pages": 1});
    let run = runs::crawled(&service.client(), &crawl).await;
    let (held, path) = hold(&service, &run["id"]).await;
    (service, held, path)
}

#[tokio::test]
async fn a_stored_page_has_memory_before_it_is_read() {
    let origin = Origin::start().await.unwrap();
    let (service, held, path) = nearly_full(&origin).await;
    let client = service.client();
    // The page is large, the answer is not.
    let signals = format!("{path}?format=signals");
    let refused = client.get(&signals).await;
    let why = refused.error(429, "RATE_LIMITED");
    assert!(why.contains("http.answer_memory_mib"), "{why}");
    assert_eq!(refused.header("retry-after"), Some("5"));
    let bare = json!({"url": origin.url("/hidden"), "max_pages": 1, "store_html": false});
    let run = runs::crawled(&client, &bare).await;
    let without_body = first_page(&service, &run["id"]).await;
    let answer = client.get(&format!("{without_body}?format=signals")).await;
    assert!(answer.ok()["signals"].is_object(), "nothing large is read");
    drop(held);
    let answer = client.until(&signals, |answer| answer.status == 200).await;
    assert!(answer.body.len() < 10_000, "{}", answer.text());
}

#[tokio::test]
async fn a_scan_without_memory_for_its_answer_is_not_billed() {
    let origin = Origin::start().await.unwrap();
    let (service, held, _) = nearly_full(&origin).await;
    let client = service.client();
    let before = service.billed().await;
    let words = "Many words. ".repeat(20_000);
    origin.set("/words", Reply::html(format!("<article><p>{words}")));
    let url = origin.url("/words");
    let scan = client.post("/v1/scan", &json!({"url": url})).await;
    let why = scan.error(429, "RATE_LIMITED");
    assert!(why.contains("http.answer_memory_mib"), "{why}");
    let urls = json!({"urls": [url, origin.url("/hidden")], "metadata_only": false});
    let items = client.post("/v1/scan/bulk", &urls).await.ok();
    let why = items["items"][0]["error"].as_str().unwrap();
    assert!(why.contains("http.answer_memory_mib"), "{why}");
    assert_eq!(items["items"][1]["ok"], true, "a small one has room");
    let (pages, cloud) = before;
    assert_eq!(service.billed().await, (pages + 1, cloud));
    drop(held);
    let body = json!({"url": url}).to_string();
    client
        .send_until("POST", "/v1/scan", body.as_bytes(), |answer| {
            answer.status == 200
        })
        .await;
}

#[tokio::test]
async fn what_is_refused_for_its_answer_is_not_billed() {
    let origin = Origin::start().await.unwrap();
    let (service, held, _) = nearly_full(&origin).await;
    let client = service.client();
    let before = service.billed().await;
    let html = format!("<article><p>{}", "Many words. ".repeat(20_000));
    origin.set("/words", Reply::html(html.clone()));
    let url = origin.url("/words");
    let nonsense = "x".repeat(150_000);
    for (path, body) in [
        (
            "/v1/cloud/scrape",
            json!({"url": url, "force_backend": "local"}),
        ),
        ("/v1/cloud/crawl", json!({"url": url})),
        (
            "/v1/cloud/transform",
            json!({"data": html, "return_format": "raw"}),
        ),
        ("/v1/scan/bulk", json!({"urls": [nonsense]})),
    ] {
        let why = client.post(path, &body).await.error(429, "RATE_LIMITED");
        assert!(why.contains("http.answer_memory_mib"), "{path}: {why}");
    }
    assert_eq!(service.billed().await, before);
    drop(held);
}

#[tokio::test]
async fn a_list_of_many_pages_has_memory_before_it_is_made() {
    let service = runs::without_workers(false, of_little_memory).await;
    let client = service.client();
    let large = runs::done(&service, &[Written::new("", &hidden(), &[])]).await;
    let many: Vec<Written> = (0..500)
        .map(|n| Written::new(&n.to_string(), "<p>a", &[]))
        .collect();
    let many = runs::done(&service, &many).await;
    let (held, _) = hold(&service, &json!(large)).await;
    // The seed is no orphan.
    let paths = [
        (format!("/v1/crawls/{many}/orphans"), "items", 499),
        (format!("/v1/crawls/{large}/diff/{many}"), "added", 500),
    ];
    for (path, ..) in &paths {
        let why = client.get(path).await.error(429, "RATE_LIMITED");
        assert!(why.contains("http.answer_memory_mib"), "{path}: {why}");
    }
    drop(held);
    for (path, list, count) in &paths {
        let answer = client
            .until(path, |answer| answer.status == 200)
            .await
            .json();
        assert_eq!(answer[*list].as_array().unwrap().len(), *count, "{path}");
    }
}

#[tokio::test]
async fn a_cloud_crawl_has_an_answer_of_bounded_size() {
    let service = Service::with(|config| config.http.max_answer_bytes = 20_000).await;
    let (client, origin) = (service.client(), Origin::start().await.unwrap());
    let links: String = (0..5)
        .map(|n| format!("<a href=/page/{n}>{n}</a> "))
        .collect();
    let words = |count| format!("<p>{}", "Words. ".repeat(count));
    origin.set("/", Reply::html(words(100) + &links));
    origin.set("/large", Reply::html(words(4_000)));
    origin.set_under("/page/", move |_| Reply::html(words(1_100)));
    let body = json!({"url": origin.url("/"), "limit": 6});
    let answer = client.post("/v1/cloud/crawl", &body).await.ok();
    // The first page, and two of 7,700 bytes.
    assert_eq!(answer["items"].as_array().unwrap().len(), 3, "{answer}");
    let why = answer["error_message"].as_str().unwrap();
    assert!(why.contains("http.max_answer_bytes"), "{why}");
    let body = json!({"url": origin.url("/large")});
    let refused = client.post("/v1/cloud/crawl", &body).await;
    let why = refused.error(422, "INVALID_INPUT");
    assert!(why.contains("http.max_answer_bytes"), "{why}");
    assert_eq!(service.billed().await, (0, 3));
}
