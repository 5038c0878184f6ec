//! `only_main_content`: the headline, then the same words as the article's text, with the Markdown
//! of their elements.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a helper that cannot do its work fails its test"
)]

use orbweaver_content::Content;
use orbweaver_extract_markdown::{Options, markdown};
use orbweaver_sdk::dom::tag;
use pulldown_cmark::{Event, Parser, Tag, TagEnd};

const URL: &str = "https://host.example/blog/2026/nests";

fn main_content(html: &str) -> String {
    main_content_at(URL, html)
}

fn main_content_at(url: &str, html: &str) -> String {
    let snapshot = orbweaver_sdk::dom::parse(html);
    let view = snapshot.view().expect("view");
    let options = Options {
        only_main_content: true,
    };
    markdown(&view, url, &options)
}

/// The page's headline and the article's text.
fn article(html: &str) -> String {
    let snapshot = orbweaver_sdk::dom::parse(html);
    let view = snapshot.view().expect("view");
    let headline = view.nodes().find(|node| node.tag() == tag::H1);
    let headline = headline.map(orbweaver_sdk::text::line).unwrap_or_default();
    headline + "\n" + &Content::of(&view, URL).text(&view)
}

/// The words of a text.
fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

/// The words that a reader of the Markdown sees; descriptions of pictures aside.
fn read(markdown: &str) -> Vec<String> {
    let options =
        pulldown_cmark::Options::ENABLE_TABLES | pulldown_cmark::Options::ENABLE_STRIKETHROUGH;
    let (mut text, mut pictures) = (String::new(), 0);
    for event in Parser::new_ext(markdown, options) {
        match event {
            Event::Start(Tag::Image { .. }) => pictures += 1,
            Event::End(TagEnd::Image) => pictures -= 1,
            Event::Text(more) | Event::Code(more) if pictures == 0 => text.push_str(&more),
            Event::SoftBreak | Event::HardBreak => text.push('\n'),
            Event::End(
                TagEnd::Paragraph
                | TagEnd::Heading(_)
                | TagEnd::Item
                | TagEnd::TableCell
                | TagEnd::CodeBlock
                | TagEnd::BlockQuote(_),
            )
            | Event::Start(Tag::List(_)) => text.push('\n'),
            _ => {}
        }
    }
    words(&text)
}

/// A paragraph of running text with a word to tell it by.
fn paragraph(word: &str) -> String {
    format!(
        "<p>Weaver birds build nests that hang from the ends of twigs, woven of grass and leaf \
         fibres, and the {word} keeps snakes and most other visitors out of the chamber.</p>"
    )
}

fn page(content: &str) -> String {
    format!(
        "<html><head><title>Nests - Birds</title><meta property=og:type content=article></head><body>\
         <header class=site-header><a href=/>Birds</a><nav><ul><li><a href=/a>Finches</a><li><a href=/b>Owls</a></ul></nav></header>\
         <main><article><h1>Nests</h1>{content}</article>\
         <aside class=sidebar><h3>Popular</h3><ul><li><a href=/x>Ten gulls</a><li><a href=/y>Nine crows</a></ul></aside></main>\
         <footer><p>Copyright 2026 Birds, all rights reserved.</p></footer></body></html>"
    )
}

#[test]
fn content_stays_and_what_surrounds_it_goes() {
    let html = page(&["entrance", "roof", "tube"].map(paragraph).concat());
    let markdown = main_content(&html);
    for word in ["entrance", "roof", "tube"] {
        assert!(markdown.contains(word), "no {word} in {markdown}");
    }
    for word in ["Finches", "Popular", "gulls", "Copyright"] {
        assert!(!markdown.contains(word), "{word} in {markdown}");
    }
}

#[test]
fn elements_of_the_content_are_markdown() {
    let inner = "<h2>Shapes</h2><p>Some <b>long</b> nests have <a href=/tubes>tubes</a> below them, \
                 as the weavers of the south build them every year.</p>\
                 <ul><li>round ones, of grass and of roots</li><li>long ones, of leaves and of twigs</li></ul>\
                 <figure><img src=/nest.jpg alt='A nest'><figcaption>In May</figcaption></figure>\
                 <pre><code class=language-sh>ls | wc</code></pre>";
    let html = page(
        &[
            &*paragraph("entrance"),
            inner,
            &*paragraph("roof"),
            &*paragraph("tube"),
        ]
        .concat(),
    );
    let markdown = main_content(&html);
    for text in [
        "## Shapes",
        "Some **long** nests have [tubes](https://host.example/tubes) below",
        "- round ones, of grass and of roots\n- long ones",
        "![A nest](https://host.example/nest.jpg)",
        "```sh\nls | wc\n```",
    ] {
        assert!(markdown.contains(text), "no {text:?} in {markdown}");
    }
    assert!(!markdown.contains("In May"), "{markdown}");
    assert_eq!(read(&markdown), words(&article(&html)));
}

#[test]
fn parts_that_a_click_shows_are_content_where_they_stand_in_it() {
    let panel = "<div class=accordion-panel style='display:none'><p>Old nests are taken apart, and the grass \
                 is used again for the new ones by the same birds.</p></div>";
    let html = page(
        &[
            &*paragraph("entrance"),
            &*paragraph("roof"),
            panel,
            &*paragraph("tube"),
        ]
        .concat(),
    );
    assert!(
        main_content(&html).contains("taken apart"),
        "{}",
        main_content(&html)
    );
    assert_eq!(read(&main_content(&html)), words(&article(&html)));
}

#[test]
fn a_page_of_nothing_but_navigation_is_not_empty() {
    let html = "<nav><ul><li><a href=/a>Finches</a><li><a href=/b>Owls</a></ul></nav><footer>Birds</footer>";
    assert!(
        main_content(html).contains("Finches"),
        "{}",
        main_content(html)
    );
}

#[test]
fn a_thread_inside_noscript() {
    let posts: String = (0..12)
        .map(|n| format!("<div class=post><p>{n} {}</p></div>", paragraph("roof")))
        .collect();
    let html = format!(
        "<title>Nests</title><body><div id=app></div><noscript><h1>Nests</h1>{posts}</noscript>"
    );
    let markdown = main_content(&html);
    assert!(markdown.matches("the roof keeps").count() > 8, "{markdown}");
}

#[test]
fn the_words_are_those_of_the_article_on_pages_of_many_shapes() {
    let cards: String = (0..12)
        .map(|n| format!("<div class=card><img src=/{n}.jpg><h3><a href=/p/{n}>Nest {n}</a></h3><span class=price>$1{n}.50</span><span class=old>$2{n}</span></div>"))
        .collect();
    let rows: String = (0..9)
        .map(|n| format!("<tr><td>Weaver {n}</td><td>{n} eggs</td></tr>"))
        .collect();
    let posts: String = (0..6)
        .map(|n| format!("<div class=post><a class=username href=/u>finch{n}</a><div class=body>{}</div></div>", paragraph("roof")))
        .collect();
    let shapes = [
        ("cards", format!("<div class=grid>{cards}</div>")),
        ("table", format!("{}<table><tr><th>Bird</th><th>Clutch</th></tr>{rows}</table>{}", paragraph("roof"), paragraph("tube"))),
        ("posts", posts),
        ("layout", format!("<table><tr><td><a href=/>Home</a></td><td>{}{}</td></tr></table>", paragraph("roof"), paragraph("tube"))),
        ("quotes", format!("{}<p>A <q>quoted</q> word<sup>1</sup> and <code>a|b</code>, <del>gone</del>, H<sub>2</sub>O, <kbd>Q</kbd>.</p>{}<blockquote>{}</blockquote>", paragraph("roof"), paragraph("tube"), paragraph("egg"))),
        ("breaks", "On Monday it rained all day, so I stayed at home.<br><br>On Tuesday, the sun came out again, and I walked.".to_owned()),
        ("hidden", format!("{}<div hidden>Never <b>seen</b></div>{}<span style=display:none>secret</span>{}", paragraph("roof"), paragraph("tube"), paragraph("egg"))),
    ];
    for (name, content) in shapes {
        let html = page(&content);
        assert_eq!(
            read(&main_content(&html)),
            words(&article(&html)),
            "{name}: {}",
            main_content(&html)
        );
    }
}

#[test]
fn the_headline_is_first_wherever_it_is() {
    let text = ["entrance", "roof", "tube"].map(paragraph).concat();
    let body = |before: &str, inside: &str| {
        format!(
            "<title>Nests - Birds</title><body><header><h1><a href=/>Birds</a></h1></header>{before}\
             <main><article>{inside}{text}</article></main>"
        )
    };
    for html in [
        body("", "<h1>Nests</h1>"),
        body("", "<header><p>In May</p><h1>Nests</h1></header>"),
        body("<div class=hero><h1>Nests</h1><p>In May</p></div>", ""),
    ] {
        let markdown = main_content(&html);
        assert!(markdown.starts_with("# Nests\n\n"), "{markdown}");
        assert_eq!(markdown.matches("Nests").count(), 1, "{markdown}");
    }
    // A heading that only names the site is none.
    let markdown = main_content(&body("", ""));
    assert!(markdown.starts_with("Weaver birds"), "{markdown}");
}

/// Pages of books, which their URL says to be documentation or does not: links are left out of articles
/// by more rules than of documentation.
const BOOK: [&str; 3] = [
    "https://docs.host.example/17/functions-statistics.html",
    "https://host.example/manual/functions-statistics.html",
    URL,
];

/// A page of a book as DocBook writes it, and as sites show it: tables of links around one section, all in the
/// same box.
fn page_of_a_book(title: &str) -> String {
    format!(
        r#"<title>{title}</title><body><div id="docContent">
<div class="navheader"><table><tr><th colspan="3">9.30. Statistics</th></tr><tr>
<td><a accesskey="p" href="a.html">Zurück</a></td><th>Chapter 9. Functions</th>
<td><a accesskey="n" href="c.html">Weiter</a></td></tr></table><hr></div>
<div class="titlepage"><h2 class="title">9.30. Statistics</h2></div>
<p>The first paragraph says what a page of a book has to say, in more than one sentence. It is
long enough to be seen as the text of the page, and it has commas, too.</p>
<p>The second paragraph goes on with it, so that nobody takes the page for a list of links. It
ends here, with a full stop.</p>
<div class="navfooter"><hr><table><tr><td><a href="a.html">Prev</a></td>
<td><a href="up.html">Up</a></td><td><a href="c.html">Next</a></td></tr>
<tr><td>9.29. Event Triggers</td><td><a href="index.html">Home</a></td><td>Chapter 10. Types</td>
</tr></table></div></div></body>"#
    )
}

#[test]
fn pages_of_books_are_without_links_to_their_neighbours() {
    let html = page_of_a_book("9.30. Statistics");
    for url in BOOK {
        let text = main_content_at(url, &html);
        for neighbour in [
            "Zurück",
            "Weiter",
            "Chapter 9",
            "Prev",
            "Up",
            "Next",
            "Home",
            "29",
            "Types",
        ] {
            assert!(!text.contains(neighbour), "{url}: {neighbour}: {text}");
        }
        assert!(text.contains("first paragraph") && text.contains("full stop"));
    }
}

#[test]
fn a_link_to_a_neighbour_in_running_text_stays() {
    let html = page_of_a_book("9.30. Statistics").replace(
        "<p>The second",
        "<p>Statistics of tables are in the <a href=c.html>next section</a>.</p><p>The second",
    );
    let text = main_content_at(BOOK[0], &html);
    assert!(text.contains("in the [next section]("), "{text}");
    assert!(!text.contains("Weiter"), "{text}");
}

#[test]
fn a_heading_that_is_the_pages_title_is_its_headline() {
    for title in ["9.30. Statistics", "9.30. Statistics - The Book"] {
        let text = main_content(&page_of_a_book(title));
        assert!(text.starts_with("## 9.30. Statistics\n"), "{text}");
        assert_eq!(text.matches("9.30. Statistics").count(), 1, "{text}");
    }
    let text = main_content(&page_of_a_book("The Book"));
    assert!(!text.starts_with("## 9.30"), "{text}");
}
