//! RSS, Atom and JSON Feed.

use super::{convert, html};

#[test]
fn entries_of_rss_are_articles_with_links_dates_and_authors() {
    let feed = r#"<?xml version="1.0"?><rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/"
        xmlns:dc="http://purl.org/dc/elements/1.1/"><channel><title>News &amp; more</title><link>https://e.org/</link>
        <description>All that is new</description><language>en-gb</language>
        <image><title>Not this</title><url>https://e.org/i.png</url></image>
        <item><title>First &lt;b&gt;</title><link>https://e.org/1</link><pubDate>Mon, 06 Sep 2021 00:01:00 +0000</pubDate>
        <dc:creator>Anna</dc:creator><description>Short</description>
        <content:encoded><![CDATA[<p>The <a href="https://e.org/x">whole</a> text</p>]]></content:encoded></item>
        <item><guid>https://e.org/2</guid><description>&lt;p&gt;Second&lt;/p&gt;</description>
        <enclosure url="https://e.org/2.mp3" type="audio/mpeg"/><author>b@e.org (Berta)</author></item></channel></rss>"#;
    let (html, notice) = convert(feed.as_bytes()).expect("a feed");
    assert_eq!(notice, "converted from an RSS feed of 2 entries");
    for part in [
        r#"<html lang="en-gb">"#,
        "<title>News &amp; more</title>",
        r#"<meta name="description" content="All that is new">"#,
        r#"<h1><a href="https://e.org/">News &amp; more</a></h1>"#,
        r#"<h2><a href="https://e.org/1">First &lt;b&gt;</a></h2>"#,
        r#"<time datetime="Mon, 06 Sep 2021 00:01:00 +0000">"#,
        "</time> Anna</p>",
        r#"<div><p>The <a href="https://e.org/x">whole</a> text</p></div>"#,
        r#"<a href="https://e.org/2">https://e.org/2</a>"#,
        "<div><p>Second</p></div>",
        r#"<a href="https://e.org/2.mp3">"#,
        "<p>Berta</p>",
    ] {
        assert!(html.contains(part), "{part}: {html}");
    }
    assert!(
        !html.contains("Not this") && !html.contains("Short"),
        "{html}"
    );
}

#[test]
fn entries_of_atom_have_text_html_or_xhtml() {
    let feed = r#"<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="fr"><title>Blog</title><updated>2024-01-02T00:00:00Z</updated>
        <link rel="self" href="https://e.org/feed"/><link href="https://e.org/"/><author><name>Claire</name><email>c@e.org</email></author>
        <entry><title type="html">One &amp;amp; two</title><link rel="alternate" href="/1"/><published>2024-01-01T00:00:00Z</published>
        <content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>A <a href="/y">link</a> &lt;</p></div></content></entry>
        <entry><title>Three</title><summary>1 &lt; 2</summary></entry></feed>"#;
    let html = html(feed.as_bytes());
    for part in [
        r#"<html lang="fr">"#,
        r#"<meta name="author" content="Claire">"#,
        r#"<h1><a href="https://e.org/">Blog</a></h1>"#,
        r#"<h2><a href="/1">One &amp; two</a></h2>"#,
        r#"<p>A <a href="/y">link</a> &lt;</p></div>"#,
        "<p>1 &lt; 2</p>",
    ] {
        assert!(html.contains(part), "{part}: {html}");
    }
    assert_eq!(html.matches("<article>").count(), 2);
}

#[test]
fn xhtml_of_atom_becomes_html() {
    let feed = r#"<feed xmlns="http://www.w3.org/2005/Atom"><entry><title>T</title><content type="xhtml">
        <div xmlns="http://www.w3.org/1999/xhtml"><p>one<br/>two<br></br><img src="/i.png"/></p><p/></div></content></entry></feed>"#;
    let html = html(feed.as_bytes());
    let expected = r#"<p>one<br>two<br><img src="/i.png"></p><p></p></div>"#;
    assert!(html.contains(expected), "{html}");
}

#[test]
fn references_are_resolved_against_xml_base() {
    let feed = r#"<feed xmlns="http://www.w3.org/2005/Atom" xml:base="https://e.org/blog/"><title>T</title><link href="."/>
        <entry xml:base="2024/"><title>One</title><link href="one"/><content type="xhtml" xml:base="one/">
        <div><a href="more">a</a><a href="mailto:a@e.org">b</a><b xml:base="/"><img src="i.png"/></b><a href="end">c</a></div></content></entry>
        <entry><title>Two</title><link href="two"/></entry></feed>"#;
    let html = html(feed.as_bytes());
    for url in [
        "https://e.org/blog/",
        "https://e.org/blog/2024/one",
        "https://e.org/blog/2024/one/more",
        "mailto:a@e.org",
        "https://e.org/i.png",
        "https://e.org/blog/2024/one/end",
        "https://e.org/blog/two",
    ] {
        assert!(html.contains(&format!("\"{url}\"")), "{url}: {html}");
    }
}

#[test]
fn references_in_html_of_atom_are_resolved_against_xml_base() {
    let feed = r#"<feed xmlns="http://www.w3.org/2005/Atom" xml:base="https://e.org/blog/"><title>T</title>
        <entry><title>One</title><content type="html" xml:base="one">&lt;a href="two?c&amp;amp;d"&gt;a&lt;/a&gt;
        &lt;img alt='src="x"' src=i.png&gt; &lt;a href='it&amp;#39;s'&gt;b&lt;/a&gt; &lt;a href="mailto:a@e.org"&gt;c&lt;/a&gt; &lt;p&gt;href="no"</content></entry>
        <entry><title>Two</title><content type="text">&lt;a href="text"&gt;</content></entry></feed>"#;
    let html = html(feed.as_bytes());
    for part in [
        r#"<a href="https://e.org/blog/two?c&amp;d">a</a>"#,
        r#"<img alt='src="x"' src=https://e.org/blog/i.png>"#,
        "<a href='https://e.org/blog/it%27s'>b</a>",
        r#"<a href="mailto:a@e.org">c</a> <p>href="no""#,
        "&lt;a href=&quot;text&quot;&gt;",
    ] {
        assert!(html.contains(part), "{part}: {html}");
    }
    let feed = r#"<rss xml:base="https://e.org/"><channel><item><title>T</title>
        <description>&lt;a href="/x"&gt;x&lt;/a&gt;</description></item></channel></rss>"#;
    let html = super::html(feed.as_bytes());
    assert!(
        html.contains(r#"<a href="https://e.org/x">x</a>"#),
        "{html}"
    );
}

#[test]
fn a_guid_is_the_link_where_there_is_no_other_and_it_is_one() {
    let feed = r#"<rss version="2.0"><channel><title>T</title>
        <item><guid>https://e.org/id/1</guid><link>https://e.org/1</link><title>One</title></item>
        <item><guid isPermaLink="false">https://e.org/id/2</guid><title>Two</title></item>
        <item><title>Three</title><guid isPermaLink="true">https://e.org/3</guid></item>
        <item><title>Four</title></item></channel></rss>"#;
    let html = html(feed.as_bytes());
    for part in [
        r#"<h2><a href="https://e.org/1">One</a></h2>"#,
        "<h2>Two</h2>",
        r#"<h2><a href="https://e.org/3">Three</a></h2>"#,
        "<h2>Four</h2>",
    ] {
        assert!(html.contains(part), "{part}: {html}");
    }
}

#[test]
fn the_description_of_a_video_stands_in_for_a_content() {
    let feed = r#"<feed xmlns="http://www.w3.org/2005/Atom" xmlns:media="http://search.yahoo.com/mrss/"><title>T</title>
        <entry><title>One</title><media:group><media:title>Not this</media:title><media:description>Said of it</media:description></media:group></entry>
        <entry><title>Two</title><summary>Its own</summary><media:description>Of a picture</media:description></entry></feed>"#;
    let html = html(feed.as_bytes());
    assert!(html.contains("<h2>One</h2>\n<p>Said of it</p>"), "{html}");
    assert!(html.contains("<h2>Two</h2>\n<p>Its own</p>"), "{html}");
    assert!(!html.contains("Not this"), "{html}");
}

#[test]
fn entries_of_a_json_feed_are_articles() {
    let feed = r#"{"version": "https://jsonfeed.org/version/1.1", "title": "Feed", "home_page_url": "https://e.org/",
        "items": [{"id": "1", "url": "https://e.org/1", "title": "T", "content_html": "<p>x</p>", "authors": [{"name": "D"}],
        "date_published": "2024-05-06T07:08:09Z"}, {"id": "2", "content_text": "a < b"}]}"#;
    let (html, notice) = convert(feed.as_bytes()).expect("a feed");
    assert_eq!(notice, "converted from a JSON feed of 2 entries");
    assert!(
        html.contains(r#"<h2><a href="https://e.org/1">T</a></h2>"#),
        "{html}"
    );
    assert!(
        html.contains("</time> D</p>\n<div><p>x</p></div>"),
        "{html}"
    );
    assert!(html.contains("<p>a &lt; b</p>"), "{html}");
}

#[test]
fn a_feed_is_known_behind_comments_instructions_and_declarations() {
    let item = "<channel><title>T</title><item><title>one</title></item></channel>";
    for before in [
        "<!-- made by <b>hand</b> -->",
        "\u{feff}<?xml version='1.0'?>\n<?xml-stylesheet href='<a>'?>",
        "<!DOCTYPE rss [<!ENTITY n '<i>'>]>",
    ] {
        let html = html(format!("{before}<rss>{item}</rss>").as_bytes());
        assert!(html.contains("<h2>one</h2>"), "{before}: {html}");
    }
}

#[test]
fn a_feed_that_breaks_off_keeps_what_was_read() {
    let feed = "<rss><channel><title>T</title><item><title>one</title></item><item><title>two</title><desc";
    let (html, notice) = convert(feed.as_bytes()).expect("a feed");
    assert!(
        html.contains("<h2>one</h2>") && html.contains("<h2>two</h2>"),
        "{html}"
    );
    assert!(notice.contains("damaged"), "{notice}");
}
