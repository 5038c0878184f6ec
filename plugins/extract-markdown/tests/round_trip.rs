//! Text must come back from a CommonMark reader as it stood on the page, whatever is in it:
//! nothing may turn into markup, and no escape may show.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a helper that cannot do its work fails its test"
)]

use orbweaver_extract_markdown::{Options, markdown};
use pulldown_cmark::{Event, Options as Extensions, Parser, Tag, TagEnd};

fn convert(html: &str) -> String {
    let snapshot = orbweaver_sdk::dom::parse(html);
    let view = snapshot.view().expect("view");
    markdown(&view, "https://host.example/", &Options::default())
}

/// What a reader shows: text, and a mark for each piece of markup in it.
fn read(markdown: &str) -> String {
    let extensions = Extensions::ENABLE_TABLES
        | Extensions::ENABLE_STRIKETHROUGH
        | Extensions::ENABLE_TASKLISTS
        | Extensions::ENABLE_FOOTNOTES;
    let mut out = String::new();
    for event in Parser::new_ext(markdown, extensions) {
        match event {
            Event::InlineHtml(tag) if &*tag != "<!-->" => {
                let name = tag.trim_matches(['<', '/', '>']);
                out.extend(["\u{1}", name, "\u{1}"]);
            }
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => out.push_str(&text),
            Event::Code(code) => out.extend(["\u{1}code:", &code, "\u{1}"]),
            Event::SoftBreak => out.push(' '),
            Event::HardBreak => out.push_str("\u{1}br\u{1}"),
            Event::Start(Tag::Emphasis) | Event::End(TagEnd::Emphasis) => {
                out.push_str("\u{1}em\u{1}")
            }
            Event::Start(Tag::Strong) | Event::End(TagEnd::Strong) => {
                out.push_str("\u{1}strong\u{1}")
            }
            Event::Start(Tag::Strikethrough) | Event::End(TagEnd::Strikethrough) => {
                out.push_str("\u{1}del\u{1}")
            }
            Event::Start(Tag::Link { dest_url, .. }) => out.extend(["\u{1}a:", &dest_url, "\u{1}"]),
            Event::Start(Tag::Image { dest_url, .. }) => {
                out.extend(["\u{1}img:", &dest_url, "\u{1}"])
            }
            Event::Start(Tag::Heading { .. }) => out.push_str("\u{1}h\u{1}"),
            Event::Start(Tag::List(_)) => out.push_str("\u{1}list\u{1}"),
            Event::Start(Tag::Item) => out.push_str("\u{1}li\u{1}"),
            Event::Start(Tag::BlockQuote(_)) => out.push_str("\u{1}quote\u{1}"),
            Event::Start(Tag::CodeBlock(_)) => out.push_str("\u{1}pre\u{1}"),
            Event::Start(Tag::Table(_)) => out.push_str("\u{1}table\u{1}"),
            Event::Start(Tag::TableCell) => out.push_str("\u{1}cell\u{1}"),
            Event::Start(Tag::FootnoteDefinition(_)) | Event::FootnoteReference(_) => {
                out.push_str("\u{1}fn\u{1}")
            }
            Event::TaskListMarker(_) => out.push_str("\u{1}task\u{1}"),
            Event::Rule => out.push_str("\u{1}hr\u{1}"),
            Event::End(TagEnd::Paragraph) => out.push('\n'),
            _ => {}
        }
    }
    out.trim_end().to_owned()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// Texts of up to `len` pieces that mean something in Markdown, reproducibly at random.
fn texts(count: usize, len: usize) -> impl Iterator<Item = String> {
    const PIECES: &[&str] = &[
        "*",
        "**",
        "_",
        "__",
        "`",
        "``",
        "~",
        "~~",
        "[",
        "]",
        "(",
        ")",
        "!",
        "#",
        "##",
        "-",
        "---",
        "+",
        "=",
        "===",
        ">",
        "<",
        "<b",
        "</b>",
        "<!--",
        "&",
        "&amp;",
        "&#35;",
        ";",
        "|",
        "\\",
        "\\*",
        "1.",
        "2)",
        "10.",
        ":",
        "[x]",
        "[ ]",
        "](u)",
        "[^1]:",
        "http://e.com/a_b_",
        "a",
        "b",
        "Ab1",
        "x_y",
        "é",
        "“",
        "語",
        " ",
        " ",
        " ",
        "  ",
        ".",
        ",",
        "/~",
        "{",
        "}",
        "$",
        "\"",
        "'",
    ];
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 16) as usize
    };
    (0..count)
        .map(move |_| {
            let pieces = 1 + next() % len;
            let text: String = (0..pieces).map(|_| PIECES[next() % PIECES.len()]).collect();
            let words: Vec<&str> = text.split_whitespace().collect();
            words.join(" ")
        })
        .filter(|text| !text.is_empty())
}

fn check(before: &str, after: &str, expected: impl Fn(&str) -> String, count: usize) {
    let mut failures = Vec::new();
    for text in texts(count, 9) {
        let markdown = convert(&format!("{before}{}{after}", escaped(&text)));
        let read = read(&markdown);
        if read != expected(&text) {
            failures.push(format!(
                "{text:?}\n  written {markdown:?}\n  read    {read:?}"
            ));
        }
    }
    let total = failures.len();
    failures.truncate(12);
    assert!(
        failures.is_empty(),
        "{total} texts in {before}:\n{}",
        failures.join("\n")
    );
}

#[test]
fn paragraphs() {
    check("<p>", "</p>", str::to_owned, 6_000);
}

/// Frameworks divide a text by comments, and pages by elements that have no mark.
#[test]
fn texts_in_pieces() {
    let borders = [
        "<!-- -->",
        "<span></span>",
        "&#8203;",
        "<span>",
        "&#1;",
        "&shy;",
    ];
    let around = [
        ("<p>", ""),
        ("<h3>", "\u{1}h\u{1}"),
        ("<ul><li>", "\u{1}list\u{1}\u{1}li\u{1}"),
        ("<p>x<br>", "x\u{1}br\u{1}"),
    ];
    let mut failures = Vec::new();
    for (index, text) in texts(24_000, 9).enumerate() {
        let step = 1 + index % 3;
        let border = borders[index / 3 % borders.len()];
        let (before, expected) = around[index / 18 % around.len()];
        let mut html = before.to_owned();
        for (at, c) in text.chars().enumerate() {
            if at > 0 && at.is_multiple_of(step) {
                html.push_str(border);
            }
            html.push_str(&escaped(&c.to_string()));
        }
        let markdown = convert(&html);
        // Some invisible characters stay, where they divide words.
        let read = read(&markdown).replace('\u{200b}', "");
        if read != format!("{expected}{text}") {
            failures.push(format!(
                "{text:?}\n  in {html:?}\n  written {markdown:?}\n  read    {read:?}"
            ));
        }
    }
    let total = failures.len();
    failures.truncate(12);
    assert!(failures.is_empty(), "{total}:\n{}", failures.join("\n"));
}

#[test]
fn items_of_lists() {
    check(
        "<ul><li>",
        "</li></ul>",
        |text| format!("\u{1}list\u{1}\u{1}li\u{1}{text}"),
        4_000,
    );
}

#[test]
fn descriptions() {
    check(
        "<dl><dt>x<dd>",
        "</dl>",
        |text| format!("x\n: {text}"),
        4_000,
    );
}

#[test]
fn blocks_in_descriptions() {
    let blocks = [
        ("<pre>a\n\n    b</pre>", "\u{1}pre\u{1}a\n\n    b\n", false),
        ("<p>a</p>", "a\n", true),
        ("<h3>a</h3>", "\u{1}h\u{1}a", false),
        ("<ul><li>a</ul>", "\u{1}list\u{1}\u{1}li\u{1}a", false),
        (
            "<table><tr><th>a<th>b</table>",
            "\u{1}table\u{1}\u{1}cell\u{1}a\u{1}cell\u{1}b",
            false,
        ),
        ("<blockquote>a</blockquote>", "\u{1}quote\u{1}a\n", false),
        ("<hr>", "\u{1}hr\u{1}", false),
    ];
    for depth in 1..6 {
        let (open, close) = ("<dl><dd>".repeat(depth), "</dl>".repeat(depth));
        for (first, first_read, is_text) in blocks {
            for (second, second_read, _) in blocks {
                if (first, second) == ("<ul><li>a</ul>", "<ul><li>a</ul>") {
                    continue;
                }
                let markdown = convert(&format!("{open}{first}{second}{close}"));
                let mark = if is_text { ": " } else { "" };
                let expected = format!("{mark}{first_read}{second_read}");
                assert_eq!(read(&markdown), expected.trim_end(), "{markdown:?}");
            }
        }
    }
}

#[test]
fn headings() {
    check("<h3>", "</h3>", |text| format!("\u{1}h\u{1}{text}"), 4_000);
}

#[test]
fn cells_of_tables() {
    check(
        "<table><tr><th>A<th>B<tr><td>",
        "<td>x</table>",
        |text| {
            format!(
                "\u{1}table\u{1}\u{1}cell\u{1}A\u{1}cell\u{1}B\u{1}cell\u{1}{text}\u{1}cell\u{1}x"
            )
        },
        4_000,
    );
}

#[test]
fn texts_of_links() {
    check(
        "<p><a href=/u>",
        "</a>",
        |text| format!("\u{1}a:https://host.example/u\u{1}{text}"),
        4_000,
    );
}

#[test]
fn lines_after_a_break() {
    check(
        "<p>x<br>",
        "</p>",
        |text| format!("x\u{1}br\u{1}{text}"),
        4_000,
    );
}

#[test]
fn text_beside_links_and_emphasis() {
    check(
        "<p>a ",
        " <b>b</b> <a href=/u>c</a></p>",
        |text| {
            format!(
                "a {text} \u{1}strong\u{1}b\u{1}strong\u{1} \u{1}a:https://host.example/u\u{1}c"
            )
        },
        4_000,
    );
}

#[test]
fn emphasis_beside_anything() {
    let mut failures = Vec::new();
    let kinds = [("b", "strong"), ("i", "em"), ("del", "del")];
    let around = [
        "",
        "a",
        ".",
        " ",
        "é",
        "“",
        "*",
        "(",
        "語",
        "!",
        " <a href=/>l</a>",
        "_",
        "~",
    ];
    for (index, text) in texts(8_000, 4).enumerate() {
        let (tag, mark) = kinds[index % 3];
        let (inner, inner_mark) = kinds[(index / 3) % 3];
        let (before, after) = (
            around[index / 7 % around.len()],
            around[index / 11 % around.len()],
        );
        let text = text.trim();
        let (html, expected) = if index % 2 == 0 || inner == tag {
            (
                format!("<p>{before}<{tag}>{}</{tag}>{after}", escaped(text)),
                format!("{before}\u{1}{mark}\u{1}{text}\u{1}{mark}\u{1}{after}"),
            )
        } else {
            (
                format!(
                    "<p>{before}<{tag}>x<{inner}>{}</{inner}></{tag}>{after}",
                    escaped(text)
                ),
                format!(
                    "{before}\u{1}{mark}\u{1}x\u{1}{inner_mark}\u{1}{text}\u{1}{inner_mark}\u{1}\u{1}{mark}\u{1}{after}"
                ),
            )
        };
        let expected = expected.replace("<a href=/>l</a>", "\u{1}a:https://host.example/\u{1}l");
        let markdown = convert(&html);
        if read(&markdown) != expected.trim() {
            failures.push(format!(
                "{html}\n  written {markdown:?}\n  read    {:?}",
                read(&markdown)
            ));
        }
    }
    let total = failures.len();
    failures.truncate(12);
    assert!(failures.is_empty(), "{total}:\n{}", failures.join("\n"));
}

/// Delimiters of one character that touch are one run for readers, which they take apart by rules of
/// their own.
#[test]
fn emphasis_beside_emphasis() {
    let (b, i) = ("\u{1}strong\u{1}", "\u{1}em\u{1}");
    for (html, expected) in [
        ("<b>Note:</b><i>a</i> c", format!("{b}Note:{b}{i}a{i} c")),
        ("<b>价格：</b><i>高</i>", format!("{b}价格：{b}{i}高{i}")),
        ("<i>a</i><b>(b)</b>", format!("{i}a{i}{b}(b){b}")),
        ("<b>a</b><i>b</i>", format!("{b}a{b}{i}b{i}")),
        ("<b>a</b><i><b>b</b></i>", format!("{b}a{b}{i}{b}b{b}{i}")),
        (
            "<i>a</i><b><b><i>b</i>c</b></b>",
            format!("{i}a{i}{b}{i}b{i}c{b}"),
        ),
        ("<b>a<i>b</i></b><i>c</i>", format!("{b}a{i}b{i}{b}{i}c{i}")),
        ("<i>a<b>b</b></i><b>c</b>", format!("{i}a{b}b{b}{i}{b}c{b}")),
        ("<b><i>a.</i></b><b>b</b>", format!("{b}{i}a.{i}b{b}")),
        (
            "<s><i>a.</i></s><i><s>b</s> c</i>",
            format!("\u{1}del\u{1}{i}a.{i}\u{1}del\u{1}{i}\u{1}del\u{1}b\u{1}del\u{1} c{i}"),
        ),
        ("<b> * a</b>", format!("{b}* a{b}")),
        (r"<b>C:\ </b>d", format!(r"{b}C:\{b} d")),
    ] {
        let markdown = convert(&format!("<p>{html}"));
        assert_eq!(read(&markdown), expected, "{html}: {markdown:?}");
    }
    // Emphasis again in one whose delimiter is of a run of three.
    for html in [
        "<i><b>a</b>b<b>c</b>",
        "<b><i>a</i>b<i>c</i>",
        "<i><b>[a]</b>.<b>!c</b>",
    ] {
        let read = read(&convert(&format!("<p>{html}")));
        let counts = [b, i].map(|mark| read.matches(mark).count());
        assert!(
            counts.contains(&4) && counts.contains(&2),
            "{html}: {read:?}"
        );
        assert!(!read.contains('*'), "{html}: {read:?}");
    }
    assert_eq!(convert("<p><b>a</b> <b><i>b</i></b>"), "**a** ***b***");
}

#[test]
fn code_spans_that_a_link_cuts() {
    for (html, expected) in [
        (
            "<code>a`<a href=/u>b`</a>c</code>",
            "\u{1}code:a`\u{1}\u{1}a:https://host.example/u\u{1}\u{1}code:b`\u{1}\u{1}code:c\u{1}",
        ),
        (
            "<code>x<a href=/u>``b</a></code>",
            "\u{1}code:x\u{1}\u{1}a:https://host.example/u\u{1}\u{1}code:``b\u{1}",
        ),
        ("<code>*<i>*a</i></code>", "\u{1}code:**a\u{1}"),
    ] {
        let markdown = convert(&format!("<p>{html}"));
        assert_eq!(read(&markdown), expected, "{html}: {markdown:?}");
    }
}

#[test]
fn code_spans() {
    for text in texts(4_000, 9) {
        let markdown = convert(&format!("<p>x <code>{}</code> y", escaped(&text)));
        assert_eq!(
            read(&markdown),
            format!("x \u{1}code:{text}\u{1} y"),
            "{markdown:?}"
        );
    }
}

#[test]
fn code_blocks() {
    for text in texts(2_000, 20) {
        let html = format!(
            "<ul><li>x<pre><code>a\n\n  {}\n</code></pre></ul>",
            escaped(&text)
        );
        let markdown = convert(&html);
        let expected = format!("\u{1}list\u{1}\u{1}li\u{1}x\n\u{1}pre\u{1}a\n\n  {text}");
        assert_eq!(read(&markdown), expected, "{markdown:?}");
    }
}

#[test]
fn destinations() {
    let odd = [
        "a(b",
        "a)b",
        "(a)",
        "a%20b",
        "a&quot;b",
        "a'b",
        "a*b_c",
        "a&amp;copy;b",
        "?q=a|b",
        "a~b",
        "#x y",
        "[a]",
    ];
    for href in odd {
        let markdown = convert(&format!("<p><a href=\"/{href}\" title='t \"u\" \\'>x</a>"));
        let read = read(&markdown);
        let plain = href.replace("&quot;", "\"").replace("&amp;", "&");
        let url = read
            .trim_start_matches("\u{1}a:https://host.example/")
            .trim_end_matches("\u{1}x");
        let decoded = url
            .replace("%22", "\"")
            .replace("%20", " ")
            .replace("%28", "(")
            .replace("%29", ")");
        assert_eq!(decoded, plain.replace("%20", " "), "{markdown:?}");
    }
}
