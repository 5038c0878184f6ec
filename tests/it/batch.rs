//! POST /v1/batch: a run of a list of URLs.

use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::Arc;

use orbweaver_core::ids::RunId;
use orbweaver_fetch::{ResolveError, Resolver};
use orbweaver_origin::{Origin, Reply};
use serde_json::{Value, json};

use crate::support::{Service, runs};

/// Resolves every name to loopback.
struct Loopback;

#[async_trait::async_trait]
impl Resolver for Loopback {
    async fn resolve(&self, _: &str) -> Result<Vec<IpAddr>, ResolveError> {
        Ok(vec![IpAddr::from([127, 0, 0, 1])])
    }
}

async fn site() -> Origin {
    let origin = Origin::start().await.expect("a site");
    origin
        .set(
            "/robots.txt",
            Reply::text("User-agent: *\nDisallow: /private\n"),
        )
        .set_under("/", |request| {
            Reply::html(format!("<h1>{}</h1><a href=/linked>l</a>", request.path()))
        });
    origin
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_fetches_its_urls_and_follows_no_links() {
    for service in [Service::start().await, Service::on_postgres().await] {
        let client = service.client();
        let (one, two) = (site().await, site().await);
        two.set("/moved", Reply::redirect(302, "/target"));
        let closed = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let closed = format!("http://{}/", closed.local_addr().expect("its address"));
        let urls = [
            one.url("/a"),
            one.url("/a#fragment"),
            one.url("/b?x=1"),
            two.url("/c"),
            two.url("/moved"),
            one.url("/private"),
            closed.clone(),
            "http://10.0.0.1/".to_owned(),
            "ftp://example.com/".to_owned(),
            "no URL\u{0}".to_owned(),
        ];
        let body = json!({"urls": urls, "delay_ms": 0});
        let created = client.post("/v1/batch", &body).await;
        assert_eq!(created.status, 202, "{}", created.text());
        let place = created.header("location").expect("a place").to_owned();
        let created = created.json();
        assert_eq!(created["accepted"], 6);
        assert_eq!(
            (&created["refused"], &created["duplicates"]),
            (&json!(3), &json!(1))
        );
        let run = RunId(created["id"].as_i64().expect("an id"));
        runs::ended(&service, run).await;
        let detail = client.get(&place).await.ok();
        assert_eq!(
            (&detail["status"], &detail["page_count"]),
            (&json!("done"), &json!(4))
        );
        assert_eq!(detail["error_count"], 4, "{detail}");
        let pages = client
            .get(&format!("{place}/pages?include=depth"))
            .await
            .ok();
        let items = pages["items"].as_array().expect("items");
        let found: HashSet<&str> = items
            .iter()
            .map(|page| page["url"].as_str().unwrap())
            .collect();
        let expected = [
            one.url("/a"),
            one.url("/b?x=1"),
            two.url("/c"),
            two.url("/target"),
        ];
        assert_eq!(found, expected.iter().map(String::as_str).collect());
        assert!(items.iter().all(|page| page["depth"] == 0));
        assert_eq!(one.count("/linked") + two.count("/linked"), 0);
        assert_eq!(one.count("/private"), 0);
        let errors = client.get(&format!("{place}/errors")).await.ok();
        let errors = errors["items"].as_array().expect("items");
        let kinds = |kind: &str| errors.iter().filter(|error| error["kind"] == kind).count();
        assert_eq!((errors.len(), kinds("refused")), (4, 3), "{errors:?}");
        let private = errors
            .iter()
            .find(|error| error["url"] == "http://10.0.0.1/")
            .unwrap();
        assert!(private["message"].as_str().unwrap().len() > 10, "{private}");
        assert_eq!(service.billed().await, (4, 0));
        // It is no crawl of its first URL.
        let crawl = json!({"url": one.url("/a"), "max_age_seconds": 3_600});
        assert_eq!(client.post("/v1/crawls", &crawl).await.status, 202);
        // Everything that reads a crawl reads it.
        for rest in [
            "/links",
            "/orphans",
            "/export?format=zip",
            "/export?format=parquet&include=title",
            "/export?format=warc",
        ] {
            assert_eq!(
                client.get(&format!("{place}{rest}")).await.status,
                200,
                "{rest}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn urls_that_lead_to_the_page_of_another_one_are_told() {
    for service in [Service::start().await, Service::on_postgres().await] {
        let (client, site) = (service.client(), site().await);
        for (from, to) in [("/old1", "/new"), ("/old2", "/new"), ("/moved", "/here")] {
            site.set(from, Reply::redirect(302, to));
        }
        let urls = ["/old1", "/old2", "/moved", "/here", "/other"].map(|path| site.url(path));
        let body = json!({"urls": urls, "delay_ms": 0});
        let created = client.post("/v1/batch", &body).await;
        let place = created.header("location").expect("a place").to_owned();
        let run = RunId(created.json()["id"].as_i64().expect("an id"));
        runs::ended(&service, run).await;
        // Every URL has a page, or is told.
        let detail = client.get(&place).await.ok();
        assert_eq!(
            (&detail["page_count"], &detail["skipped"]),
            (&json!(3), &json!({"duplicate": 2}))
        );
        let skipped = client.get(&format!("{place}/skipped")).await.ok();
        let items = skipped["items"].as_array().expect("items");
        assert!(
            items.iter().all(|item| item["kind"] == "duplicate"),
            "{skipped}"
        );
        let is_one_of = |item: &Value, paths: &[&str], page: &str| {
            let urls: Vec<Value> = paths.iter().map(|path| json!(site.url(path))).collect();
            urls.contains(&item["url"]) && item["page"] == site.url(page)
        };
        let [first, second] = items.as_slice() else {
            panic!("{skipped}");
        };
        assert!(is_one_of(first, &["/old1", "/old2"], "/new"), "{skipped}");
        // Whichever was fetched first: a page is no duplicate of itself.
        assert!(is_one_of(second, &["/moved"], "/here"), "{skipped}");
        let rest = format!("{place}/skipped?offset=1&limit=1");
        let rest = client.get(&rest).await.ok();
        assert_eq!(rest["items"], json!([second]));
        let lines = client.get(&format!("{place}/skipped.csv")).await.text();
        let mut lines = lines.lines();
        assert_eq!(lines.next(), Some("url,kind,plugin,reason,noted_at,page"));
        assert_eq!(lines.count(), 2);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_spans_more_hosts_than_a_crawl_may_have() {
    let service = Service::with_resolver(Arc::new(Loopback), |_| {}).await;
    let origin = site().await;
    let urls: Vec<String> = (0..1_500)
        .map(|n| origin.url_at(&format!("h{n}.example"), "/"))
        .collect();
    let body = json!({"urls": urls, "delay_ms": 0, "store_html": false});
    let created = service.client().post("/v1/batch", &body).await;
    let run = RunId(created.json()["id"].as_i64().expect("an id"));
    runs::ended(&service, run).await;
    let detail = service
        .client()
        .get(&format!("/v1/crawls/{run}"))
        .await
        .ok();
    assert_eq!(detail["page_count"], 1_500, "{detail}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_survives_a_restart() {
    let service = Service::start().await;
    let origin = site().await;
    let urls: Vec<String> = (0..200).map(|n| origin.url(&format!("/p/{n}"))).collect();
    let body = json!({"urls": urls, "delay_ms": 5});
    let created = service.client().post("/v1/batch", &body).await;
    let run = RunId(created.json()["id"].as_i64().expect("an id"));
    origin.asked("/p/10", 1).await;
    let service = service.restart().await;
    runs::ended(&service, run).await;
    let detail = service
        .client()
        .get(&format!("/v1/crawls/{run}"))
        .await
        .ok();
    assert_eq!(
        (&detail["status"], &detail["page_count"]),
        (&json!("done"), &json!(200))
    );
    assert_eq!(service.billed().await, (200, 0));
}

#[tokio::test]
async fn a_batch_is_refused_by_rule() {
    let service = Service::start().await;
    let client = service.client();
    let many = vec!["https://example.com/"; 100_001];
    for (body, rule) in [
        (json!({}), "urls: is required"),
        (
            json!({"urls": []}),
            "urls: must be between 1 and 100000 URLs",
        ),
        (
            json!({"urls": many}),
            "urls: must be between 1 and 100000 URLs",
        ),
        (
            json!({"urls": ["http://10.0.0.1/"]}),
            "urls: none of them may be fetched: ",
        ),
        (
            json!({"urls": ["https://example.com/"], "delay_ms": -1}),
            "delay_ms: ",
        ),
        (
            json!({"urls": ["https://example.com/"], "headers": {"Host": "x"}}),
            "headers.Host: ",
        ),
    ] {
        let said = client
            .post("/v1/batch", &body)
            .await
            .error(422, "INVALID_INPUT");
        assert!(said.starts_with(rule), "{said}");
    }
    let crawl = json!({"url": "https://example.com/", "seed_kind": "list"});
    client
        .post("/v1/crawls", &crawl)
        .await
        .error(422, "INVALID_INPUT");
    let key = [("Idempotency-Key", "0c6ff1b2-6a5c-4a66-9d2f-0b5a3a1f8f10")];
    let body = json!({"urls": ["https://example.invalid/", "https://b.invalid/"]});
    let first = client.post_with("/v1/batch", &key, &body).await;
    let again = client.post_with("/v1/batch", &key, &body).await;
    assert_eq!(first.json()["id"], again.json()["id"]);
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    let value: Value = again.json();
    assert_eq!(value["accepted"], 2);
}
