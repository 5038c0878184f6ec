use super::*;
use crate::limits::{MAX_ANCHOR_BYTES, MAX_LINKS};

const URL: &str = "https://a.example/dir/page?x=1#top";

fn facts(html: &str) -> PageFacts {
    page_pass(html, URL)
}

fn hash(html: &str) -> String {
    facts(html).content_hash
}

fn links(html: &str) -> Vec<(String, String)> {
    facts(html)
        .links
        .iter()
        .map(|link| (link.to.to_owned(), link.anchor.to_owned()))
        .collect()
}

fn targets(html: &str) -> Vec<String> {
    links(html).into_iter().map(|(to, _)| to).collect()
}

#[test]
fn title_canonical_robots_and_refresh_are_found() {
    let facts = facts(
        "<!doctype html><head><title> A &amp;\n B </title><link rel='x CANONICAL' href='/c?a=1&amp;b'>\
         <meta name=Robots content='NoIndex, max-snippet:20'><meta name=googlebot content=nofollow>\
         <meta http-equiv=Refresh content='3; url=/next'></head><body><title>no</title>text",
    );
    assert_eq!(facts.title.as_deref(), Some("A & B"));
    assert_eq!(
        facts.canonical.as_deref(),
        Some("https://a.example/c?a=1&b")
    );
    assert!(facts.robots.noindex && !facts.robots.nofollow);
    assert_eq!(facts.robots.all, ["noindex", "max-snippet:20"]);
    assert_eq!(
        facts.refresh,
        Some(Refresh {
            seconds: 3,
            url: Some("/next".into())
        })
    );
    assert_eq!((facts.text_chars, facts.base.as_str()), (4, URL));
}

#[test]
fn templates_and_drawings_say_nothing_of_the_page() {
    let facts = facts(
        "<template><title>no</title><base href=/no/><link rel=canonical href=no><meta name=robots content=none>\
         <meta http-equiv=refresh content='0; url=/no'></template><svg><base href=/no/><link rel=canonical href=no /></svg>\
         <title>yes</title><base href=/yes/><link rel=canonical href=c>text",
    );
    assert_eq!(facts.title.as_deref(), Some("yes"));
    assert_eq!(facts.base, "https://a.example/yes/");
    assert_eq!(facts.canonical.as_deref(), Some("https://a.example/yes/c"));
    assert!(facts.robots.all.is_empty() && facts.refresh.is_none());
}

#[test]
fn the_title_is_the_first_one_in_rcdata() {
    assert_eq!(
        facts("<svg><title>icon</title></svg><title>page</title>")
            .title
            .as_deref(),
        Some("page")
    );
    assert_eq!(
        facts("<p>no head<title>late</title>").title.as_deref(),
        Some("late")
    );
    assert_eq!(
        facts("<title></title><textarea>typed</textarea>").title,
        None
    );
    assert_eq!(facts("<title><b>x</b>").title.as_deref(), Some("<b>x</b>"));
    assert_eq!(facts("<p>none").title, None);
    assert_eq!(
        facts("<title>one</title><title>two</title>")
            .title
            .as_deref(),
        Some("one")
    );
    assert_eq!(
        facts("<title></title><title>two</title>").title.as_deref(),
        Some("two")
    );
}

#[test]
fn links_are_resolved_and_have_their_texts() {
    let html = "<a href='../x?a=1&amp;b=2&copy=3#f'>One <b>two</b>\n three</a> <a name=no>no</a>\
                <map><area HREF=/area alt='An area'></map><a href=//b.example/>four<p>five</a>\
                <svg><a xlink:href='s'><text>six</text></a></svg>";
    assert_eq!(
        links(html),
        [
            ("https://a.example/x?a=1&b=2&copy=3#f", "One two three"),
            ("https://a.example/area", "An area"),
            ("https://b.example/", "four five"),
            ("https://a.example/dir/s", "six"),
        ]
        .map(|(to, anchor)| (to.to_owned(), anchor.to_owned()))
    );
    assert_eq!(
        targets("<a href='mailto:x@y'>m</a><a href='javascript:x'>j</a><a href='http://'>e</a>")
            .len(),
        0
    );
    // A script makes links of them, if it does; their URLs are often patterns.
    assert_eq!(
        targets(
            "<template><a href=t></a><template><a href=u></a></template><a href=v></a></template><a href=w></a>"
        ),
        ["https://a.example/dir/w"]
    );
    assert_eq!(
        targets("<div hidden><template><a href=t></a></template><a href=u></a></div>"),
        ["https://a.example/dir/u"]
    );
    assert_eq!(
        targets("<script>'<a href=s>'</script><!-- <a href=c> --><textarea><a href=t></textarea>")
            .len(),
        0
    );
}

#[test]
fn a_link_without_text_uses_its_alternative_text() {
    let anchors = |html: &str| {
        links(html)
            .into_iter()
            .map(|(_, anchor)| anchor)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        anchors("<a href=1><img alt='A &amp; B'><img alt=C></a><a href=2 title=T><img></a>"),
        ["A & B C", "T"]
    );
    assert_eq!(
        anchors("<a href=1></a><img alt=out><a href=2 aria-label=L title=T> </a>"),
        ["", "L"]
    );
    assert_eq!(
        anchors("<a href=1>one<a href=2>two</a> after"),
        ["one", "two"]
    );
    assert_eq!(
        anchors("<a href=1>a<script>b</script><style>c</style>d</a>"),
        ["ad"]
    );
    assert_eq!(
        anchors(
            "<a href=1><svg><title>icon</title><style>.a{}</style><desc>d</desc></svg></a><a href=2 alt=A title=T>"
        ),
        ["icon", "A"]
    );
    assert_eq!(
        anchors("<a href=1>a<template><a href=2>b</a><img alt=c></template>d</a>"),
        ["ad"]
    );
    assert_eq!(anchors("<a href=1>é"), ["é"]);
    let long = "wörter ".repeat(1000);
    let cut = &anchors(&format!("<a href=1>{long}</a>"))[0];
    assert!(cut.len() <= MAX_ANCHOR_BYTES && cut.len() > MAX_ANCHOR_BYTES - 8);
}

#[test]
fn nofollow_comes_from_the_link_or_the_page() {
    let flags = |html: &str| {
        facts(html)
            .links
            .iter()
            .map(|link| link.nofollow)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        flags("<a href=1 rel='x NoFollow'></a><a href=2 rel=ugc></a><a href=3 rel=nofollowx></a>"),
        [true, true, false]
    );
    assert_eq!(
        flags("<meta name=robots content=none><a href=1></a>"),
        [true]
    );
    assert_eq!(
        facts("<a href=1 rel=' noopener\n ugc '></a>")
            .links
            .iter()
            .next()
            .unwrap()
            .rel,
        "noopener ugc"
    );
}

/// Fault 34.
#[test]
fn the_first_usable_base_applies_to_all_links() {
    assert_eq!(
        targets("<a href=x></a><base href=/b/><base href=/c/><a href=y>"),
        ["https://a.example/b/x", "https://a.example/b/y"]
    );
    assert_eq!(
        targets("<base href='//o.example/p/q'><a href=x>"),
        ["https://o.example/p/x"]
    );
    assert_eq!(
        targets("<base target=_top><base href=../up/><a href=x>"),
        ["https://a.example/up/x"]
    );
    for unusable in [
        "javascript:alert(1)",
        "data:text/html,x",
        "http://[",
        "mailto:x",
    ] {
        assert_eq!(
            targets(&format!("<base href='{unusable}'><a href=x>")),
            ["https://a.example/dir/x"],
            "{unusable}"
        );
    }
    assert!(page_pass("<a href=x>", "not a url").links.is_empty());
    assert_eq!(
        page_pass("<base href=https://b.example/><a href=x>", "")
            .links
            .len(),
        1
    );
}

#[test]
fn the_hash_is_that_of_a_page_in_a_noscript() {
    let page = |last: &str| {
        let posts: String = (0..40)
            .map(|n| format!("<p>What post {n} says of webs, of silk and of spiders.</p>"))
            .collect();
        format!("<title>T</title><div>Loading</div><noscript>{posts}<p>{last}</p></noscript>")
    };
    assert_ne!(hash(&page("before")), hash(&page("after")));
    assert!(facts(&page("")).text_chars > 1_000);
    let meta = "<meta name=robots content=noindex><base href=/b/><link rel=canonical href=/c><a href=x>x</a>";
    let found = facts(&page(meta));
    assert!(!found.robots.noindex && found.canonical.is_none() && found.base == URL);
    assert_eq!(found.links.len(), 1);
    // Beside a text of its own, a noscript is no page.
    let beside = |last: &str| page(last) + &"<p>Words of the page itself.</p>".repeat(200);
    assert_eq!(hash(&beside("before")), hash(&beside("after")));
}

#[test]
fn links_in_a_noscript_beside_the_page_are_told_apart() {
    let words = "<p>Words of the page itself.</p>".repeat(20);
    let html = format!(
        "<noscript><link rel=canonical href=/c><a href=/1 rel=ugc>One</a></noscript>{words}<a href=/2>Two\
         <noscript><img alt=x></noscript></a><template><noscript><a href=/t>T</a></noscript></template>\
         <noscript>Switch <template><a href=/u></a></template><a href=/3>Three"
    );
    let found = facts(&html);
    let beside: Vec<_> = found.noscript_links.iter().collect();
    let told = beside
        .iter()
        .map(|link| (link.to, link.anchor, link.nofollow));
    assert_eq!(
        told.collect::<Vec<_>>(),
        [
            ("https://a.example/1", "One", true),
            ("https://a.example/3", "Three", false)
        ]
    );
    assert_eq!(targets(&html), ["https://a.example/2"]);
    assert_eq!(found.canonical, None);
    let without = format!("{words}<a href=/2>Two</a>");
    assert_eq!(found.content_hash, hash(&without));
    let many = "<noscript><a href=x>y</a></noscript>".repeat(MAX_LINKS);
    let many = facts(&format!("<a href=z>z</a>{many}"));
    assert_eq!(many.links.len() + many.noscript_links.len(), MAX_LINKS);
    assert_eq!((many.links.dropped, many.noscript_links.dropped), (0, 1));
}

#[test]
fn the_hash_ignores_invisible_content() {
    let plain = hash("<title>T</title><p>Hello &amp; welcome</p><p>all</p>");
    for same in [
        "<title>T</title>\n<p class=x data-t='1'>Hello & welcome</p>\n\n<p>all</p>",
        "<title>T</title><p>Hello <b>&#38;</b> wel<i>come</i></p><div>all</div>",
        "<title>T</title><script nonce=1>var t = 17;</script><p>Hello&nbsp;&amp; welcome<br>all<style>p{}</style>",
        "<title>T</title><p>Hello &amp; welcome</p><template>x</template><p>all</p><!-- 12:30 -->",
        "<title>T</title><p>Hello &amp; welcome</p><template shadowrootmode=x>x</template><p>all</p>",
        "<title>T</title><x-a><template shadowrootmode=open><p>Hello &amp; welcome</p><p>all</template></x-a>",
        "<title>T</title><p>Hello &amp; welcome</p><div hidden>x<div>y</div></div><p>all</p><noscript>n</noscript>",
        "<title>T</title><p>Hello &amp; welcome</p><section><span hidden>x</section><p>all</p><input hidden>",
        "<title>T</title><p>Hello &amp; welcome<div STYLE='color:red; Display : NONE !important'>x</div><p>all",
        "<title>T</title><p>Hello &amp; welcome</p><i style=visibility:hidden>x</i><p>all",
        "<title>T</title><p>Hello &amp; welcome</p><dialog>x</dialog><p>all",
        "<title>T</title><p>Hello &amp; welcome<p hidden>x <b>y</b><p>all",
        "<title>T</title><p>Hello &amp; welcome<ul><li hidden>x<ul><li>y</ul><li>all</ul>",
        "<title>T</title><p>Hello &amp; welcome<table><tr hidden><td>x<td>y<tr><td>all</table>",
    ] {
        assert_eq!(hash(same), plain, "{same}");
    }
    for other in [
        "<title>U</title><p>Hello &amp; welcome</p><p>all</p>",
        "<title>T</title><p>Hello &amp; welcome</p><p>all!</p>",
        "<title>T</title><link rel=canonical href=/c><p>Hello &amp; welcome</p><p>all</p>",
        "<title>T</title><p>Hello &amp; welcome</p><dialog open>seen</dialog><p>all</p>",
        "<title>T</title><p>Hello &amp; welcome</p><template shadowrootmode=open>seen</template><p>all</p>",
        "<title>T</title><p>Hello & welcomeall",
    ] {
        assert_ne!(hash(other), plain, "{other}");
    }
    assert_eq!(plain.len(), 64);
    assert!(
        plain
            .bytes()
            .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
    );
}

/// Sites write a visitor's session and origin into their canonical URLs.
#[test]
fn the_hash_takes_a_canonical_url_for_what_it_identifies() {
    let page = |canonical: &str| hash(&format!("<link rel=canonical href='{canonical}'><p>text"));
    let plain = page("/a?x=1");
    for same in [
        "/a?x=1&PHPSESSID=0123",
        "/a?x=1&utm_source=mail",
        "/a?x=1#part",
        "/./a?x=1",
    ] {
        assert_eq!(page(same), plain, "{same}");
    }
    for other in ["/b?x=1", "/a?x=2", "/a", "https://b.example/a?x=1"] {
        assert_ne!(page(other), plain, "{other}");
    }
    let tracked = facts("<link rel=canonical href='/a?utm_source=mail'>");
    let canonical = tracked.canonical.unwrap_or_default();
    assert!(canonical.ends_with("/a?utm_source=mail"), "{canonical}");
}

#[test]
fn a_page_that_a_script_shows_has_the_hash_of_its_content() {
    let wrapped = |text: &str| format!("<div style='display:none'><p>{text}&amp;</p></div>");
    assert_ne!(hash(&wrapped("one")), hash(&wrapped("two")));
    assert_eq!(facts(&wrapped("one")).text_chars, 4);
    let beside = |text: &str| format!("<p>Menu</p>{}", wrapped(text));
    assert_eq!(hash(&beside("one")), hash(&beside("two")));
    let long = "words ".repeat(400);
    assert_ne!(hash(&beside(&long)), hash(&beside("two")));
}

/// Fault 33.
#[test]
fn hostile_markup_is_handled_within_bounds() {
    let nested = "<div>".repeat(10_000) + "deep<a href=d>x";
    let facts = facts(&nested);
    assert_eq!((facts.text_chars, facts.links.len()), (5, 1));
    let attributes: String = (0..1_000_000).map(|n| format!(" a{n}=1")).collect();
    let many = page_pass(&format!("<p{attributes}>x<a href=y>z"), URL);
    assert_eq!(many.links.len(), 1);
    for html in [
        "",
        "<",
        "<a",
        "<a href",
        "<a href='",
        "<a href='x",
        "</a",
        "<!--",
        "<title>",
        "\0<a \0href=x\0>\0",
        "<a href=x><a href=y></a></a>",
    ] {
        page_pass(html, URL);
    }
    let deep = page_pass(&"<div><span hidden>".repeat(500_000), URL);
    assert_eq!(deep.content_hash.len(), 64);
    let links = page_pass(&"<a href=x>y</a>".repeat(MAX_LINKS + 5), URL).links;
    assert_eq!((links.len(), links.dropped), (MAX_LINKS, 5));
}

#[test]
fn a_nul_in_a_link_is_replaced_as_in_a_tree() {
    let found = targets("<base href='/d\0/'><a href='x\0y'>z</a>");
    assert_eq!(found, ["https://a.example/d%EF%BF%BD/x%EF%BF%BDy"]);
}

#[test]
fn the_text_is_the_hashed_text() {
    let html = "<title>T</title><p>One <b>two</b></p><script>no</script><p hidden>x</p>\
                <div hidden>no</div><p>caf&eacute;";
    let (facts, text) = page_text(html, "https://a.example/", 1_000);
    assert!(text.starts_with("One two"), "{text}");
    assert!(text.ends_with("café") && !text.contains("no"), "{text}");
    assert_eq!(
        facts.content_hash,
        page_pass(html, "https://a.example/").content_hash
    );
    assert_eq!(facts.title.as_deref(), Some("T"));
    let (_, cut) = page_text("<p>éé", "https://a.example/", 3);
    assert_eq!(cut, "é");
}

#[test]
fn a_long_base_does_not_multiply_memory() {
    let long = "y".repeat(8_000);
    let html = format!("<base href='/{long}/'>{}", "<a href=x>".repeat(90_000));
    let facts = page_pass(&html, "https://example.org/");
    let bytes: usize = facts.links.iter().map(|link| link.to.len()).sum();
    assert!(bytes as u64 <= orbweaver_urls::MAX_PAGE_URL_BYTES);
    assert!(facts.links.len() > 2_000);
    assert_eq!(facts.links.len() + facts.links.dropped, 90_000);
}
