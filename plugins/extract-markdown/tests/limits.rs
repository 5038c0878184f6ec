//! Hostile documents: deeper, wider or more damaged than any page.

use orbweaver_extract_markdown::{Options, extract, markdown};
use orbweaver_sdk::dom::format::{
    HEADER_WORDS, KIND_DOCUMENT, KIND_ELEMENT, KIND_TEXT, MAGIC, NONE, VERSION,
};
use orbweaver_sdk::dom::{Snapshot, parse, tag};
use orbweaver_sdk::testing::Document;

/// A million elements in one another, these tags in turn, with a word in each `every`-th.
fn nested(tags: &[u16], every: u32) -> Snapshot {
    let depth = 1_000_000;
    let mut nodes: Vec<[u32; 6]> = vec![[KIND_DOCUMENT, NONE, 0, NONE, 0, 0]];
    let mut parent = 0;
    for level in 0..depth {
        let id = nodes.len() as u32;
        let tag = u32::from(match level {
            0 => tag::HTML,
            1 => tag::BODY,
            _ => tags[level as usize % tags.len()],
        });
        nodes.push([KIND_ELEMENT | tag << 16, parent, 0, NONE, 0, 0]);
        parent = id;
        if level % every == every - 1 {
            nodes.push([KIND_TEXT, id, id + 2, NONE, 0, 4]);
        }
    }
    let count = nodes.len() as u32;
    for node in nodes.iter_mut().filter(|n| n[0] & 0xff != KIND_TEXT) {
        node[2] = count;
    }
    let mut words = vec![MAGIC | VERSION, count, 0, 0];
    words.resize(HEADER_WORDS, 0);
    words.extend(nodes.as_flattened());
    Snapshot {
        words,
        text: "word".to_owned(),
    }
}

#[test]
fn a_million_levels_are_read_in_linear_time_and_space() {
    let shapes: [&[u16]; 9] = [
        &[tag::DIV],
        &[tag::BLOCKQUOTE],
        &[tag::UL, tag::LI],
        &[tag::LI],
        &[tag::TABLE, tag::TBODY, tag::TR, tag::TD],
        &[tag::B, tag::I, tag::CODE, tag::DEL],
        &[tag::A, tag::SUP],
        &[tag::SECTION, tag::H2, tag::FIGURE, tag::PRE],
        &[tag::MATH, tag::MSUP, tag::DL, tag::DD],
    ];
    for (index, tags) in shapes.into_iter().enumerate() {
        for (every, only_main_content) in [(10_000, true), (1_000_000, false)] {
            if only_main_content && index % 4 != 0 {
                continue;
            }
            let snapshot = nested(tags, every);
            let view = snapshot.view().expect("view");
            let markdown = markdown(&view, "", &Options { only_main_content });
            assert!(markdown.contains("word"), "{tags:?}");
            assert!(
                markdown.len() < 1_000_000,
                "{tags:?}: {} bytes",
                markdown.len()
            );
        }
    }
}

#[test]
fn wide_documents_do_not_multiply() {
    let cases = [
        format!(
            "<table><tr><td colspan=1000>a<td>b{}</table>",
            "<tr><td>c".repeat(20_000)
        ),
        format!(
            "<table><tr>{}<tr>{}</table>",
            "<td rowspan=65534 colspan=1000>a".repeat(500),
            "<td>b".repeat(500)
        ),
        format!("<p>{}", "[".repeat(100_000)),
        format!("<p>{}", "<b>a.</b>b".repeat(20_000)),
        format!("<ul>{}", "<li>a<ul>".repeat(400)),
        format!("<p>{}", "a*_`~<&".repeat(20_000)),
        format!("<code>{}</code>", "`a``".repeat(50_000)),
        format!("<ol start=999999999>{}", "<li>a".repeat(20_000)),
    ];
    for html in cases {
        let snapshot = parse(&html);
        let view = snapshot.view().expect("view");
        let markdown = markdown(&view, "", &Options::default());
        assert!(!markdown.is_empty());
        assert!(
            markdown.len() < 40 * html.len() + 1_000,
            "{} of {}",
            markdown.len(),
            html.len()
        );
    }
}

#[test]
fn damaged_snapshots_are_read_as_far_as_they_go() {
    let html =
        "<ul><li><a href=/x>a<b>b</b></a><table><tr><th>c<td>d</table><pre>e</pre><img src=f></ul>";
    let whole = parse(html);
    let mut state = 88_172_645_463_325_252_u64;
    for _ in 0..20_000 {
        let mut snapshot = whole.clone();
        for _ in 0..3 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let at = HEADER_WORDS + (state >> 8) as usize % (snapshot.words.len() - HEADER_WORDS);
            snapshot.words[at] = if state & 1 == 0 {
                (state >> 40) as u32
            } else {
                (state >> 40) as u32 % 64
            };
        }
        let view = snapshot.view().expect("view");
        let options = Options {
            only_main_content: state & 2 == 0,
        };
        assert!(markdown(&view, "https://host.example/", &options).len() < 10_000);
    }
}

#[test]
fn the_role_answers_a_json_string() {
    let document = Document::new(
        "https://host.example/a/",
        "<p>\"a\" <a href=b>b</a>\n<p>é\u{2028}",
    );
    let json = extract(&document.page(), "").expect("answer");
    let text: String = serde_json::from_str(&json).expect("a JSON string");
    assert_eq!(text, "\"a\" [b](https://host.example/a/b)\n\né");
    assert!(extract(&document.page(), "{\"only_main_content\": 3}").is_err());
    assert!(
        extract(
            &document.page(),
            "{\"only_main_content\": true, \"other\": 1}"
        )
        .is_ok()
    );
}

/// A quadratic conversion needs minutes for each of these sources.
#[test]
fn sources_in_noscript_are_read_in_linear_time() {
    for unit in [
        "&a",
        "<!--",
        "<a b=\"",
        "<pre>a",
        "<script>",
        "</",
        " src=a",
        "<img src=a>",
    ] {
        let html = format!(
            "<noscript>{}</noscript>",
            unit.repeat(4_000_000 / unit.len())
        );
        let snapshot = parse(&html);
        let view = snapshot.view().expect("view");
        let markdown = markdown(&view, "", &Options::default());
        assert!(
            markdown.len() < 4 * html.len(),
            "{unit}: {}",
            markdown.len()
        );
    }
}

#[test]
fn short_rows_below_a_wide_one_do_not_multiply_the_page() {
    let html = format!(
        "<table><tr>{}{}</table>",
        "<td>b".repeat(250),
        "<tr><td>a".repeat(100_000)
    );
    let snapshot = parse(&html);
    let view = snapshot.view().expect("view");
    let markdown = markdown(&view, "", &Options::default());
    assert!(markdown.len() < 5 * html.len(), "{}", markdown.len());
    assert!(markdown.contains("| a |"));
}

#[test]
fn what_is_written_again_in_each_block_does_not_multiply_the_page() {
    let (ticks, url) = ("`".repeat(4_000), "x".repeat(4_000));
    for (head, unit) in [
        (format!("<code>{ticks}"), "<p>a"),
        (format!("<code>{ticks}"), "<br>a"),
        (format!("<code>{ticks}"), "<a href=/b>c</a>a"),
        (format!("<a href=/{url}>"), "<div>a</div>"),
        (format!("<a href=/{url}>"), "<video src=/b></video>a"),
        (format!("<noscript><a href=/{url}>"), "<p>a"),
    ] {
        let html = format!("{head}{}", unit.repeat(4_000));
        let snapshot = parse(&html);
        let view = snapshot.view().expect("view");
        let markdown = markdown(&view, "https://host.example/", &Options::default());
        assert!(markdown.len() < 700_000, "{unit}: {}", markdown.len());
        assert!(markdown.matches('a').count() >= 4_000, "{unit}");
    }
}

#[test]
fn links_of_many_blocks_keep_their_destination_until_it_was_written_often() {
    let html = "<a href=/b><div>a</div><img src=/c alt='[d]'><div>e</div></a>".repeat(1_000);
    let snapshot = parse(&html);
    let view = snapshot.view().expect("view");
    let markdown = markdown(&view, "https://host.example/", &Options::default());
    let count = |part: &str| markdown.matches(part).count();
    assert_eq!(count("[a](https://host.example/b)"), 1_000);
    assert_eq!(count("[e](https://host.example/b)"), 1_000);
    assert_eq!(count("![\\[d\\]](https://host.example/c)"), 1_000);
}
