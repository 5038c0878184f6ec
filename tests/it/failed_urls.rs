//! Failed URLs of a run are listed, with the cause.

use orbweaver_origin::{Origin, Reply};
use orbweaver_server::config::Config;
use orbweaver_store::crawl::FailedUrl;
use serde_json::{Value, json};

use crate::support::runs::{self, Written};
use crate::support::{Client, Service, closed_port};

/// Tries once, and not again.
fn impatient(config: &mut Config) {
    config.crawl.retries = 0;
}

async fn errors(client: &Client, run: &Value) -> Vec<Value> {
    let path = format!("/v1/crawls/{}/errors", run["id"]);
    let list = client.get(&path).await.ok();
    assert_eq!(list["next_offset"], Value::Null);
    list["items"].as_array().expect("items").clone()
}

#[tokio::test]
async fn a_failed_url_is_listed_with_cause_and_referrers() {
    let service = Service::with(impatient).await;
    let client = service.client();
    let origin = Origin::start().await.expect("a site");
    origin
        .set("/robots.txt", Reply::text(""))
        .set(
            "/",
            Reply::html("<a href=/a>a</a><a href=/fault/closed>c</a>"),
        )
        .set(
            "/a",
            Reply::html(
                "<a href=/fault/closed>c</a><a href=/fault/garbage>g</a><a href=/gone>4</a>",
            ),
        );
    let run = runs::crawled(&client, &json!({"url": origin.url("/"), "delay_ms": 0})).await;
    assert_eq!(
        (&run["status"], &run["error_count"]),
        (&json!("done"), &json!(2))
    );
    assert_eq!(run["page_count"], 3, "the 404 is a page: {run}");
    let items = errors(&client, &run).await;
    assert_eq!(items.len(), 2, "{items:?}");
    assert_eq!(items[0]["url"], origin.url("/fault/closed"));
    assert_eq!(
        (&items[0]["kind"], &items[0]["attempts"]),
        (&json!("reset"), &json!(1))
    );
    assert_eq!(items[0]["referrer"], origin.url("/"));
    assert_eq!(
        items[0]["referrers"],
        json!([origin.url("/"), origin.url("/a")])
    );
    assert!(
        items[0]["message"]
            .as_str()
            .expect("text")
            .contains("closed"),
        "{items:?}"
    );
    assert_eq!(items[1]["url"], origin.url("/fault/garbage"));
    assert_eq!(
        (&items[1]["kind"], &items[1]["referrers"]),
        (&json!("protocol"), &json!([origin.url("/a")]))
    );
    let stranger = service.other_project("other").await;
    let path = format!("/v1/crawls/{}/errors", run["id"]);
    stranger.get(&path).await.error(404, "NOT_FOUND");
}

#[tokio::test]
async fn a_run_of_an_unreachable_site_names_the_cause() {
    let service = Service::with(impatient).await;
    let client = service.client();
    let base = closed_port().await;
    for (seed, kind, word) in [
        (
            json!({"url": format!("{base}/")}),
            "connect",
            "refuses connections",
        ),
        (
            json!({"url": "http://nowhere.invalid/"}),
            "dns",
            "nowhere.invalid",
        ),
        (
            json!({"url": format!("{base}/"), "seed_kind": "sitemap"}),
            "connect",
            "refuses connections",
        ),
    ] {
        let run = runs::crawled(&client, &seed).await;
        assert_eq!(
            (&run["status"], &run["error_count"]),
            (&json!("failed"), &json!(1)),
            "{run}"
        );
        let message = run["error_message"].as_str().expect("a message");
        assert!(
            message.contains(word) && !message.contains("robots"),
            "{message}"
        );
        let items = errors(&client, &run).await;
        assert_eq!(
            (items.len(), &items[0]["kind"]),
            (1, &json!(kind)),
            "{items:?}"
        );
        assert!(
            items[0]["message"].as_str().expect("text").contains(word),
            "{items:?}"
        );
        assert_eq!(items[0]["referrer"], Value::Null);
    }
}

#[tokio::test]
async fn links_to_an_unreachable_site_are_broken() {
    let service = Service::start().await;
    let urls = json!({"urls": [format!("{}/x", closed_port().await), "http://nowhere.invalid/"]});
    let answer = service.client().post("/v1/actors/check-links", &urls).await;
    let data = answer.ok()["data"].clone();
    assert_eq!(
        (&data["broken"], &data["excluded"]),
        (&json!(2), &json!(0)),
        "{data}"
    );
    for (at, word) in ["refuses connections", "nowhere.invalid"]
        .into_iter()
        .enumerate()
    {
        let error = data["items"][at]["error"].as_str().expect("a cause");
        assert!(error.contains(word) && !error.contains("robots"), "{error}");
    }
}

/// A run with failed URLs, on either database: they are paged, and deleted with the run.
async fn listed(postgres: bool) {
    let service = runs::without_workers(postgres, |_| {}).await;
    let client = service.client();
    let leased = runs::begin(&service).await;
    runs::write(
        &service,
        &leased,
        0,
        &[Written::new("", "<p>x", &["e0", "e7", "e7"])],
    )
    .await;
    let failed = (0..2_500).map(|n| FailedUrl {
        seq: 10 + n,
        url: format!("{}e{n}", runs::SEED),
        key_hash: runs::hash(&format!("{}e{n}", runs::SEED)),
        kind: "dns".to_owned(),
        message: "no such \"name\"".to_owned(),
        attempts: 3,
        failed_at: service.app.clock.now(),
    });
    runs::fail(&service, &leased, failed.collect()).await;
    let run = runs::end(&service, &leased).await;
    assert_eq!(
        client.get(&format!("/v1/crawls/{run}")).await.ok()["error_count"],
        2_500
    );

    let path = format!("/v1/crawls/{run}/errors");
    let list = client.get(&format!("{path}?limit=2&offset=6")).await.ok();
    assert_eq!(list["next_offset"], 8, "{list}");
    assert_eq!(list["items"][1]["url"], format!("{}e7", runs::SEED));
    assert_eq!(list["items"][1]["referrers"], json!([runs::SEED]));
    assert_eq!(list["items"][0]["referrers"], json!([]));
    let lines = client
        .get(&format!("{path}?format=ndjson&limit=100000"))
        .await
        .text();
    assert_eq!(lines.lines().count(), 2_500);
    let last: Value = serde_json::from_str(lines.lines().last().expect("a line")).expect("JSON");
    assert_eq!(last["url"], format!("{}e2499", runs::SEED));
    let csv = client
        .get(&format!("{path}?format=csv&limit=1"))
        .await
        .text();
    assert_eq!(
        csv,
        format!(
            "url,kind,message,attempts,last_at,referrer\n{0}e0,dns,\"no such \"\"name\"\"\",3,\
             2026-03-01T12:00:00Z,{0}\n",
            runs::SEED
        )
    );
    client
        .get(&format!("{path}?limit=0"))
        .await
        .error(422, "INVALID_INPUT");
    assert_eq!(
        client
            .send("DELETE", &format!("/v1/crawls/{run}"), &[], b"")
            .await
            .status,
        204
    );
    client.get(&path).await.error(404, "NOT_FOUND");
    while !service
        .app
        .store
        .remove_deleted()
        .await
        .expect("a database")
        .finished
    {}
    let project = runs::project(&service).await;
    let left = service
        .app
        .store
        .run_errors(project, run, i64::MIN, 0, 10)
        .await;
    assert_eq!(left.expect("a database"), []);
}

#[tokio::test]
async fn failed_urls_are_paged_and_deleted_with_their_run() {
    listed(false).await;
}

#[tokio::test]
async fn failed_urls_are_paged_and_deleted_with_their_run_on_postgres() {
    listed(true).await;
}

/// A site with an index of these sitemaps.
async fn indexed(children: &[&str]) -> Origin {
    let origin = Origin::start().await.expect("a site");
    let entries: String = children
        .iter()
        .map(|path| format!("<sitemap><loc>{}</loc></sitemap>", origin.url(path)))
        .collect();
    let index = format!("<sitemapindex>{entries}</sitemapindex>");
    origin
        .set("/robots.txt", Reply::text(""))
        .set("/index.xml", Reply::text(index))
        .set("/down.xml", Reply::new(503, "down"))
        .set("/page.xml", Reply::html("<p>no sitemap"))
        .set(
            "/good.xml",
            Reply::text(format!(
                "<urlset><url><loc>{}</loc></url></urlset>",
                origin.url("/a")
            )),
        )
        .set("/a", Reply::html("<p>a"));
    origin
}

#[tokio::test]
async fn sitemaps_that_cannot_be_read_are_listed_and_fail_a_run_without_others() {
    for service in [
        Service::with(impatient).await,
        Service::on_postgres_with(impatient).await,
    ] {
        let client = service.client();
        let run = async |origin: &Origin, path: &str| {
            let body = json!({"url": origin.url(path), "seed_kind": "sitemap", "delay_ms": 0});
            runs::crawled(&client, &body).await
        };
        let listed = async |run: &Value| -> Vec<(String, String)> {
            let items = errors(&client, run).await;
            let text = |item: &Value, name: &str| item[name].as_str().expect("text").to_owned();
            items
                .iter()
                .map(|item| (text(item, "url"), text(item, "kind")))
                .collect()
        };
        let kind = |origin: &Origin, path: &str| (origin.url(path), "sitemap".to_owned());

        let origin = indexed(&["/down.xml", "/page.xml"]).await;
        let failed = run(&origin, "/index.xml").await;
        assert_eq!(
            (
                &failed["status"],
                &failed["page_count"],
                &failed["error_count"]
            ),
            (&json!("failed"), &json!(0), &json!(0)),
            "{failed}"
        );
        let message = failed["error_message"].as_str().expect("a message");
        assert!(message.contains("none of 2 sitemaps"), "{message}");
        assert!(message.contains("/down.xml answers 503"), "{message}");
        let both = [kind(&origin, "/down.xml"), kind(&origin, "/page.xml")];
        assert_eq!(sorted(listed(&failed).await), both);

        let alone = run(&origin, "/down.xml").await;
        assert_eq!(alone["status"], "failed");
        assert_eq!(listed(&alone).await, [kind(&origin, "/down.xml")]);

        // One that can be read is enough.
        let origin = indexed(&["/down.xml", "/good.xml"]).await;
        let part = run(&origin, "/index.xml").await;
        assert_eq!(
            (&part["status"], &part["page_count"], &part["error_count"]),
            (&json!("done"), &json!(1), &json!(0)),
            "{part}"
        );
        assert_eq!(listed(&part).await, [kind(&origin, "/down.xml")]);

        // A site's own place for a sitemap is a guess, if robots.txt names another one.
        let origin = indexed(&[]).await;
        let named = format!("Sitemap: {}\n", origin.url("/good.xml"));
        origin.set("/robots.txt", Reply::text(named));
        let guessed = run(&origin, "/").await;
        assert_eq!(
            (&guessed["status"], &guessed["error_count"]),
            (&json!("done"), &json!(0)),
            "{guessed}"
        );
    }
}

fn sorted(mut list: Vec<(String, String)>) -> Vec<(String, String)> {
    list.sort();
    list
}
