//! The field `extract`: fields by CSS selectors in scans, bulk scans, crawls, batches and exports.

use orbweaver_core::ids::RunId;
use orbweaver_origin::{Origin, Reply};
use serde_json::{Value, json};

use crate::support::{Client, Service, runs};

async fn shop() -> Origin {
    let origin = Origin::start().await.expect("a site");
    let page = |name: &str, price: &str| {
        Reply::html(format!(
            "<title>{name}</title><h1>{name}</h1><p class=price>{price}</p>\
             <a class=next href=/two>next</a><ul><li>oak<li>steel</ul>"
        ))
    };
    origin
        .set("/robots.txt", Reply::text(""))
        .set("/", page("Chair", "1.299,50 €"))
        .set("/two", page("Table", "on request"))
        .set("/list.txt", Reply::text("no page"));
    origin
}

fn extract() -> Value {
    json!({
        "schema": {"type": "object", "required": ["name", "price"], "properties": {
            "name": {"type": "string"}, "price": {"type": "number"},
            "next": {"type": "string", "format": "uri"}}},
        "selectors": {"name": "h1", "price": ".price", "next": ".next",
            "made_of": {"selector": "li", "list": true}, "weight": ".weight"},
    })
}

fn chair(origin: &Origin) -> Value {
    json!({"name": "Chair", "price": 1299.5, "next": origin.url("/two"),
        "made_of": ["oak", "steel"], "weight": null})
}

fn no_price() -> Value {
    json!([{"field": "price", "message": "must be a number, and is \"on request\""}])
}

#[tokio::test]
async fn a_scan_extracts_fields_and_names_those_that_are_wrong() {
    let service = Service::start().await;
    let client = service.client();
    let origin = shop().await;
    let scan =
        |path: &str| json!({"url": origin.url(path), "metadata_only": true, "extract": extract()});
    let answer = client.post("/v1/scan", &scan("/")).await.ok();
    assert_eq!(answer["extracted"], chair(&origin), "{answer}");
    assert_eq!(answer["extract_errors"], json!([]));
    let answer = client.post("/v1/scan", &scan("/two")).await.ok();
    assert_eq!(answer["extracted"]["name"], "Table");
    assert_eq!(answer["extracted"].get("price"), None, "{answer}");
    assert_eq!(answer["extract_errors"], no_price());
    // A body that is not HTML has no fields, and says so.
    let answer = client.post("/v1/scan", &scan("/list.txt")).await.ok();
    assert_eq!(answer["extracted"], Value::Null);
    assert!(
        answer["notice"]
            .as_str()
            .expect("a notice")
            .contains("text/plain")
    );
    // Without the field the answer has no member of it.
    let plain = client
        .post("/v1/scan", &json!({"url": origin.url("/")}))
        .await
        .ok();
    assert_eq!(plain.get("extracted"), None);
    assert_eq!(plain.get("extract_errors"), None);
    assert_eq!(plain["errors"], json!([]));
}

#[tokio::test]
async fn fields_are_cached_by_their_rules() {
    let service = Service::start().await;
    let client = service.client();
    let origin = shop().await;
    for (rule, expected) in [
        (json!("h1"), json!("Chair")),
        (json!("li"), json!("oak")),
        (json!("h1"), json!("Chair")),
    ] {
        let body = json!({"url": origin.url("/"), "max_age_seconds": 600,
            "extract": {"selectors": {"it": rule}}});
        let answer = client.post("/v1/scan", &body).await.ok();
        assert_eq!(answer["extracted"], json!({"it": expected}));
    }
    assert_eq!(origin.count("/"), 1);
}

#[tokio::test]
async fn bulk_scans_extract_from_every_page() {
    let service = Service::start().await;
    let client = service.client();
    let origin = shop().await;
    let urls = [origin.url("/"), origin.url("/two")];
    let body = json!({"urls": urls, "extract": extract()});
    let answer = client.post("/v1/scan/bulk", &body).await.ok();
    assert_eq!(answer["items"][0]["result"]["extracted"], chair(&origin));
    assert_eq!(answer["items"][1]["result"]["extract_errors"], no_price());
}

async fn run(service: &Service, path: &str, body: &Value) -> RunId {
    let created = service.client().post(path, body).await;
    assert_eq!(created.status, 202, "{}", created.text());
    let run = RunId(created.json()["id"].as_i64().expect("an id"));
    runs::ended(service, run).await;
    run
}

async fn exported(client: &Client, run: RunId, query: &str) -> Vec<Value> {
    let path = format!("/v1/crawls/{run}/export?{query}");
    let text = client.get(&path).await.text();
    let lines = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"));
    lines.collect()
}

#[tokio::test]
async fn crawls_and_batches_keep_the_fields_of_their_pages() {
    let service = Service::start().await;
    let client = service.client();
    let origin = shop().await;
    let crawl =
        json!({"url": origin.url("/"), "delay_ms": 0, "store_html": false, "extract": extract()});
    let batch = json!({"urls": [origin.url("/"), origin.url("/two")], "delay_ms": 0, "extract": extract(),
        "extractors": ["links"]});
    for (path, body) in [("/v1/crawls", crawl), ("/v1/batch", batch)] {
        let id = run(&service, path, &body).await;
        let pages = exported(&client, id, "include=extracted,extensions").await;
        assert_eq!(pages.len(), 2, "{path}: {pages:?}");
        let page = |url: String| {
            pages
                .iter()
                .find(|page| page["url"] == url)
                .expect("a page")
        };
        let (first, second) = (page(origin.url("/")), page(origin.url("/two")));
        assert_eq!(first["extracted"], chair(&origin), "{path}: {first}");
        assert_eq!(second["extract_errors"], no_price(), "{path}");
        let has_links = path == "/v1/batch";
        assert_eq!(
            first["extensions"]["links"].is_array(),
            has_links,
            "{first}"
        );
        assert_eq!(first["extensions"].get("$extract"), None);
        let one = client
            .get(&format!("/v1/pages/{}?format=signals", first["id"]))
            .await
            .ok();
        assert_eq!(one["extracted"], chair(&origin), "{one}");
        assert_eq!(one["extract_errors"], json!([]));
        let query = format!("/v1/crawls/{id}/export?format=csv&include=extracted");
        let csv = client.get(&query).await.text();
        assert!(
            csv.starts_with("id,url,status,bytes,fetched_at,extracted,extract_errors\n"),
            "{csv}"
        );
        assert!(csv.contains("on request"), "{csv}");
    }
}

#[tokio::test]
async fn wrong_rules_are_refused_before_anything_is_fetched() {
    let service = Service::start().await;
    let client = service.client();
    let origin = shop().await;
    let large = "a, ".repeat(30_000) + "a";
    for (extract, expected) in [
        (json!({}), "extract.selectors: is required, or a prompt"),
        (
            json!({"selectors": {"a": "p:hover"}}),
            "extract.selectors.a.selector: not a selector: it has a pseudo-class or pseudo-element that is not supported",
        ),
        (
            json!({"selectors": {"a": {"selector": "p", "regex": "("}}}),
            "extract.selectors.a.regex: is not a regular expression",
        ),
        (
            json!({"selectors": {"a": "p"}, "schema": {"properties": {"a": {"if": {}}}}}),
            "extract.schema.properties.a.if: is not a keyword that is supported",
        ),
        (
            json!({"selectors": {"a": large}}),
            "extract: must be at most 65536 bytes",
        ),
    ] {
        for path in ["/v1/scan", "/v1/scan/bulk", "/v1/crawls", "/v1/batch"] {
            let url = origin.url("/");
            let body = json!({"url": url, "urls": [url], "extract": extract});
            let said = client.post(path, &body).await.error(422, "INVALID_INPUT");
            assert!(said.starts_with(expected), "{path}: {said}");
        }
    }
    assert_eq!(origin.requests().len(), 0);
}
