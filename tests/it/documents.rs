//! PDF, DOCX and feeds: converted in the sandbox, then read as pages are.

use std::fmt::Write as _;
use std::time::Duration;

use orbweaver_core::ids::RunId;
use orbweaver_origin::{Origin, Reply};
use serde_json::{Value, json};

use crate::support::{Service, runs};

/// A PDF of one page in Helvetica: a heading, a paragraph, and a link over the whole page.
pub(crate) fn pdf(heading: &str, text: &str, link: &str) -> Vec<u8> {
    let content = format!(
        "BT /F1 24 Tf 50 700 Td ({heading}) Tj /F1 10 Tf 0 -40 Td ({text}) Tj 0 -12 Td \
         (The last line of the paragraph.) Tj ET"
    );
    let length = content.len();
    let objects = [
        "<</Type/Catalog/Pages 2 0 R/Lang(en)>>".to_owned(),
        "<</Type/Pages/Kids[3 0 R]/Count 1>>".to_owned(),
        format!(
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 5 0 R\
             /Resources<</Font<</F1 4 0 R>>>>/Annots[<</Type/Annot/Subtype/Link\
             /Rect[0 640 600 670]/A<</S/URI/URI({link})>>>>]>>"
        ),
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>".to_owned(),
        format!("<</Length {length}>>stream\n{content}\nendstream"),
        "<</Author(A. Writer)/CreationDate(D:20240229120000Z)>>".to_owned(),
    ];
    let mut out = "%PDF-1.7\n".to_owned();
    let mut table = "xref\n0 7\n0000000000 65535 f \n".to_owned();
    for (at, object) in objects.iter().enumerate() {
        let _ = writeln!(table, "{:010} 00000 n ", out.len());
        let _ = writeln!(out, "{} 0 obj\n{object}\nendobj", at + 1);
    }
    let start = out.len();
    out.push_str(&table);
    let _ = writeln!(
        out,
        "trailer<</Size 7/Root 1 0 R/Info 6 0 R>>\nstartxref\n{start}\n%%EOF"
    );
    out.into_bytes()
}

const FEED: &str = r#"<?xml version="1.0"?><rss version="2.0"><channel><title>The feed</title>
    <item><title>One</title><link>/one.html</link><description>About ostriches</description></item></channel></rss>"#;

fn reply(media_type: &str, body: impl Into<Vec<u8>>) -> Reply {
    Reply::new(200, body.into()).header("Content-Type", media_type)
}

async fn crawl(service: &Service, body: &Value) -> RunId {
    let created = service.client().post("/v1/crawls", body).await;
    assert_eq!(created.status, 202, "{}", created.text());
    let run = RunId(created.json()["id"].as_i64().expect("an id"));
    runs::ended(service, run).await;
    run
}

#[tokio::test]
async fn a_scan_of_a_pdf_has_all_that_a_page_has() {
    let (service, origin) = (Service::start().await, Origin::start().await.unwrap());
    let file = pdf(
        "On Ostriches",
        "Ostriches run fast, as this first line says at some length",
        "https://example.org/more",
    );
    let bytes = file.len();
    origin.set("/a.pdf", reply("application/pdf", file));
    let body = json!({"url": origin.url("/a.pdf"), "include_links": true,
        "extract": {"selectors": {"heading": "h1"}}, "extractors": ["structured-data"]});
    let result = service.client().post("/v1/scan", &body).await.ok();
    let markdown = result["markdown"].as_str().expect("Markdown");
    assert!(markdown.contains("# On Ostriches"), "{markdown}");
    assert!(
        markdown.contains("at some length") && markdown.contains("last line"),
        "{markdown}"
    );
    assert!(
        result["article"]
            .as_str()
            .is_some_and(|text| text.contains("run fast")),
        "{result}"
    );
    assert_eq!(result["metadata"]["title"], "On Ostriches");
    assert_eq!(result["metadata"]["author"], "A. Writer");
    assert_eq!(result["links"][0]["to"], "https://example.org/more");
    assert_eq!(result["extracted"]["heading"], "On Ostriches");
    assert!(result["signals"].is_object() && result["extensions"]["structured-data"].is_object());
    assert_eq!(result["notice"], "converted from a PDF of 1 page");
    // What is said of the file stays that of the file.
    assert_eq!(
        (&result["bytes"], &result["status"]),
        (&json!(bytes), &json!(200))
    );
    assert_eq!(result["errors"], json!([]));
    let again = service.client().post("/v1/scan", &body).await.ok();
    assert_eq!(again["markdown"], result["markdown"]);
}

#[tokio::test]
async fn a_document_that_cannot_be_read_says_why() {
    let (service, origin) = (Service::start().await, Origin::start().await.unwrap());
    origin.set("/a.pdf", reply("application/pdf", "%PDF-1.7\nnothing"));
    origin.set(
        "/a.docx",
        reply(
            "application/zip",
            b"PK\x03\x04\x14\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x05\0\0\0word/".to_vec(),
        ),
    );
    for (path, why) in [
        (
            "/a.pdf",
            "the body is application/pdf, which has no content: the PDF is damaged",
        ),
        (
            "/a.docx",
            "the body is application/zip, which has no content: the archive is damaged",
        ),
    ] {
        let body = json!({"url": origin.url(path), "include_links": true});
        let result = service.client().post("/v1/scan", &body).await.ok();
        let notice = result["notice"].as_str().expect("a notice");
        assert!(notice.starts_with(why), "{notice}");
        for field in ["markdown", "article", "metadata", "signals"] {
            assert_eq!(result[field], Value::Null, "{field}");
        }
        assert_eq!(
            (&result["links"], &result["errors"]),
            (&json!([]), &json!([]))
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crawl_follows_links_of_documents_and_finds_their_words() {
    let (service, origin) = (Service::start().await, Origin::start().await.unwrap());
    let client = service.client();
    origin.set(
        "/",
        Reply::html("<a href=/a.pdf>PDF</a><a href=/feed.xml>feed</a>"),
    );
    origin.set(
        "/a.pdf",
        reply(
            "application/pdf",
            pdf("On Ostriches", "They run", &origin.url("/two.html")),
        ),
    );
    origin.set("/feed.xml", reply("application/rss+xml", FEED));
    origin.set("/one.html", Reply::html("<title>one</title>"));
    origin.set("/two.html", Reply::html("<title>two</title>"));
    for store_html in [true, false] {
        let body = json!({"url": origin.url("/"), "store_html": store_html, "delay_ms": 0,
            "respect_robots": false});
        let run = crawl(&service, &body).await;
        let listed = client
            .get(&format!("/v1/crawls/{run}/pages?limit=100"))
            .await
            .ok();
        let pages = listed["items"].as_array().expect("pages");
        let mut urls: Vec<&str> = pages
            .iter()
            .filter_map(|page| page["url"].as_str())
            .collect();
        urls.sort_unstable();
        let mut expected: Vec<String> = ["/", "/a.pdf", "/feed.xml", "/one.html", "/two.html"]
            .iter()
            .map(|path| origin.url(path))
            .collect();
        expected.sort_unstable();
        assert_eq!(urls, expected);
        let file = pages
            .iter()
            .find(|page| page["url"] == origin.url("/a.pdf"))
            .expect("the PDF");
        let id = file["id"].as_i64().expect("an id");
        let format = if store_html { "full" } else { "signals" };
        let page = client
            .get(&format!("/v1/pages/{id}?format={format}"))
            .await
            .ok();
        assert_eq!(page["metadata"]["title"], "On Ostriches");
        if store_html {
            assert!(
                page["markdown"]
                    .as_str()
                    .is_some_and(|text| text.contains("They run")),
                "{page}"
            );
            assert_eq!(page["html"], Value::Null);
        }
    }
    let found = async {
        loop {
            let body = json!({"query": "ostriches", "limit": 5});
            let answer = client.post("/v1/cloud/search", &body).await.ok();
            let results = answer["results"].as_array().expect("results").clone();
            if results.len() >= 2 {
                return results;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    let found = tokio::time::timeout(Duration::from_secs(60), found)
        .await
        .expect("both are found");
    let urls: Vec<&Value> = found.iter().map(|one| &one["url"]).collect();
    for path in ["/a.pdf", "/feed.xml"] {
        assert!(urls.contains(&&json!(origin.url(path))), "{urls:?}");
    }
}
