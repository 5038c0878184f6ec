//! Pages of sizes and shapes that nobody writes by hand. What is checked is that they come out right; a
//! stack that overflows or work by the square of the length shows by itself.
#![cfg(feature = "write")]

use orbweaver_dom::{Limits, Selector, attr, parse, parse_with, tag};

const MANY: usize = 1_000_000;

const NO_LIMITS: Limits = Limits {
    max_nodes: u32::MAX,
    max_attrs: u32::MAX,
    max_text: u32::MAX,
    max_depth: u32::MAX,
};

#[test]
fn a_million_nested_elements() {
    let page = "<div>".repeat(MANY) + "end";
    let flat = parse(&page);
    let view = flat.view().expect("a snapshot");
    assert!(view.truncated());
    assert_eq!(view.nodes().filter(|n| n.tag() == tag::DIV).count(), MANY);
    assert_eq!(view.root().text_content(), "end");
    let text = view.nodes().next_back().expect("a node");
    assert_eq!(text.ancestors().count(), 513);

    let deep = parse_with(&page, &NO_LIMITS);
    let view = deep.view().expect("a snapshot");
    assert!(!view.truncated());
    let text = view.nodes().next_back().expect("a node");
    assert_eq!((text.text(), text.ancestors().count()), ("end", MANY + 3));
    let selector = Selector::parse("body > div").expect("a selector");
    assert_eq!(view.select(&selector).count(), 1);
}

#[test]
fn has_searches_a_deep_tree_without_recursing_down_all_of_it() {
    let page = "<div>".repeat(3000) + "<b>";
    let deep = parse_with(&page, &NO_LIMITS);
    let view = deep.view().expect("a snapshot");
    let selector = Selector::parse("div:has(b)").expect("a selector");
    assert_eq!(view.select(&selector).count(), 512);
}

#[test]
fn deep_nesting_of_every_kind() {
    for open in [
        "<p><b id=x><i>",
        "<table><tr><td>",
        "<ul><li>",
        "<svg><g>",
        "<a href=x><font color=y><div>",
        "<template>",
        "<button><select><option>",
        "<x-y></z>",
    ] {
        let page = open.repeat(60_000 / open.len()) + "end";
        let snapshot = parse_with(&page, &NO_LIMITS);
        let view = snapshot.view().expect("a snapshot");
        assert!(view.root().text_content().ends_with("end"), "{open}");
    }
}

#[test]
fn a_million_siblings() {
    let page = "<p>x".repeat(MANY);
    let snapshot = parse_with(&page, &NO_LIMITS);
    let view = snapshot.view().expect("a snapshot");
    let body = view.body().expect("a body");
    assert_eq!(body.children().count(), MANY);
    assert_eq!(body.text_content().len(), MANY);
    let selector = Selector::parse("p:last-child").expect("a selector");
    assert_eq!(view.select(&selector).count(), 1);
}

#[test]
fn a_million_attributes() {
    let mut page = String::from("<p");
    for i in 0..MANY {
        page.push_str(&format!(" a{i}=1"));
    }
    page.push_str(">x<p id=y>");
    let snapshot = parse(&page);
    let view = snapshot.view().expect("a snapshot");
    assert!(view.truncated());
    let first = view
        .nodes()
        .find(|n| n.tag() == tag::P)
        .expect("a paragraph");
    assert_eq!(
        (first.attrs().count(), first.text_content().as_str()),
        (512, "x")
    );
    assert_eq!(
        view.nodes()
            .filter(|n| n.attr(attr::ID) == Some("y"))
            .count(),
        1
    );

    let many = "<p a=1 b=2 c=3>".repeat(MANY / 3);
    let snapshot = parse(&many);
    let view = snapshot.view().expect("a snapshot");
    assert_eq!(
        view.nodes().map(|n| n.attrs().count()).sum::<usize>(),
        MANY / 3 * 3
    );
}

#[test]
fn repeated_body_tags_with_new_attributes() {
    let page: String = (0..20_000).map(|i| format!("<body a{i}=1>")).collect();
    let snapshot = parse(&page);
    let view = snapshot.view().expect("a snapshot");
    assert_eq!(view.body().map(|b| b.attrs().count()), Some(512));
    assert!(view.truncated());
}

#[test]
fn many_tags_at_great_depth_keep_their_text() {
    let page = "<span>".repeat(500)
        + &"</q><i>x</i></p><title></title>".repeat(100_000)
        + "<a href=y>end</a>";
    let snapshot = parse(&page);
    let view = snapshot.view().expect("a snapshot");
    assert!(view.truncated());
    let text = view.root().text_content();
    assert_eq!(text.len(), 100_003);
    let link = view.nodes().find(|n| n.tag() == tag::A).expect("a link");
    assert_eq!(link.text_content(), "end");
}

/// Formatting elements that were never closed come back in every paragraph.
#[test]
fn reopened_formatting_is_bounded() {
    let mut page = String::from("<p>");
    page.extend((0..200).map(|i| format!("<b id={i} title={}>", "t".repeat(200))));
    page.push_str(&"<p>x</p>".repeat(5_000));
    let limits = Limits {
        max_nodes: 200_000,
        ..Limits::default()
    };
    let snapshot = parse_with(&page, &limits);
    let view = snapshot.view().expect("a snapshot");
    assert!(view.truncated());
    assert_eq!(view.len(), 200_000);
    assert!(snapshot.text.len() <= page.len() * 4 + (1 << 20));
}

#[test]
fn text_that_is_added_in_turns() {
    let page = "<table>a<tr><td>b</td></tr>".to_owned() + &"c<tr>d<td>e</td>".repeat(100_000);
    let snapshot = parse(&page);
    let view = snapshot.view().expect("a snapshot");
    let text = view.body().expect("a body").text_content();
    assert_eq!(text.len(), 300_002);
    assert!(text.starts_with("acdcd") && text.ends_with("eee"));
}

/// White space in a table waits for the next tag, here the one that is too deep.
#[test]
fn text_before_a_tag_that_is_too_deep_is_kept() {
    for depth in 480..520 {
        let page =
            "<table><tr><td>".repeat(depth / 4) + &"<x-y>".repeat(depth % 4) + "<table>\n<b>";
        let snapshot = parse_with(&page, &NO_LIMITS);
        let view = snapshot.view().expect("a snapshot");
        assert_eq!(view.root().text_content(), "\n", "{depth}");
    }
}

#[test]
fn a_snapshot_grows_with_its_page() {
    for pattern in orbweaver_nasty::html() {
        let size = |bytes: usize| parse(&pattern.sized(bytes)).size() as f64;
        let growth = size(40_000) / size(20_000);
        assert!(
            growth < orbweaver_nasty::MAX_GROWTH,
            "{}: {growth}",
            pattern.name
        );
    }
}

#[test]
fn long_runs_of_one_thing() {
    for piece in [
        "&",
        "&amp;",
        "&#",
        "&#0",
        "<",
        "</",
        "<!--",
        "--",
        "<!--<script>",
        "\0",
        "\r",
        "</div>",
        "</body>",
        "<a",
        "<a =",
        "<p '",
        "<![CDATA[",
        "]]>",
        "<br/>",
        "<!doctype html>",
        "x<b>",
        "</p>",
        "</br>",
        "<body>",
        "<svg></p>",
        "<select>",
        "<table><a>",
        "<a><table>",
        "<i></b>",
        "<nobr>",
        "<form>",
        "<frameset>",
    ] {
        let page = piece.repeat(30_000 / piece.len());
        for start in [
            "",
            "<title>",
            "<script>",
            "<svg>",
            "<svg><![CDATA[",
            "<table>",
            "<template>",
        ] {
            let snapshot = parse(&format!("{start}{page}"));
            assert!(snapshot.view().is_ok(), "{start}{piece}");
        }
    }
}
