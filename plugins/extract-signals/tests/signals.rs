//! Signals of pages for search engines and AI robots.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use orbweaver_sdk::serde_json::{Value, from_str, json};
use orbweaver_sdk::testing::Document;

fn signals_of(document: Document) -> Value {
    let signals = orbweaver_extract_signals::extract(&document.page(), "{}").expect("signals");
    from_str(&signals).expect("JSON")
}

fn signals(html: &str) -> Value {
    signals_of(Document::new("https://www.example.org/shop/", html))
}

#[test]
fn a_shop_page_has_all_signals() {
    let found = signals(include_str!("../fixtures/shop.html"));
    let expected: Value = from_str(include_str!("../fixtures/shop.json")).expect("JSON");
    assert_eq!(found, expected);
}

#[test]
fn headings_are_without_their_controls_and_links_to_themselves() {
    for (html, text) in [
        (
            "<h1>Doc<a class=headerlink href='#doc'>\u{b6}</a></h1>",
            "Doc",
        ),
        (
            "<h1>Guide<a class=hash-link href='#g'>\u{200b}</a></h1>",
            "Guide",
        ),
        (
            "<h1>History<span class=mw-editsection><span>[</span><a href=/e>edit</a><span>]</span></span></h1>",
            "History",
        ),
        (
            "<h1>2024<span class=mw-editsection><a href=/e>edit</a></span></h1>",
            "2024",
        ),
        ("<h1>Install <button>Copy</button></h1>", "Install"),
        ("<h1><button>Is it safe?</button></h1>", "Is it safe?"),
        ("<h1>2. <button>Is it safe?</button></h1>", "2. Is it safe?"),
        ("<h1>Learn C#</h1>", "Learn C#"),
        ("<h1>Learn F# <a href='#f'>#</a></h1>", "Learn F#"),
        ("<h1>Section ABC<a href='#s'>#</a></h1>", "Section ABC"),
    ] {
        assert_eq!(signals(html)["h1"], json!([text]), "{html}");
    }
    let hidden = signals("<template><h1>No</h1><a href=/t>t</a></template><h1>Yes</h1>");
    assert_eq!(hidden["h1"], json!(["Yes"]));
    assert_eq!(hidden["links"]["total"], 0);
}

#[test]
fn what_one_robot_of_ours_is_told_counts_for_links() {
    for (name, nofollow) in [("Orbweaver", 1), ("robots", 1), ("otherbot", 0)] {
        let page = format!("<meta name={name} content=nofollow><a href=/a>a</a>");
        assert_eq!(signals(&page)["links"]["nofollow"], nofollow, "{name}");
    }
}

#[test]
fn a_page_in_a_noscript_has_its_signals() {
    let posts: String = (0..30)
        .map(|n| {
            format!("<h2>Post {n}</h2><p><a href=/t/{n}>Webs</a> and silk of all the spiders</p>")
        })
        .collect();
    let found = signals(&format!(
        "<html lang=pt_BR><noscript><h1>Silk</h1>{posts}</noscript>"
    ));
    assert_eq!(found["h1"], json!(["Silk"]));
    assert_eq!(found["h2"].as_array().expect("an array").len(), 30);
    assert_eq!(found["links"]["internal"], 30);
    assert_eq!(found["word_count"], 1 + 30 * 9);
    assert_eq!(found["lang"], "pt-BR");
}

#[test]
fn a_bare_page_has_every_field_of_the_contract() {
    let found = signals("<p>Hello, world");
    for key in ["title", "description", "canonical", "lang", "refresh"] {
        assert_eq!(found[key], Value::Null, "{key}");
    }
    for key in [
        "h1",
        "h2",
        "h3",
        "robots_meta",
        "jsonld_types",
        "headings",
        "jsonld",
    ] {
        assert_eq!(found[key], json!([]), "{key}");
    }
    assert_eq!(found["hreflang"], json!({}));
    assert_eq!(found["word_count"], 2);
    assert_eq!(found["char_count"], 12);
    assert_eq!(
        found["links"],
        json!({"internal": 0, "external": 0, "nofollow": 0, "total": 0})
    );
    assert_eq!(
        found["ai_directives"],
        json!({"noai": false, "noimageai": false, "nosnippet": false, "max_snippet": null, "data_nosnippet": 0,
               "tdm_reservation": null, "tdm_policy": null, "bots": {}, "x_robots_tag": []})
    );
}

#[test]
fn directives_come_from_metas_and_headers_for_all_or_single_robots() {
    let html = "<meta name=ROBOTS content='NoAI, noimageai,noai, max-snippet: 50'><meta name=GPTBot content=noindex>
        <meta name=googlebot content='nosnippet'><meta name=tdm-reservation content=1><meta name=tdm-policy content=https://e.org/tdm>
        <p data-nosnippet>not here</p><div data-nosnippet>a</div><span data-nosnippet=''>b</span>";
    let document = Document::new("https://e.org/", html)
        .header("X-Robots-Tag", "max-snippet: 20, nosnippet")
        .header("x-robots-tag", "CCBot: noindex, nofollow");
    let found = signals_of(document);
    assert_eq!(
        found["robots_meta"],
        json!(["noai", "noimageai", "max-snippet:50"])
    );
    assert_eq!(
        found["ai_directives"],
        json!({"noai": true, "noimageai": true, "nosnippet": true, "max_snippet": 20, "data_nosnippet": 2,
               "tdm_reservation": true, "tdm_policy": "https://e.org/tdm",
               "bots": {"gptbot": ["noindex"], "googlebot": ["nosnippet"], "ccbot": ["noindex", "nofollow"]},
               "x_robots_tag": ["max-snippet: 20, nosnippet", "CCBot: noindex, nofollow"]})
    );
}

#[test]
fn language_versions_are_pages_with_an_address() {
    let found = signals(
        "<link rel=canonical href=''><link rel=alternate hreflang=en href=''>
         <link rel=alternate hreflang=de type=application/rss+xml href=/de/feed>
         <link rel=alternate hreflang=de href=''>
         <link rel=alternate hreflang=de type='text/html; charset=utf-8' href=/de/>
         <link rel=alternate hreflang=fr type=application/xhtml+xml href=/fr/>",
    );
    assert_eq!(found["canonical"], Value::Null);
    assert_eq!(
        found["hreflang"],
        json!({"de": "https://www.example.org/de/", "fr": "https://www.example.org/fr/"})
    );
}

#[test]
fn language_versions_of_the_header_are_read_behind_those_of_the_page() {
    let page = Document::new(
        "https://www.example.org/shop/",
        "<base href=/b/><link rel=alternate hreflang=de href=/de/>",
    );
    let headers = "</de-of-header>; rel=\"alternate\"; hreflang=\"de\", <fr>; rel=alternate; hreflang=fr, \
                   </feed>; rel=alternate; type=\"application/rss+xml\"; hreflang=it, </x>; rel=next; hreflang=es";
    let found = signals_of(page.header("Link", headers));
    assert_eq!(
        found["hreflang"],
        json!({"de": "https://www.example.org/de/", "fr": "https://www.example.org/shop/fr"})
    );
}

#[test]
fn a_refresh_is_that_of_the_header_or_of_a_meta() {
    let meta = |content: &str| {
        signals(&format!(
            "<base href=/b/><meta http-equiv=' Refresh' content='{content}'>"
        ))["refresh"]
            .clone()
    };
    assert_eq!(
        meta("5; url=next?a&amp;b"),
        json!({"seconds": 5, "url": "https://www.example.org/b/next?a&b"})
    );
    assert_eq!(meta("300"), json!({"seconds": 300, "url": null}));
    assert_eq!(
        meta("0;url=mailto:a@b.example"),
        json!({"seconds": 0, "url": "mailto:a@b.example"})
    );
    assert_eq!(meta("soon"), Value::Null);
    for html in [
        "<noscript><meta http-equiv=refresh content='0;url=/x'></noscript>",
        "<template><meta http-equiv=refresh content='0;url=/x'></template>",
    ] {
        assert_eq!(signals(html)["refresh"], Value::Null, "{html}");
    }
    let html = "<base href=/b/><meta http-equiv=refresh content='0;url=/meta'>";
    let document = Document::new("https://e.org/dir/page", html).header("Refresh", "1;url=header");
    assert_eq!(
        signals_of(document)["refresh"],
        json!({"seconds": 1, "url": "https://e.org/dir/header"})
    );
}

#[test]
fn words_are_those_of_the_visible_text() {
    let count = |html: &str| signals(html)["word_count"].as_u64();
    assert_eq!(
        count("<p>one two</p><script>three()</script><style>p{}</style><template>four</template>"),
        Some(2)
    );
    assert_eq!(count("<p>one</p><p>two</p>"), Some(2));
    assert_eq!(count("<b>o</b>ne"), Some(1));
    assert_eq!(count("東京"), Some(2));
    assert_eq!(
        count("<p>one</p><div hidden>two</div><p style='display: none'>three</p><i>four</i>"),
        Some(2)
    );
}

#[test]
fn links_are_internal_by_host_despite_the_base() {
    let links = |html: &str| signals(html)["links"].clone();
    assert_eq!(
        links(
            "<a href=/a>a</a><a href='http://example.org/'>b</a><a href='https://sub.example.org/'>c</a><a href=//cdn.net/ rel=nofollow>d</a><a href=tel:1>e</a>"
        ),
        json!({"internal": 2, "external": 2, "nofollow": 1, "total": 4})
    );
    assert_eq!(
        links("<a href='https://example.org:443/'>a</a><a href='https://example.org:8443/'>b</a>"),
        json!({"internal": 1, "external": 1, "nofollow": 0, "total": 2}),
        "another port is another site"
    );
    assert_eq!(
        links(
            "<base href='https://cdn.net/'><a href=x>x</a><a href='https://www.example.org/'>y</a>"
        ),
        json!({"internal": 1, "external": 1, "nofollow": 0, "total": 2})
    );
}

#[test]
fn a_heading_of_an_image_has_its_alternative_text() {
    let found = signals("<h1><a href=/><img alt='The shop'></a></h1><h2> </h2><h4>Deep</h4>");
    assert_eq!(found["h1"], json!(["The shop"]));
    assert_eq!(
        found["headings"],
        json!([{"level": 1, "text": "The shop"}, {"level": 4, "text": "Deep"}])
    );
}

#[test]
fn nested_headings_do_not_multiply_the_page() {
    for html in [
        format!("{}{}", "<h1><div>".repeat(240), "word ".repeat(200_000)),
        "<h1><div>a".repeat(100_000),
    ] {
        let document = Document::new("https://example.org/", &html);
        let signals = orbweaver_extract_signals::extract(&document.page(), "").expect("signals");
        assert!(
            signals.len() < 20_000_000,
            "{} bytes of {}",
            signals.len(),
            html.len()
        );
    }
}
