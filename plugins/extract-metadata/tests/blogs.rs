//! Facts of blogs and manuals whose themes state nothing of themselves in the head.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use orbweaver_sdk::serde_json::{Value, from_str, json};
use orbweaver_sdk::testing::Document;

fn metadata(html: &str) -> Value {
    let document = Document::new("http://127.0.0.1/notes/2026/webs.html", html);
    let metadata = orbweaver_extract_metadata::extract(&document.page(), "{}").expect("metadata");
    from_str(&metadata).expect("JSON")
}

#[test]
fn the_link_to_the_start_page_names_the_site_that_the_title_names() {
    let found = metadata(
        "<title>Cache - Orb Docs</title><header><a href='../'>Orb Docs</a></header>\
         <h1>Configuring the cache</h1>",
    );
    assert_eq!(found["title"], "Cache");
    assert_eq!(found["site_name"], "Orb Docs");
    let first = metadata(
        "<title>Chalk and Rain - Webs on silk</title><header><h1><a href=/>Chalk and Rain</a></h1>\
         </header><article><h2>Webs on silk</h2><p>Text</p></article>",
    );
    assert_eq!(first["title"], "Webs on silk");
    assert_eq!(first["headline"], "Webs on silk");
    assert_eq!(first["site_name"], "Chalk and Rain");
    let other = metadata("<title>Cache - Orb Docs</title><a href='../'>Other</a><h1>Cache</h1>");
    assert_eq!(other["site_name"], Value::Null);
}

#[test]
fn links_to_categories_and_tags_tell_section_and_tags() {
    let found = metadata(
        "<title>Webs</title><nav><a href=/category/silk/>Silk</a></nav><article><h1>Webs</h1>\
         <p>In <a href=/categories/essays/>Essays</a></p><p>Text</p>\
         <footer><a href=/tag/orb.html>orb</a> <a href=/tag/legs.html>legs</a></footer></article>",
    );
    assert_eq!(found["section"], "Essays");
    assert_eq!(found["tags"], json!(["orb", "legs"]));
}

#[test]
fn the_footer_of_a_long_text_tells_who_wrote_it_and_when() {
    let text = "<p>It was <em>late</em>, and the <b>web</b> was <i>new</i>.</p>".repeat(60);
    let found = metadata(&format!(
        "<title>Webs</title><article><h1>Webs</h1>{text}<footer><p>Published: \
         <time datetime=2026-03-11T10:15:00Z>March 11</time><p>Last updated: \
         <time datetime=2026-06-01>June 1</time><address>By <a href=/author/ann.html>Ann Weaver</a></address>\
         </footer></article><footer>© 2026 <time datetime=2026-12-01>December</time></footer>"
    ));
    assert_eq!(found["author"], "Ann Weaver");
    assert_eq!(found["published"], "2026-03-11T10:15:00Z");
    assert_eq!(found["modified"], "2026-06-01");
}
