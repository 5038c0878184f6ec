//! `only_main_content`: what goes, what stays, and what happens where nothing is found.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a helper that cannot do its work fails its test"
)]

use orbweaver_extract_markdown::{Options, markdown};

fn main_content(html: &str) -> String {
    let snapshot = orbweaver_sdk::dom::parse(html);
    let view = snapshot.view().expect("view");
    markdown(
        &view,
        "https://host.example/",
        &Options {
            only_main_content: true,
        },
    )
}

const TEXT: &str = "Weaver birds build nests that hang from the ends of twigs, woven of grass and leaf fibres, \
                    with an entrance from below that keeps snakes and most other visitors out of the chamber.";

#[test]
fn landmarks_part_the_content_from_the_rest() {
    let html = format!(
        "<header><a href=/>Logo</a></header><nav><a href=/a>A</a></nav><main><h1>Nests</h1><p>{TEXT}</p>\
         <aside>Related</aside></main><aside>Ads</aside><footer>© Birds</footer>"
    );
    assert_eq!(main_content(&html), format!("# Nests\n\n{TEXT}"));
}

#[test]
fn names_serve_where_there_are_no_landmarks() {
    let html = format!(
        "<div id=header><a href=/>Logo</a></div><div class=main-nav><ul><li><a href=/a>A</a></ul></div>\
         <div class='page has-sidebar'><h1>Nests</h1><p>{TEXT}</p><p>{TEXT}</p>\
         <div class=share-buttons>Tweet this</div></div>\
         <div class=sidebar>Popular</div><div class=cookie-banner>We use cookies.</div>\
         <div role=contentinfo>© Birds</div>"
    );
    assert_eq!(main_content(&html), format!("# Nests\n\n{TEXT}\n\n{TEXT}"));
}

#[test]
fn headers_and_footers_of_an_article_are_its_own() {
    let html = format!(
        "<header>Site</header><article><header><h1>Nests</h1><p>By A. Finch</p></header><p>{TEXT}</p>\
         <footer>First published in 1851.</footer></article>"
    );
    let expected = format!("# Nests\n\nBy A. Finch\n\n{TEXT}\n\nFirst published in 1851.");
    assert_eq!(main_content(&html), expected);
}

#[test]
fn a_page_header_with_the_title_stays() {
    let html =
        format!("<header><h1>Nests</h1><nav>Menu</nav></header><p>{TEXT}</p><footer>©</footer>");
    assert_eq!(main_content(&html), format!("# Nests\n\n{TEXT}"));
}

#[test]
fn notes_of_a_manual_are_content() {
    let html =
        format!("<main><p>{TEXT}</p><aside class=note><p>Mind the snakes.</p></aside></main>");
    assert_eq!(main_content(&html), format!("{TEXT}\n\nMind the snakes."));
}

#[test]
fn lists_of_links_are_content_where_they_are_all_there_is() {
    let items: String = (0..30)
        .map(|i| format!("<li><a href=/n{i}>How the {i}th weaver bird learned to weave</a>"))
        .collect();
    let html = format!("<nav><a href=/>Home</a></nav><div class=content><ul>{items}</ul></div>");
    let markdown = main_content(&html);
    assert_eq!(markdown.lines().count(), 30, "{markdown}");
    assert!(markdown.starts_with("- [How the 0th weaver"), "{markdown}");
}

#[test]
fn code_is_never_pruned() {
    let html = format!(
        "<main><p>{TEXT}</p><div class='highlight toolbar'><pre><code class=language-sh>ls | wc</code></pre></div></main>"
    );
    assert_eq!(
        main_content(&html),
        format!("{TEXT}\n\n```sh\nls | wc\n```")
    );
}

#[test]
fn what_holds_most_of_the_text_stays_whatever_it_is_called() {
    let html = format!("<div class=sidebar><p>{TEXT}</p></div><p>Short.</p>");
    assert_eq!(main_content(&html), format!("{TEXT}\n\nShort."));
}

#[test]
fn a_page_of_nothing_but_navigation_is_given_whole() {
    let html = "<nav><ul><li><a href=/a>A</a><li><a href=/b>B</a></ul></nav><aside>C</aside><footer>©</footer>";
    let expected = "- [A](https://host.example/a)\n- [B](https://host.example/b)\n\nC\n\n©";
    assert_eq!(main_content(html), expected);
    assert_eq!(main_content("<footer>©</footer><p></p>"), "©");
}

#[test]
fn an_empty_main_element_is_a_shell() {
    let text = TEXT.repeat(20);
    let html = format!("<main><p>Loading</p></main><div><p>{text}</p></div><footer>©</footer>");
    assert_eq!(main_content(&html), format!("Loading\n\n{text}"));
}

#[test]
fn a_title_before_the_main_element_belongs_to_it() {
    let html =
        |h1: &str| format!("<div>{h1}<p>Asked today</p></div><div role=main><p>{TEXT}</p></div>");
    let asked = html("<h1><a href=/questions/1>Why do nests hang?</a></h1>");
    assert_eq!(
        main_content(&asked),
        format!("# [Why do nests hang?](https://host.example/questions/1)\n\n{TEXT}")
    );
    assert_eq!(main_content(&html("<h1><a href=/>Birds</a></h1>")), TEXT);
}

#[test]
fn short_links_inside_the_main_element_stay() {
    let html = format!(
        "<ul><li><a href=/x>X</a><li><a href=/y>Y</a><li><a href=/z>Z</a><li><a href=/w>W</a></ul>\
         <main><p>{TEXT}</p><ul><li><a href=/a>A</a><li><a href=/b>B</a><li><a href=/c>C</a><li><a href=/d>D</a></ul></main>"
    );
    assert!(
        main_content(&html).ends_with("- [D](https://host.example/d)"),
        "{}",
        main_content(&html)
    );
}
