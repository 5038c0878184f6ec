//! A search ends when its work is used up, however a hostile page and selector spend it.
#![cfg(feature = "write")]

use std::time::{Duration, Instant};

use orbweaver_dom::{Selector, Work, parse};

/// What a search of the host may cost.
const UNITS: u64 = 12_000_000;

#[test]
fn hostile_searches_end_soon_and_say_so() {
    let siblings = "<p>x</p>".repeat(60_000);
    let comments = format!("<p>{}", "<!----><i></i>".repeat(60_000));
    let gaps = format!("<p>{}<i>", "<b></b><!---->".repeat(60_000));
    let fieldset = format!("<fieldset disabled>{}", "<input>".repeat(60_000));
    let wide = format!(
        "<div class='{}'>{}",
        "a ".repeat(3_000_000),
        "<p><b>".repeat(20_000)
    );
    let long = format!(
        "<div title='{}'>{}",
        "a".repeat(6_000_000),
        "<p><b>".repeat(20_000)
    );
    let attrs: String = (0..512).map(|n| format!(" a{n}")).collect();
    let busy = format!("<p{attrs}>").repeat(2_000);
    let unlinked = format!("<a{attrs}>").repeat(2_000);
    let names: Vec<String> = (0..680).map(|n| format!("[b{n}]")).collect();
    let (names, links) = (names.join(","), [":link"; 680].join(","));
    for (html, css) in [
        (&busy, names.as_str()),
        (&unlinked, links.as_str()),
        (&siblings, "p ~ p ~ p ~ i, p:has(~ i)"),
        (&comments, "u ~ i"),
        (&gaps, "b:has(~ u)"),
        (&fieldset, "input:disabled ~ u, input:enabled"),
        (&wide, ".b b"),
        (&long, "[title*='b'] b"),
    ] {
        let snapshot = parse(html);
        let view = snapshot.view().expect("a view");
        let selector = Selector::parse(css).expect("a selector");
        let begun = Instant::now();
        let mut found = view.select(&selector).within(Work::units(UNITS));
        let count = found.by_ref().count();
        let took = begun.elapsed();
        assert!(found.is_cut(), "{css}: {count} found in {took:?}");
        assert!(took < Duration::from_secs(4), "{css}: {took:?}");
    }
}

#[test]
fn an_ordinary_search_is_not_cut() {
    let row = "<tr><td class='a b'>1</td><td><a href='/x'>two</a></td></tr>";
    let html = format!("<table><tbody>{}", row.repeat(50_000));
    let snapshot = parse(&html);
    let view = snapshot.view().expect("a view");
    // With debug assertions the crate `selectors` counts siblings again to check its cache of
    // `:nth-child`, which is work too.
    let nth = match cfg!(debug_assertions) {
        true => "tr",
        false => "tr:nth-child(odd)",
    };
    for css in ["table tbody tr > td a[href^='/']", "td.b", nth] {
        let selector = Selector::parse(css).expect("a selector");
        let mut found = view.select(&selector).within(Work::units(UNITS));
        assert!(found.by_ref().count() >= 25_000, "{css}");
        assert!(!found.is_cut(), "{css}");
    }
}
