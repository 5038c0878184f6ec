//! Several authors, and what stands around their names.

use crate::facts;

#[test]
fn all_authors_of_a_text_are_named() {
    const BOTH: &str = "Ann Lee, Bo Lim";
    for (html, expected) in [
        (
            "<p>By <a rel=author href=/x/ann>Ann Lee</a> and <a rel=author href=/x/bo>Bo Lim</a></p>",
            BOTH,
        ),
        (
            "<ul><li><a rel=author href=/x/ann>Ann Lee</a><li><a rel=author href=/x/bo>Bo Lim</a></ul>",
            BOTH,
        ),
        (
            "<p><a rel=author href=/x/ann>Ann Lee</a>, Weaver News, and <a rel=author href=/x/bo>Bo Lim</a></p>",
            BOTH,
        ),
        (
            "<p><a rel=author href=/x/ann><img></a><a rel=author href=/x/ann>Ann Lee</a> <a rel=author href=/x/ann>Her posts</a></p>",
            "Ann Lee",
        ),
        (
            "<div><span itemprop=author itemscope itemtype=https://schema.org/Person><b itemprop=name>Ann Lee</b><i itemprop=jobTitle>Editor</i></span>
             <span itemprop=author itemscope itemtype=https://schema.org/Person><b itemprop=name>Bo Lim</b></span></div>",
            BOTH,
        ),
        (
            "<h1>T</h1><div class=meta><a href=/author/ann>Ann Lee</a>, <a href=/author/bo>Bo Lim</a></div>",
            BOTH,
        ),
        (
            "<h1>T</h1><div class=authors><a href=/author/ann>Ann Lee</a> <a href=/author/bo>Bo Lim</a></div>",
            BOTH,
        ),
        ("<meta name=author content='Ann Lee; Bo Lim'>", BOTH),
        ("<meta name=author content='Ann Lee and Bo Lim'>", BOTH),
        ("<meta name=author content='Ann Lee &amp;amp; Bo Lim'>", BOTH),
        (
            "<meta name=citation_author content='Lee, Ann'><meta name=citation_author content='Lim, Bo'>",
            BOTH,
        ),
        (
            "<meta name=citation_authors content='Lee, Ann; Lim, Bo'>",
            BOTH,
        ),
        (
            "<meta name=DC.creator content='Lee, Ann'><meta name=DC.creator content='García Lim, Bo'>",
            "Ann Lee, Bo García Lim",
        ),
        ("<meta name=DC.creator content='Ann Lee, Bo Lim'>", BOTH),
        (
            r#"<script type=application/ld+json>{"@type":"Article","author":"Ann Lee and Bo Lim"}</script>"#,
            BOTH,
        ),
        // The next text has an author of its own.
        (
            "<div><h2>One</h2><a rel=author href=/x/ann>Ann Lee</a><p>Words</p><h2>Two</h2><a rel=author href=/x/bo>Bo Lim</a></div>",
            "Ann Lee",
        ),
        (
            "<ul><li><a rel=author href=/x/ann>Ann Lee</a> on webs<li><a rel=author href=/x/bo>Bo Lim</a> on silk</ul>",
            "Ann Lee",
        ),
        ("<meta name=author content='Lee, Ann'>", "Lee, Ann"),
    ] {
        assert_eq!(facts(html).author.as_deref(), Some(expected), "{html}");
    }
}

#[test]
fn markup_and_callings_are_no_part_of_a_name() {
    for (content, expected) in [
        ("&lt;a href=/x&gt;Ann Lee&lt;/a&gt;", "Ann Lee"),
        ("Ann Lee, Senior Editor", "Ann Lee"),
        ("Jane Doe, M.D., Ph.D.", "Jane Doe"),
        ("홍길동 기자", "홍길동"),
        ("山田 太郎（記者）", "山田 太郎"),
        ("Ann Lee (Reuters)", "Ann Lee"),
    ] {
        for html in [
            format!("<meta name=author content='{content}'>"),
            format!(
                "<script type=application/ld+json>{{\"@type\":\"Article\",\"author\":{{\"name\":\"{content}\"}}}}</script>"
            ),
        ] {
            assert_eq!(facts(&html).author.as_deref(), Some(expected), "{html}");
        }
    }
}

#[test]
fn authors_beyond_number_cost_no_more() {
    let link = |n| format!("<a rel=author href=/x/{n}>Ann Lee{n}</a>, ");
    let html: String = (0..2000).map(link).collect();
    let found = facts(&html).author.unwrap_or_default();
    assert_eq!(found.split(", ").count(), 20);
}

/// A system's first account is nobody, whoever wrote the text.
#[test]
fn the_account_that_a_system_comes_with_is_no_author_where_one_is_named() {
    for stated in [
        "<meta name=author content=admin>",
        "<meta name=author content=Administrator>",
        r#"<script type=application/ld+json>{"@type":"BlogPosting","author":{"@type":"Person","name":"wpadmin"}}</script>"#,
    ] {
        let page =
            format!("{stated}<main><h1>T</h1><p class=byline>By Ann Lee</p><p>Words.</p></main>");
        assert_eq!(facts(&page).author.as_deref(), Some("Ann Lee"), "{page}");
    }
    let alone = facts("<meta name=author content=admin><main><h1>T</h1><p>Words.</p></main>");
    assert_eq!(alone.author.as_deref(), Some("admin"));
}

#[test]
fn value_objects_of_json_ld_are_read() {
    let found = facts(
        r#"<script type=application/ld+json>{"@type":"NewsArticle","datePublished":{"@type":"Date","@value":"2024-03-01"},
        "author":{"@type":"Person","name":{"@value":"Ann Lee","@language":"en"}}}</script>"#,
    );
    assert_eq!(found.author.as_deref(), Some("Ann Lee"));
    assert_eq!(found.published.as_deref(), Some("2024-03-01"));
}

#[test]
fn a_stated_name_keeps_its_first_name() {
    for (lang, content, expected) in [
        ("sv", "Per Larsson", "Per Larsson"),
        ("sv", "Per Olof Larsson", "Per Olof Larsson"),
        ("en", "Oleh Petrenko", "Oleh Petrenko"),
        ("en", "Di Wu", "Di Wu"),
        ("en", "See Kee Oon", "See Kee Oon"),
        ("en", "Read Montague", "Read Montague"),
        ("de", "Von Anna Müller", "Anna Müller"),
        ("pt", "Por Ana Silva e João Souza", "Ana Silva, João Souza"),
    ] {
        for head in [
            format!("<meta name=author content='{content}'>"),
            format!(
                "<script type=application/ld+json>{{\"@type\":\"Article\",\"author\":{{\"name\":\"{content}\"}}}}</script>"
            ),
        ] {
            let html = format!("<html lang={lang}><head>{head}");
            assert_eq!(facts(&html).author.as_deref(), Some(expected), "{html}");
        }
    }
}

#[test]
fn repeated_metas_of_people_are_a_list() {
    let metas = |names: &[&str]| -> String {
        let one = |name: &&str| format!("<meta name=author content='{name}'>");
        names.iter().map(one).collect()
    };
    const PANDOC: &str = "<meta name=generator content='pandoc 3.1'>";
    for (html, expected) in [
        (metas(&["Ann Lee", "Bo Lim"]), "Ann Lee, Bo Lim"),
        (metas(&["Ann Lee", "Ann Lee"]), "Ann Lee"),
        // One is the site, a house, or a login.
        (metas(&["Ann Lee", "Orb Journal"]), "Ann Lee"),
        (metas(&["Ann Lee", "Silk Media Inc."]), "Ann Lee"),
        (metas(&["Ann Lee", "annlee"]), "Ann Lee"),
        (
            format!("{PANDOC}{}", metas(&["Ann Lee", "weaver42"])),
            "Ann Lee, weaver42",
        ),
    ] {
        assert_eq!(facts(&html).author.as_deref(), Some(expected), "{html}");
    }
}

#[test]
fn a_review_that_is_the_page_has_its_author_and_date() {
    let review = |kind: &str, more: &str| {
        format!(
            r#"{{"@type":{kind},"author":{{"@type":"Person","name":"Ann Lee"}},"datePublished":"2024-03-14","itemReviewed":{{"@type":"Movie","name":"Silk"}}{more}}}"#
        )
    };
    let alone = review(r#""Review""#, "");
    let of_site = alone.replace("Movie", "Restaurant");
    let own = (Some("Ann Lee"), Some("2024-03-14"));
    let none = (None, None);
    for (things, expected) in [
        (alone.clone(), own),
        (review(r#"["Article","Review"]"#, ""), own),
        (
            format!(
                r#"{alone},{{"@type":"WebPage","name":"A page"}},{{"@type":"Organization","name":"The Weaver"}}"#
            ),
            own,
        ),
        (
            format!(
                r#"{},{{"@type":"Movie","name":"Silk"}}"#,
                review(r#""Review""#, r#","headline":"Silk, a review""#)
            ),
            own,
        ),
        (
            format!(
                r#"{{"@type":"WebPage","mainEntity":{alone}}},{{"@type":"Movie","name":"Silk"}}"#
            ),
            own,
        ),
        // What customers say.
        (
            format!(r#"{alone},{{"@type":"Product","name":"Silk"}}"#),
            none,
        ),
        (format!("{alone},{alone}"), none),
        (
            format!(r#"{of_site},{{"@type":"WebSite","name":"Silk"}}"#),
            none,
        ),
    ] {
        let html = format!("<script type=application/ld+json>[{things}]</script><h1>On webs</h1>");
        let found = facts(&html);
        let found = (found.author.as_deref(), found.published.as_deref());
        assert_eq!(found, expected, "{things}");
    }
}

#[test]
fn who_did_something_else_is_no_author() {
    const ANN: Option<&str> = Some("Ann Lee");
    for (html, expected) in [
        (
            "<p>Medically reviewed by <a class=author href=/author/bo>Bo Lim, MD</a> — Written by \
             <a class=author href=/author/ann>Ann Lee</a></p>",
            ANN,
        ),
        (
            "<p>Fact checked by <a href=/author/bo>Bo Lim</a></p><p>Written by <a href=/author/ann>Ann Lee</a></p>",
            ANN,
        ),
        (
            "<div class=byline><span>Edited by:</span> <a href=/author/bo>Bo Lim</a> <span>By</span> <b>Ann Lee</b></div>",
            ANN,
        ),
        (
            "<div class=byline>Reviewed by <a href=/author/bo>Bo Lim</a></div>",
            None,
        ),
        ("<p>Geprüft von <a href=/autor/bo>Bo Lim</a></p>", None),
        (
            "<p>Written and reviewed by <a href=/author/ann>Ann Lee</a></p>",
            ANN,
        ),
        // Links of other kinds.
        (
            "<p>Long ago, several operations in a row would lead to the classic \
             <a href=/people/x>callback hell</a> that nobody wants to see again.</p>",
            None,
        ),
        (
            "<a href='/user/questions?goal=1'>I want to learn and</a>",
            None,
        ),
        ("<a href=/nba/team/_/name/sea>Seattle</a>", None),
        (
            "<p class=byline><span class=byline__category><a href=/wellness>Wellness &amp; Prevention</a></span></p>",
            None,
        ),
        (
            "<p class=byline><a href=/editorial-policies>editorial policies</a></p>",
            None,
        ),
        (
            "<p class=byline><a href=/tag/silk>Silk and More</a> <a href=/author/ann>Ann Lee</a></p>",
            ANN,
        ),
    ] {
        let found = facts(&format!("<h1>On webs</h1>{html}")).author;
        assert_eq!(found.as_deref(), expected, "{html}");
    }
}

#[test]
fn bylines_have_forms_of_their_own() {
    for (html, expected) in [
        (
            "<h6>Author(s)</h6><ul><li><a href='/x?a=1'>Ann Lee</a></li><li><a href='/x?a=2'>Bo Lim</a></li></ul>",
            "Ann Lee, Bo Lim",
        ),
        ("<h6>Author(s)</h6><p>Ann Lee</p>", "Ann Lee"),
        (
            "<ul class=authors><li><b>Ann Lee</b> <i>University of Silk</i></li><li><b>Bo Lim</b></li></ul>",
            "Ann Lee, Bo Lim",
        ),
        (
            "<p>By <span>Ann Lee</span> and <span>Bo Lim</span></p>",
            "Ann Lee, Bo Lim",
        ),
        (
            "<p>55 points by <a href='user?id=annlee'>annlee</a></p>",
            "annlee",
        ),
        ("<p><a href=space-uid-2.html>annlee</a></p>", "annlee"),
        ("<p>Guest post by Ann Lee</p>", "Ann Lee"),
        ("<p class=byline>Ann Lee 5 min read</p>", "Ann Lee"),
        ("<p>Posted by msmash on Friday</p>", "msmash"),
        (
            "<p>Posted by <a href=https://social.example/x>BeauHD</a></p>",
            "BeauHD",
        ),
        ("<p>執筆者: 山田太郎</p>", "山田太郎"),
        ("<p>投稿者 山田太郎</p>", "山田太郎"),
        ("<p>홍길동 기자 hong@geomi.example</p>", "홍길동"),
        (
            "<span class=css-1x2 data-testid=byline-name>Ann Lee</span>",
            "Ann Lee",
        ),
    ] {
        let found = facts(&format!("<h1>On webs</h1>{html}")).author;
        assert_eq!(found.as_deref(), Some(expected), "{html}");
    }
    for html in [
        "<p>홍길동 기자의 다른 기사</p>",
        "<p>投稿者のコメント</p>",
        "<p>Published by hand</p>",
        "<ul><li>Ann Lee<li>Bo Lim</ul>",
    ] {
        let found = facts(&format!("<h1>On webs</h1>{html}")).author;
        assert_eq!(found, None, "{html}");
    }
}

#[test]
fn json_ld_may_write_its_keys_with_a_prefix_and_its_values_as_objects() {
    for json in [
        r#"{"@type":"schema:Article","schema:author":{"schema:name":"Ann Lee"},"schema:datePublished":"2024-03-14"}"#,
        r#"{"@type":"http://schema.org/Article","http://schema.org/author":[{"http://schema.org/name":[{"@value":"Ann Lee"}]}],"http://schema.org/datePublished":[{"@type":"http://schema.org/Date","@value":"2024-03-14"}]}"#,
        r#"{"@type":"Article","author":{"@list":[{"@type":"Person","name":"Ann Lee"}]},"datePublished":"2024-03-14"}"#,
    ] {
        let found = facts(&format!("<script type=application/ld+json>{json}</script>"));
        assert_eq!(found.author.as_deref(), Some("Ann Lee"), "{json}");
        assert_eq!(found.published.as_deref(), Some("2024-03-14"), "{json}");
    }
}

#[test]
fn who_has_the_rights_is_not_the_author_where_another_is_named() {
    let house =
        "<meta name=author content='Orb House'><meta name=copyright content='(c) Orb House 2024'>";
    for (html, expected) in [
        (
            "<meta property=article:author content='Ann Lee'>",
            "Ann Lee",
        ),
        (
            "<h1>T</h1><p class=byline>By <a href=/author/ann>Ann Lee</a></p>",
            "Ann Lee",
        ),
        ("<p>Text", "Orb House"),
    ] {
        let html = format!("{house}{html}");
        assert_eq!(facts(&html).author.as_deref(), Some(expected), "{html}");
    }
    let part = "<meta name=author content='Ann Li'><meta name=publisher content='Joann Lipton Books'>\
                <h1>T</h1><p class=byline>By <a href=/author/bo>Bo Lim</a></p>";
    assert_eq!(facts(part).author.as_deref(), Some("Ann Li"));
}

#[test]
fn what_visitors_may_do_is_no_author() {
    for html in [
        "<a href=/users/sign_out>Raus</a><h1>T</h1><p>Text",
        "<h1>T</h1><div class=author><a href=/author/ann/feed>Get author RSS feed</a></div>",
    ] {
        assert_eq!(facts(html).author, None, "{html}");
    }
    let listed = "<h1>T</h1><div class=byline><a href=/about/editors/ann-lee/>Ann Lee</a></div>";
    assert_eq!(facts(listed).author.as_deref(), Some("Ann Lee"));
    let named = "<h1>T</h1><p><span class=authorname-txt><i>Ann Lee</i></span></p>";
    assert_eq!(facts(named).author.as_deref(), Some("Ann Lee"));
    let list = "<h1>T</h1><p class=author>田中宏昌，</p>";
    assert_eq!(facts(list).author.as_deref(), Some("田中宏昌"));
}

#[test]
fn who_publishes_a_site_of_their_own_may_be_the_author() {
    let ann = r#"{"@type":["Person","Organization"],"@id":"/#ann","name":"Ann Lee"}"#;
    let text = r#"{"@type":"Article","author":{"name":"Ann Lee","@id":"/#ann"},"publisher":{"@id":"/#ann"}}"#;
    let page = |site: &str| {
        let graph = format!(r#"{{"@context":"https://schema.org","@graph":[{text},{ann}{site}]}}"#);
        facts(&format!(
            "<script type=application/ld+json>{graph}</script><h1>T</h1>\
             <div class=author_box><a href=#card>Jump to the card</a></div><p class=post-author>Robyn</p>"
        ))
    };
    let found = page(r#",{"@type":"WebSite","name":"Silk and Webs"}"#);
    assert_eq!(found.author.as_deref(), Some("Ann Lee"));
    assert_eq!(found.site_name.as_deref(), Some("Silk and Webs"));
    assert_eq!(page("").site_name.as_deref(), Some("Ann Lee"));
}
