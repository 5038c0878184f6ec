//! Content of /v1/cloud/… and of actors, as the pages show it.

use std::time::Duration;

use orbweaver_origin::{Origin, Reply};
use serde_json::json;

use crate::documents::pdf;
use crate::support::Service;

#[tokio::test]
async fn text_has_code_and_signs_as_the_page_shows_them() {
    let service = Service::start().await;
    let client = service.client();
    for (html, text) in [
        (
            "<p>Use <code>a[i]*b | c\\d</code> and <code>x**2</code></p>",
            "Use a[i]*b | c\\d and x**2",
        ),
        ("<p>a | b</p>", "a | b"),
        ("<pre>one\n```\ntwo</pre>", "one\n```\ntwo"),
        ("<p>one</p><hr><p>two</p>", "one\n\ntwo"),
        ("<p><del>old</del> H<sub>2</sub>O</p>", "old H2O"),
        ("<p>one<br>two</p>", "one\ntwo"),
        (
            "<table><tr><th>k</th><th>v</th></tr><tr><td>a</td><td>b</td></tr></table>",
            "k\tv\na\tb",
        ),
    ] {
        let body = json!({"data": html, "return_format": "text", "readability": false});
        let answer = client.post("/v1/cloud/transform", &body).await.ok();
        assert_eq!(answer["content"], text, "{html}");
    }
}

#[tokio::test]
async fn links_of_html_without_a_url_stay_as_written() {
    let service = Service::start().await;
    let client = service.client();
    let html = "<p>Read <a href=/x>the next page</a> too.</p>";
    let body = json!({"data": html, "readability": false});
    let content = client.post("/v1/cloud/transform", &body).await.ok()["content"].to_string();
    assert!(content.contains("[the next page](/x)"), "{content}");
    let url = "https://host.example/a/b";
    let body = json!({"data": html, "readability": false, "url": url});
    let content = client.post("/v1/cloud/transform", &body).await.ok()["content"].to_string();
    assert!(
        content.contains("[the next page](https://host.example/x)"),
        "{content}"
    );
    let body = json!({"data": html, "url": "/relative"});
    let refused = client.post("/v1/cloud/transform", &body).await;
    let message = refused.error(422, "INVALID_INPUT");
    assert!(message.starts_with("url:"), "{message}");
}

#[tokio::test]
async fn an_actor_reads_plain_text_as_text() {
    let service = Service::start().await;
    let origin = Origin::start().await.unwrap();
    let text = "List<String> names = all();\nif (a < b && c > d) {\n    names.add(\"x\");\n}";
    origin.set("/p.txt", Reply::text(text));
    let input = json!({"url": origin.url("/p.txt"), "format": "text"});
    let client = service.client();
    let answer = client.post("/v1/actors/extract-article", &input).await.ok();
    assert_eq!(answer["data"]["content"], text, "{answer}");
}

#[tokio::test]
async fn a_found_page_without_content_leaves_the_others_theirs() {
    let service = Service::start().await;
    let client = service.client();
    let origin = Origin::start().await.unwrap();
    let file = pdf("On Ostriches", "They run", &origin.url("/x"));
    let file = Reply::new(200, file).header("Content-Type", "application/pdf");
    origin.set("/a.pdf", file);
    origin.set("/page", Reply::html("<p>Ostriches run fast."));
    for path in ["/a.pdf", "/page"] {
        let body = json!({"url": origin.url(path)});
        client.post("/v1/scan", &body).await.ok();
    }
    let body = json!({"query": "ostriches", "return_format": "raw"});
    let found = async {
        loop {
            let answer = client.post("/v1/cloud/search", &body).await.ok();
            let results = answer["results"].as_array().unwrap().clone();
            if results.len() == 2 {
                return results;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    let found = tokio::time::timeout(Duration::from_secs(60), found)
        .await
        .expect("both are found");
    for one in found {
        let is_page = one["url"] == origin.url("/page");
        let content = if is_page {
            "<p>Ostriches run fast."
        } else {
            ""
        };
        assert_eq!(one["content"], content, "{one}");
    }
}
