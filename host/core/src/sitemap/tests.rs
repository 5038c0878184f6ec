use std::io::Write;

use super::*;
use crate::limits::MAX_SITEMAP_URLS;

const URL: &str = "https://a.example/sitemap.xml";

fn urls(entries: &[Entry]) -> Vec<&str> {
    entries.iter().map(|entry| entry.url.as_str()).collect()
}

fn pages(body: &str) -> Vec<String> {
    urls(&parse(body.as_bytes(), URL).unwrap().pages)
        .into_iter()
        .map(str::to_owned)
        .collect()
}

#[test]
fn a_url_set_is_parsed() {
    let sitemap = parse(
        b"<?xml version='1.0' encoding='UTF-8'?><urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>\
          <url><loc> https://a.example/x?a=1&amp;b=2 </loc><lastmod>2026-11-20</lastmod></url>\
          <url><loc><![CDATA[https://b.example/y]]></loc><lastmod>yesterday</lastmod>\
          <image:image><image:loc>https://a.example/i.png</image:loc></image:image></url>\
          <url><loc>/relative</loc></url><url><loc></loc></url><url><loc>mailto:x</loc></url></urlset>",
        URL,
    )
    .unwrap();
    assert_eq!(
        urls(&sitemap.pages),
        [
            "https://a.example/x?a=1&b=2",
            "https://b.example/y",
            "https://a.example/relative"
        ]
    );
    assert_eq!(sitemap.pages[0].lastmod.as_deref(), Some("2026-11-20"));
    assert_eq!(sitemap.pages[1].lastmod, None);
    assert!(!sitemap.truncated && !sitemap.malformed && sitemap.sitemaps.is_empty());
}

#[test]
fn an_index_lists_sitemaps() {
    let body = format!(
        "<sitemapindex><sitemap><loc>{URL}</loc></sitemap><sitemap><loc>/b.xml.gz</loc></sitemap></sitemapindex>"
    );
    let sitemap = parse(body.as_bytes(), URL).unwrap();
    assert_eq!(urls(&sitemap.sitemaps), [URL, "https://a.example/b.xml.gz"]);
    assert!(sitemap.pages.is_empty());
}

/// Fault 40.
#[test]
fn namespaces_marks_and_blank_lines_do_not_matter() {
    for body in [
        "<urlset><url><loc>https://a.example/x</loc></url></urlset>",
        "<urlset xmlns='http://wrong'><url><loc>https://a.example/x</loc></url></urlset>",
        "<sm:urlset xmlns:sm='x'><sm:url><sm:loc>https://a.example/x</sm:loc></sm:url></sm:urlset>",
        "\u{feff}<urlset><url><loc>https://a.example/x</loc></url></urlset>",
        "\n\n<?xml version='1.0'?><urlset><url><loc>https://a.example/x</loc></url></urlset>",
        "<URLSET><URL><LOC>https://a.example/x</LOC></URL></URLSET>",
        "<!-- c --><?xml-stylesheet href='x'?><urlset><url><loc>https://a.example/x</loc></url></urlset>",
        "https://a.example/x\nnot a url\n",
        "<rss><channel><link>https://a.example/</link><item><link>https://a.example/x</link><pubDate>Fri, 20 Nov 2026 10:00:00 GMT</pubDate></item></channel></rss>",
        "<feed><entry><link rel='self' href='/no'/><link href='https://a.example/x'/></entry></feed>",
    ] {
        assert_eq!(pages(body), ["https://a.example/x"], "{body}");
    }
}

/// Fault 40.
#[test]
fn other_documents_are_not_sitemaps() {
    assert_eq!(
        parse(b"<!doctype html><p>Not found", URL),
        Err(NotSitemap::Html)
    );
    assert_eq!(parse(b"<html><head></html>", URL), Err(NotSitemap::Html));
    assert_eq!(
        parse(
            b"<note><url><loc>https://a.example/</loc></url></note>",
            URL
        ),
        Err(NotSitemap::Other)
    );
    assert_eq!(parse(b"nothing here", URL), Err(NotSitemap::Other));
    assert_eq!(parse(b"", URL), Err(NotSitemap::Other));
}

/// Fault 40.
#[test]
fn entities_are_not_expanded() {
    let body = "<!DOCTYPE urlset [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;'><!ENTITY x SYSTEM 'file:///etc/passwd'>]>\
                <urlset><url><loc>https://a.example/&b;&x;&#x41;</loc></url></urlset>";
    assert_eq!(pages(body), ["https://a.example/A"]);
}

/// Fault 40.
#[test]
fn numbers_and_sizes_are_limited() {
    let mut body = String::from("<urlset>");
    for n in 0..MAX_SITEMAP_URLS + 10 {
        body.push_str(&format!("<url><loc>/{n}</loc></url>"));
    }
    let sitemap = parse(body.as_bytes(), URL).unwrap();
    assert_eq!(
        (sitemap.pages.len(), sitemap.truncated),
        (MAX_SITEMAP_URLS, true)
    );
    let long = format!("https://a.example/{}/sitemap.xml", "x".repeat(15_000));
    let relative = body.replace("<loc>/", "<loc>");
    let sitemap = parse(relative.as_bytes(), &long).unwrap();
    let bytes: usize = sitemap.pages.iter().map(|entry| entry.url.len()).sum();
    assert!(sitemap.truncated && bytes < 33 << 20, "{bytes}");
    let huge = format!(
        "<urlset><url><loc>/{}</loc></url><url><loc>/x</loc></url>",
        "y".repeat(100_000)
    );
    assert_eq!(pages(&huge), ["https://a.example/x"]);
}

/// Fault 40.
#[test]
fn a_broken_sitemap_gives_the_entries_before_the_fault() {
    let sitemap = parse(
        b"<urlset><url><loc>/a</loc></url><url><loc>/b</loc></url><url><loc>/c",
        URL,
    )
    .unwrap();
    assert_eq!(
        urls(&sitemap.pages),
        ["https://a.example/a", "https://a.example/b"]
    );
    assert!(sitemap.malformed);
    assert_eq!(
        pages("<urlset><url><loc>/a?b&c</loc></url></urlset>"),
        ["https://a.example/a?b&c"]
    );
    parse(&b"<a>".repeat(100_000), URL).unwrap_err();
    parse(
        &[b"<urlset>".as_slice(), &b"<a>".repeat(1_000_000)].concat(),
        URL,
    )
    .unwrap();
}

/// Fault 40.
#[test]
fn gzip_is_unpacked_whatever_its_name_or_type() {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder
        .write_all(b"<urlset><url><loc>/a</loc></url></urlset>")
        .unwrap();
    let packed = encoder.finish().unwrap();
    let unpacked = unpack(&packed).unwrap();
    assert_eq!(parse(&unpacked, URL).unwrap().pages.len(), 1);
    assert_eq!(unpack(b"<urlset/>").unwrap().as_ref(), b"<urlset/>");
    assert_eq!(unpack(b"\x1f\x8bnonsense"), Err(NotSitemap::Gzip));
}

#[test]
fn dates_are_distinguished_from_other_text() {
    for date in [
        "2026",
        "2026-11",
        "2026-11-20",
        "2026-11-20T10:30Z",
        "2026-11-20T10:30:15.5+01:00",
        "2026-11-20 10:30:00",
        "20 Nov 2026 10:00:00 GMT",
    ] {
        assert!(is_date(date), "{date}");
    }
    for no in [
        "",
        "yesterday",
        "20/11/2026",
        "2026-13-01",
        "2026-11-20T",
        "2026-11T10:00",
        "0000-00-00",
        "2026-11-20Tnoon",
        "2026-11-20-1",
    ] {
        assert!(!is_date(no), "{no}");
    }
}
