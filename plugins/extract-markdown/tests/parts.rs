//! Parts of a text that look like something beside the point: the article's text and
//! `only_main_content` have them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a helper that cannot do its work fails its test"
)]

use orbweaver_content::Content;
use orbweaver_extract_markdown::{Options, markdown};

const URL: &str = "https://beans.example/blog/coffee";
const DOCS: &str = "https://docs.beans.example/coffee";

/// A paragraph of running text with a word to tell it by.
fn paragraph(word: &str) -> String {
    format!(
        "<p>Espresso is brewed under pressure, and the {word} decides how evenly the water runs \
         through the coffee, which baristas have known for many years.</p>"
    )
}

/// A page of four paragraphs and what stands between them.
fn page(inner: &str) -> String {
    let [grinder, basket, tamper, kettle] =
        ["grinder", "basket", "tamper", "kettle"].map(paragraph);
    format!(
        "<html><head><title>Coffee at home - Beans</title><meta property=og:type content=article></head><body>\
         <header class=site-header><a href=/>Beans</a><nav><ul><li><a href=/a>Shops</a><li><a href=/b>Maps</a></ul></nav></header>\
         <main><article><h1>Coffee at home</h1>{grinder}{basket}{inner}{tamper}{kettle}</article>\
         <aside class=sidebar><h3>Popular</h3><ul><li><a href=/x>Ten cups</a><li><a href=/y>Nine mugs</a></ul></aside></main>\
         <footer><p>Copyright 2026 Beans, all rights reserved.</p></footer></body></html>"
    )
}

/// The article's text and the Markdown of the main content.
fn formats(url: &str, html: &str) -> [String; 2] {
    let snapshot = orbweaver_sdk::dom::parse(html);
    let view = snapshot.view().expect("view");
    let options = Options {
        only_main_content: true,
    };
    [
        Content::of(&view, url).text(&view),
        markdown(&view, url, &options),
    ]
}

/// Checks that both formats of a page with `inner` in its text have the words of `with`, none of those
/// of `without`, and all of its paragraphs.
#[track_caller]
fn check_at(url: &str, inner: &str, with: &[&str], without: &[&str]) {
    for text in formats(url, &page(inner)) {
        for word in ["grinder", "basket", "tamper", "kettle"].iter().chain(with) {
            assert!(text.contains(word), "no {word:?} of {inner} in {text}");
        }
        for word in ["Shops", "Ten cups", "Copyright"].iter().chain(without) {
            assert!(!text.contains(word), "{word:?} of {inner} in {text}");
        }
    }
}

#[track_caller]
fn check(inner: &str, with: &[&str], without: &[&str]) {
    check_at(URL, inner, with, without);
}

const TABLE: &str = "<table><thead><tr><th>Grind</th><th>Time</th></tr></thead>\
                     <tbody><tr><td>Fine</td><td>28 s</td></tr><tr><td>Coarse</td><td>22 s</td></tr></tbody></table>";
const QUOTE: &str = "Good coffee needs good water, fresh beans and a clean machine.";

#[test]
fn a_figure_of_text_is_text() {
    let cells = ["Grind", "Time", "Fine", "28 s", "Coarse", "22 s"];
    for figure in [
        format!(
            "<figure class=wp-block-table>{TABLE}<figcaption>Seen in May</figcaption></figure>"
        ),
        format!("<figure class='table w-100'><div class=table-responsive>{TABLE}</div></figure>"),
    ] {
        check(&figure, &cells, &["Seen in May"]);
    }
    for figure in [
        "<figure class=highlight><pre><code>let dose = 18;</code></pre></figure>",
        "<figure class='kg-card kg-code-card'><pre><code>let dose = 18;</code></pre><figcaption>Seen in May</figcaption></figure>",
        "<figure class='highlight js'><table><tr><td class=gutter><pre>1</pre></td><td class=code><pre>let dose = 18;</pre></td></tr></table></figure>",
        "<figure class='frame has-title'><figcaption class=header><span class=title>Seen in May</span></figcaption><pre><code>\
         <div class=ec-line><div class=code>let dose = 18;</div></div></code></pre><div class=copy><button><svg><path></svg></button></div></figure>",
    ] {
        check(figure, &["let dose = 18;"], &["Seen in May"]);
    }
    for figure in [
        format!(
            "<figure class=wp-block-pullquote><blockquote><p>{QUOTE}</p></blockquote></figure>"
        ),
        format!(
            "<figure><blockquote>{QUOTE}</blockquote><figcaption>Seen in May</figcaption></figure>"
        ),
        format!(
            "<figure class='block-color-gray_background callout'><img class=icon src=/i.png><div>{QUOTE}</div></figure>"
        ),
        format!("<figure class=statement><p>{QUOTE}</p></figure>"),
        format!("<figure><ol><li>{QUOTE}</li><li>Grind them</li></ol></figure>"),
        format!("<figure><dl><dt>Coffee</dt><dd>{QUOTE}</dd></dl></figure>"),
    ] {
        check(&figure, &[QUOTE], &["Seen in May"]);
    }
}

#[test]
fn a_figure_of_a_picture_is_none() {
    for figure in [
        "<figure><img src=/a.jpg><figcaption>Seen in May, on the third of the long market days.</figcaption></figure>",
        "<figure><img src=/a.jpg><div class=text><p>Seen in May, on the third of the long market days.</p></div></figure>",
        "<figure><button aria-label=Enlarge><img src=/a.jpg></button><p>Seen in May, on the third of the long market days.</p></figure>",
        "<figure><amp-img src=/a.jpg></amp-img><p>Seen in May, on the third of the long market days.</p></figure>",
        "<figure class=gallery><ul><li><img src=/a.jpg><p>Seen in May, on the third of the long market days.</p></li></ul></figure>",
        "<figure><table><tr><td><img src=/a.jpg></td></tr><tr><td>Seen in May, on the third of the long market days.</td></tr></table></figure>",
    ] {
        check(figure, &[], &["Seen in May"]);
    }
}

#[test]
fn a_quotation_that_repeats_the_text_is_a_picture_of_it() {
    let inner = format!(
        "<p>The roaster said: “{QUOTE}” He has run the shop for many years, and he knows his visitors well.</p>\
         <figure class=wp-block-pullquote><blockquote><p>{QUOTE}</p></blockquote></figure>"
    );
    for text in formats(URL, &page(&inner)) {
        assert_eq!(text.matches(QUOTE).count(), 1, "{text}");
    }
}
