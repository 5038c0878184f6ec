//! Blocks must come back from a CommonMark reader nested as they stood on the page: random
//! trees of lists, quotes, code, headings, tables and paragraphs are written and read again.

use orbweaver_extract_markdown::{Options, markdown};
use pulldown_cmark::{Event, Options as Extensions, Parser, Tag, TagEnd};

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) % bound
    }
}

/// Writes a tree as HTML and as the reader is expected to see it.
#[derive(Default)]
struct Tree {
    html: String,
    expected: String,
    words: u32,
}

impl Tree {
    fn word(&mut self) -> String {
        self.words += 1;
        format!("w{}", self.words)
    }

    fn both(&mut self, html: &str, expected: &str) {
        self.html.push_str(html);
        self.expected.push_str(expected);
    }

    fn blocks(&mut self, random: &mut Random, depth: u32) {
        for _ in 0..1 + random.below(3) {
            let word = self.word();
            match random.below(if depth == 0 { 5 } else { 9 }) {
                0 | 1 => self.both(&format!("<p>{word}</p>\n"), &format!("{word} ")),
                2 => self.both(&format!("<h3>{word}</h3>"), &format!("h({word} )")),
                3 => self.both(
                    &format!("<pre>{word}\n\n  x</pre>"),
                    &format!("pre({word}\n\n  x )"),
                ),
                4 if random.below(4) == 0 => self.both("<hr>", "hr "),
                4 => {
                    let html = format!("<table><tr><th>{word}<th>b<tr><td>c<td>d</table>");
                    self.both(&html, &format!("table({word} b c d )"));
                }
                5 => {
                    self.both("<blockquote>", "quote(");
                    self.blocks(random, depth - 1);
                    self.both("</blockquote>", ")");
                }
                6 => {
                    let start = random.below(3) + 1;
                    self.both(&format!("<ol start={start}>"), &format!("ol{start}("));
                    self.items(random, depth - 1);
                    self.both("</ol>\n", ")");
                }
                _ => {
                    self.both("<ul>\n", "ul(");
                    self.items(random, depth - 1);
                    self.both("</ul>", ")");
                }
            }
        }
    }

    fn items(&mut self, random: &mut Random, depth: u32) {
        for _ in 0..1 + random.below(3) {
            self.both("<li>", "li(");
            if random.below(2) == 0 {
                let word = self.word();
                self.both(&word, &format!("{word} "));
            }
            if random.below(3) > 0 {
                self.blocks(random, depth);
            } else {
                let word = self.word();
                self.both(&format!("<p>{word}</p>"), &format!("{word} "));
            }
            self.both("</li>\n", ")");
        }
    }
}

fn read(markdown: &str) -> String {
    let mut out = String::new();
    for event in Parser::new_ext(markdown, Extensions::ENABLE_TABLES) {
        match event {
            Event::Text(text) => out.extend([text.trim_end_matches('\n'), " "]),
            Event::SoftBreak => out.push_str("SOFT "),
            Event::Rule => out.push_str("hr "),
            Event::Start(Tag::Heading { .. }) => out.push_str("h("),
            Event::Start(Tag::BlockQuote(_)) => out.push_str("quote("),
            Event::Start(Tag::CodeBlock(_)) => out.push_str("pre("),
            Event::Start(Tag::List(None)) => out.push_str("ul("),
            Event::Start(Tag::List(Some(start))) => out.push_str(&format!("ol{start}(")),
            Event::Start(Tag::Item) => out.push_str("li("),
            Event::Start(Tag::Table(_)) => out.push_str("table("),
            Event::End(
                TagEnd::Heading(_)
                | TagEnd::BlockQuote(_)
                | TagEnd::CodeBlock
                | TagEnd::List(_)
                | TagEnd::Item
                | TagEnd::Table,
            ) => out.push(')'),
            _ => {}
        }
    }
    out
}

#[test]
fn trees_of_blocks_come_back() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut failures = Vec::new();
    for round in 0..3_000 {
        let mut tree = Tree::default();
        tree.blocks(&mut random, 1 + round % 4);
        let snapshot = orbweaver_sdk::dom::parse(&tree.html);
        let view = snapshot.view().expect("view");
        let markdown = markdown(&view, "", &Options::default());
        // The reader's text of a code block may come in pieces.
        let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let (seen, expected) = (squeezed(&read(&markdown)), squeezed(&tree.expected));
        if seen != expected {
            failures.push((
                tree.html.len(),
                format!(
                    "{}\n{markdown}\n  read     {seen}\n  expected {expected}",
                    tree.html
                ),
            ));
        }
    }
    failures.sort();
    let total = failures.len();
    let shown: Vec<&str> = failures
        .iter()
        .take(4)
        .map(|(_, text)| text.as_str())
        .collect();
    assert!(
        failures.is_empty(),
        "{total} trees:\n{}",
        shown.join("\n\n")
    );
}
