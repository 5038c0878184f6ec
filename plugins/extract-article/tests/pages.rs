//! What is content on pages of many kinds.

#![expect(clippy::unwrap_used, reason = "a test's helpers fail the test")]

use orbweaver_extract_article::{Article, Kind, article, extract};
use orbweaver_sdk::testing::Document;

const URL: &str = "https://news.example.org/2026/11/bridge.html";

/// Four paragraphs of running text, each with a word to tell it by.
fn paragraphs(words: &[&str]) -> String {
    words
        .iter()
        .map(|word| {
            format!(
                "<p>The council decided on Tuesday that {word} would be kept, after a debate of \
                 three hours, and that the costs would be shared by the two towns.</p>"
            )
        })
        .collect()
}

fn run(url: &str, html: &str) -> Article {
    let document = Document::new(url, html);
    let page = document.page();
    article(&page).unwrap()
}

#[track_caller]
fn check(found: &Article, with: &[&str], without: &[&str]) {
    for text in with {
        assert!(found.text.contains(text), "no {text:?} in {:?}", found.text);
    }
    for text in without {
        assert!(!found.text.contains(text), "{text:?} in {:?}", found.text);
    }
}

const FRAME_TOP: &str = r##"<header class="site-header"><a href="/">Daily Example</a>
<nav><ul><li><a href="/politics">Politics</a><li><a href="/sport">Sport</a></ul></nav></header>
<div id="cookie-banner"><p>We use cookies to improve your experience on this site, and to show you
advertisements that fit your interests, as our policy explains in detail.</p><button>Accept</button></div>"##;

const FRAME_BOTTOM: &str = r##"<aside class="sidebar"><h3>Most read</h3><ul><li><a href="/a">Ten cats</a><li><a href="/b">Nine dogs</a></ul></aside>
<footer><p>Copyright 2026 Daily Example. All rights reserved, in every country of the world.</p></footer>"##;

#[test]
fn a_news_article_without_what_surrounds_it() {
    let html = format!(
        r##"<html lang=en><head><title>Bridge to stay - Daily Example</title>
        <meta property="og:type" content="article"><meta property="og:title" content="Bridge to stay">
        <meta name=author content="By Jane Doe"><meta property="article:published_time" content="2026-11-20T08:00:00Z">
        </head><body>{FRAME_TOP}<main><article><h1>Bridge to stay</h1>
        <div class="byline">By <a rel=author href="/jane">Jane Doe</a></div><div class="share-tools"><a href="#">Tweet this</a></div>
        <div class="article-body">{}<figure><img src="/b.jpg" alt="The bridge"><figcaption>The bridge in May</figcaption></figure>
        <div class="related-links"><h3>Related</h3><ul><li><a href="/x">Tunnel closed</a></ul></div>{}
        <div class="newsletter-signup"><p>Sign up for our newsletter and never miss a story again, it is free.</p></div></div></article>
        <section id="comments" class="comments"><h2>3 comments</h2><p>I have always said that this bridge is a waste of money, and nobody listens to me at all.</p></section>
        </main>{FRAME_BOTTOM}</body></html>"##,
        paragraphs(&["the old bridge", "the ferry"]),
        paragraphs(&["the toll house", "the lights"]),
    );
    let found = run(URL, &html);
    assert_eq!(found.kind, Kind::Article);
    check(
        &found,
        &[
            "the old bridge",
            "the ferry",
            "the toll house",
            "the lights",
        ],
        &[
            "Politics",
            "cookies",
            "Tweet",
            "Tunnel",
            "newsletter",
            "waste",
            "Ten cats",
            "Copyright",
            "in May",
            "Jane",
        ],
    );
    assert!(found.text.starts_with("The council"), "{:?}", found.text);
    assert_eq!(found.text.lines().count(), 4);
    let picture = r#"<figure><img src="https://news.example.org/b.jpg" alt="The bridge"><figcaption>The bridge in May</figcaption>"#;
    assert!(found.html.contains(picture), "{}", found.html);
    assert_eq!(found.meta.title.as_deref(), Some("Bridge to stay"));
    assert_eq!(found.meta.byline.as_deref(), Some("Jane Doe"));
    assert_eq!(
        found.meta.published.as_deref(),
        Some("2026-11-20T08:00:00Z")
    );
    assert_eq!(found.meta.lang.as_deref(), Some("en"));
    assert!(
        found
            .meta
            .excerpt
            .as_deref()
            .unwrap()
            .starts_with("The council")
    );
}

#[test]
fn a_blog_post_of_divs_and_line_breaks() {
    let html = format!(
        r##"<title>My week</title><body>{FRAME_TOP}<div class=wrap><div class=post><h2><a href="/w">My week</a></h2>
        On Monday it rained all day, so I stayed at home, read a book and baked some bread.<br><br>
        On Tuesday the sun came out again, so I walked to the river, and met an old friend there.<br><br>
        On Wednesday nothing happened at all, which was, to be honest, a great relief to me.</div>
        <div id=respond><h3>Leave a Reply</h3><p>Your email address will not be published, we promise you that.</p></div></div>{FRAME_BOTTOM}"##
    );
    let found = run("https://example.org/blog/my-week", &html);
    check(
        &found,
        &["On Monday", "bread.\nOn Tuesday", "relief"],
        &["My week", "Reply", "email", "Politics"],
    );
}

#[test]
fn a_reference_page_keeps_code_tables_and_sections_named_like_boilerplate() {
    let html = format!(
        r##"<head><meta name=generator content="Sphinx 7"></head><body><nav class=toc><a href="#a">Install</a></nav>
        <div role=main><h1>Widgets</h1>{}<section id="how-to-respond-to-comments"><h2>Respond to comments</h2>{}</section>
        <pre>let x = 1;
let y = 2;</pre><table><tr><th>Option</th><th>Meaning</th></tr><tr><td>verbose</td><td>Says more.</td></tr></table></div></body>"##,
        paragraphs(&["the parser", "the printer", "the linker"]),
        paragraphs(&["every answer"]),
    );
    let found = run("https://docs.example.org/widgets.html", &html);
    assert_eq!(found.kind, Kind::Documentation);
    check(
        &found,
        &[
            "every answer",
            "let x = 1;\nlet y = 2;",
            "verbose",
            "Says more.",
        ],
        &["Install"],
    );
    assert!(
        found.html.contains("<pre>let x = 1;\nlet y = 2;</pre>"),
        "{}",
        found.html
    );
    assert!(found.html.contains("<td>verbose</td>"), "{}", found.html);
}

#[test]
fn a_thread_keeps_its_posts_and_their_authors() {
    let post = |user: &str, text: &str| {
        format!(
            r##"<div class="message"><div class="message-user"><a class="username" href="/u">{user}</a>
            <h5 class="userTitle">Senior member</h5><dl><dt>Joined</dt><dd>2011</dd></dl></div>
            <div class="message-body comment">{text}</div><div class="signature">Sent from my phone, sorry.</div></div>"##
        )
    };
    let html = format!(
        "<body>{FRAME_TOP}<h1>Which glue?</h1><div class=thread>{}{}{}</div>{FRAME_BOTTOM}",
        post(
            "ada",
            "Which glue holds oak to steel, and does it stand the rain of a whole winter?"
        ),
        post(
            "bob",
            "Epoxy does, if you sand the steel first, and leave it alone for a day."
        ),
        post("eve", "Epoxy here too."),
    );
    let found = run("https://forum.example.org/threads/which-glue.7/", &html);
    assert_eq!(found.kind, Kind::Forum);
    check(
        &found,
        &[
            "ada",
            "Which glue holds",
            "bob",
            "Epoxy does",
            "eve",
            "Epoxy here too.",
        ],
        &["Senior", "Joined", "Sent from", "Politics"],
    );
}

#[test]
fn a_listing_keeps_its_items() {
    let items: String = (1..=20)
        .map(|i| format!(r##"<li class="card"><a href="/i/{i}"><h3>Kettle number {i}</h3></a><span>€{i}.50</span></li>"##))
        .collect();
    let html = format!(
        r##"<body>{FRAME_TOP}<main><h1>Kettles</h1><ul class=grid>{items}</ul></main>{FRAME_BOTTOM}"##
    );
    let found = run("https://shop.example.org/collections/kettles", &html);
    assert_eq!(found.kind, Kind::Listing);
    check(
        &found,
        &["Kettle number 1\n", "€20.50"],
        &["Politics", "Copyright", "cookies"],
    );
}

#[test]
fn a_product_without_its_reviews_and_neighbours() {
    let html = format!(
        r##"<head><script type="application/ld+json">{{"@context":"https://schema.org","@type":"Product","name":"Kettle"}}</script></head>
        <body>{FRAME_TOP}<main><h1>Kettle</h1><p>€39.50</p><div class=description>{}</div><table><tr><th>Volume</th><td>1.7 l</td></tr></table>
        <section><h2>You may also like</h2><ul><li><a href="/1">Blue toaster</a><li><a href="/2">Red toaster</a></ul></section>
        <section><h2>Customer reviews</h2><p>It boils, it pours, it looks nice.</p></section></main>{FRAME_BOTTOM}"##,
        paragraphs(&["the spout", "the handle"]),
    );
    let found = run("https://shop.example.org/products/kettle", &html);
    assert_eq!(found.kind, Kind::Product);
    check(
        &found,
        &["€39.50", "the spout", "Volume", "1.7 l"],
        &["toaster", "It boils", "Politics"],
    );
}

#[test]
fn text_in_layout_tables() {
    let html = format!(
        "<body><table><tr><td><a href=/a>Home</a><br><a href=/b>News</a></td><td>{}</td></tr></table>",
        paragraphs(&["the mill", "the weir", "the pond"])
    );
    let found = run(URL, &html);
    check(&found, &["the mill", "the weir", "the pond"], &["Home"]);
    assert!(
        !found.html.contains("<td"),
        "a cell without its table: {}",
        found.html
    );
}

#[test]
fn one_part_of_several_pages() {
    let html = format!(
        r##"<body><article><h1>Long read</h1><div class=entry-content>{}</div>
        <div class=pagination><a href="?page=1">1</a> <a href="?page=2">2</a> <a href="?page=3">Next</a></div></article>"##,
        paragraphs(&["page two", "the middle", "the turn"])
    );
    check(
        &run(URL, &html),
        &["page two", "the turn"],
        &["Next", "Long read"],
    );
}

#[test]
fn a_tiny_page_and_pages_that_are_no_article() {
    assert_eq!(run(URL, "<p>Hello").text, "Hello");
    assert_eq!(run(URL, "Only text").text, "Only text");
    assert_eq!(
        run(URL, "<nav><a href=/a>One</a> <a href=/b>Two</a></nav>").text,
        "One Two"
    );
    assert_eq!(
        run(URL, "<div class=sidebar>Nothing but this</div>").text,
        "Nothing but this"
    );
    assert_eq!(
        run(URL, "<div style='display: none'>Shown by a script</div>").text,
        "Shown by a script"
    );
    assert_eq!(run(URL, "<script>var x</script>").text, "");
    assert_eq!(run(URL, "").text, "");
}

#[test]
fn a_thread_inside_noscript() {
    let posts: String = (0..12)
        .map(|i| {
            format!(
                "<div class='topic-body' itemprop=comment><a class=username href='/u/{i}'>user{i}</a>\
                 <div class=post><p>Answer {i}: it works &amp; it is fast, as far as I can tell from my tests.<br>Try it!</div></div>"
            )
        })
        .collect();
    let html = format!(
        "<body><div id=app></div><noscript><nav><a href=/>Home</a></nav>{posts}</noscript>"
    );
    let found = run("https://community.example.org/t/x/1", &html);
    check(
        &found,
        &[
            "Answer 0: it works & it is fast",
            "Answer 11",
            "tests.\nTry it!",
        ],
        &["<div", "Home"],
    );
    assert!(
        found.html.contains("it works &amp; it is fast"),
        "{}",
        found.html
    );
}

#[test]
fn block_boundaries_are_white_space_and_inline_ones_are_not() {
    let html = "<div>one<p>two</p>three<ul><li>four<li>five</ul>si<b>x</b>,<br>seven<table><tr><td>eight<td>nine</table></div>";
    let found = run(URL, html);
    assert_eq!(
        found.text,
        "one\ntwo\nthree\nfour\nfive\nsix,\nseven\neight\nnine"
    );
}

#[test]
fn hostile_markup_stays_text_or_goes() {
    let html = format!(
        r##"<base href="https://cdn.example.org/deep/"><article><div class="article-body" onclick="evil()">{}
        <p style="x:expression(evil())" onmouseover=evil()>A <a href="javascript:evil()" onclick="evil()">bad link</a>,
        a <a href=" JaVaScRiPt:evil()">worse one</a>, a <a href='/good?a=1&b="2"' target=x>good one</a> and
        1 &lt; 2 &amp; 3 "quoted" &lt;script&gt;evil()&lt;/script&gt; text that is long enough, to be kept.</p>
        <img src="x.png" onerror="evil()" alt='"><script>evil()</script>'><img src="data:image/png;base64,AAAA">
        <script>evil()</script><style>p{{}}</style><iframe src="https://evil.example/"></iframe><form><input name=evil></form>
        <svg onload="evil()"><script>evil()</script></svg><object data=evil></object></div></article>"##,
        paragraphs(&["the well", "the pump"])
    );
    let out = run(URL, &html).html;
    assert!(
        out.contains(r#"<a href="https://cdn.example.org/good?a=1&amp;b=%222%22">good one</a>"#),
        "{out}"
    );
    assert!(
        out.contains("1 &lt; 2 &amp; 3 &quot;quoted&quot; &lt;script&gt;evil()&lt;/script&gt;"),
        "{out}"
    );
    for bad in [
        "<script",
        "<style",
        "<iframe",
        "<svg",
        "<form",
        "<input",
        "<object",
        "onclick=",
        "onerror=",
        "javascript:",
        "style=",
        "data:",
    ] {
        assert!(!out.to_ascii_lowercase().contains(bad), "{bad} in {out}");
    }
}

#[test]
fn the_answer_is_json_with_nulls_for_what_is_missing() {
    let document = Document::new(URL, "<p>Hello \"you\"");
    let answer: serde_json::Value =
        serde_json::from_str(&extract(&document.page(), "").unwrap()).unwrap();
    let expected = serde_json::json!({
        "page_type": null,
        "text": "Hello \"you\"", "html": "<p>Hello &quot;you&quot;</p>\n", "title": null,
        "byline": null, "published": null, "lang": null, "excerpt": "Hello \"you\"",
    });
    assert_eq!(answer, expected);
}

#[test]
fn a_page_has_a_type_where_there_is_something_to_judge_by() {
    let page_type = |html: &str| {
        let document = Document::new(URL, html);
        let answer = extract(&document.page(), "").unwrap();
        serde_json::from_str::<serde_json::Value>(&answer).unwrap()["page_type"].clone()
    };
    for html in ["", "<p>Hello", "<title>A title</title><div id=root></div>"] {
        assert_eq!(page_type(html), serde_json::Value::Null, "{html}");
    }
    let found = page_type(&"<p>A paragraph of some words that say something.".repeat(5));
    assert!(found["name"].is_string(), "{found}");
    let confidence = found["confidence"].as_f64().unwrap();
    assert!((0.0..=1.0).contains(&confidence), "{found}");
}

#[test]
fn a_shops_buttons_are_no_part_of_the_line_with_the_price() {
    let card = |name: &str, price: u32| {
        format!(
            r##"<li class="product"><a href="/product/{price}"><h2>{name}</h2><span class="price">£{price}.50</span></a>
            <a href="?add-to-cart={price}" class="button add_to_cart_button">Put it in</a>
            <a href="#" class="action towishlist">Remember it</a></li>"##
        )
    };
    let names = ["Front lamp", "Rear lamp", "Helmet lamp", "Spare strap"];
    let cards: String = names
        .iter()
        .zip(20..)
        .map(|(name, price)| card(name, price))
        .collect();
    let html = format!(
        "<title>Lamps</title><body class='archive tax-product_cat'>{FRAME_TOP}<main><h1>Lamps</h1>{}\
         <ul class=products>{cards}</ul></main>{FRAME_BOTTOM}",
        paragraphs(&["the lamp", "the beam"])
    );
    let found = run("https://shop.example.org/product-category/lamps/", &html);
    check(
        &found,
        &["the beam", "Rear lamp", "£21.50"],
        &["Put it in", "Remember it"],
    );
}

#[test]
fn a_million_levels_and_a_million_siblings() {
    let n = 1_000_000;
    for html in [
        format!("{}deep", "<div>".repeat(n)),
        format!("{}deep", "<div class='related'><h1>".repeat(n / 50)),
        format!("<header>{}deep", "<header class=author>".repeat(n / 50)),
        format!("{}deep", "<p><a href=/x>Related</a>".repeat(n / 50)),
        format!(
            "<article>{}deep",
            "<h2><a href=/x>Read more about this</a></h2>".repeat(n / 50)
        ),
        format!(
            "<body><noscript>{}deep</noscript>",
            "<ul><li>".repeat(n / 50)
        ),
    ] {
        let found = run(URL, &html);
        assert!(
            found.text.ends_with("deep"),
            "{:?}",
            &found.text[found.text.len().saturating_sub(80)..]
        );
    }
}
