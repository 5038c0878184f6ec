//! Lists of runs and pages, single pages, and which project may read them.

use orbweaver_origin::{Origin, Reply};
use serde_json::{Value, json};

use super::{get, leaf};
use crate::support::Service;
use crate::support::runs::{SEED, Written, begin, crawled, done, end, without_workers, write};
use crate::support::site::ARTICLE;

#[tokio::test]
async fn pages_are_listed_in_order_page_by_page() {
    for postgres in [false, true] {
        let service = without_workers(postgres, |_| {}).await;
        let client = service.client();
        let pages: Vec<Written> = (0..2_501)
            .map(|n| Written {
                path: if n == 0 {
                    String::new()
                } else {
                    format!("p/{n}?a=\"1\",2")
                },
                status: if n % 5 == 4 { 404 } else { 200 },
                ..Written::default()
            })
            .collect();
        let leased = begin(&service).await;
        for (at, piece) in (0..).step_by(500).zip(pages.chunks(500)) {
            write(&service, &leased, at, piece).await;
        }
        let run = end(&service, &leased).await;

        let first = get(&client, run, "/pages").await.ok();
        assert_eq!(first["items"].as_array().unwrap().len(), 100);
        assert_eq!(first["next_offset"], 100);
        let item = &first["items"][4];
        assert_eq!(item.as_object().unwrap().len(), 5);
        assert_eq!(item["url"], format!("{SEED}p/4?a=\"1\",2"));
        assert_eq!((&item["status"], &item["bytes"]), (&json!(404), &json!(7)));
        assert_eq!(item["fetched_at"], "2026-03-01T12:00:00Z");

        // All parts of the list, joined, are the whole list.
        let whole = get(&client, run, "/pages?limit=100000").await.ok();
        let whole = whole["items"].as_array().unwrap().clone();
        assert_eq!(whole.len(), 2_501);
        let (mut joined, mut offset) = (Vec::new(), json!(0));
        while !offset.is_null() {
            let path = format!("/pages?limit=999&offset={offset}");
            let piece = get(&client, run, &path).await.ok();
            joined.extend(piece["items"].as_array().unwrap().clone());
            offset = piece["next_offset"].clone();
        }
        assert_eq!(joined, whole);
        let last = get(&client, run, "/pages?limit=501&offset=2000").await.ok();
        assert_eq!(last["next_offset"], Value::Null);
        let beyond = get(&client, run, "/pages?offset=9007199254740991")
            .await
            .ok();
        assert_eq!(beyond, json!({"items": [], "next_offset": null}));

        let missing = get(&client, run, "/pages?status=404&limit=2&offset=498")
            .await
            .ok();
        assert_eq!(missing["items"].as_array().unwrap().len(), 2);
        assert_eq!(missing["next_offset"], Value::Null);
        assert_eq!(missing["items"][1], whole[2_499]);
        let none = get(&client, run, "/pages?status=500").await.ok();
        assert_eq!(none, json!({"items": [], "next_offset": null}));

        let lines = get(&client, run, "/pages?format=ndjson&limit=100000").await;
        assert_eq!(lines.header("content-type"), Some("application/x-ndjson"));
        let text = lines.text();
        let parsed: Vec<Value> = text
            .lines()
            .map(|l| serde_json::from_str(l).unwrap())
            .collect();
        assert_eq!(parsed, whole);

        let csv = get(&client, run, "/pages?format=csv&limit=100000").await;
        assert_eq!(csv.header("content-type"), Some("text/csv; charset=utf-8"));
        let text = csv.text();
        let mut rows = text.lines();
        assert_eq!(rows.next(), Some("id,url,status,bytes,fetched_at"));
        let id = &whole[0]["id"];
        assert_eq!(
            rows.next(),
            Some(format!("{id},{SEED},200,7,2026-03-01T12:00:00Z").as_str())
        );
        let id = &whole[1]["id"];
        let second = format!("{id},\"{SEED}p/1?a=\"\"1\"\",2\",200,7,2026-03-01T12:00:00Z");
        assert_eq!(rows.next(), Some(second.as_str()));
        assert_eq!(rows.count(), 2_499);

        // As paths of their own, for typed clients.
        let own = get(&client, run, "/pages.ndjson?limit=100000").await;
        assert_eq!(
            (own.text(), own.header("content-type")),
            (lines.text(), lines.header("content-type"))
        );
        let own = get(&client, run, "/pages.csv?limit=100000").await;
        assert_eq!(
            (own.text(), own.header("content-type")),
            (csv.text(), csv.header("content-type"))
        );
        for list in ["errors", "skipped", "records"] {
            let own = get(&client, run, &format!("/{list}.csv")).await;
            let same = get(&client, run, &format!("/{list}?format=csv")).await;
            assert_eq!((own.status, own.text()), (200, same.text()), "{list}");
        }
    }
}

#[tokio::test]
async fn invalid_list_parameters_are_named() {
    let service = without_workers(false, |_| {}).await;
    let client = service.client();
    let run = done(&service, &[leaf("")]).await;
    for (path, field) in [
        ("/pages?limit=0", "limit"),
        ("/pages?limit=100001", "limit"),
        ("/pages?limit=x", "limit"),
        ("/pages?offset=-1", "offset"),
        ("/pages?offset=9007199254740992", "offset"),
        ("/pages?status=99", "status"),
        ("/pages?status=1000", "status"),
        ("/pages?format=xml", "format"),
        ("/links?limit=0", "limit"),
        ("/links?limit=100001", "limit"),
        ("/links?offset=-1", "offset"),
        ("/links?from_page_id=x", "from_page_id"),
    ] {
        let message = get(&client, run, path).await.error(422, "INVALID_INPUT");
        assert!(
            message.starts_with(&format!("{field}: ")),
            "{path}: {message}"
        );
    }
    for (path, field) in [
        ("/v1/crawls?limit=1001", "limit"),
        ("/v1/crawls?status=over", "status"),
        ("/v1/crawls?offset=x", "offset"),
    ] {
        let message = client.get(path).await.error(422, "INVALID_INPUT");
        assert!(
            message.starts_with(&format!("{field}: ")),
            "{path}: {message}"
        );
    }
}

#[tokio::test]
async fn runs_are_listed_newest_first() {
    for postgres in [false, true] {
        let service = without_workers(postgres, |_| {}).await;
        let client = service.client();
        let ids = [
            done(&service, &[leaf("")]).await,
            done(&service, &[leaf(""), leaf("a")]).await,
            begin(&service).await.lease.run,
        ];
        let list = client.get("/v1/crawls?limit=2").await.ok();
        assert_eq!(list["next_offset"], 2);
        let items = list["items"].as_array().unwrap();
        assert_eq!(items[0]["id"], ids[2].get());
        assert_eq!(items[0]["status"], "running");
        assert_eq!(
            (&items[1]["id"], &items[1]["page_count"]),
            (&json!(ids[1].get()), &json!(2))
        );
        let rest = client.get("/v1/crawls?offset=2").await.ok();
        assert_eq!(rest["items"].as_array().unwrap().len(), 1);
        assert_eq!(rest["next_offset"], Value::Null);
        let done = client.get("/v1/crawls?status=done").await.ok();
        assert_eq!(done["items"].as_array().unwrap().len(), 2);
        let deleted = client.get("/v1/crawls?status=cancelled").await.ok();
        assert_eq!(deleted, json!({"items": [], "next_offset": null}));
        let other = service.other_project("other").await.get("/v1/crawls").await;
        assert_eq!(other.ok()["items"], json!([]));
    }
}

#[tokio::test]
async fn a_page_has_the_fields_of_its_format() {
    for postgres in [false, true] {
        let service = without_workers(postgres, |_| {}).await;
        let client = service.client();
        let bare = Written {
            path: "bare".to_owned(),
            ..Written::default()
        };
        let run = done(&service, &[Written::new("", ARTICLE, &[]), bare]).await;
        let items = get(&client, run, "/pages").await.ok();
        let [page, bare] = [0, 1].map(|n| format!("/v1/pages/{}", items["items"][n]["id"]));
        let base = ["bytes", "fetched_at", "id", "status", "url"];
        for (format, members) in [
            ("", &["html", "metadata"][..]),
            ("?format=html", &["html", "metadata"]),
            ("?format=markdown", &["markdown", "metadata"]),
            (
                "?format=article",
                &["article_html", "article_text", "metadata", "page_type"],
            ),
            (
                "?format=both",
                &[
                    "article_html",
                    "article_text",
                    "html",
                    "markdown",
                    "metadata",
                    "page_type",
                ],
            ),
            (
                "?format=full",
                &[
                    "article_html",
                    "article_text",
                    "content_hash",
                    "html",
                    "markdown",
                    "metadata",
                    "page_type",
                    "signals",
                ],
            ),
            ("?format=signals", &["metadata", "signals"]),
        ] {
            let answer = client.get(&format!("{page}{format}")).await.ok();
            let mut expected: Vec<&str> = base.iter().chain(members).copied().collect();
            expected.sort_unstable();
            let mut found: Vec<&str> = answer
                .as_object()
                .unwrap()
                .keys()
                .map(String::as_str)
                .collect();
            found.sort_unstable();
            assert_eq!(found, expected, "{format}");
            assert!(
                members.iter().all(|member| !answer[member].is_null()),
                "{format}"
            );
            assert_eq!(answer["url"], SEED);
            assert_eq!(answer["metadata"]["title"], "How orb weavers build");
        }
        let full = client.get(&format!("{page}?format=full")).await.ok();
        assert_eq!(full["html"], ARTICLE);
        let markdown = full["markdown"].as_str().unwrap();
        assert!(
            markdown.contains("[the radii in detail](http://127.0.0.1:8081/radii?a=1&b=2)"),
            "{markdown}"
        );
        assert!(
            full["article_text"]
                .as_str()
                .unwrap()
                .contains("bridge thread")
        );
        assert_eq!(full["signals"]["lang"], "en");
        // Stored without HTML: there is only its row.
        for format in ["html", "markdown", "article", "both", "full", "signals"] {
            let message = client
                .get(&format!("{bare}?format={format}"))
                .await
                .error(422, "INVALID_INPUT");
            assert!(message.starts_with("format: "), "{message}");
        }
        let message = client
            .get(&format!("{page}?format=pdf"))
            .await
            .error(422, "INVALID_INPUT");
        assert!(message.starts_with("format: "), "{message}");
        client.get("/v1/pages/999999").await.error(404, "NOT_FOUND");
        client.get("/v1/pages/x").await.error(404, "NOT_FOUND");
    }
}

#[tokio::test]
async fn another_project_can_read_none_of_it() {
    for postgres in [false, true] {
        let service = without_workers(postgres, |_| {}).await;
        let run = done(&service, &[Written::new("", "x", &["a"]), leaf("a")]).await;
        let pages = get(&service.client(), run, "/pages").await.ok();
        let page = &pages["items"][0]["id"];
        let other = service.other_project("other").await;
        for path in [
            "",
            "/pages",
            "/links",
            "/orphans",
            "/events",
            &format!("/diff/{run}"),
        ] {
            get(&other, run, path).await.error(404, "NOT_FOUND");
        }
        other
            .get(&format!("/v1/pages/{page}"))
            .await
            .error(404, "NOT_FOUND");
        let answer = other
            .send("DELETE", &format!("/v1/crawls/{run}"), &[], b"")
            .await;
        answer.error(404, "NOT_FOUND");
        assert_eq!(get(&service.client(), run, "").await.status, 200);
        for path in [
            "/v1/crawls/x",
            "/v1/crawls/99999999999999999999",
            "/v1/crawls/1.5",
        ] {
            service.client().get(path).await.error(404, "NOT_FOUND");
        }
    }
}

#[tokio::test]
async fn what_has_no_content_says_so_with_and_without_its_body() {
    let service = Service::start().await;
    let client = service.client();
    let origin = Origin::start().await.expect("a site");
    origin.set("/", Reply::text("Just text."));
    origin.set("/empty", Reply::new(204, ""));
    let scan = json!({"url": origin.url("/empty"), "cloud_mode": "none"});
    let scan = client.post("/v1/scan", &scan).await.ok();
    assert_eq!(scan["notice"], "the response has no body", "{scan}");
    for store_html in [true, false] {
        let crawl = json!({"url": origin.url("/"), "store_html": store_html, "max_pages": 1});
        let run = crawled(&client, &crawl).await;
        let pages = client
            .get(&format!("/v1/crawls/{}/pages", run["id"]))
            .await
            .ok();
        let path = format!("/v1/pages/{}", pages["items"][0]["id"]);
        let page = client.get(&format!("{path}?format=signals")).await.ok();
        assert_eq!(page["metadata"], Value::Null, "{page}");
        assert_eq!(page["signals"], Value::Null, "{page}");
        let notice = page["notice"].as_str().expect("a notice");
        assert!(notice.starts_with("the body is text/plain: "), "{notice}");
        let html = client.get(&path).await;
        match store_html {
            true => assert_eq!(html.ok()["html"], "Just text."),
            false => drop(html.error(422, "INVALID_INPUT")),
        }
    }
}
