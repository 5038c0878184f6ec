//! Manuals, references and short pages, as generators of sites make them.

#![expect(clippy::unwrap_used, reason = "a test's helpers fail the test")]

use orbweaver_extract_article::article;
use orbweaver_sdk::testing::Document;

const URL: &str = "https://example.org/orb/layout.html";

fn text(html: &str) -> String {
    let document = Document::new(URL, html);
    article(&document.page()).unwrap().text
}

#[track_caller]
fn check(text: &str, with: &[&str], without: &[&str]) {
    let lines: Vec<&str> = text.lines().collect();
    for line in with {
        assert!(lines.contains(line), "no {line:?} in {text:?}");
    }
    for part in without {
        assert!(!text.contains(part), "{part:?} in {text:?}");
    }
}

fn paragraph(what: &str) -> String {
    format!(
        "The {what} is rendered in the order of the file, and it can be changed by the theme of the \
         shop, which may leave it out on screens that are narrower than a hand."
    )
}

const PARTS: [&str; 7] = [
    "Header",
    "Navigation",
    "Comments",
    "Related",
    "Popup",
    "Footer",
    "Prices",
];

const MENU: &str = "<nav><a href=/>Orb</a> <a href=/orb/>Docs</a></nav>";

#[test]
fn headings_with_ids_made_of_them_stay() {
    let parts = PARTS.map(|part| {
        let id = part.to_lowercase();
        format!("<h2 id={id}>{part}</h2><p>{}</p>", paragraph(part))
    });
    let html = format!(
        "<title>Layout</title>{MENU}<article><h1>Layout</h1>{}</article>",
        parts.concat()
    );
    check(&text(&html), &PARTS, &["Docs"]);
}

#[test]
fn sections_with_ids_made_of_their_headings_stay() {
    let parts = ["Prices", "Orders", "Popup", "Sidebar", "Customers", "Stock"];
    let sections = parts.map(|part| {
        let id = part.to_lowercase();
        let text = paragraph(part);
        format!("<section id={id}><h2>{part}<a href=#{id}>¶</a></h2><p>{text}</p></section>")
    });
    let html = format!(
        "<title>Layout</title>{MENU}<main><h1>Layout</h1>{}</main>",
        sections.concat()
    );
    let found = text(&html);
    let texts = parts.map(paragraph);
    check(&found, &texts.each_ref().map(String::as_str), &["Docs"]);
}

#[test]
fn a_short_page_is_left_without_its_long_menu() {
    let menu: String = (0..60)
        .map(|n| format!("<li><a href=/orb/{n}.html>Chapter {n} of the long manual</a>"))
        .collect();
    let html = format!(
        "<title>Office closed</title><script src=_static/documentation_options.js></script>\
         <div class=sidebar><ul>{menu}</ul></div><main><h1>Office closed</h1>\
         <p>The office will be closed this Friday because the heating is being replaced. Orders placed \
         on Thursday evening will be sent on Monday.</p></main>"
    );
    check(&text(&html), &[], &["Chapter 7"]);
    assert!(text(&html).contains("heating"));
}

#[test]
fn a_text_keeps_its_beginning_before_its_only_long_section() {
    let section: String = (0..6)
        .map(|_| format!("<p>{}</p>", paragraph("part")))
        .collect();
    let lead = "Orb 4.2 mends two faults that were found in Orb 4.1.";
    let html = format!(
        "<title>Orb 4.2</title>{MENU}<div class=body><section id=orb><h1>Orb 4.2</h1><p>{lead}</p>\
         <section id=faults><h2>Faults</h2>{section}</section></section></div>"
    );
    check(&text(&html), &[lead, "Faults"], &["Docs"]);
}
