//! Pages with comments, and pages without.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use orbweaver_actor_extract_article::comments::{self, Comment};
use orbweaver_sdk::testing::Document;

fn comments(html: &str) -> Vec<Comment> {
    comments_beside(html, "")
}

/// The comments of a page with this main content.
fn comments_beside(html: &str, article: &str) -> Vec<Comment> {
    let page = Document::new("https://example.org/", html);
    comments::of(&page.page(), article).expect("comments")
}

fn comment(author: &str, published: &str, text: &str, depth: u32) -> Comment {
    let filled = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    Comment {
        author: filled(author),
        published: filled(published),
        text: text.to_owned(),
        depth,
    }
}

#[test]
fn hacker_news() {
    let html = r#"<table class="comment-tree"><tr class="athing comtr" id="1"><td><table><tr><td class="ind" indent="0"><img src="s.gif" width="0"></td>
        <td class="votelinks"><a href="vote">up</a></td><td class="default"><div><span class="comhead"><a href="user?id=ann" class="hnuser">ann</a>
        <span class="age" title="2026-01-05T10:00:00 1767607200"><a href="item?id=1">3 hours ago</a></span> <span class="navs">| next [–]</span></span></div>
        <div class="comment"><div class="commtext c00">First.<p>With a second paragraph.</div><div class="reply"><a href="reply">reply</a></div></div></td></tr></table></td></tr>
        <tr class="athing comtr" id="2"><td><table><tr><td class="ind" indent="1"><img src="s.gif" width="40"></td>
        <td class="default"><div><span class="comhead"><a href="user?id=bo" class="hnuser">bo</a> <span class="age" title="2026-01-05T11:00:00"><a>2 hours ago</a></span></span></div>
        <div class="comment"><div class="commtext c00">An answer.</div></div></td></tr></table></td></tr></table>"#;
    assert_eq!(
        comments(html),
        [
            comment(
                "ann",
                "2026-01-05T10:00:00 1767607200",
                "First.\nWith a second paragraph.",
                0
            ),
            comment("bo", "2026-01-05T11:00:00", "An answer.", 1),
        ]
    );
}

#[test]
fn reddit() {
    let html = r#"<shreddit-comment-tree><shreddit-comment author="ann" depth="0" created="x"><div slot="commentMeta"><a href="/u/ann">ann</a>
        <time datetime="2026-02-01T00:00:00Z">1d</time></div><div slot="comment"><p>Top.</p></div><div slot="actionRow"><button>Reply</button></div>
        <shreddit-comment author="bo" depth="1"><div slot="comment"><p>Below.</p></div></shreddit-comment></shreddit-comment></shreddit-comment-tree>"#;
    assert_eq!(
        comments(html),
        [
            comment("ann", "2026-02-01T00:00:00Z", "Top.", 0),
            comment("bo", "", "Below.", 1),
        ]
    );
}

#[test]
fn microdata() {
    let html = r#"<section><h2>Comments</h2>
        <div itemprop="comment" itemscope itemtype="https://schema.org/Comment"><span itemprop="author" itemscope itemtype="https://schema.org/Person"><span itemprop="name">Ann</span> (top fan)</span>
        <meta itemprop="dateCreated" content="2026-01-01"><p itemprop="text">One<br>two</p></div>
        <div itemscope itemtype="http://schema.org/UserComments"><b itemprop="creator">Bo</b> <time itemprop="commentTime" datetime="2026-01-02">yesterday</time><div itemprop="commentText">Three</div></div></section>"#;
    assert_eq!(
        comments(html),
        [
            comment("Ann", "2026-01-01", "One\ntwo", 0),
            comment("Bo", "2026-01-02", "Three", 0),
        ]
    );
}

#[test]
fn questions_with_answers_in_json_ld() {
    let html = r#"<script type="application/ld+json">{"@context":"https://schema.org","@type":"QAPage","mainEntity":{"@type":"Question","name":"Why?",
        "acceptedAnswer":{"@type":"Answer","text":"Because.","author":{"@type":"Person","name":"Ann"},"dateCreated":"2026-01-01",
            "comment":[{"@type":"Comment","text":"Thanks","author":"Bo"}]},
        "suggestedAnswer":[{"@type":"Answer","text":"Who knows?","author":[{"name":"Cy"}]}]}}</script><p>Why?"#;
    assert_eq!(
        comments(html),
        [
            comment("Ann", "2026-01-01", "Because.", 0),
            comment("Bo", "", "Thanks", 1),
            comment("Cy", "", "Who knows?", 0),
        ]
    );
}

#[test]
fn names_of_systems_without_markup() {
    let html = r#"<div class="comments"><div class="comment-item"><div class="comment-header"><span class="comment-username">Ann</span><span class="comment-date">1 May</span></div>
        <div class="comment-text">Good.</div><div class="comment-actions"><a>Like</a> <a>Reply</a></div>
        <div class="replies"><div class="comment-item"><strong class="user-name">Bo</strong><p>Better.</p><span class="likes-count">4</span></div></div></div></div>"#;
    assert_eq!(
        comments(html),
        [
            comment("Ann", "1 May", "Good.", 0),
            comment("Bo", "", "Better.", 1)
        ]
    );
    // Only the parts have a class name.
    let html = r#"<ul><li><cite class="fn">Ann</cite><div class="comment-body"><p>Good.</p></div></li><li><div class="comment-body"><p>Bad.</p></div></li></ul>"#;
    let texts: Vec<String> = comments(html).into_iter().map(|c| c.text).collect();
    assert_eq!(texts, ["Good.", "Bad."]);
}

#[test]
fn a_list_of_comments_is_not_a_comment() {
    let html = r#"<div class="comment-wrapper"><div class="comment">One</div><div class="comment">Two</div></div>"#;
    assert_eq!(
        comments(html),
        [comment("", "", "One", 0), comment("", "", "Two", 0)]
    );
}

#[test]
fn a_comment_in_two_wrappers_is_one() {
    let html = r#"<ol><li class="comment" id="li-comment-1"><div id="comment-1"><cite class="fn">Ann</cite><div class="comment-content">One</div></div>
        <ul class="children"><li class="comment" id="li-comment-2"><div id="comment-2"><div class="comment-content">Two</div></div></li></ul></li></ol>"#;
    assert_eq!(
        comments(html),
        [comment("Ann", "", "One", 0), comment("", "", "Two", 1)]
    );
}

#[test]
fn a_forum_thread_after_its_first_post() {
    let post = |name: &str, text: &str| {
        format!(
            r#"<article class="message"><h4 class="message-name"><a class="username">{name}</a></h4><time datetime="2026-01-01">now</time><div class="message-body">{text}</div></article>"#
        )
    };
    let html = format!(
        "<h1>Which oil?</h1>{}{}",
        post("ann", "Which oil do you use?"),
        post("bo", "Any.")
    );
    assert_eq!(comments(&html), [comment("bo", "2026-01-01", "Any.", 0)]);
}

#[test]
fn lists_of_articles_counts_and_forms_are_not_comments() {
    for html in [
        r#"<div class="post"><h2><a href="/a">One</a></h2><span class="author">Ann</span><time>1 May</time><p>Text</p></div>
           <div class="post"><h2><a href="/b">Two</a></h2><span class="author">Bo</span><time>2 May</time><p>Text</p></div>"#,
        r#"<a class="comment" href="/a#comments">12 comments</a><div class="comment-count">12</div>"#,
        r#"<div class="comment-form"><label>Your comment</label></div><div id="comments">Comments are closed.</div>"#,
        r#"<pre><span class="comment">// code</span></pre>"#,
        r#"<div class="comment"></div>"#,
        "<p>Nothing here.",
    ] {
        assert_eq!(comments(html), [], "{html}");
    }
}

#[test]
fn user_names_of_a_forum_are_not_texts() {
    let post = |name: &str, text: &str| {
        format!(
            r#"<article class="message message--post"><div class="message-inner"><section class="message-user"><a class="username" href="/members/1/">{name}</a> <h5 class="userTitle">Veteran</h5> 41,210</section>
            <div class="message-cell message-cell--main"><header class="message-attribution"><time datetime="2026-01-01">now</time> #2</header><div class="message-content"><div class="bbWrapper">{text}</div></div><footer class="message-footer">Like</footer></div></div></article>"#
        )
    };
    let html = format!(
        "{}{}",
        post("ann", "Which oil do you use?"),
        post("bo", "Any.<br>Really.")
    );
    assert_eq!(
        comments(&html),
        [comment("bo", "2026-01-01", "Any.\nReally.", 0)]
    );
    // Beside an article, posts are other articles.
    assert_eq!(
        comments(&format!(
            "<meta property='og:type' content='article'>{html}"
        )),
        []
    );
}

#[test]
fn the_author_is_the_link_in_the_line_about_the_author() {
    let html = r#"<div class="comment"><div class="comment-author-block">Top fan</div><p class="ipsComment_author"><a href="/profile/7-ann/">Ann</a> 9 Posted <time datetime="2026-03-05">March 5</time></p><div class="comment-content">Good.</div></div>
        <div class="comment"><a href="/~bo"><img src="b.png"></a> <a href="/~bo">bo</a><p>Better.</p></div>
        <div class="comment"><span class="author">&lt;span&gt;Cy&lt;/span&gt;</span><p>Best.</p></div>"#;
    assert_eq!(
        comments(html),
        [
            comment("Ann", "2026-03-05", "Good.", 0),
            comment("bo", "", "Better.", 0),
            comment("Cy", "", "Best.", 0)
        ]
    );
}

#[test]
fn frequent_questions_are_not_comments() {
    for html in [
        r#"<script type="application/ld+json">{"@type":"FAQPage","mainEntity":[{"@type":"Question","name":"Why?","acceptedAnswer":{"@type":"Answer","text":"<p>Because.</p>"}}]}</script>"#,
        r#"<div itemscope itemtype="https://schema.org/FAQPage"><div itemprop="mainEntity" itemscope itemtype="https://schema.org/Question"><div itemprop="acceptedAnswer" itemscope itemtype="https://schema.org/Answer"><p itemprop="text">Because.</p></div></div></div>"#,
        r#"<div itemprop="acceptedAnswer" itemscope itemtype="https://schema.org/Answer"><p itemprop="text">Because.</p></div>"#,
        r#"<form><div class="comment-item">No HTML tags allowed.</div></form><div class="comment">22 Comments</div>"#,
    ] {
        assert_eq!(comments(html), [], "{html}");
    }
}

#[test]
fn tags_in_data_are_removed() {
    let html = r#"<script type="application/ld+json">{"@type":"Article","comment":[{"@type":"Comment","author":"Ann","text":"<p>One &amp; two &lt;3</p><p>a < b</p>"}]}</script>"#;
    assert_eq!(
        comments(html),
        [comment("Ann", "", "One & two <3\na < b", 0)]
    );
}

#[test]
fn deep_nesting_is_handled() {
    let html = r#"<div class="comment">xy"#.repeat(3_000);
    assert!(!comments(&html).is_empty());
}

#[test]
fn links_from_other_sites_are_not_comments() {
    let html = r#"<ol class="comment-list">
        <li id="comment-1" class="comment even depth-1"><article class="comment-body"><cite class="fn">Ann</cite><div class="comment-content">Good.</div></article>
            <ol class="children"><li id="comment-2" class="pingback depth-2"><div class="comment-body">Pingback: <a href="/x">Elsewhere</a></div></li></ol></li>
        <li id="comment-4" class="pingback depth-1"><div class="comment-body">Pingback: <a href="/x">Elsewhere</a></div></li>
        <li id="comment-5" class="trackback odd depth-1"><div id="div-comment-5" class="comment-body"><p>[...] as they say [...]</p></div>
            <ol class="children"><li id="comment-6" class="comment depth-2"><cite class="fn">Bo</cite><div class="comment-content">Thanks.</div></li></ol></li></ol>"#;
    assert_eq!(
        comments(html),
        [
            comment("Ann", "", "Good.", 0),
            comment("Bo", "", "Thanks.", 1)
        ]
    );
    let only = r#"<ol><li class="pingback"><div class="comment-body">Pingback: <a href="/x">Elsewhere</a></div></li></ol>"#;
    assert_eq!(comments(only), []);
}

#[test]
fn a_comment_with_which_the_content_begins_is_one() {
    // A page without content of its own, whose main content are its comments.
    let html = r#"<div class="comment"><span class="author">Ann</span><p>The first of the comments on it.</p></div>
        <div class="comment"><span class="author">Bo</span><p>The second.</p></div>"#;
    let article = "The first of the comments on it.\nThe second.";
    assert_eq!(comments_beside(html, article).len(), 2);
}
