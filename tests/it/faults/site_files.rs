//! Faults 40 and 41: sitemaps and robots.txt.

use std::collections::BTreeSet;
use std::io::Write as _;

use orbweaver_core::setting::Millis;
use orbweaver_origin::{Origin, Reply};
use serde_json::json;

use super::crawls::status;
use super::support::Faulty;

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

const SPACE: &str = " xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\"";

fn urlset(space: &str, urls: &[String]) -> String {
    let urls: String = urls
        .iter()
        .map(|url| format!("<url><loc>{url}</loc><lastmod>yesterday-ish</lastmod></url>"))
        .collect();
    format!("<?xml version=\"1.0\"?><urlset{space}>{urls}</urlset>")
}

#[tokio::test]
async fn fault_40_sitemaps_of_every_kind() {
    let faulty = Faulty::start().await;
    let (origin, other) = (&faulty.origin, Origin::start().await.unwrap());
    origin.set_under("/page/", |_| {
        Reply::html("<title>Listed</title><a href=/unlisted>x</a>")
    });
    let one = |name: &str| vec![origin.url(&format!("/page/{name}"))];
    let xml = |text: String| Reply::new(200, text).header("Content-Type", "application/xml");
    let plain = urlset(SPACE, &one("plain"));
    let entity = "<!DOCTYPE urlset [<!ENTITY a \"lol\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;&a;&a;\">\
                  <!ENTITY c \"&b;&b;&b;&b;&b;&b;&b;&b;\"><!ENTITY d \"&c;&c;&c;&c;&c;&c;&c;&c;\">]>";
    let bomb = urlset(SPACE, &one("entity")).replace("?>", &format!("?>{entity}<!-- &d; -->"));
    let bomb = bomb.replace("yesterday-ish", "&d;");
    let mut foreign = vec![other.url("/foreign"), "javascript:alert(1)".to_owned()];
    foreign.extend(one("beside-foreign"));
    let maps = [
        (
            "/packed.xml.gz",
            Reply::new(200, gzip(&urlset(SPACE, &one("packed"))))
                .header("Content-Type", "application/gzip"),
        ),
        ("/mistyped.xml", xml(String::new())),
        (
            "/mark.xml",
            xml(format!("\u{feff}{}", urlset(SPACE, &one("mark")))),
        ),
        (
            "/blank.xml",
            xml(format!("\n  \n{}", urlset(SPACE, &one("blank")))),
        ),
        (
            "/wrong-space.xml",
            xml(urlset(" xmlns=\"urn:else\"", &one("wrong-space"))),
        ),
        ("/no-space.xml", xml(urlset("", &one("no-space")))),
        ("/entity.xml", xml(bomb)),
        ("/foreign.xml", xml(urlset(SPACE, &foreign))),
        (
            "/page.xml",
            Reply::html("<!doctype html><title>404</title><a href=/page/html>x</a>"),
        ),
        ("/plain.xml", xml(plain)),
    ];
    let mut index: String = maps
        .iter()
        .map(|(path, _)| path)
        .chain(&["/sitemap.xml", "/gone.xml", "/nested.xml"])
        .map(|path| format!("<sitemap><loc>{}</loc></sitemap>", origin.url(path)))
        .collect();
    index = format!("<sitemapindex{SPACE}>{index}</sitemapindex>");
    for (path, reply) in maps {
        origin.set(path, reply);
    }
    let packed = gzip(&urlset(SPACE, &one("mistyped")));
    origin.set(
        "/mistyped.xml",
        Reply::new(200, packed).header("Content-Type", "text/xml"),
    );
    let nested = format!(
        "<sitemapindex{SPACE}><sitemap><loc>{}</loc></sitemap><sitemap><loc>{}</loc></sitemap></sitemapindex>",
        origin.url("/sitemap.xml"),
        origin.url("/nested.xml")
    );
    origin.set("/nested.xml", xml(nested));
    origin.set("/sitemap.xml", xml(index));
    let run = faulty.crawl("/", json!({"seed_kind": "sitemap"})).await;
    assert_eq!(status(&run), "done", "{run}");
    let rows = faulty.rows(&run).await;
    let found: BTreeSet<&str> = rows
        .keys()
        .filter_map(|path| path.strip_prefix("/page/"))
        .collect();
    let expected = BTreeSet::from([
        "packed",
        "mistyped",
        "mark",
        "blank",
        "wrong-space",
        "no-space",
        "entity",
        "beside-foreign",
        "plain",
    ]);
    assert_eq!(found, expected);
    assert_eq!(rows.len(), expected.len(), "{rows:?}");
    for once in ["/sitemap.xml", "/nested.xml", "/plain.xml"] {
        assert_eq!(origin.count(once), 1, "{once}");
    }
    assert!(other.requests().is_empty() && origin.count("/unlisted") == 0);
    faulty.is_well().await;
}

#[tokio::test]
async fn fault_40_more_urls_than_a_sitemap_may_have() {
    let faulty = Faulty::start().await;
    faulty
        .origin
        .set_under("/page/", |_| Reply::html("<title>Listed</title>"));
    let urls: Vec<String> = (0..60_000)
        .map(|n| faulty.origin.url(&format!("/page/{n}")))
        .collect();
    faulty.origin.set(
        "/sitemap.xml",
        Reply::new(200, urlset(SPACE, &urls)).header("Content-Type", "text/xml"),
    );
    let run = faulty
        .crawl("/", json!({"seed_kind": "sitemap", "max_pages": 30}))
        .await;
    assert_eq!(
        (status(&run), run["page_count"].as_u64()),
        ("done", Some(30))
    );
    // The limit lies between these pages: those before it are stored.
    let around =
        json!({"seed_kind": "sitemap", "include_paths": ["^/page/(4999[5-9]|5000[0-4])$"]});
    let run = faulty.crawl("/", around).await;
    let rows = faulty.rows(&run).await;
    let found: Vec<&str> = rows.keys().map(String::as_str).collect();
    let expected = [49_995, 49_996, 49_997, 49_998, 49_999].map(|n| format!("/page/{n}"));
    assert_eq!(found, expected);
    faulty.is_well().await;
}

#[tokio::test]
async fn fault_40_more_bytes_than_a_sitemap_may_have() {
    let faulty = Faulty::with(|fetch| fetch.limits.max_body_bytes = 80 << 20).await;
    faulty
        .origin
        .set_under("/page/", |_| Reply::html("<title>Listed</title>"));
    // More than 50 MiB between the first URL and the last.
    let long = |name: &str| {
        let entry = |n: &str| {
            let url = faulty.origin.url(&format!("/page/{name}-{n}"));
            format!("<url><loc>{url}</loc></url>")
        };
        let filler = format!("<!--{}-->", "filler ".repeat(1_000)).repeat(7_600);
        format!(
            "<urlset{SPACE}>{}{filler}{}</urlset>",
            entry("first"),
            entry("last")
        )
    };
    let (plain, packed) = (long("plain"), gzip(&long("packed")));
    assert!(plain.len() > 50 << 20 && packed.len() < 1 << 20);
    let list = format!(
        "<sitemapindex{SPACE}><sitemap><loc>{}</loc></sitemap><sitemap><loc>{}</loc></sitemap></sitemapindex>",
        faulty.origin.url("/plain.xml"),
        faulty.origin.url("/packed.xml.gz")
    );
    let xml = |body: Vec<u8>| Reply::new(200, body).header("Content-Type", "text/xml");
    faulty.origin.set("/plain.xml", xml(plain.into()));
    faulty.origin.set("/packed.xml.gz", xml(packed));
    faulty.origin.set("/sitemap.xml", xml(list.into()));
    let run = faulty.crawl("/", json!({"seed_kind": "sitemap"})).await;
    assert_eq!(status(&run), "done", "{run}");
    let rows = faulty.rows(&run).await;
    let found: Vec<&str> = rows.keys().map(String::as_str).collect();
    assert_eq!(found, ["/page/packed-first", "/page/plain-first"]);
    faulty.is_well().await;
}

#[tokio::test]
async fn fault_41_robots_of_every_kind() {
    let closed = "user-agent: *\ndisallow: /";
    let mut long = b"user-agent: *\ndisallow: /early\n".to_vec();
    long.extend(b"# filler\n".repeat(60_000));
    long.extend(b"disallow: /late\n");
    let html = Reply::html(format!("<!doctype html><p>\n{closed}\n"));
    for (name, robots, early, late) in [
        ("404", Reply::new(404, closed), true, true),
        ("403", Reply::new(403, ""), true, true),
        ("html", html, true, true),
        ("long", Reply::text(long), false, true),
        ("moved", Reply::redirect(301, "/real/robots"), false, false),
        ("loop", Reply::redirect(302, "/robots.txt"), true, true),
    ] {
        let faulty = Faulty::start().await;
        let origin = &faulty.origin;
        origin.set("/robots.txt", robots);
        origin.set(
            "/real/robots",
            Reply::text("user-agent: *\ndisallow: /early\ndisallow: /late"),
        );
        origin.set(
            "/",
            Reply::html("<a href=/early>e</a><a href=/late>l</a><a href=/good>g</a>"),
        );
        let run = faulty.crawl("/", json!({})).await;
        assert_eq!(status(&run), "done", "{name}: {run}");
        assert_eq!(
            (origin.count("/early") > 0, origin.count("/late") > 0),
            (early, late),
            "{name}"
        );
        assert_eq!(origin.count("/good"), 1, "{name}");
        // Both runs use the same answer, and the redirect chain ends.
        faulty.crawl("/", json!({})).await;
        let asked = origin.count("/robots.txt");
        assert!(asked <= 12, "{name}: asked for {asked} times");
        faulty.is_well().await;
    }
    for (name, robots) in [
        ("500", Reply::new(500, "")),
        ("503", Reply::new(503, "")),
        ("silent", Reply::redirect(302, "/fault/silent")),
        ("closed", Reply::text(closed)),
    ] {
        let faulty = Faulty::with(|fetch| fetch.limits.first_byte_ms = Millis(2_000)).await;
        faulty.origin.set("/robots.txt", robots);
        faulty.origin.set("/", Reply::html("<a href=/good>g</a>"));
        let run = faulty.crawl("/", json!({})).await;
        assert_eq!(status(&run), "failed", "{name}: {run}");
        let message = run["error_message"].as_str().unwrap();
        assert!(message.contains("robots.txt"), "{name}: {message}");
        assert_eq!(faulty.origin.count("/"), 0, "{name}");
        let run = faulty.crawl("/", json!({"respect_robots": false})).await;
        assert_eq!(status(&run), "done", "{name}: {run}");
        faulty.is_well().await;
    }
}
