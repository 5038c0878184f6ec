//! What a page says about itself, and which place is believed.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use orbweaver_sdk::serde_json::{Value, from_str, json};
use orbweaver_sdk::testing::Document;

fn metadata_of(document: Document) -> Value {
    let metadata = orbweaver_extract_metadata::extract(&document.page(), "{}").expect("metadata");
    from_str(&metadata).expect("JSON")
}

fn metadata(html: &str) -> Value {
    metadata_of(Document::new("https://example.org/news/story.html", html))
}

#[test]
fn a_news_page_is_read_whole() {
    let found = metadata(include_str!("../fixtures/news.html"));
    let expected: Value = from_str(include_str!("../fixtures/news.json")).expect("JSON");
    assert_eq!(found, expected);
}

#[test]
fn descriptions_and_languages_are_as_they_were_meant() {
    let found = metadata(
        "<html lang=pt_BR><meta name=description content='&lt;p&gt;Silk &amp;amp; webs&amp;hellip;&lt;/p&gt;'>",
    );
    assert_eq!(found["description"], "Silk & webs…");
    assert_eq!(found["lang"], "pt-BR");
}

#[test]
fn a_bare_page_states_nothing() {
    let found = metadata("<p>Hello");
    let fields = found.as_object().expect("an object");
    for (key, value) in fields {
        let empty = value.is_null()
            || value.as_array().is_some_and(Vec::is_empty)
            || value.as_object().is_some_and(|o| o.is_empty());
        assert!(empty, "{key}: {value}");
    }
    for key in [
        "title",
        "description",
        "canonical",
        "og",
        "twitter",
        "json_ld",
    ] {
        assert!(fields.contains_key(key), "{key}");
    }
}

#[test]
fn the_title_is_html_s_first_then_open_graph_s() {
    let title = |html: &str| metadata(html)["title"].clone();
    assert_eq!(
        title("<svg><title>icon</title></svg><title> A\n B </title><title>C</title>"),
        "A B"
    );
    assert_eq!(
        title("<title> </title><meta property=og:title content=' O  G '>"),
        "O G"
    );
    assert_eq!(title("<meta name=twitter:title content=T>"), "T");
}

#[test]
fn the_description_is_the_page_s_before_that_of_a_thing_on_it() {
    const ITEM: &str = "<div itemscope itemtype=https://schema.org/Product><meta itemprop=description content=item></div>";
    const REVIEW: &str = "<div itemscope itemtype=https://schema.org/Review><meta itemprop=description content=review></div>";
    for (metas, expected) in [
        ("<meta name=description content=page>", "page"),
        ("<meta property=og:description content=shared>", "shared"),
        ("<meta name=twitter:description content=shared>", "shared"),
        ("", "item"),
    ] {
        let found = metadata(&format!("<body>{REVIEW}{ITEM}{metas}"));
        assert_eq!(found["description"], expected, "{metas}");
    }
    assert_eq!(metadata(REVIEW)["description"], Value::Null);
}

#[test]
fn the_canonical_url_is_absolute_and_may_come_from_the_header() {
    let canonical = |html: &str| metadata(html)["canonical"].clone();
    assert_eq!(
        canonical("<link rel='Canonical' href='/c?x=1'>"),
        "https://example.org/c?x=1"
    );
    assert_eq!(
        canonical("<base href='https://b.org/d/'><link rel=canonical href=e>"),
        "https://b.org/d/e"
    );
    assert_eq!(
        canonical("<link rel=canonical href='mailto:x'><link rel=canonical href=/2>"),
        "https://example.org/2"
    );
    let document = Document::new("https://example.org/f.pdf", "<base href='https://b.org/'>")
        .header("Link", "</style.css>; rel=preload, </g>; rel=\"canonical\"");
    assert_eq!(metadata_of(document)["canonical"], "https://example.org/g");
}

#[test]
fn a_link_without_an_address_is_no_link() {
    let found = metadata(
        "<link rel=canonical href=''><link rel=icon href=''><link rel=apple-touch-icon href=' '>
         <link rel=alternate type=application/rss+xml href=''>",
    );
    assert_eq!(found["canonical"], Value::Null);
    assert_eq!(found["favicon"], Value::Null);
    assert_eq!(found["feeds"], json!([]));
    let found = metadata("<link rel=icon href=''><link rel=apple-touch-icon href=/touch.png>");
    assert_eq!(found["favicon"], "https://example.org/touch.png");
}

#[test]
fn keywords_are_divided_by_the_signs_of_every_script_as_tags_are() {
    for sign in [",", ";", "，", "；", "、", "،", "؛"] {
        let found = metadata(&format!(
            "<meta name=keywords content='حرير {sign} شبكة{sign}{sign}'>"
        ));
        assert_eq!(found["keywords"], json!(["حرير", "شبكة"]), "{sign}");
        assert_eq!(found["tags"], found["keywords"], "{sign}");
    }
}

#[test]
fn an_image_with_both_of_its_names_is_one() {
    let image = |name: &str, url: &str| format!("<meta property={name} content='{url}'>");
    let og = |metas: &[String]| metadata(&metas.concat())["og"].clone();
    let (one, url) = (image("og:image", "1.png"), image("og:image:url", "1.png"));
    assert_eq!(
        og(&[one.clone(), url.clone()]),
        json!({"image": "1.png", "image:url": "1.png"})
    );
    let two = image("og:image", "2.png");
    let found = og(&[one.clone(), url.clone(), two.clone(), two, one.clone()]);
    assert_eq!(found["images"], json!(["1.png", "2.png"]));
    let empty = image("og:image", "");
    assert_eq!(
        og(&[empty, one, url]),
        json!({"image": "1.png", "image:url": "1.png"}),
        "a filled meta counts before an empty one"
    );
}

#[test]
fn open_graph_keeps_the_first_of_each_key_and_all_images() {
    let found = metadata(
        "<meta property='og:image' content='1.png'><meta property='OG:Type' content=article>
         <meta property='og:image' content='2.png'><meta name='og:title' content='by name'>
         <meta property='og:title' content=second><meta property='og:image:width' content=10>
         <meta name='twitter:card' content=summary><meta property='twitter:site' content='@x'>",
    );
    assert_eq!(
        found["og"],
        json!({"image": "1.png", "Type": "article", "title": "by name", "image:width": "10", "images": ["1.png", "2.png"]})
    );
    assert_eq!(found["twitter"], json!({"card": "summary", "site": "@x"}));
}

#[test]
fn authors_and_dates_come_from_metas_json_ld_and_the_text() {
    let ld = r##"<script type="application/ld+json">{"@graph":[
        {"@type":"Comment","author":"Troll","datePublished":"1999"},
        {"@type":"NewsArticle","author":[{"@id":"#p"},{"@type":"Person","name":"Bo B."},"Cy"],
         "datePublished":"2024-01-02","dateModified":"2024-01-03"},
        {"@type":"Person","@id":"#p","name":"Ada A."}]}</script>"##;
    let of = |html: &str| {
        let found = metadata(html);
        ["author", "published", "modified"].map(|key| found[key].as_str().map(str::to_owned))
    };
    let some = |s: &str| Some(s.to_owned());
    assert_eq!(
        of(ld),
        [
            some("Ada A., Bo B., Cy"),
            some("2024-01-02"),
            some("2024-01-03")
        ]
    );
    let metas = "<meta name=Author content='Dee D.'><meta property=article:published_time content=2020-05-05T10:00Z>";
    assert_eq!(
        of(&format!("{ld}{metas}")),
        [
            some("Ada A., Bo B., Cy"),
            some("2020-05-05T10:00Z"),
            some("2024-01-03")
        ],
        "metas name one of several authors, or the publisher"
    );
    assert_eq!(of(metas)[0], some("Dee D."));
    let marked = "<a rel=author href=/e>Eve E.</a><time datetime=2021-01-01 itemprop=datePublished>Jan</time><time itemprop=dateModified>2022</time>";
    assert_eq!(
        of(marked),
        [some("Eve E."), some("2021-01-01"), some("2022")]
    );
    assert_eq!(
        of("<meta property=article:author content=https://facebook.com/x>")[0],
        None
    );
}

#[test]
fn a_comment_s_author_is_not_the_page_s() {
    let html = "<div itemscope itemtype='https://schema.org/Comment'><b itemprop=author>Troll</b></div>
        <div itemscope itemtype='https://schema.org/BlogPosting'><p itemprop=author itemscope>By <a itemprop=url href=/f><i itemprop=name>Fay F.</i></a></p></div>
        <a rel=author href=/g>Written by Gus</a>";
    assert_eq!(metadata(html)["author"], "Fay F.");
    assert_eq!(
        metadata("<a rel=author href=/g>Written by Gus G.</a>")["author"],
        "Gus G."
    );
    assert_eq!(
        metadata("<a rel=author href=/g>https://g.example/</a>")["author"],
        Value::Null
    );
}

#[test]
fn broken_json_ld_is_skipped_and_the_rest_kept() {
    let found = metadata(
        r#"<script type="application/ld+json">{"@type":"A",}</script>
           <script type="application/ld+json">{"@type": oops</script>
           <script type="text/javascript">{"@type":"No"}</script>
           <script type=" Application/LD+JSON; charset=utf-8">[{"@type":"B"},{"name":"untyped"}]</script>"#,
    );
    assert_eq!(found["json_ld"], json!([{"@type": "A"}, {"@type": "B"}]));
}

#[test]
fn the_charset_is_the_declared_one_header_first() {
    let html = "<meta charset=' Shift_JIS '>";
    assert_eq!(metadata(html)["charset"], "shift_jis");
    let document = Document::new("https://e.org/", html)
        .header("content-type", "text/html; Charset=\"UTF-8\"");
    assert_eq!(metadata_of(document)["charset"], "utf-8");
    let marked = Document::new("https://e.org/", "\u{feff}<p>")
        .header("content-type", "text/html; charset=koi8-r");
    let charset = &metadata_of(marked)["charset"];
    assert_eq!(*charset, "utf-8", "a byte order mark is stronger");
    let equiv = "<meta http-equiv=Content-Type content='text/html; charset=koi8-r'>";
    assert_eq!(metadata(equiv)["charset"], "koi8-r");
}

#[test]
fn the_language_is_the_root_s_then_content_language() {
    assert_eq!(metadata("<html lang='de-AT'>")["lang"], "de-AT");
    assert_eq!(
        metadata("<html lang=''><meta http-equiv=content-language content=fr>")["lang"],
        "fr"
    );
    let document = Document::new("https://e.org/", "").header("Content-Language", "nl");
    assert_eq!(metadata_of(document)["lang"], "nl");
    let several = Document::new("https://e.org/", "").header("Content-Language", "nl, en");
    assert_eq!(metadata_of(several)["lang"], Value::Null);
}

#[test]
fn a_language_that_cannot_be_detected_is_not_that_of_a_neighbour() {
    for text in [
        "Ísland er eyríki í Norður-Atlantshafi. Höfuðborgin er Reykjavík og þar býr um þriðjungur þjóðarinnar.",
        "Қазақстан — Орталық Азиядағы мемлекет. Астанасы — Астана қаласы. Мемлекеттік тілі — қазақ тілі.",
    ] {
        let found = metadata(&format!("<main><p>{text}</p></main>"));
        assert_eq!(found["lang"], Value::Null, "{text}");
        assert_eq!(found["lang_source"], Value::Null, "{text}");
    }
}

#[test]
fn every_author_of_repeated_metas_is_named() {
    let found = metadata(
        "<html lang=sv><meta name=author content='Per Larsson'><meta name=author content='Bo Lim'>",
    );
    assert_eq!(found["author"], "Per Larsson, Bo Lim");
}
