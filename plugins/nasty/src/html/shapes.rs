//! Page structures used to choose the main content.

use crate::Pattern;

patterns! {
    "comments-section": "", "<div class=comment><p class=author>a</p><p>Some words of a comment, with more, and more.</p></div>", "";
    "comment-classes": "", "<div class='comment reply'>a", "";
    "sidebars": "", "<aside><p>a b c d</aside>", "";
    "article-sections": "", "<section><h2>a {i}</h2><p>Some words of a section, so that it counts, and more of it.</p></section>", "";
    "listing-cards": "", "<div class=card><h3><a href=/{i}>a</a></h3><p>b c d</p></div>", "";
    "classes-main": "", "<div class='main content article'><p>a, b, c.</p>", "";
    "headings-same": "<title>the same title</title>", "<h1>the same title</h1>", "";
    "headings-title-words": "<title>word word word word</title>", "<h1>word {i}</h1>", "";
    "times": "", "<time datetime=2020-01-01>a</time>", "";
    "bylines": "", "<p class=byline>By A B</p>", "";
    "app-data": "<script type=application/json>", "{\"articleBody\":\"a\",", "</script>";
    "app-data-state": "<script>window.__INITIAL_STATE__=", "{\"a\":[", "</script>";
}
