//! Facts of whole pages, small ones made by hand.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

mod authors;
mod dates;
mod images;
mod items;
mod own;
mod teasers;
mod titles;

use orbweaver_facts::{Facts, Sources, language};
use orbweaver_sdk::head::Head;
use orbweaver_sdk::jsonld;
use orbweaver_sdk::testing::Document;

const URL: &str = "https://www.orb-journal.example/webs/1";

fn facts(html: &str) -> Facts {
    at(URL, html)
}

fn at(url: &str, html: &str) -> Facts {
    of(&Document::new(url, html))
}

fn of(document: &Document) -> Facts {
    let page = document.page();
    let view = page.view().expect("view");
    let head = Head::of(&page).expect("head");
    let blocks = jsonld::blocks(view);
    let objects: Vec<_> = blocks.iter().flat_map(jsonld::Block::objects).collect();
    let declared = head.language(&page);
    Facts::of(&Sources {
        view,
        url: page.final_url(),
        head: &head,
        objects: &objects,
        language: declared.or_else(|| language::detect(view)).unwrap_or(""),
        answered: page.header("date").unwrap_or(""),
    })
}

fn titles(html: &str) -> (String, String) {
    let found = facts(html);
    (
        found.title.unwrap_or_default(),
        found.headline.unwrap_or_default(),
    )
}

#[test]
fn the_site_s_name_is_no_part_of_the_title() {
    for (html, title) in [
        (
            "<title>How webs are built | Orb Journal</title>",
            "How webs are built",
        ),
        (
            "<title>Orb Journal: news – How webs are built – Orb Journal</title><meta property=og:site_name content='Orb Journal'>",
            "How webs are built",
        ),
        (
            "<title>The Weaver » How webs are built</title><meta property=og:site_name content='The Weaver'>",
            "How webs are built",
        ),
        (
            "<title>How webs are built - The Weaver</title><script type=application/ld+json>{\"@type\":\"WebSite\",\"name\":\"The Weaver\"}</script>",
            "How webs are built",
        ),
        (
            "<title>How webs are built - The Weaver</title><h1>How webs are built</h1>",
            "How webs are built",
        ),
        (
            "<title>Garden spiders: the ten largest</title><h1>Garden spiders</h1>",
            "Garden spiders",
        ),
        (
            "<title>All about garden spiders</title><h1>Garden spiders</h1>",
            "All about garden spiders",
        ),
        // Nobody says that this is the site's name.
        (
            "<title>Silk - stronger than steel</title>",
            "Silk - stronger than steel",
        ),
        ("<title>Orb Journal</title>", "Orb Journal"),
        ("<title>Orb Journal | Orb Journal</title>", "Orb Journal"),
    ] {
        assert_eq!(titles(html).0, title, "{html}");
    }
}

#[test]
fn the_title_is_always_a_part_of_the_title_element() {
    let html = "<title>Webs, explained – Orb Journal</title><meta property=og:title content='You will not believe these webs'><h1>How webs are built</h1>";
    let (title, _) = titles(html);
    assert_eq!(title, "Webs, explained");
    assert_eq!(
        titles("<meta property=og:title content='Only shared'>").0,
        "Only shared"
    );
}

#[test]
fn the_headline_is_what_most_places_agree_on() {
    for (html, headline) in [
        // The heading and a title agree, though the other differs.
        (
            "<title>Webs | Orb Journal</title><meta property=og:title content='How webs are built'><h1>How webs are built</h1>",
            "How webs are built",
        ),
        // The first heading is the site's logo.
        (
            "<title>How webs are built | Orb Journal</title><h1>Orb Journal</h1><h1>How webs are built</h1>",
            "How webs are built",
        ),
        // The heading names the book that the title ends with.
        (
            "<title>Silk - The Book of Webs</title><h1>The Book of Webs</h1>",
            "Silk",
        ),
        // The title goes on after the heading.
        (
            "<title>Garden spiders: the ten largest | Orb Journal</title><h1>Garden spiders</h1>",
            "Garden spiders",
        ),
        // Both titles agree against the heading.
        (
            "<title>How webs are built</title><meta property=og:title content='How webs are built'><h1>Welcome, reader</h1>",
            "How webs are built",
        ),
        // One title only: the heading is nearer to the content.
        (
            "<title>Welcome to our forum</title><h1>Why do spiders moult?</h1>",
            "Why do spiders moult?",
        ),
        // A heading's link to itself.
        (
            "<title>Silk</title><h1>Silk<a href=#silk>¶</a></h1>",
            "Silk",
        ),
        (
            "<script type=application/ld+json>{\"@type\":\"NewsArticle\",\"headline\":\"From the data\"}</script>",
            "From the data",
        ),
        // A forum's own name is its first heading, the thread's stands one level below.
        (
            "<title>Which glue holds? - Weavers' forum</title><h1>weavers.example</h1><h3>Members</h3><h2><a href=/t>Which glue holds?</a></h2>",
            "Which glue holds?",
        ),
        // Three places say three things: a notice has no word of a title.
        (
            "<title>Webs that are trending today</title><meta property=og:title content='Build better'><h1>Your choice of cookies</h1>",
            "Webs that are trending today",
        ),
        (
            "<title>Webs of the year</title><meta property=og:title content='Build better'><h1>Trending webs</h1>",
            "Trending webs",
        ),
        (
            "<title>蜘蛛の巣の作り方</title><meta property=og:title content='共有用'><h1>蜘蛛の巣について</h1>",
            "蜘蛛の巣について",
        ),
        // A control in the heading, and a heading that is one.
        (
            "<title>web - Rust</title><h1>Module <span>web</span>\u{a0}<button>Copy item path</button></h1>",
            "Module web",
        ),
        (
            "<title>x</title><h1><button>Silk and steel</button></h1>",
            "Silk and steel",
        ),
    ] {
        assert_eq!(titles(html).1, headline, "{html}");
    }
    assert_eq!(facts("<p>Hello").headline, None);
}

#[test]
fn an_author_is_a_person_before_it_is_the_site() {
    let organisation = r#"<script type="application/ld+json">{"@type":"Article","author":{"@type":"Organization","name":"Orb Journal"}}</script>"#;
    let byline = "<h1>T</h1><p class=byline>By <a href=/author/ann>Ann Lee</a></p>";
    assert_eq!(
        facts(&format!("{organisation}{byline}")).author.as_deref(),
        Some("Ann Lee")
    );
    assert_eq!(facts(organisation).author.as_deref(), Some("Orb Journal"));
    let meta = "<meta name=author content='Orb Journal'>";
    assert_eq!(
        facts(&format!("{meta}{byline}")).author.as_deref(),
        Some("Ann Lee")
    );
    assert_eq!(
        facts("<meta name=author content='By Bo Li'>")
            .author
            .as_deref(),
        Some("Bo Li")
    );
    assert_eq!(
        facts("<meta name=author content='bo@example.org'>").author,
        None
    );
}

#[test]
fn json_ld_names_all_authors_of_a_text_and_goes_before_metas() {
    let json = r#"<script type="application/ld+json">{"@type":"NewsArticle","author":[{"@type":"Person","name":"Ann Lee"},{"@type":"Person","name":"Bo Li"}]}</script>"#;
    for meta in ["Ann Lee", "Orb Media Group", "Weaver GmbH", "webmaster"] {
        let html = format!("<meta name=author content='{meta}'>{json}");
        assert_eq!(
            facts(&html).author.as_deref(),
            Some("Ann Lee, Bo Li"),
            "{meta}"
        );
    }
    // The photographer is no author of the text.
    let photo = r#"<script type="application/ld+json">{"@type":"ImageObject","author":{"@type":"Person","name":"Cy Day"}}</script>"#;
    let html = format!("<meta name=author content='Ann Lee'>{photo}");
    assert_eq!(facts(&html).author.as_deref(), Some("Ann Lee"));
    let metas = "<meta property=article:author content='Ann Lee'><meta property=article:author content='Bo Li'>";
    assert_eq!(facts(metas).author.as_deref(), Some("Ann Lee, Bo Li"));
}

#[test]
fn a_company_counts_only_where_nobody_is_named() {
    let byline = "<h1>T</h1><p class=byline>By <a href=/author/ann>Ann Lee</a></p>";
    for company in [
        "Weaver Verlag GmbH",
        "The Weaver, Inc.",
        "www.weaver.example",
    ] {
        let meta = format!("<meta name=author content='{company}'>");
        assert_eq!(
            facts(&format!("{meta}{byline}")).author.as_deref(),
            Some("Ann Lee"),
            "{company}"
        );
    }
    assert_eq!(
        facts("<meta name=author content='Weaver Verlag GmbH'>")
            .author
            .as_deref(),
        Some("Weaver Verlag GmbH")
    );
}

#[test]
fn a_forum_s_first_post_names_the_author() {
    let html = r#"<script type="application/ld+json">{"@type":"QAPage","mainEntity":{"@type":"Question","author":{"@type":"Person","name":"weaver_7"},"dateCreated":"2024-03-14","acceptedAnswer":{"@type":"Answer","author":{"name":"other"}}}}</script>"#;
    let found = facts(html);
    assert_eq!(
        (found.author.as_deref(), found.published.as_deref()),
        (Some("weaver_7"), Some("2024-03-14"))
    );
    let html = "<title>Which glue holds? - Weavers</title><h1>weavers.example</h1><ul><li>Menu</ul><h2>Which glue holds?</h2><div class=post><a class=bigusername href=/members/weaver.7/>weaver</a><time datetime=2024-03-14T10:00:00Z>Mar 14</time></div>";
    let found = facts(html);
    assert_eq!(
        (found.author.as_deref(), found.published.as_deref()),
        (Some("weaver"), Some("2024-03-14T10:00:00Z"))
    );
    let html = "<h1>Why?</h1><div class=post><a class=username href=/members/weaver.7/>weaver</a><time datetime=2024-03-14T10:00:00Z>Mar 14</time><p>Text</p></div><div class=post><a class=username href=/members/x.8/>other</a></div>";
    let found = facts(html);
    assert_eq!(
        (found.author.as_deref(), found.published.as_deref()),
        (Some("weaver"), Some("2024-03-14T10:00:00Z"))
    );
}

#[test]
fn bylines_and_dates_are_read_in_many_languages() {
    for (lang, line, author) in [
        ("en", "By Ann Lee | Published March 14, 2024", "Ann Lee"),
        (
            "de",
            "Von Anna Müller, veröffentlicht am 14. März 2024",
            "Anna Müller",
        ),
        (
            "fr",
            "Par Amélie Roux · Publié le 14 mars 2024",
            "Amélie Roux",
        ),
        (
            "es",
            "Por Juan Gómez · Publicado el 14 de marzo de 2024",
            "Juan Gómez",
        ),
        (
            "pt",
            "Por Ana Sousa | Publicado em 14 de março de 2024",
            "Ana Sousa",
        ),
        (
            "it",
            "Di Marco Rossi | Pubblicato il 14 marzo 2024",
            "Marco Rossi",
        ),
        (
            "nl",
            "Door Jan de Boer | Gepubliceerd op 14 maart 2024",
            "Jan de Boer",
        ),
        ("sv", "Av Eva Berg | Publicerad 14 mars 2024", "Eva Berg"),
        (
            "pl",
            "Autor: Jan Nowak | Opublikowano 14 marca 2024",
            "Jan Nowak",
        ),
        (
            "ru",
            "Автор: Иван Петров | Опубликовано 14 марта 2024",
            "Иван Петров",
        ),
        ("ja", "著者：山田太郎 | 公開日 2024年3月14日", "山田太郎"),
        ("zh", "作者：王小明 | 发布于 2024年3月14日", "王小明"),
        ("ko", "작성자: 김철수 | 등록 2024년 3월 14일", "김철수"),
        ("ar", "بقلم: أحمد علي | نشر في 14 مارس 2024", "أحمد علي"),
        ("th", "โดย สมชาย ใจดี | เผยแพร่ 14 มีนาคม 2567", "สมชาย ใจดี"),
        (
            "tr",
            "Yazar: Ayşe Kaya | Yayın tarihi 14 Mart 2024",
            "Ayşe Kaya",
        ),
    ] {
        let html = format!("<html lang={lang}><h1>T</h1><p class=byline>{line}</p><p>Text");
        let found = facts(&html);
        assert_eq!(found.author.as_deref(), Some(author), "{line}");
        assert_eq!(found.published.as_deref(), Some("2024-03-14"), "{line}");
    }
}

#[test]
fn section_tags_and_image_are_told() {
    let html = r#"<meta property=article:section content=Nature><meta property=article:tag content=silk><meta property=article:tag content="webs, silk">
        <meta property=og:image content=/a.jpg>"#;
    let found = facts(html);
    assert_eq!(found.section.as_deref(), Some("Nature"));
    assert_eq!(found.tags, ["silk", "webs"]);
    assert_eq!(found.image.as_deref(), Some("/a.jpg"));
    let html = r#"<script type="application/ld+json">{"@type":"NewsArticle","articleSection":["Nature","x"],"keywords":["silk","webs"],"image":{"@type":"ImageObject","url":"/b.jpg"}}</script>"#;
    let found = facts(html);
    assert_eq!(found.section.as_deref(), Some("Nature"));
    assert_eq!(found.tags, ["silk", "webs"]);
    assert_eq!(found.image.as_deref(), Some("/b.jpg"));
}

#[test]
fn names_that_are_escaped_in_json_ld_are_told_as_they_are_meant() {
    let html = r#"<title>Silk &amp; steel</title><meta property="og:site_name" content="Webs &amp;amp; Weavers">
        <script type="application/ld+json">{"@type":"NewsArticle","headline":"It&#8217;s silk &amp; steel",
        "author":{"@type":"Person","name":"Sean O&#039;Neil"},"articleSection":"R&amp;D",
        "keywords":"R&amp;D; silk","image":"https://e.org/a.jpg?w=1&amp;h=2"}</script>"#;
    let found = facts(html);
    assert_eq!(found.title.as_deref(), Some("Silk & steel"));
    assert_eq!(found.site_name.as_deref(), Some("Webs & Weavers"));
    assert_eq!(found.author.as_deref(), Some("Sean O'Neil"));
    assert_eq!(found.section.as_deref(), Some("R&D"));
    assert_eq!(found.tags, ["R&D", "silk"]);
    assert_eq!(found.image.as_deref(), Some("https://e.org/a.jpg?w=1&h=2"));
}

#[test]
fn the_site_s_name_is_the_stated_one() {
    assert_eq!(
        facts("<meta property=og:site_name content=' Orb  J '><title>a</title>")
            .site_name
            .as_deref(),
        Some("Orb J")
    );
    let publisher = r#"<script type="application/ld+json">{"@type":"Article","publisher":{"@type":"Organization","name":"Orb J"}}</script>"#;
    assert_eq!(facts(publisher).site_name.as_deref(), Some("Orb J"));
    assert_eq!(
        at("http://127.0.0.1/x", "<title>Widgets - Acme</title>")
            .title
            .as_deref(),
        Some("Widgets - Acme")
    );
}

#[test]
fn the_site_s_name_is_read_from_the_title_where_nothing_states_it() {
    for (title, name) in [
        ("How webs are built | Orb Journal", Some("Orb Journal")),
        ("Orb Journal - How webs are built", Some("Orb Journal")),
        ("Webs on Orb Journal", Some("Orb Journal")),
        ("Webs on silk at Orb Journal", Some("Orb Journal")),
        ("Webs at night on Orb Journal.", Some("Orb Journal")),
        ("Silk | Orb Journal Forum", Some("Orb Journal Forum")),
        ("Orb Journal Guides | Silk", None),
        ("Orb: how webs are built", None),
        ("How webs are built | Silk", None),
        ("How webs are built", None),
    ] {
        let found = facts(&format!("<title>{title}</title>"));
        assert_eq!(found.site_name.as_deref(), name, "{title}");
    }
    let stated = facts("<title>Webs | Orb Journal</title><meta property=og:site_name content=OJ>");
    assert_eq!(stated.site_name.as_deref(), Some("OJ"));
}

#[test]
fn links_with_rel_tag_are_topics_where_nothing_states_them() {
    let html = "<article><h1>Webs</h1><a rel='category tag' href=/c>Spiders</a><a rel=tag href=/t>silk</a></article>";
    let found = facts(html);
    assert_eq!(found.section.as_deref(), Some("Spiders"));
    assert_eq!(found.tags, ["silk"]);
    let stated = facts(&format!(
        "<meta property=article:section content=S><meta property=article:tag content=t>{html}"
    ));
    assert_eq!(
        (stated.section.as_deref(), stated.tags),
        (Some("S"), vec!["t".to_owned()])
    );
}

#[test]
fn titles_escaped_twice_are_read_as_they_were_meant() {
    assert_eq!(
        titles("<title>Silk &amp;amp; webs&amp;hellip;</title>").0,
        "Silk & webs…"
    );
    let about = titles("<title>The &amp;nbsp; reference</title><h1>The &amp;nbsp; reference</h1>");
    assert_eq!(about.0, "The &nbsp; reference");
}
