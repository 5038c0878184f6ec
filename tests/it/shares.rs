//! No project can use up the share of the others.

use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use orbweaver_core::setting::Millis;
use orbweaver_engine::manifest;
use orbweaver_fetch::Lookups;
use orbweaver_origin::{Origin, Reply};
use orbweaver_server::config::Role;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

use crate::documents::pdf;
use crate::support::runs::Written;
use crate::support::wait::until;
use crate::support::{Client, KEY, Service, runs};
use crate::tenant_plugins::{allowing, installed, read};

/// A site whose bodies have three MiB and never end.
async fn endless() -> (String, JoinHandle<()>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let task = tokio::spawn(async move {
        let mut open = JoinSet::new();
        while let Ok((mut stream, _)) = listener.accept().await {
            open.spawn(async move {
                let mut request = [0; 4_096];
                let _ = stream.read(&mut request).await;
                let head = if request.starts_with(b"GET /body") {
                    "HTTP/1.1 200 x\r\ncontent-type: text/html\r\ncontent-length: 3145729\r\n\r\n"
                } else {
                    "HTTP/1.1 404 x\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
                };
                let _ = stream.write_all(head.as_bytes()).await;
                if head.contains("200") {
                    let _ = stream.write_all(&vec![b'x'; 3 << 20]).await;
                    // Open until the client ends it.
                    let _ = stream.read(&mut request).await;
                }
            });
        }
    });
    (format!("http://{address}/body"), task)
}

#[tokio::test]
async fn large_bodies_of_a_project_leave_memory_for_those_of_another() {
    let service = Service::with(|config| {
        config.fetch.limits.max_bodies_mib = 16;
        config.fetch.limits.max_body_bytes = 4 << 20;
        config.fetch.limits.min_rate = 0;
    })
    .await;
    let origin = Origin::start().await.unwrap();
    let text = "<p>A text of some words.</p>".repeat((2 << 20) / 28);
    origin.set("/large", Reply::html(text));
    let (url, site) = endless().await;
    let mut greedy = JoinSet::new();
    for number in 0..6 {
        let client = service.client();
        let body = json!({"url": format!("{url}?{number}")});
        greedy.spawn(async move { client.post("/v1/scan", &body).await });
    }
    // The first that has no room: the others hold all that the project may have.
    let refused = greedy.join_next().await.unwrap().unwrap();
    let message = refused.error(429, "RATE_LIMITED");
    assert!(message.contains("fetch.limits.max_bodies_mib"), "{message}");
    let other = service.other_project("other").await;
    let page = json!({"url": origin.url("/large")});
    other.post("/v1/scan", &page).await.ok();
    greedy.abort_all();
    site.abort();
}

/// Needs a browser.
#[tokio::test]
async fn pages_without_a_result_keep_the_browser_from_no_other_project() {
    let service = Service::with(|config| {
        config.rendering.failed_seconds_per_hour = 1;
        config.rendering.timeout_ms = Millis(10_000);
    })
    .await;
    let origin = Origin::start().await.unwrap();
    origin.set("/held/never", Reply::html("<p>Too late.</p>"));
    origin.set("/page", Reply::html("<p>A text of some words.</p>"));
    let client = service.client();
    let (never, page) = (
        json!({"url": origin.url("/held/never")}),
        json!({"url": origin.url("/page")}),
    );
    let failed = client.post("/v1/cloud/render", &never).await;
    failed.error(502, "FETCH_FAILED");
    assert_eq!(service.billed().await, (0, 0), "no result is free");
    let refused = client.post("/v1/cloud/render", &page).await;
    let message = refused.error(429, "RATE_LIMITED");
    assert!(
        message.contains("rendering.failed_seconds_per_hour"),
        "{message}"
    );
    assert!(refused.header("retry-after").is_some());
    let other = service.other_project("other").await;
    other.post("/v1/cloud/render", &page).await.ok();
    // What needs no browser goes on.
    client.post("/v1/scan", &page).await.ok();
}

#[tokio::test]
async fn bodies_of_failed_fetches_have_a_bound_beyond_which_small_pages_go_on() {
    let service = Service::with(|config| {
        config.fetch.limits.failed_mib_per_hour = 1;
        config.fetch.limits.max_body_bytes = 4 << 20;
    })
    .await;
    let origin = Origin::start().await.unwrap();
    let text = "<p>A text of some words.</p>".repeat((2 << 20) / 28);
    origin.set("/large", Reply::html(text));
    origin.set("/page", Reply::html("<p>A text of some words.</p>"));
    let scan = |path: &str| json!({"url": origin.url(path)});
    let client = service.client();
    client.post("/v1/scan", &scan("/large")).await.ok();
    let failed = client.post("/v1/scan", &scan("/fault/endless")).await;
    failed.error(502, "FETCH_FAILED");
    assert_eq!(service.billed().await, (1, 0), "no result is free");
    let refused = client.post("/v1/scan", &scan("/large")).await;
    let message = refused.error(429, "RATE_LIMITED");
    assert!(
        message.contains("fetch.limits.failed_mib_per_hour"),
        "{message}"
    );
    assert!(refused.header("retry-after").is_some());
    client.post("/v1/scan", &scan("/page")).await.ok();
    let other = service.other_project("other").await;
    other.post("/v1/scan", &scan("/large")).await.ok();
}

/// Blocks the lookups of names that begin with `dead`, as the system's resolver does while the servers
/// of a name are silent.
#[derive(Default)]
struct Silence {
    begun: AtomicUsize,
    is_over: Mutex<bool>,
    changed: Condvar,
}

impl Silence {
    fn resolver(self: &Arc<Self>) -> Arc<Lookups> {
        let own = Arc::clone(self);
        Arc::new(Lookups::new(move |name| {
            if name.starts_with("dead") {
                own.begun.fetch_add(1, Ordering::SeqCst);
                let is_over = own.is_over.lock().expect("no panic");
                let _over = own.changed.wait_while(is_over, |is_over| !*is_over);
            }
            Ok(vec![IpAddr::from([127, 0, 0, 1])])
        }))
    }

    fn end(&self) {
        *self.is_over.lock().expect("no panic") = true;
        self.changed.notify_all();
    }

    /// Until so many lookups are silent.
    async fn begun(&self, count: usize) {
        let begun = async || self.begun.load(Ordering::SeqCst) >= count;
        until("the lookups begin", begun).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn dead_names_of_a_project_keep_no_other_project_waiting() {
    let silence = Arc::new(Silence::default());
    let service = Service::with_resolver(silence.resolver(), |_| {}).await;
    let origin = Origin::start().await.unwrap();
    let dead = |n: usize| origin.url_at(&format!("dead{n}.example"), "/");
    let links: String = (0..40)
        .map(|n| format!("<a href=\"{}\">x</a>", dead(n)))
        .collect();
    origin.set("/links", Reply::html(links));
    let text = "<p>A text of some words.</p>".repeat(4_000);
    origin.set("/page", Reply::html(text));
    let page = json!({"url": origin.url_at("living.example", "/page")});
    let other = service.other_project("other").await;

    // The runtime of actors' tasks, then that of everything else.
    let client = service.client();
    let checked = json!({"url": origin.url("/links")});
    let checking =
        tokio::spawn(async move { client.post("/v1/actors/check-links", &checked).await });
    silence.begun(5).await;
    other.post("/v1/actors/audit-onpage", &page).await.ok();
    let urls: Vec<String> = (100..700).map(dead).collect();
    let batch = json!({
        "urls": urls, "concurrency": 10_000, "delay_ms": 0, "respect_robots": false,
    });
    let created = service.client().post("/v1/batch", &batch).await;
    assert_eq!(created.status, 202, "{}", created.text());
    silence.begun(90).await;
    other.post("/v1/scan", &page).await.ok();
    other.post("/v1/actors/audit-onpage", &page).await.ok();
    assert!(silence.begun.load(Ordering::SeqCst) < 128);
    silence.end();
    checking.abort();
}

/// Waits until the project's search finds a page.
async fn until_found(client: &Client, query: &str) {
    let search = json!({"query": query});
    let patience = async {
        loop {
            let answer = client.post("/v1/cloud/search", &search).await.ok();
            if answer["results"]
                .as_array()
                .is_some_and(|hits| !hits.is_empty())
            {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let found = tokio::time::timeout(Duration::from_secs(90), patience).await;
    assert!(found.is_ok(), "{query:?} is never found");
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_documents_of_a_project_keep_no_other_out_of_the_search_index() {
    // Nothing is indexed before all is stored.
    let api = runs::without_workers(true, |config| {
        allowing(1)(config);
        config.plugins.quarantine_crashes = 1_000;
    })
    .await;
    let origin = Origin::start().await.unwrap();
    origin.set_under("/slow/", |request| {
        let body = pdf("Slow", &request.target, "https://a.example/");
        Reply::new(200, body).header("Content-Type", "application/pdf")
    });
    let quick = pdf("On Ostriches", "They run", "https://a.example/");
    let quick = Reply::new(200, quick).header("Content-Type", "application/pdf");
    origin.set("/quick.pdf", quick);
    origin.set(
        "/page",
        Reply::html("<title>On Herons</title><p>They stand."),
    );
    let slow = api.other_project("slow").await;
    let text = "name = \"spin\"\nkind = \"extractor\"\nversion = \"1.0.0\"\napi = \"1.0.0\"\n\
                roles = [\"document-html\"]\n";
    let endless = manifest::embed(&read("spin"), text).expect("a component");
    installed(&slow, "spin", &endless).await;
    for number in 0..12 {
        let scan = json!({"url": origin.url(&format!("/slow/{number}.pdf"))});
        slow.post("/v1/scan", &scan).await.ok();
    }
    let other = api.other_project("other").await;
    for path in ["/quick.pdf", "/page"] {
        other
            .post("/v1/scan", &json!({"url": origin.url(path)}))
            .await
            .ok();
    }
    let worker = api
        .node_with(|config| config.roles = vec![Role::Api, Role::Worker])
        .await;
    until_found(&other, "herons").await;
    until_found(&other, "ostriches").await;
    let waiting = worker.app.store.has_queued_documents().await;
    assert!(
        waiting.unwrap(),
        "it waited for all documents of the other project"
    );
}

/// Asks for a file, and reads only its beginning.
async fn unread(service: &Service, path: &str) -> TcpStream {
    let mut stream = TcpStream::connect(service.address).await.unwrap();
    let head = format!("GET {path} HTTP/1.1\r\nhost: test\r\nauthorization: Bearer {KEY}\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.read_exact(&mut [0; 64]).await.unwrap();
    stream
}

#[tokio::test]
async fn exports_that_nobody_reads_keep_nothing_from_others() {
    for postgres in [false, true] {
        let service = runs::without_workers(postgres, |config| config.database.connections = 3);
        let service = service.await;
        // About 90 KB each, which hardly get smaller.
        let text = |page: u32| -> String {
            let words = (page * 10_000)..(page * 10_000 + 10_000);
            let words = words.map(|word| format!("{:x} ", word.wrapping_mul(0x9e37_79b1)));
            format!("<p>{}", words.collect::<String>())
        };
        let page = |number: u32| Written::new(&number.to_string(), &text(number), &[]);
        let pages: Vec<Written> = (0..200).map(page).collect();
        let run = runs::done(&service, &pages).await;
        let mut held = Vec::new();
        for form in ["ndjson&include=html", "csv&include=html", "warc", "warc"] {
            let path = format!("/v1/crawls/{run}/export?format={form}");
            held.push(unread(&service, &path).await);
        }
        let client = service.client();
        let list = format!("/v1/crawls/{run}/pages?limit=1");
        let html = json!({"data": text(0), "return_format": "text"});
        let until = tokio::time::Instant::now() + Duration::from_secs(3);
        while tokio::time::Instant::now() < until {
            client.get(&list).await.ok();
            client.post("/v1/cloud/transform", &html).await.ok();
        }
        drop(held);
    }
}
