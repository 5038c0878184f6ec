//! Faults 32 to 36: content that is not HTML or never ends, and what pages declare.

use orbweaver_origin::Reply;
use serde_json::{Value, json};

use super::support::Faulty;

async fn scan(faulty: &Faulty, reply: Reply) -> Value {
    faulty.origin.set("/page", reply);
    let body = json!({"url": faulty.origin.url("/page"), "include_links": true});
    faulty.scan_with(&body).await
}

#[tokio::test]
async fn fault_32_binary_files_served_as_html() {
    let faulty = Faulty::start().await;
    let files: [&[u8]; 3] = [
        b"\x89PNG\r\n\x1a\n<title>no</title>",
        b"%PDF-1.7\n<title>no</title>",
        b"PK\x03\x04<title>no</title>",
    ];
    for file in files {
        let result = scan(&faulty, Reply::html(file)).await;
        assert_eq!(result["status"], 200);
        for field in ["markdown", "article", "metadata", "signals"] {
            assert_eq!(result[field], Value::Null, "{field}");
        }
    }
    faulty.is_well().await;
}

/// Browsers show them as pages.
#[tokio::test]
async fn fault_31_pages_declared_as_xml_are_pages() {
    let faulty = Faulty::start().await;
    let xhtml = "<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'><head><script src='a.js'/>\
                 <title>In XML</title></head><body><p><a href='/next'>on</a></p></body></html>";
    for media_type in ["application/xml", "text/xml; charset=utf-8"] {
        let reply = Reply::new(200, xhtml).header("Content-Type", media_type);
        let result = scan(&faulty, reply).await;
        assert_eq!(
            result["metadata"]["title"], "In XML",
            "{media_type}: {result}"
        );
        assert_eq!(result["links"][0]["to"], faulty.origin.url("/next"));
        assert_eq!(result.get("notice"), None);
    }
    let data = Reply::new(200, "<data><html/></data>").header("Content-Type", "text/xml");
    assert_eq!(scan(&faulty, data).await["markdown"], Value::Null);
    faulty.is_well().await;
}

#[tokio::test]
async fn fault_33_html_without_end() {
    let faulty = Faulty::with(|fetch| fetch.limits.max_body_bytes = 16 << 20).await;
    let deep = "<div>".repeat(10_000) + "<p>deep";
    let attributes: String = (0..1_000_000).map(|number| format!(" a{number}")).collect();
    let wide = format!("<title>Wide</title><p{attributes}>wide");
    let open = "<table><tr><td><b><i><a href='/x'><select><option>".repeat(300);
    let nuls = "<title>N\0ul</title><p>\0\0\0<\0b>".to_owned();
    for html in [deep, wide, open, nuls] {
        let result = scan(&faulty, Reply::html(html)).await;
        assert_eq!(result["status"], 200);
    }
    faulty.is_well().await;
}

/// The URL of a page's first link.
async fn first_link(faulty: &Faulty, html: &str) -> Value {
    let result = scan(faulty, Reply::html(html)).await;
    result["links"][0]["to"].clone()
}

#[tokio::test]
async fn fault_34_base_elements() {
    let faulty = Faulty::start().await;
    let here = |path: &str| faulty.origin.url(path);
    for (base, expected) in [
        ("<base href='deep/er/'>", here("/deep/er/x")),
        ("<base href='/a/'><base href='/b/'>", here("/a/x")),
        (
            "<base href='http://else.example/c/'>",
            "http://else.example/c/x".to_owned(),
        ),
        ("<base href='javascript:alert(1)'>", here("/x")),
    ] {
        let html = format!("{base}<a href='x'>x</a>");
        assert_eq!(first_link(&faulty, &html).await, expected, "{base}");
    }
    faulty.is_well().await;
}

#[tokio::test]
async fn fault_35_rel_and_robots_directives_are_recorded() {
    let faulty = Faulty::start().await;
    let html = "<meta name=robots content='noindex, noarchive'>\
                <a href=/a rel=nofollow>a</a><a href=/b rel='ugc'>b</a>\
                <a href=/c rel='sponsored noopener'>c</a><a href=/d>d</a>";
    let reply = Reply::html(html).header("X-Robots-Tag", "otherbot: noarchive");
    let result = scan(&faulty, reply).await;
    let links = result["links"].as_array().unwrap();
    let recorded: Vec<(&Value, &Value)> = links
        .iter()
        .map(|link| (&link["rel"], &link["nofollow"]))
        .collect();
    assert_eq!(recorded[0], (&json!("nofollow"), &json!(true)));
    assert_eq!(recorded[1].0, "ugc");
    assert_eq!(recorded[2].0, "sponsored noopener");
    assert_eq!(recorded[3].1, &json!(false));
    let robots = result["signals"]["robots_meta"].to_string();
    assert!(
        robots.contains("noindex") && robots.contains("noarchive"),
        "{robots}"
    );
    faulty.is_well().await;
}

#[tokio::test]
async fn fault_36_canonical_and_alternates_are_recorded() {
    let faulty = Faulty::start().await;
    let html = "<link rel=canonical href='http://else.example/page'>\
                <link rel=alternate hreflang=de href='http://de.example/'><p>here";
    let result = scan(&faulty, Reply::html(html)).await;
    assert_eq!(result["final_url"], faulty.origin.url("/page"));
    assert_eq!(result["metadata"]["canonical"], "http://else.example/page");
    assert_eq!(result["signals"]["hreflang"]["de"], "http://de.example/");
    faulty.is_well().await;
}
