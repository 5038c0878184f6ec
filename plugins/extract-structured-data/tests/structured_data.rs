//! What a page says in the vocabularies of machines.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use orbweaver_sdk::serde_json::{Value, from_str, json};
use orbweaver_sdk::testing::Document;

const URL: &str = "https://example.org/p/";

fn extract(html: &str) -> Value {
    let document = Document::new(URL, html);
    let data = orbweaver_extract_structured_data::extract(&document.page(), "{}")
        .expect("structured data");
    let data: Value = from_str(&data).expect("JSON");
    for (key, items) in data["data"].as_object().expect("an object") {
        assert_eq!(
            data["counts"][key],
            items.as_array().expect("an array").len(),
            "{key}"
        );
    }
    data["data"].clone()
}

fn of(kind: &str, html: &str) -> Value {
    extract(html)[kind].clone()
}

#[test]
fn a_page_without_any_has_empty_lists() {
    let html = "<div class='h-full p-4 h-screen'><a rel=nofollow href=/x property=''>x</a></div>";
    let none = json!({"json-ld": [], "microdata": [], "rdfa": [], "opengraph": [], "dublincore": [], "microformat": []});
    assert_eq!(extract(html), none);
}

#[test]
fn json_ld_is_flattened_and_untyped_objects_kept() {
    let html = r##"<script type="application/ld+json">[{"@type":"A"},{"name":"b"}]</script>"##;
    assert_eq!(of("json-ld", html), json!([{"@type": "A"}, {"name": "b"}]));
}

mod microdata {
    use super::*;

    #[test]
    fn a_page_in_a_noscript_has_its_items() {
        let text = "<p>What a post says of webs and silk.</p>".repeat(50);
        let html = format!(
            "<div>Loading</div><noscript><div itemscope itemtype='https://schema.org/DiscussionForumPosting'>\
             <meta itemprop=headline content='Webs &amp; silk'><link itemprop=url href='/t/1'>\
             <span itemprop=\"author\" itemscope><b itemprop='name'>Ann</b></span>{text}</div></noscript>"
        );
        assert_eq!(
            of("microdata", &html),
            json!([{"type": ["https://schema.org/DiscussionForumPosting"], "properties": {
                "headline": ["Webs & silk"], "url": ["https://example.org/t/1"],
                "author": [{"properties": {"name": ["Ann"]}}]}}])
        );
    }

    #[test]
    fn values_come_from_where_each_element_keeps_them() {
        let html = r##"<div itemscope itemtype="https://schema.org/Product https://schema.org/Thing" itemid="urn:x:1">
            <span itemprop="name"> A <b>lamp</b> </span><img itemprop=image src=i.png><a itemprop=url href="../u">x</a>
            <meta itemprop=sku content=" 7 "><time itemprop=released datetime=2024-01-01>Jan</time><data itemprop=d value=5>five</data>
            <meter itemprop=m value=".5">half</meter><span itemprop=price content="9.99">$9.99</span>
            <a itemprop=mail href="mailto:a@b.c">m</a><object itemprop=o data="o.swf"></object><time itemprop=released>2025</time></div>"##;
        assert_eq!(
            of("microdata", html),
            json!([{"type": ["https://schema.org/Product", "https://schema.org/Thing"], "id": "urn:x:1", "properties": {
                "name": ["A lamp"], "image": ["https://example.org/p/i.png"], "url": ["https://example.org/u"], "sku": ["7"],
                "released": ["2024-01-01", "2025"], "d": ["5"], "m": [".5"], "price": ["9.99"], "mail": ["mailto:a@b.c"],
                "o": ["https://example.org/p/o.swf"]}}])
        );
    }

    #[test]
    fn items_nest_and_itemref_adds_in_tree_order() {
        let html = r##"<p id=b><span itemprop=y>before</span></p>
            <div itemscope itemref="a b missing"><span itemprop="x y">one</span>
              <div itemprop=offer itemscope itemtype=Offer><span itemprop=price>3</span></div>
              <div itemscope itemtype=Alone><i itemprop=z>z</i></div></div>
            <p id=a itemprop=x>two</p>"##;
        assert_eq!(
            of("microdata", html),
            json!([
                {"properties": {"y": ["before", "one"], "x": ["one", "two"],
                                "offer": [{"type": ["Offer"], "properties": {"price": ["3"]}}]}},
                {"type": ["Alone"], "properties": {"z": ["z"]}}
            ])
        );
    }

    #[test]
    fn a_property_of_no_item_is_an_item_where_nothing_refers_to_it() {
        let html = "<li itemprop=e itemscope itemtype=L><b itemprop=n>1</b><i itemprop=o itemscope></i></li>";
        assert_eq!(
            of("microdata", html),
            json!([{"type": ["L"], "properties": {"n": ["1"], "o": [{"properties": {}}]}}])
        );
        assert_eq!(
            of("microdata", &format!("{html}<b itemref=x></b>")),
            json!([])
        );
    }

    #[test]
    fn items_inside_themselves_and_endless_nesting_end() {
        let html = "<div itemscope itemref=a></div><div id=a itemprop=p itemscope itemref=b></div><div id=b itemprop=q itemscope itemref=a></div>";
        assert_eq!(
            of("microdata", html),
            json!([{"properties": {"p": [{"properties": {"q": [{"properties": {"p": ["ERROR"]}}]}}]}}])
        );
        let deep = "<div itemprop=a itemscope>".repeat(1_000);
        extract(&format!("<div itemscope>{deep}"));
        let wide: String = (0..40)
            .map(|i| format!("<b id=i{i} itemprop=p itemscope itemref='i{} j{}'></b><b id=j{i} itemprop=p itemscope itemref='i{} j{}'></b>", i + 1, i + 1, i + 1, i + 1))
            .collect();
        extract(&format!("<div itemscope itemref='i0 j0'></div>{wide}"));
    }
}

mod rdfa {
    use super::*;

    #[test]
    fn lite_as_schema_org_shows_it() {
        let html = r##"<div vocab="https://schema.org/" typeof="Product" resource="#lamp">
            <span property="name">Lamp</span> <img property="image" src="l.png" alt="">
            <div property="offers" typeof="Offer"><span property="price" content="9.99">$9.99</span>
              <link property="availability" href="https://schema.org/InStock"></div>
            <time property="releaseDate" datetime="2024-01-02">today</time></div>"##;
        assert_eq!(
            of("rdfa", html),
            json!([
                {"@id": "https://example.org/p/", "http://www.w3.org/ns/rdfa#usesVocabulary": [{"@id": "https://schema.org/"}]},
                {"@id": "https://example.org/p/#lamp", "@type": ["https://schema.org/Product"],
                 "https://schema.org/name": [{"@value": "Lamp"}],
                 "https://schema.org/image": [{"@id": "https://example.org/p/l.png"}],
                 "https://schema.org/offers": [{"@id": "_:gen1"}],
                 "https://schema.org/releaseDate": [{"@value": "2024-01-02", "@type": "http://www.w3.org/2001/XMLSchema#date"}]},
                {"@id": "_:gen1", "@type": ["https://schema.org/Offer"],
                 "https://schema.org/price": [{"@value": "9.99"}],
                 "https://schema.org/availability": [{"@id": "https://schema.org/InStock"}]}
            ])
        );
    }

    #[test]
    fn a_time_has_the_datatype_of_its_form() {
        const XSD: &str = "http://www.w3.org/2001/XMLSchema#";
        let html = "<p lang=en><time property='og:a' datetime=' PT2H '>two hours</time><time property='og:b'>2024-01</time>
            <time property='og:c'>today</time><time property='og:d' datetime=2024-01-02 content=2024></time>
            <time property='og:e' datatype='xsd:string' datetime=2024></time><time property='og:f' datatype='' datetime=2024></time>";
        let found = of("rdfa", html);
        let value = |name: &str| found[0][format!("http://ogp.me/ns#{name}")][0].clone();
        for (name, expected) in [
            (
                "a",
                json!({"@value": "PT2H", "@type": format!("{XSD}duration")}),
            ),
            (
                "b",
                json!({"@value": "2024-01", "@type": format!("{XSD}gYearMonth")}),
            ),
            ("c", json!({"@value": "today", "@language": "en"})),
            ("d", json!({"@value": "2024", "@language": "en"})),
            (
                "e",
                json!({"@value": "2024", "@type": format!("{XSD}string")}),
            ),
            ("f", json!({"@value": "2024"})),
        ] {
            assert_eq!(value(name), expected, "{name}");
        }
    }

    #[test]
    fn prefixes_languages_datatypes_and_relations() {
        let html = r##"<body lang=en prefix="ex: http://ex.org/ns# FOO: http://foo/"><p about="/a" property="dc:title ex:t" lang=fr>Titre</p>
            <p about="_:x" typeof="foaf:Person"><b property="foo:age" datatype="xsd:integer">42</b></p>
            <div about="/a" rel="foaf:maker"><span typeof="foaf:Agent" property="foaf:name">Ann</span></div>
            <a about="/a" rev="ex:partOf nofollow" href="/b">b</a><i property="unknown:x">no</i><i property=bare>no</i></body>"##;
        let found = of("rdfa", html);
        let a = &found[0];
        assert_eq!(a["@id"], "https://example.org/a");
        assert_eq!(
            a["http://purl.org/dc/terms/title"],
            json!([{"@value": "Titre", "@language": "fr"}])
        );
        assert_eq!(a["http://ex.org/ns#t"], a["http://purl.org/dc/terms/title"]);
        let by_id = |id: &str| {
            found
                .as_array()
                .expect("an array")
                .iter()
                .find(|s| s["@id"] == id)
                .cloned()
                .unwrap_or_default()
        };
        assert_eq!(
            by_id("_:x"),
            json!({"@id": "_:x", "@type": ["http://xmlns.com/foaf/0.1/Person"],
                   "http://foo/age": [{"@value": "42", "@type": "http://www.w3.org/2001/XMLSchema#integer"}]})
        );
        assert_eq!(
            by_id("https://example.org/b")["http://ex.org/ns#partOf"],
            json!([{"@id": "https://example.org/a"}])
        );
        assert!(
            a["http://xmlns.com/foaf/0.1/maker"][0]["@id"]
                .as_str()
                .is_some_and(|id| id.starts_with("_:"))
        );
        // A prefix that nobody declares is a scheme; a bare word is nothing.
        assert_eq!(
            by_id("https://example.org/p/"),
            json!({"@id": "https://example.org/p/", "unknown:x": [{"@value": "no", "@language": "en"}]})
        );
        assert!(!found.to_string().contains("bare"));
    }

    #[test]
    fn open_graph_is_rdfa_too() {
        let html = "<html xmlns:x='http://ogp.me/ns/article#'><meta property='og:title' content=x>
            <meta property='x:author' content=y><meta property='al:ios:url' content=z><p about=/other>x";
        assert_eq!(
            of("rdfa", html),
            json!([{"@id": "https://example.org/p/", "http://ogp.me/ns#title": [{"@value": "x"}],
                "http://ogp.me/ns/article#author": [{"@value": "y"}], "al:ios:url": [{"@value": "z"}]}])
        );
        assert_eq!(
            of(
                "rdfa",
                "<meta name='og:title' content=x><a rel=nofollow href=/>x</a>"
            ),
            json!([])
        );
    }

    #[test]
    fn lists_keep_their_members_in_order() {
        let html = "<div prefix='ex: http://ex/' about=/a><b property=ex:step inlist>one</b>
            <a rel=ex:step inlist href=/two>two</a><b property=ex:step>apart</b><b property=ex:step inlist>one</b>
            <div rel=ex:part inlist><i about=/x>x</i><i about=/y>y</i></div><p rel=ex:none inlist></p></div>";
        assert_eq!(
            of("rdfa", html)[0],
            json!({"@id": "https://example.org/a",
                "http://ex/step": [
                    {"@list": [{"@value": "one"}, {"@id": "https://example.org/two"}, {"@value": "one"}]},
                    {"@value": "apart"}],
                "http://ex/part": [{"@list": [{"@id": "https://example.org/x"}, {"@id": "https://example.org/y"}]}],
                "http://ex/none": [{"@list": []}]})
        );
    }

    #[test]
    fn markup_literals_keep_their_markup() {
        let html = "<p lang=en property='og:x' datatype='rdf:XMLLiteral'>E = mc<sup>2</sup> &amp; more</p>
            <p property='og:y' datatype='rdf:HTML'><br>b</p><p property='og:z'>plain <b>text</b></p>";
        let rdf = "http://www.w3.org/1999/02/22-rdf-syntax-ns#";
        assert_eq!(
            of("rdfa", html)[0],
            json!({"@id": "https://example.org/p/",
                "http://ogp.me/ns#x": [{"@value": "E = mc<sup>2</sup> &amp; more", "@type": format!("{rdf}XMLLiteral")}],
                "http://ogp.me/ns#y": [{"@value": "<br>b", "@type": format!("{rdf}HTML")}],
                "http://ogp.me/ns#z": [{"@value": "plain text"}]})
        );
    }

    #[test]
    fn a_triple_is_there_once() {
        let html =
            "<p property='og:title'>x</p><p property='og:title'>x</p><p property='og:title'>y</p>";
        assert_eq!(
            of("rdfa", html)[0]["http://ogp.me/ns#title"],
            json!([{"@value": "x"}, {"@value": "y"}])
        );
    }
}

#[test]
fn open_graph_is_one_object_with_every_property_in_order() {
    let html = "<meta property='og:title' content=' T '><meta property='og:image' content=1><meta property='og:image' content=2>
        <meta property='article:section' content=S><meta name='twitter:card' content=no><meta name=description content=no>";
    assert_eq!(
        of("opengraph", html),
        json!([{"namespace": {"article": "http://ogp.me/ns/article#", "og": "http://ogp.me/ns#"},
                "properties": [["og:title", "T"], ["og:image", "1"], ["og:image", "2"], ["article:section", "S"]]}])
    );
    // Vocabularies that the page declares count, others do not.
    let html = "<html prefix='fb: http://ogp.me/ns/fb#'><meta property='og:type' content=T>
        <meta property='fb:app_id' content=1><meta property='al:ios:url' content=no>";
    assert_eq!(
        of("opengraph", html),
        json!([{"namespace": {"fb": "http://ogp.me/ns/fb#", "og": "http://ogp.me/ns#"},
                "properties": [["og:type", "T"], ["fb:app_id", "1"]]}])
    );
    assert_eq!(
        of("opengraph", "<meta property='fb:app_id' content=1>"),
        json!([])
    );
}

#[test]
fn dublin_core_has_elements_and_terms() {
    let html = "<link rel='schema.DC' href='http://purl.org/dc/elements/1.1/'><meta name='DC.Title' content='T'>
        <meta name='dc.date.issued' content=2020><meta name='dc.date.x-y' content=2021>
        <meta name='DCTERMS.abstract' content=A><meta name='dc.audience' content=B>
        <link rel='dcterms.replaces' href='/old'><link rel='dc.title nofollow' href='/no'>";
    assert_eq!(
        of("dublincore", html),
        json!([{"namespaces": {"DC": "http://purl.org/dc/elements/1.1/"},
            "elements": [
                {"name": "DC.Title", "content": "T", "URI": "http://purl.org/dc/elements/1.1/title"},
                {"name": "dc.date.x-y", "content": "2021", "URI": "http://purl.org/dc/elements/1.1/date"}],
            "terms": [
                {"name": "dc.date.issued", "content": "2020", "URI": "http://purl.org/dc/terms/issued"},
                {"name": "DCTERMS.abstract", "content": "A", "URI": "http://purl.org/dc/terms/abstract"},
                {"name": "dc.audience", "content": "B", "URI": "http://purl.org/dc/terms/audience"},
                {"rel": "dcterms.replaces", "href": "/old", "URI": "http://purl.org/dc/terms/replaces"}]}])
    );
}

mod microformats {
    use super::*;

    #[test]
    fn an_entry_with_its_author_and_content() {
        let html = r##"<article class="h-entry"><h1 class="p-name">A <b>note</b></h1>
            <p class="p-author h-card"><img class="u-photo" src="a.jpg" alt="Ann"><a class="p-name u-url" href="/ann">Ann A.</a></p>
            <time class="dt-published" datetime="2024-03-04">March</time>
            <div class="e-content"><p>One &amp; <a href="x">two</a></p></div><a class="u-url" href="/n/1">#</a>
            <div class="e-note"><i title='"&amp;<'>a&nbsp;&lt;b&gt;&amp;</i><br></div><a class="p-category">x</a><a class="p-category">y</a></article>"##;
        assert_eq!(
            of("microformat", html),
            json!([{"type": ["h-entry"], "properties": {
                "name": ["A note"],
                "author": [{"type": ["h-card"], "properties": {
                    "photo": [{"value": "https://example.org/p/a.jpg", "alt": "Ann"}],
                    "name": ["Ann A."], "url": ["https://example.org/ann"]}, "value": "Ann A."}],
                "published": ["2024-03-04"],
                "content": [{"html": "<p>One &amp; <a href=\"x\">two</a></p>", "value": "One & two"}],
                "url": ["https://example.org/n/1"],
                "note": [{"html": "<i title=\"&quot;&amp;&lt;\">a&nbsp;&lt;b&gt;&amp;</i><br>", "value": "a <b>&"}],
                "category": ["x", "y"]}}])
        );
    }

    #[test]
    fn what_is_not_stated_is_implied() {
        let card = |html: &str| of("microformat", html)[0]["properties"].clone();
        assert_eq!(
            card(r#"<a class="h-card" href="/ann"><img src="a.jpg" alt="Ann"></a>"#),
            json!({"name": ["Ann"], "photo": [{"value": "https://example.org/p/a.jpg", "alt": "Ann"}], "url": ["https://example.org/ann"]})
        );
        assert_eq!(
            card("<p class=h-card>Bo <script>x</script>B.</p>"),
            json!({"name": ["Bo B."]})
        );
        assert_eq!(
            card("<p class=h-card><abbr title='Cy C.'>CC</abbr></p>"),
            json!({"name": ["Cy C."]})
        );
        assert_eq!(
            card("<p class=h-card><b class=p-nickname>D</b></p>"),
            json!({"nickname": ["D"]})
        );
    }

    #[test]
    fn the_value_class_pattern_joins_parts() {
        let html = r##"<div class=h-event><p class=p-tel>Tel <b class=value>+1</b> or <b class=value>23</b></p>
            <p class=dt-start><abbr class=value title="2024-05-06">6 May</abbr> at <span class=value>19:00</span></p>
            <p class=p-x><b class=value-title title="T">shown</b></p></div>"##;
        let found = of("microformat", html);
        assert_eq!(
            found[0]["properties"],
            json!({"tel": ["+123"], "start": ["2024-05-06 19:00"], "x": ["T"]})
        );
    }

    #[test]
    fn classic_items_are_read_by_their_new_names() {
        let html = r##"<div class="hentry post"><h2 class="entry-title p-other">T</h2><a rel="bookmark" href="/t">#</a>
            <span class="author vcard"><a class="url fn" href="/ann">Ann</a><i class="title">Editor</i></span>
            <a rel="tag nofollow" href="/x">x</a><div class="entry-content"><p>Text</p></div></div><div class="hentry">menu</div>"##;
        assert_eq!(
            of("microformat", html),
            json!([{"type": ["h-entry"], "properties": {
                "name": ["T"], "url": ["https://example.org/t"],
                "author": [{"type": ["h-card"], "properties": {"url": ["https://example.org/ann"], "name": ["Ann"], "job-title": ["Editor"]}, "value": "Ann"}],
                "category": ["x"], "content": [{"html": "<p>Text</p>", "value": "Text"}]}}])
        );
    }

    #[test]
    fn a_feed_of_a_theme_is_named_by_its_site() {
        let html = "<div class='hfeed site' id=page><h1 class=site-title>Webs</h1><p class=site-description>On spiders</p>
            <div class=hentry><b class=entry-title>T</b></div></div>";
        assert_eq!(
            of("microformat", html),
            json!([{"type": ["h-feed"], "id": "page",
                "properties": {"name": ["Webs"], "summary": ["On spiders"]},
                "children": [{"type": ["h-entry"], "properties": {"name": ["T"]}}]}])
        );
        let html = "<p class=vcard><b class=fn>Ann</b> <b class=organization-unit>Silk</b><b class=extended-address>3rd floor</b></p>";
        assert_eq!(
            of("microformat", html)[0]["properties"],
            json!({"name": ["Ann"], "organization-unit": ["Silk"], "extended-address": ["3rd floor"]})
        );
    }

    #[test]
    fn items_that_are_no_property_are_children() {
        let html = "<div class=h-feed><div class=h-entry>a</div><div class=h-entry><div class='h-x-note'>b</div></div></div><i class=h-geo>c</i>";
        let found = of("microformat", html);
        assert_eq!(
            found[0]["children"][0],
            json!({"type": ["h-entry"], "properties": {"name": ["a"]}})
        );
        assert_eq!(
            found[0]["children"][1]["children"][0]["type"],
            json!(["h-x-note"])
        );
        assert_eq!(found[1]["properties"]["name"], json!(["c"]));
    }
}

#[test]
fn hostile_pages_cost_what_they_weigh() {
    for unit in [
        "<div itemscope><b itemprop='a b c'>x",
        "<div class='h-entry p-a e-b u-c'>x",
        "<div typeof=a:b vocab='http://v/' rel='x:y' property='p q r' prefix='x: http://y/'>z",
        "<div about=/x rel='http://a/b http://c/d' lang=en>",
    ] {
        extract(&unit.repeat(1_000));
    }
    let names = (0..5_000)
        .map(|i| format!("p-a{i} ").replace(|c: char| c.is_ascii_digit(), "x"))
        .collect::<String>();
    let text = "word ".repeat(20_000);
    let nested = format!("<b class='{names}'>").repeat(50);
    extract(&format!("<div class=h-entry>{nested}{text}"));
}
