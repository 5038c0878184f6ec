//! Links found on pages, with their targets and texts.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use orbweaver_sdk::serde_json::{Value, from_str, json};
use orbweaver_sdk::testing::Document;

const URL: &str = "https://example.org/a/page.html?q=1";

fn links_of(document: Document) -> Value {
    let links = orbweaver_extract_links::extract(&document.page(), "").expect("links");
    from_str(&links).expect("JSON")
}

fn links(html: &str) -> Value {
    links_of(Document::new(URL, html))
}

fn targets(html: &str) -> Vec<String> {
    let links = links(html);
    let links = links.as_array().expect("an array");
    links
        .iter()
        .map(|l| l["to"].as_str().expect("a string").to_owned())
        .collect()
}

#[test]
fn every_http_target_is_absolute_in_document_order_with_repeats() {
    let html = r##"<a href="/x">1</a><a href="y?z=1#f">2</a><map><area href="//other.org/p" alt="A"></map>
        <a href="mailto:a@b.c">3</a><a href="javascript:void(0)">4</a><a name="n">5</a><a href="">6</a>
        <a href="#top">7</a><a href="/x">8</a><a href="http://h:99999/">9</a><a href="HTTP://Example.ORG:80/%7Ea b">10</a>"##;
    assert_eq!(
        targets(html),
        [
            "https://example.org/x",
            "https://example.org/a/y?z=1#f",
            "https://other.org/p",
            "https://example.org/a/page.html?q=1",
            "https://example.org/a/page.html?q=1#top",
            "https://example.org/x",
            "http://example.org/%7Ea%20b",
        ]
    );
}

#[test]
fn an_icon_has_the_name_that_screen_readers_say() {
    let anchor =
        |inner: &str| links(&format!("<a href=/x title=T>{inner}</a>"))[0]["anchor"].clone();
    assert_eq!(anchor("<svg><title>Face\n book</title></svg>"), "T");
    assert_eq!(
        anchor("<i aria-label=' '></i><span><i aria-label='L  M'></i></span>"),
        "L M"
    );
    let untitled = links("<a href=/x><svg><title>Face\n book</title></svg></a>");
    assert_eq!(untitled[0]["anchor"], "Face book");
}

#[test]
fn what_is_in_a_template_is_no_link_of_the_page() {
    let page = "<template><a href=/t></a><template><a href=/u></a></template><a href=/v></a></template>\
                <div hidden><template><a href=/w></a></template><a href=/x>x</a></div><a href=/y>y</a>";
    let found = links_of(Document::new("https://a.example/", page));
    let targets: Vec<&str> = found
        .as_array()
        .expect("an array")
        .iter()
        .filter_map(|link| link["to"].as_str())
        .collect();
    assert_eq!(targets, ["https://a.example/x", "https://a.example/y"]);
}

#[test]
fn links_of_a_page_in_a_noscript_follow_its_own() {
    let posts: String = (0..30)
        .map(|n| {
            format!(
                "<p><a href='t/{n}?a=1&amp;b' rel=ugc title=T>Post {n}</a> on webs and silk</p>"
            )
        })
        .collect();
    let html = format!("<a href=/own>Own</a><noscript>{posts}</noscript>");
    let found = links(&html);
    assert_eq!(found.as_array().expect("an array").len(), 31);
    let last = json!({"to": "https://example.org/a/t/29?a=1&b", "anchor": "Post 29", "rel": "ugc", "nofollow": true});
    assert_eq!(found[30], last);
    let beside = format!("<p>{}</p>{html}", "The words of the page. ".repeat(300));
    assert_eq!(targets(&beside), ["https://example.org/own"]);
}

#[test]
fn the_first_base_that_is_http_counts() {
    let with_base = |base: &str| targets(&format!("<head>{base}</head><a href=x>x</a>"));
    assert_eq!(
        with_base(r#"<base href="/b/"><base href="/c/">"#),
        ["https://example.org/b/x"]
    );
    assert_eq!(
        with_base(r#"<base target=_top><base href="/c/">"#),
        ["https://example.org/c/x"]
    );
    assert_eq!(
        with_base(r#"<base href="//cdn.net/d/e">"#),
        ["https://cdn.net/d/x"]
    );
    assert_eq!(
        with_base(r#"<base href="javascript:1">"#),
        ["https://example.org/a/x"]
    );
    assert_eq!(
        with_base(r#"<base href="data:,x">"#),
        ["https://example.org/a/x"]
    );
}

#[test]
fn the_anchor_is_the_visible_text_or_its_replacement() {
    let html = r#"<a href=1> Read
          <b>all</b>&nbsp;about <script>it()</script>it</a>
        <a href=2><img alt=" The  logo "><img alt=two></a>
        <a href=3 aria-label="Close" title=t><svg><title>x</title></svg></a>
        <a href=4 title="Only a title"></a>
        <a href=5><div>One</div><div>Two</div></a>
        <map><area href=6 alt="A region"></map>
        <a href=7></a>"#;
    let found = links(html);
    let anchors: Vec<_> = found
        .as_array()
        .expect("an array")
        .iter()
        .map(|l| l["anchor"].clone())
        .collect();
    assert_eq!(
        anchors,
        [
            "Read all about it",
            "The logo two",
            "Close",
            "Only a title",
            "One Two",
            "A region",
            ""
        ]
    );
}

#[test]
fn nofollow_comes_from_rel_the_robots_meta_or_the_header() {
    let found = links(
        r#"<a href=1 rel="nofollow  noopener">a</a><a href=2 rel=UGC>b</a><a href=3 rel=noopener>c</a><a href=4 rel="external sponsored">d</a>"#,
    );
    assert_eq!(
        found[0],
        json!({"to": "https://example.org/a/1", "anchor": "a", "rel": "nofollow noopener", "nofollow": true})
    );
    let flags = |found: &Value| -> Vec<bool> {
        found
            .as_array()
            .expect("an array")
            .iter()
            .map(|l| l["nofollow"] == true)
            .collect()
    };
    assert_eq!(flags(&found), [true, true, false, true]);
    let one = |head: &str| flags(&links(&format!("{head}<a href=1>a</a>")));
    assert_eq!(
        one("<meta name=Robots content='noindex, NoFollow'>"),
        [true]
    );
    assert_eq!(one("<meta name=robots content=none>"), [true]);
    assert_eq!(one("<meta name=googlebot content=nofollow>"), [false]);
    let header = |value: &str| {
        flags(&links_of(
            Document::new(URL, "<a href=1>a</a>").header("X-Robots-Tag", value),
        ))
    };
    assert_eq!(header("noindex, nofollow"), [true]);
    assert_eq!(header("googlebot: nofollow"), [false]);
    assert_eq!(header("max-snippet: 5, nofollow"), [true]);
}

#[test]
fn a_page_without_an_http_url_has_links_only_where_they_are_absolute_by_its_base() {
    let document = |html: &str| links_of(Document::new("about:blank", html));
    assert_eq!(document("<a href='x'>x</a>"), json!([]));
    let based = document("<base href='https://b.org/'><a href='x'>x</a>");
    assert_eq!(based[0]["to"], "https://b.org/x");
}

#[test]
fn deep_nesting_and_many_links_are_handled() {
    let deep = format!("<a href=/x>{}deep", "<b>".repeat(200_000));
    assert!(!targets(&deep).is_empty());
    assert_eq!(targets(&"<a href=/x>x</a>".repeat(50_000)).len(), 50_000);
}

#[test]
fn a_long_base_does_not_multiply_the_page() {
    let html = format!(
        "<base href='/{}/'>{}",
        "y".repeat(8_000),
        "<a href=x>".repeat(100_000)
    );
    let links =
        orbweaver_extract_links::extract(&Document::new(URL, &html).page(), "").expect("links");
    assert!(
        links.len() < 20_000_000,
        "{} bytes of {}",
        links.len(),
        html.len()
    );
    assert!(links.len() > 10_000_000);
}

#[test]
fn links_inside_links_do_not_multiply_the_page() {
    let text = "word ".repeat(200_000);
    let html = format!("{}{text}", "<a href=x><table><tr><td>".repeat(120));
    let links =
        orbweaver_extract_links::extract(&Document::new(URL, &html).page(), "").expect("links");
    assert!(
        links.len() < 20_000_000,
        "{} bytes of {}",
        links.len(),
        html.len()
    );
    assert!(links.contains("word word"));
}
