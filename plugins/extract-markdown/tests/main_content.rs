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

/// The words of the Markdown and of the article between two paragraphs, which are the same.
fn shared_words(content: &str) -> Vec<String> {
    let (before, behind) = (paragraph("roof"), paragraph("tube"));
    let html = page(&format!("{before}{before}{content}{behind}{behind}"));
    let markdown = main_content(&html);
    let found = read(&markdown);
    assert_eq!(found, words(&article(&html)), "{content}: {markdown}");
    let mut ends = found
        .iter()
        .enumerate()
        .filter(|(_, word)| *word == "chamber");
    let start = ends.nth(1).expect("two paragraphs before").0 + 1;
    let mut begins = found.iter().enumerate().skip(start);
    let end = begins
        .find(|(_, word)| *word == "Weaver")
        .expect("a paragraph behind")
        .0;
    found[start..end].to_vec()
}

#[track_caller]
fn check_words(cases: &[(&str, &str)]) {
    for (html, expected) in cases {
        assert_eq!(shared_words(html), words(expected), "{html}");
    }
}

#[test]
fn white_space_in_an_element_of_its_own_is_between_words() {
    check_words(&[(
        "<pre><span class=k>INSERT</span><span class=w> </span><span class=k>INTO</span> nests, a statement of a line</pre>",
        "INSERT INTO nests, a statement of a line",
    )]);
}

#[test]
fn listings_are_kept_as_a_whole_and_without_numbers_of_lines() {
    let line = |n: usize| format!("<div><span class=lineno>{n}</span>\"key_{n}\": null,</div>");
    let lines: String = (1..40).map(line).collect();
    let found = shared_words(&format!(
        "<p>An answer of the service, with all of its fields, in their order:</p><pre>{{{lines}}}</pre>"
    ));
    assert_eq!(found.iter().filter(|word| *word == "null").count(), 39);
    assert_eq!(found.iter().filter(|word| *word == "17").count(), 1);
}

#[test]
fn labels_of_links_without_text_are_no_words() {
    check_words(&[
        (
            "<p>Weavers are birds.<a href=/w aria-label='All about weavers'></a> They build nests, and many of them.</p>",
            "Weavers are birds. They build nests, and many of them.",
        ),
        (
            "<p>Weavers are birds.<a href=/w title=Weavers><img src=/w.png></a> They build nests, and many of them.</p>",
            "Weavers are birds. They build nests, and many of them.",
        ),
    ]);
}

#[test]
fn characters_without_width_divide_no_words_and_lost_dashes_do() {
    check_words(&[(
        "<p>A w\u{ad}eaver\u{200b}bird in New York\u{97}Union Square, which nobody had expected there.</p>",
        "A weaverbird in New York Union Square, which nobody had expected there.",
    )]);
}

#[test]
fn a_number_before_a_no_break_space_begins_no_list() {
    check_words(&[(
        "<p>1.&nbsp;Weave a ring of grass around the twig, and hang from it while you weave.</p>",
        "1 Weave a ring of grass around the twig, and hang from it while you weave.",
    )]);
}

#[test]
fn a_line_end_between_han_characters_is_no_space() {
    check_words(&[(
        "<p>蜘蛛在网的中央等待，直到有东西碰到它\n的一根丝线。 蜘蛛在网的中央等待，\n直到有东西碰到它。 Ten\nwebs.</p>",
        "蜘蛛在网的中央等待，直到有东西碰到它的一根丝线。 蜘蛛在网的中央等待，直到有东西碰到它。 Ten webs.",
    )]);
    // A space that was written as a character is one.
    check_words(&[(
        "<p>蜘蛛在网的中央等待，直到有东西碰到它\n\u{3000}的一根丝线。 Ten webs.</p>",
        "蜘蛛在网的中央等待，直到有东西碰到它 的一根丝线。 Ten webs.",
    )]);
}

#[test]
fn words_that_touch_are_apart_in_both_or_in_neither() {
    check_words(&[
        (
            "<p>Its tags are <a href=/a>World War I</a><a href=/b>Shooter</a>, as the publisher says.</p>",
            "Its tags are World War I Shooter, as the publisher says.",
        ),
        (
            "<p><a href=/a>P</a><a href=/b>acking cubes</a> are for people who travel far, and for birds.</p>",
            "Packing cubes are for people who travel far, and for birds.",
        ),
        (
            "<p>To open it, press the keys <kbd>F</kbd><kbd>Tab</kbd><kbd>Tab</kbd> one after the other.</p>",
            "To open it, press the keys F Tab Tab one after the other.",
        ),
        (
            "<p>The team in place <span>1</span><a href=/t><img alt=DET src=/t.png></a><a href=/t>DET</a> leads by far now.</p>",
            "The team in place 1 DET leads by far now.",
        ),
        (
            "<p>The call of <code><span class=n>weave</span><span class=m>nest</span></code> makes one more of them.</p>",
            "The call of weavenest makes one more of them.",
        ),
    ]);
}

#[test]
fn formulas_are_tex_in_both() {
    check_words(&[(
        "<p>The area is <math><mfrac><mi>a</mi><mi>b</mi></mfrac><annotation encoding=application/x-tex>\\frac{a}{b}</annotation></math> in every case that we have seen.</p>",
        "The area is frac a b in every case that we have seen.",
    )]);
}

#[test]
fn an_emphasis_inside_of_a_link_is_not_the_one_before_it() {
    check_words(&[(
        "<p><em>A book about birds, \"</em><a href=/b><u><em>Out There</em></u></a><em>\" (2018), is out now.</em></p>",
        "A book about birds, Out There (2018), is out now.",
    )]);
}

#[test]
fn a_check_box_before_a_block_and_numbers_in_cells_are_no_words() {
    check_words(&[
        (
            "<ol><li><input type=checkbox><div><p>A thread that the box folds, with a sentence in it.</p></div></li></ol>",
            "A thread that the box folds, with a sentence in it.",
        ),
        (
            "<table><tr><th>Part</th><th>Order of what stands in it</th></tr><tr><td>Nest</td><td><ol><li>a roof of grass</li><li>a tube of leaves</li></ol></td></tr></table>",
            "Part Order of what stands in it Nest a roof of grass a tube of leaves",
        ),
    ]);
}

#[test]
fn a_row_that_is_left_out_moves_no_cell_out_of_its_table() {
    // Readers drop cells beyond the header's.
    let html = page(&format!(
        "{}<table><tr><th>Year</th><th>Bird</th></tr><tr><td>1940</td><td rowspan=2>a weaver of the south</td></tr>\
         <tr hidden><td>1941</td></tr><tr><td>1942</td><td>a weaver of the north</td></tr></table>{}",
        paragraph("roof"),
        paragraph("tube")
    ));
    let markdown = main_content(&html);
    assert!(
        markdown.contains("| 1942 | a weaver of the north |"),
        "{markdown}"
    );
    assert_eq!(read(&markdown), words(&article(&html)), "{markdown}");
}

#[test]
fn a_hidden_column_leaves_no_empty_one() {
    let html = page(&format!(
        "{}<table><tr><th>Year</th><th style='display:none'>Id</th><th align=right>Bird</th></tr>\
         <tr><td>1940</td><td style='display:none'>7</td><td>a weaver of the south</td></tr></table>{}",
        paragraph("roof"),
        paragraph("tube")
    ));
    let markdown = main_content(&html);
    let table = "| Year | Bird |\n| --- | ---: |\n| 1940 | a weaver of the south |\n";
    assert!(markdown.contains(table), "{markdown}");
    assert_eq!(read(&markdown), words(&article(&html)), "{markdown}");
}

#[test]
fn content_that_begins_with_its_headline_does_not_say_it_twice() {
    let html = format!(
        "<title>Nests of weavers - Birds</title><meta property=og:type content=article><body>\
         <header><h1><a href=/blog/2026/nests>Nests of weavers</a></h1></header>\
         <main><article><p><b>Nests of weavers</b></p>{}{}</article></main>",
        paragraph("roof"),
        paragraph("tube")
    );
    let markdown = main_content(&html);
    assert_eq!(
        markdown.matches("Nests of weavers").count(),
        1,
        "{markdown}"
    );
    assert!(markdown.starts_with("# "), "{markdown}");
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
        assert!(text.starts_with("# 9.30. Statistics\n"), "{text}");
        assert_eq!(text.matches("9.30. Statistics").count(), 1, "{text}");
    }
    let text = main_content(&page_of_a_book("The Book"));
    assert!(!text.starts_with("# 9.30"), "{text}");
}

#[test]
fn a_picture_with_a_caption_stays_in_a_manual() {
    let figure = "<figure class=align-default><img src=/plan.png alt=Plan><figcaption><p>The plan of a page</p>\
                  </figcaption></figure>";
    // So long that the models are asked, too.
    let text = ["entrance", "roof", "tube", "egg"].map(paragraph).concat();
    let html = page_of_a_book("The Book").replace(
        "<p>The second",
        &format!("{text}{figure}{text}<p>The second"),
    );
    for url in BOOK {
        let text = main_content_at(url, &html);
        assert!(text.contains("![Plan](https://"), "{url}: {text}");
    }
}

#[test]
fn the_name_of_a_book_is_no_headline_of_its_pages() {
    let text = ["entrance", "roof", "tube"].map(paragraph).concat();
    for heading in [
        "<h1 id=nests><a href=#nests>Nests</a></h1>",
        "<div class=rule><a href=#r-1>[birds.nests]</a></div><h1 id=nests><a href=#nests>Nests</a></h1>",
        "<h2 id=nests><a href=#nests>Nests</a></h2>",
    ] {
        let markdown = main_content(&format!(
            "<title>Nests - The Book of Birds</title><body><div id=menu-bar><h1 class=menu-title>The Book of Birds</h1></div>\
             <main>{heading}{text}</main>"
        ));
        assert!(!markdown.contains("Book of Birds"), "{markdown}");
        assert!(markdown.contains("# Nests\n"), "{markdown}");
    }
}

#[test]
fn words_stay_apart_as_in_the_text() {
    let inner = "<p>Weavers build nests<sup><a href='#n1'>14</a></sup> of grass, which hang from twigs above \
                 the water <span class=material-icons>home</span> for years.</p>\
                 <blockquote><div><cite>bob</cite>Nests of grass last for a whole season of rain.</div></blockquote>\
                 <p>\u{200d}</p><p>A fee<a href=/fee><button>Pay</button></a> is due for all visits of the nests.</p>";
    let html = page(&[&*paragraph("entrance"), inner, &*paragraph("roof")].concat());
    let markdown = main_content(&html);
    assert_eq!(read(&markdown), words(&article(&html)), "{markdown}");
    for apart in ["nests [14](#n1)", "> *bob*\n>\n> Nests"] {
        assert!(markdown.contains(apart), "{apart}: {markdown}");
    }
    assert!(!markdown.contains("home"), "{markdown}");
}
