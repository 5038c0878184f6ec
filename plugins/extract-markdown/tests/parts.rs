//! Parts of a text that look like something beside the point: the article's text and
//! `only_main_content` have them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a helper that cannot do its work fails its test"
)]

use orbweaver_content::Content;
use orbweaver_extract_markdown::{Options, markdown};

const URL: &str = "https://beans.example/blog/coffee";
const DOCS: &str = "https://docs.beans.example/coffee";

/// A paragraph of running text with a word to tell it by.
fn paragraph(word: &str) -> String {
    format!(
        "<p>Espresso is brewed under pressure, and the {word} decides how evenly the water runs \
         through the coffee, which baristas have known for many years.</p>"
    )
}

/// A page of four paragraphs and what stands between them.
fn page(inner: &str) -> String {
    let [grinder, basket, tamper, kettle] =
        ["grinder", "basket", "tamper", "kettle"].map(paragraph);
    format!(
        "<html><head><title>Coffee at home - Beans</title><meta property=og:type content=article></head><body>\
         <header class=site-header><a href=/>Beans</a><nav><ul><li><a href=/a>Shops</a><li><a href=/b>Maps</a></ul></nav></header>\
         <main><article><h1>Coffee at home</h1>{grinder}{basket}{inner}{tamper}{kettle}</article>\
         <aside class=sidebar><h3>Popular</h3><ul><li><a href=/x>Ten cups</a><li><a href=/y>Nine mugs</a></ul></aside></main>\
         <footer><p>Copyright 2026 Beans, all rights reserved.</p></footer></body></html>"
    )
}

/// The article's text and the Markdown of the main content.
fn formats(url: &str, html: &str) -> [String; 2] {
    let snapshot = orbweaver_sdk::dom::parse(html);
    let view = snapshot.view().expect("view");
    let options = Options {
        only_main_content: true,
    };
    [
        Content::of(&view, url).text(&view),
        markdown(&view, url, &options),
    ]
}

/// Checks that both formats of a page with `inner` in its text have the words of `with`, none of those
/// of `without`, and all of its paragraphs.
#[track_caller]
fn check_at(url: &str, inner: &str, with: &[&str], without: &[&str]) {
    for text in formats(url, &page(inner)) {
        for word in ["grinder", "basket", "tamper", "kettle"].iter().chain(with) {
            assert!(text.contains(word), "no {word:?} of {inner} in {text}");
        }
        for word in ["Shops", "Ten cups", "Copyright"].iter().chain(without) {
            assert!(!text.contains(word), "{word:?} of {inner} in {text}");
        }
    }
}

#[track_caller]
fn check(inner: &str, with: &[&str], without: &[&str]) {
    check_at(URL, inner, with, without);
}

const TABLE: &str = "<table><thead><tr><th>Grind</th><th>Time</th></tr></thead>\
                     <tbody><tr><td>Fine</td><td>28 s</td></tr><tr><td>Coarse</td><td>22 s</td></tr></tbody></table>";
const QUOTE: &str = "Good coffee needs good water, fresh beans and a clean machine.";

#[test]
fn a_figure_of_text_is_text() {
    let cells = ["Grind", "Time", "Fine", "28 s", "Coarse", "22 s"];
    for figure in [
        format!(
            "<figure class=wp-block-table>{TABLE}<figcaption>Seen in May</figcaption></figure>"
        ),
        format!("<figure class='table w-100'><div class=table-responsive>{TABLE}</div></figure>"),
    ] {
        check(&figure, &cells, &["Seen in May"]);
    }
    for figure in [
        "<figure class=highlight><pre><code>let dose = 18;</code></pre></figure>",
        "<figure class='kg-card kg-code-card'><pre><code>let dose = 18;</code></pre><figcaption>Seen in May</figcaption></figure>",
        "<figure class='highlight js'><table><tr><td class=gutter><pre>1</pre></td><td class=code><pre>let dose = 18;</pre></td></tr></table></figure>",
        "<figure class='frame has-title'><figcaption class=header><span class=title>Seen in May</span></figcaption><pre><code>\
         <div class=ec-line><div class=code>let dose = 18;</div></div></code></pre><div class=copy><button><svg><path></svg></button></div></figure>",
    ] {
        check(figure, &["let dose = 18;"], &["Seen in May"]);
    }
    for figure in [
        format!(
            "<figure class=wp-block-pullquote><blockquote><p>{QUOTE}</p></blockquote></figure>"
        ),
        format!(
            "<figure><blockquote>{QUOTE}</blockquote><figcaption>Seen in May</figcaption></figure>"
        ),
        format!(
            "<figure class='block-color-gray_background callout'><img class=icon src=/i.png><div>{QUOTE}</div></figure>"
        ),
        format!("<figure class=statement><p>{QUOTE}</p></figure>"),
        format!("<figure><ol><li>{QUOTE}</li><li>Grind them</li></ol></figure>"),
        format!("<figure><dl><dt>Coffee</dt><dd>{QUOTE}</dd></dl></figure>"),
    ] {
        check(&figure, &[QUOTE], &["Seen in May"]);
    }
}

#[test]
fn a_figure_of_a_picture_is_none() {
    for figure in [
        "<figure><img src=/a.jpg><figcaption>Seen in May, on the third of the long market days.</figcaption></figure>",
        "<figure><img src=/a.jpg><div class=text><p>Seen in May, on the third of the long market days.</p></div></figure>",
        "<figure><button aria-label=Enlarge><img src=/a.jpg></button><p>Seen in May, on the third of the long market days.</p></figure>",
        "<figure><amp-img src=/a.jpg></amp-img><p>Seen in May, on the third of the long market days.</p></figure>",
        "<figure class=gallery><ul><li><img src=/a.jpg><p>Seen in May, on the third of the long market days.</p></li></ul></figure>",
        "<figure><table><tr><td><img src=/a.jpg></td></tr><tr><td>Seen in May, on the third of the long market days.</td></tr></table></figure>",
    ] {
        check(figure, &[], &["Seen in May"]);
    }
}

#[test]
fn a_quotation_that_repeats_the_text_is_a_picture_of_it() {
    let inner = format!(
        "<p>The roaster said: “{QUOTE}” He has run the shop for many years, and he knows his visitors well.</p>\
         <figure class=wp-block-pullquote><blockquote><p>{QUOTE}</p></blockquote></figure>"
    );
    for text in formats(URL, &page(&inner)) {
        assert_eq!(text.matches(QUOTE).count(), 1, "{text}");
    }
}

const LIST: &str = "<ul><li>Gaggia Classic, for people who like to tinker</li>\
                    <li>Rancilio Silvia, heavy and built for decades</li></ul>";
const LEVER: &str = "<p>Levers are for those who like work, and they have been built in Milan for seventy years.</p>";

#[test]
fn a_heading_that_begins_like_an_announcement_heads_its_text() {
    for heading in [
        "Most popular machines in 2024",
        "More on temperature",
        "More in detail: the pump",
        "Trending now among baristas",
        "Share this machine with a flatmate?",
        "Sign up for a course",
        "Explore more exotic beans",
        "Most read manuals",
        "Similar products from other makers",
        "Tags",
        "Topics",
        "Comments",
        "Newsletter",
        "Related topics",
    ] {
        for (part, with) in [
            (LIST, "Gaggia Classic"),
            (TABLE, "28 s"),
            (LEVER, "seventy years"),
        ] {
            let inner = format!("<h2>{heading}</h2>{part}");
            check(&inner, &[heading, with], &[]);
            let more = format!("<h2>{heading}</h2>{part}<h2>The end of it</h2>{LEVER}");
            check(&more, &[heading, with, "The end of it"], &[]);
        }
        let boxed = format!("<section><div><h2>{heading}</h2></div><div>{TABLE}</div></section>");
        check(&boxed, &["28 s"], &[]);
    }
    for heading in ["Tags", "Topics"] {
        for part in [LIST, TABLE] {
            let inner = format!("<section id=s><h2>{heading}</h2>{part}</section>");
            for text in formats(DOCS, &page(&inner)) {
                assert!(text.contains(heading), "{heading}: {text}");
                assert!(
                    text.contains("Gaggia") || text.contains("28 s"),
                    "{heading}: {text}"
                );
            }
        }
    }
}

#[test]
fn what_an_announcement_announces_goes() {
    let links = "<ul><li><a href=/p>Gulls in the harbour of the town</a></li><li><a href=/q>Crows on the roof of the hall</a></li></ul>";
    let teasers = "<ul><li><a href=/p>Gulls in the harbour</a><p>12 May, by Ann</p></li><li><a href=/q>Crows on the roof</a><p>13 May, by Ann</p></li></ul>";
    for heading in [
        "Related topics",
        "Most popular",
        "More on birds",
        "Explore more",
        "Most read",
    ] {
        for part in [links, teasers] {
            check(
                &format!("<h2>{heading}</h2>{part}"),
                &[],
                &[heading, "Gulls", "Crows"],
            );
            let boxed = format!("<section><h2>{heading}</h2><div>{part}</div></section>");
            check(&boxed, &[], &[heading, "Gulls", "Crows"]);
        }
    }
    for part in [
        "<h3>Sign up for our letter</h3><p>The best of coffee in your inbox, on every Sunday morning of the year.</p><form><input name=mail><button>Go</button></form>",
        "<div><h3>Newsletter</h3><p>The best of coffee in your inbox, on every Sunday morning.</p></div>",
        "<h3>Comments</h3><ul><li><b>Bob</b><p>What nonsense this is, as always.</p></li><li><b>Eve</b><p>No, Bob, you are wrong.</p></li></ul>",
        "<h3>Tags</h3><ul><li><a href=/t/coffee>coffee</a></li><li><a href=/t/water>water</a></li></ul>",
        "<h4>Share this story</h4><ul><li><a href=//f.example>Facebook</a></li><li><a href=//x.example>Twitter</a></li></ul>",
    ] {
        let words = [
            "letter",
            "Newsletter",
            "Comments",
            "Tags",
            "Share",
            "nonsense",
            "Facebook",
        ];
        check(part, &[], &words);
    }
}

#[test]
fn first_level_headings_head_parts_of_the_text() {
    let water = "A word about water";
    let part = format!(
        "<h1>{water}</h1>{LEVER}<h1>Beans</h1>{LIST}<h1>Numbers</h1><figure><img src=/a.jpg></figure>{TABLE}"
    );
    for (url, class) in [
        (URL, ""),
        (URL, "docs"),
        (DOCS, ""),
        ("https://beans.example/", ""),
    ] {
        let html = page(&part).replace("<body>", &format!("<body class='{class}'>"));
        let [text, markdown] = formats(url, &html);
        for heading in [water, "Beans", "Numbers"] {
            let lines = text.lines().filter(|line| *line == heading);
            assert_eq!(lines.count(), 1, "{url}: {heading}: {text}");
            assert!(
                markdown.contains(&format!("\n# {heading}\n")),
                "{url}: {markdown}"
            );
        }
        assert!(!text.contains("Coffee at home"), "{url}: {text}");
        assert!(
            markdown.starts_with("# Coffee at home\n"),
            "{url}: {markdown}"
        );
        assert_eq!(markdown.matches("Coffee at home").count(), 1, "{markdown}");
    }
    // The site's name is one, and the headline comes second.
    let named = page(&part).replace("<a href=/>Beans</a>", "<h1><a href=/>Beans</a></h1>");
    let [text, markdown] = formats(URL, &named);
    assert!(
        text.contains(water) && !text.contains("Coffee at home"),
        "{text}"
    );
    assert!(markdown.starts_with("# Coffee at home\n"), "{markdown}");
}

#[test]
fn first_level_headings_that_head_nothing_go() {
    for heading in [
        "<h1>Coffee at home</h1>",
        "<div class=box><a href=/big><img src=/a.jpg></a><h1>A long row of cups</h1></div>",
        "<div><h1>A long row of cups</h1><ul><li><a href=/p>Gulls in the harbour</a></li><li><a href=/q>Crows</a></li></ul></div>",
    ] {
        let [text, _] = formats(URL, &page(heading));
        assert!(!text.contains("Coffee at home"), "{text}");
        assert!(!text.contains("row of cups"), "{text}");
    }
}

const NOTE: &str = "Mind the steam of the machine.";

#[test]
fn notes_are_of_the_text() {
    for note in [
        format!(
            "<aside class='starlight-aside starlight-aside--tip'><p class=starlight-aside__title>Tip</p><div class=starlight-aside__content><p>{NOTE}</p></div></aside>"
        ),
        format!(
            "<aside class='c-aside c-aside--plain'><div class=c-aside__body><div class=c-aside__text>{NOTE}</div></div></aside>"
        ),
        format!("<aside role=note><p>{NOTE}</p></aside>"),
        format!("<aside role=doc-footnote><p>{NOTE} <a href='#r'>back</a></p></aside>"),
        format!("<div class=sidebar role=note><p>{NOTE}</p></div>"),
        format!("<aside class=topic><p class=topic-title>About steam</p><p>{NOTE}</p></aside>"),
        format!("<aside class=sidebar><p class=sidebar-title>About steam</p><p>{NOTE}</p></aside>"),
        format!("<aside class=notice>{NOTE}</aside>"),
        format!("<aside data-type=sidebar><h5>About steam</h5><p>{NOTE}</p></aside>"),
    ] {
        for url in [URL, DOCS] {
            check_at(url, &note, &[NOTE], &[]);
        }
    }
}

#[test]
fn other_asides_are_not() {
    let links = "<ul><li><a href=/p>Gulls in the harbour</a></li><li><a href=/q>Crows on the roof</a></li></ul>";
    for aside in [
        format!("<aside><p>{NOTE}</p></aside>"),
        format!("<aside class=sidebar><p>{NOTE}</p></aside>"),
        format!("<aside class=topic><h4>Topics</h4>{links}</aside>"),
        format!("<aside class=info role=doc-toc>{links}</aside>"),
        format!("<aside role=note>{links}</aside>"),
        format!("<div class=sidebar><div class=sidebar__content><p>{NOTE}</p></div></div>"),
    ] {
        for url in [URL, DOCS] {
            check_at(url, &aside, &[], &[NOTE, "Gulls"]);
        }
    }
}

/// The Markdown of the whole page.
fn whole(html: &str) -> String {
    let snapshot = orbweaver_sdk::dom::parse(html);
    let view = snapshot.view().expect("view");
    markdown(&view, URL, &Options::default())
}

const QUESTION: &str = "Is a cheap grinder enough?";
const ANSWER: &str = "It is for a start, since beans that are ground at home are fresh.";

#[test]
fn a_button_that_opens_an_answer_is_its_question() {
    let other = "<p>One of steel is, and a bad one is worse than none at all.</p>";
    for (one, two) in [
        // W3Schools
        (
            format!(
                "<button class=accordion>{QUESTION}</button><div class=panel><p>{ANSWER}</p></div>"
            ),
            format!(
                "<button class=accordion>Is a filter enough?</button><div class=panel>{other}</div>"
            ),
        ),
        (
            format!(
                "<div><button class=faq-question aria-expanded=false aria-controls=f1>{QUESTION} <svg></svg></button><div id=f1><p>{ANSWER}</p></div></div>"
            ),
            format!(
                "<div><button class=faq-question aria-expanded=false aria-controls=f2>Is a filter enough?</button><div id=f2>{other}</div></div>"
            ),
        ),
        // Drupal
        (
            format!(
                "<div class=accordion__item><div class=accordion__header><button class=accordion__button>{QUESTION}</button></div><div class=accordion__panel><p>{ANSWER}</p></div></div>"
            ),
            format!(
                "<div class=accordion__item><div class=accordion__header><button class=accordion__button>Is a filter enough?</button></div><div class=accordion__panel>{other}</div></div>"
            ),
        ),
        // Bootstrap
        (
            format!(
                "<div class=accordion-item><h3 class=accordion-header><button class='accordion-button collapsed'>{QUESTION}</button></h3><div class='accordion-collapse collapse'><div class=accordion-body>{ANSWER}</div></div></div>"
            ),
            format!(
                "<div class=accordion-item><h3 class=accordion-header><button class='accordion-button collapsed'>Is a filter enough?</button></h3><div class='accordion-collapse collapse'><div class=accordion-body>{other}</div></div></div>"
            ),
        ),
        (
            format!(
                "<div class=accordion-item><div class=accordion-button role=button aria-expanded=true>{QUESTION}</div><div class=accordion-body>{ANSWER}</div></div>"
            ),
            format!(
                "<div class=accordion-item><div class=accordion-button role=button aria-expanded=true>Is a filter enough?</div><div class=accordion-body>{other}</div></div>"
            ),
        ),
    ] {
        let inner = format!("<div class=faq>{one}{two}</div>");
        let with = [QUESTION, ANSWER, "Is a filter enough?", "worse than none"];
        check(&inner, &with, &[]);
        let [text, main] = formats(URL, &page(&inner));
        for text in [text, main, whole(&page(&inner))] {
            let lines: Vec<&str> = text
                .lines()
                .map(|line| line.trim_start_matches(['#', ' ']))
                .filter(|line| !line.is_empty())
                .collect();
            let at = |text: &str| lines.iter().position(|line| *line == text);
            let question =
                at(QUESTION).unwrap_or_else(|| panic!("no line {QUESTION} of {inner}: {text}"));
            assert_eq!(lines.get(question + 1), Some(&ANSWER), "{inner}: {text}");
            assert_eq!(
                lines.get(question + 2),
                Some(&"Is a filter enough?"),
                "{inner}: {text}"
            );
        }
    }
}

#[test]
fn other_buttons_are_controls() {
    for control in [
        format!(
            "<button aria-expanded=false>Settings of the shop</button><ul><li><a href=/p>Gulls</a><li><a href=/q>Crows</a></ul><p>{ANSWER}</p>"
        ),
        format!(
            "<nav><button aria-expanded=false>Settings of the shop</button><div>{ANSWER}</div></nav>"
        ),
        format!(
            "<button aria-haspopup=true aria-expanded=false>Settings of the shop</button><div>{ANSWER}</div>"
        ),
        format!(
            "<button aria-controls=elsewhere>Settings of the shop</button><div id=here>{ANSWER}</div>"
        ),
        format!("<button>Settings of the shop</button><div class=panel>{ANSWER}</div>"),
        format!(
            "<div role=tablist><button role=tab aria-controls=t>Settings of the shop</button></div><div id=t>{ANSWER}</div>"
        ),
        format!(
            "<button aria-expanded=false>Settings of the shop</button><div>{ANSWER}<input name=q></div>"
        ),
        format!(
            "<button aria-expanded=false>Settings of the shop</button><div style='display:none'>{ANSWER}</div>"
        ),
        "<button aria-expanded=false>Settings of the shop</button>".to_owned(),
    ] {
        check(&control, &[], &["Settings of the shop"]);
        assert!(
            !whole(&page(&control)).contains("Settings of the shop"),
            "{control}"
        );
    }
    for name in [
        "Read more",
        "Show the answer",
        "Menu",
        "+ More",
        "8",
        "閱讀整篇文章",
    ] {
        let control = format!(
            "<div class=x><button aria-expanded=false>{name}</button><div>{ANSWER}</div></div>"
        );
        let text = whole(&page(&control));
        assert!(
            !text
                .lines()
                .any(|line| line.trim_start_matches('\\') == name),
            "{name}: {text}"
        );
    }
}

#[test]
fn a_declarative_shadow_root_is_shown() {
    let root = |text: &str| {
        format!(
            "<my-card><template shadowrootmode=open><style>p{{}}</style><h2>Pumps</h2><p>{text}</p><slot></slot></template>{LEVER}</my-card>"
        )
    };
    let inner = root(ANSWER);
    check(&inner, &["Pumps", ANSWER, "seventy years"], &["p{}"]);
    assert!(whole(&page(&inner)).contains(ANSWER));
    let other = inner.replace(" shadowrootmode=open", "");
    check(&other, &["seventy years"], &["Pumps", ANSWER]);
    assert!(!whole(&page(&other)).contains(ANSWER));
    // A page that is one component.
    let app = format!(
        "<body><my-app><template shadowrootmode=closed><main><h1>Coffee at home</h1>{}</main></template></my-app>",
        ["grinder", "basket", "tamper"].map(paragraph).concat()
    );
    for text in formats(URL, &app) {
        assert!(
            text.contains("grinder") && text.contains("tamper"),
            "{text}"
        );
    }
}

#[test]
fn announcements_are_known_in_many_languages() {
    for (lang, phrases, text) in [
        (
            "ja",
            &["あわせて読みたい", "関連記事", "おすすめ記事"][..],
            "カササギの巣は枝の先に掛かる",
        ),
        (
            "zh",
            &["相关阅读", "推荐阅读", "延伸阅读"],
            "城里最老的面包房今天搬走了",
        ),
        ("ko", &["관련기사"], "시내 가장 오래된 빵집이 이사했다"),
        ("th", &["ข่าวที่เกี่ยวข้อง"], "ร้านขนมปังเก่าแก่ที่สุดย้ายแล้ว"),
        (
            "ar",
            &["اقرأ أيضا", "اقرأ أيضًا"],
            "انتقل أقدم مخبز في المدينة",
        ),
        (
            "hi",
            &["यह भी पढ़ें", "यह भी प\u{95d}ें"],
            "शहर की सबसे पुरानी बेकरी चली गई",
        ),
        ("pl", &["Czytaj także"], "Najstarsza piekarnia w mieście"),
        ("tr", &["İlgili Haberler"], "Kentin en eski fırını taşındı"),
        (
            "fr",
            &["À lire aussi", "Voir aussi", "Sur le même sujet"],
            "La plus vieille boulangerie",
        ),
        (
            "es",
            &[
                "Lee también",
                "Te puede interesar",
                "Noticias relacionadas",
                "Artículos relacionados",
            ],
            "La panadería más antigua",
        ),
        (
            "pt",
            &["Notícias relacionadas", "Leia também"],
            "A padaria mais antiga",
        ),
        ("de", &["Lesen Sie auch"], "Die älteste Bäckerei"),
    ] {
        for phrase in phrases {
            let line = format!("<p>{phrase}: <a href=/x>{text}</a></p>");
            check(&line, &[], &[phrase, text]);
            let list = format!(
                "<h3>{phrase}</h3><ul><li><a href=/x>{text}</a></li><li><a href=/y>{text} 2</a></li></ul>"
            );
            check(&list, &[], &[phrase, text]);
            // At the end of the text.
            let html = page("").replace("</article>", &format!("<div>{list}</div></article>"));
            for found in formats(URL, &html) {
                assert!(
                    found.contains("kettle") && !found.contains(text),
                    "{lang}: {found}"
                );
            }
        }
    }
}
