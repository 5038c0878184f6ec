//! CSS selectors where scraper does not go, or goes wrong.
#![cfg(feature = "write")]
#![expect(clippy::expect_used, reason = "a test may panic")]

use orbweaver_dom::{Selector, View, attr, parse};

/// The ids of what a selector matches.
fn ids<'a>(view: &'a View<'a>, selector: &str) -> Vec<&'a str> {
    let selector = Selector::parse(selector).expect("a selector");
    view.select(&selector)
        .map(|n| n.attr(attr::ID).unwrap_or("-"))
        .collect()
}

#[test]
fn case_counts_for_classes_only_in_standards_mode() {
    let body = "<p id=Ab class='X y'>";
    let standards = parse(&format!("<!doctype html>{body}"));
    let view = standards.view().expect("a snapshot");
    assert_eq!(ids(&view, ".X"), ["Ab"]);
    assert!(ids(&view, ".x, #ab").is_empty());
    assert_eq!(ids(&view, "P[ID=Ab]"), ["Ab"]);
    assert!(ids(&view, "p[id=AB]").is_empty());

    let quirks = parse(body);
    let view = quirks.view().expect("a snapshot");
    assert!(view.quirks());
    assert_eq!(ids(&view, ".x"), ["Ab"]);
    assert_eq!(ids(&view, "#aB"), ["Ab"]);
}

#[test]
fn names_in_foreign_content_keep_their_case() {
    let snapshot = parse(
        "<svg id=s viewBox=1><linearGradient id=g /><a id=a xlink:href=#x></a></svg><a id=h xlink:href=#y>",
    );
    let view = snapshot.view().expect("a snapshot");
    assert_eq!(ids(&view, "linearGradient"), ["g"]);
    assert!(ids(&view, "lineargradient").is_empty());
    assert_eq!(ids(&view, "[viewBox]"), ["s"]);
    assert!(ids(&view, "[viewbox]").is_empty());
    assert_eq!(ids(&view, "svg|a"), ["a"]);
    assert_eq!(ids(&view, "html|a"), ["h"]);
    assert_eq!(ids(&view, "*|a"), ["a", "h"]);
    // `xlink:href` is `href` in a namespace in SVG, and a name with a colon in HTML.
    assert!(ids(&view, "[href]").is_empty());
    assert_eq!(ids(&view, "[xlink|href], [*|href]"), ["a"]);
    assert_eq!(ids(&view, r"[xlink\:href]"), ["h"]);
}

#[test]
fn states_of_a_page_at_rest() {
    let snapshot = parse(
        "<a id=1 href=x></a><a id=2></a><area id=3 href=x><link id=4 href=x>\
         <svg><a id=5 xlink:href=x></a></svg>\
         <input id=6 type=CHECKBOX checked><input id=7 checked><select><option id=8 selected></select>\
         <fieldset disabled id=9><legend><input id=10></legend><legend><input id=11></legend></fieldset>\
         <input id=12 required><textarea id=13></textarea><p id=14 disabled required>",
    );
    let view = snapshot.view().expect("a snapshot");
    assert_eq!(ids(&view, ":link"), ["1", "3", "5"]);
    assert_eq!(ids(&view, "html|a:any-link"), ["1"]);
    assert_eq!(ids(&view, ":checked"), ["6", "8"]);
    assert_eq!(ids(&view, ":disabled"), ["9", "11"]);
    assert_eq!(ids(&view, "input:enabled"), ["6", "7", "10", "12"]);
    assert_eq!(ids(&view, ":required"), ["12"]);
    assert_eq!(ids(&view, "textarea:optional"), ["13"]);
}

#[test]
fn structure() {
    let snapshot = parse(
        "<html id=h><body id=b><ul id=u><li id=1 class=x><li id=2><!-- c --></li><li id=3 class=x> </li>\
         <li id=4 class=x><i id=5></i></ul><x-a id=6></x-a><x-b id=7></x-b><x-a id=8></x-a>",
    );
    let view = snapshot.view().expect("a snapshot");
    assert_eq!(ids(&view, ":root"), ["h"]);
    assert_eq!(ids(&view, "li:empty"), ["1", "2"]);
    assert_eq!(ids(&view, "li:nth-child(2 of .x)"), ["3"]);
    assert_eq!(ids(&view, "li:nth-last-child(-n+2)"), ["3", "4"]);
    assert_eq!(
        ids(&view, "x-a:nth-of-type(2), x-b:only-of-type"),
        ["7", "8"]
    );
    assert_eq!(ids(&view, "li:has(+ .x), ul:has(i)"), ["u", "2", "3"]);
    assert_eq!(ids(&view, "ul ~ *"), ["6", "7", "8"]);
    assert_eq!(ids(&view, "x-a, li i, :not(*)"), ["5", "6", "8"]);
}

#[test]
fn selecting_below_a_node() {
    let snapshot = parse("<div id=a><p id=b><b id=c></b></p></div><p id=d>");
    let view = snapshot.view().expect("a snapshot");
    let div = view
        .nodes()
        .find(|n| n.attr(attr::ID) == Some("a"))
        .expect("a div");
    let below = |selector: &str| {
        let selector = Selector::parse(selector).expect("a selector");
        div.select(&selector)
            .map(|n| n.attr(attr::ID).unwrap_or("-"))
            .collect::<Vec<_>>()
    };
    assert_eq!(below("*"), ["b", "c"]);
    assert_eq!(below("body b"), ["c"]);
    assert_eq!(below(":scope > *"), ["b"]);
    assert!(below("div").is_empty());
    assert!(div.matches(&Selector::parse("body > div").expect("a selector")));
    let text = view
        .nodes()
        .find(|n| !n.is_element())
        .expect("the document");
    assert!(!text.matches(&Selector::parse("*").expect("a selector")));
}

#[test]
fn what_is_no_selector_is_refused() {
    for text in [
        "",
        " ",
        "a,",
        ">",
        "a >",
        "a[",
        "a::before",
        "a:hover",
        "a:nope",
        "p|a",
        "a..b",
        "1",
    ] {
        assert!(Selector::parse(text).is_err(), "{text:?}");
    }
    let nested = ":is(".repeat(17) + "a" + &")".repeat(17);
    assert!(Selector::parse(&nested).is_err());
    assert!(Selector::parse(&nested[4..nested.len() - 1]).is_ok());
    let long = "a+".repeat(1100) + "a";
    assert!(Selector::parse(&long).is_err());
    assert!(Selector::parse("a,".repeat(5000).trim_end_matches(',')).is_ok());
}

#[test]
fn what_is_no_selector_says_why_in_words() {
    for (text, why) in [
        ("", "it, or a part between commas, is empty"),
        ("a,", "it, or a part between commas, is empty"),
        ("a, , b", "it, or a part between commas, is empty"),
        ("a > > b", "nothing follows a combinator (space, >, + or ~)"),
        (
            "a:has(:has(b))",
            "it has a part that is not allowed there, such as :has() in :has()",
        ),
        (
            "a::before",
            "it has a pseudo-class or pseudo-element that is not supported",
        ),
        (
            "a:nope(b)",
            "it has a pseudo-class or pseudo-element that is not supported",
        ),
        ("a:5", "no name follows a colon"),
        (
            "p|a",
            "it has a namespace that is not known: html, svg, math, xlink and xml are",
        ),
        ("svg|5", "no name of an element follows |"),
        ("a..b", "no name of a class follows a dot"),
        ("[5]", "no name of an attribute follows ["),
        ("[*href]", "no | follows * in [ ]"),
        (
            "[href!=x]",
            "the name of an attribute is not followed by ], =, ~=, |=, ^=, $= or *=",
        ),
        (
            "[href=5]",
            "the value of an attribute is neither a word nor in quotes",
        ),
        (
            "a)",
            "it has a character or word that cannot stand where it is",
        ),
        ("a[href=", "it ends too early"),
        (&":is(".repeat(17), "it has more than 16 nested parentheses"),
        (
            &"a+".repeat(1100),
            "it has more than 2048 bytes between two commas",
        ),
    ] {
        let error = Selector::parse(text).expect_err(text).to_string();
        assert_eq!(error, format!("not a selector: {why}"), "{text}");
    }
}

#[test]
fn a_selector_prints_as_itself() {
    for text in [
        "a",
        "ul > li.x:not(#y)",
        "[data-x=\"1\"], :has(> b)",
        "a:link",
    ] {
        assert_eq!(Selector::parse(text).expect("a selector").to_string(), text);
    }
}
