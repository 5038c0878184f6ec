//! Converts the Markdown of the `markdown` role to plain text.

use orbweaver_markup::{Place, Token, Tokens, decode_into};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// Deeper lists are not indented further: the text stays linear in the Markdown's length.
const MAX_INDENTS: usize = 8;

/// Converts Markdown to the text that a reader shows, in time linear in its length. Code stays as
/// it is, images give their alternative text, cells of a row are separated by tabs.
pub fn plain_text(markdown: &str) -> String {
    let mut text = Text {
        out: String::with_capacity(markdown.len()),
        ..Text::default()
    };
    for event in Parser::new_ext(markdown, extensions() | Options::ENABLE_MATH) {
        text.event(event);
    }
    text.trim_line();
    text.out.truncate(text.out.trim_end().len());
    text.out
}

/// What the role writes beside CommonMark.
fn extensions() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS
}

#[derive(Default)]
struct Text {
    out: String,
    /// Line ends to write before the next text.
    pending: usize,
    /// The next number of each open list, outermost first; none without numbers.
    lists: Vec<Option<u64>>,
    /// An item's mark is the last that was written: its text follows on the same line.
    marked: bool,
    /// Where the open table row begins.
    row: Option<usize>,
    cells: usize,
}

impl Text {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(&tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) | Event::Code(text) => self.push(&text),
            Event::InlineMath(tex) => self.inline_math(&tex),
            Event::DisplayMath(tex) => self.push(&format!("$${tex}$$")),
            Event::Html(html) | Event::InlineHtml(html) => self.html(&html),
            Event::SoftBreak | Event::HardBreak => self.line_end(),
            Event::Rule => self.gap(2),
            Event::TaskListMarker(done) => self.push(if done { "[x] " } else { "[ ] " }),
            Event::FootnoteReference(_) => {}
        }
    }

    fn start(&mut self, tag: &Tag<'_>) {
        match tag {
            Tag::List(first) => {
                self.gap(if self.lists.is_empty() { 2 } else { 1 });
                self.lists.push(*first);
            }
            Tag::Item => self.item(),
            Tag::Paragraph
            | Tag::Heading { .. }
            | Tag::BlockQuote(_)
            | Tag::CodeBlock(_)
            | Tag::HtmlBlock
            | Tag::Table(_) => self.gap(2),
            Tag::TableHead | Tag::TableRow => {
                self.gap(1);
                self.flush();
                self.row = Some(self.out.len());
                self.cells = 0;
            }
            Tag::TableCell => {
                if self.cells > 0 {
                    self.out.push('\t');
                }
                self.cells += 1;
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::List(_) => {
                self.lists.pop();
                self.marked = false;
                self.gap(if self.lists.is_empty() { 2 } else { 1 });
            }
            TagEnd::Item => {
                self.marked = false;
                self.gap(1);
            }
            TagEnd::CodeBlock => {
                if self.out.ends_with('\n') {
                    self.out.pop();
                }
                self.gap(2);
            }
            TagEnd::Paragraph
            | TagEnd::Heading(_)
            | TagEnd::BlockQuote(_)
            | TagEnd::HtmlBlock
            | TagEnd::Table => self.gap(2),
            TagEnd::TableHead | TagEnd::TableRow => self.end_row(),
            _ => {}
        }
    }

    /// Ends a row; one without text, as above a table without headers, leaves nothing.
    fn end_row(&mut self) {
        if let Some(start) = self.row.take() {
            let kept = self.out.get(start..).unwrap_or("").trim_end().len();
            self.out.truncate(start + kept);
            self.pending = usize::from(kept > 0);
        }
    }

    fn item(&mut self) {
        self.marked = false;
        self.gap(1);
        self.flush();
        for _ in 1..self.lists.len().min(MAX_INDENTS) {
            self.out.push_str("  ");
        }
        match self.lists.last_mut() {
            Some(Some(number)) => {
                self.out.push_str(&number.to_string());
                self.out.push_str(". ");
                *number += 1;
            }
            _ => self.out.push_str("- "),
        }
        self.marked = true;
    }

    /// A dollar sign may also be one: only what has a backslash is TeX for certain, whose
    /// backslashes must stay. Anything else is read again as the Markdown that it may be.
    fn inline_math(&mut self, tex: &str) {
        let source = format!("${tex}$");
        if tex.contains('\\') {
            return self.push(&source);
        }
        for event in Parser::new_ext(&source, extensions()) {
            match event {
                Event::Start(_) | Event::End(_) => {}
                event => self.event(event),
            }
        }
    }

    /// The text of a piece of HTML.
    fn html(&mut self, html: &str) {
        let tokens = Tokens::new(html);
        for token in tokens {
            match token {
                Token::Start(tag) if tag.name == orbweaver_markup::names::BR => self.line_end(),
                Token::Text(text) => {
                    let mut decoded = String::with_capacity(text.len());
                    decode_into(text, Place::Text, &mut decoded);
                    self.push(&decoded);
                }
                Token::Verbatim(text) | Token::Title(text) => self.push(text),
                Token::Start(_) | Token::End(_) => {}
            }
        }
    }

    fn line_end(&mut self) {
        if self.row.is_some() {
            self.push(" ");
        } else {
            self.gap(1);
        }
    }

    fn gap(&mut self, lines: usize) {
        if !self.marked {
            self.pending = self.pending.max(lines);
        }
    }

    fn push(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.flush();
        self.marked = false;
        self.out.push_str(text);
    }

    fn flush(&mut self) {
        let lines = std::mem::take(&mut self.pending);
        if lines == 0 {
            return;
        }
        self.trim_line();
        if !self.out.is_empty() {
            (0..lines).for_each(|_| self.out.push('\n'));
        }
    }

    /// Removes spaces at the end of the last line.
    fn trim_line(&mut self) {
        self.out.truncate(self.out.trim_end_matches(' ').len());
    }
}

#[cfg(test)]
mod tests {
    use super::plain_text;

    #[test]
    fn marks_are_removed_and_text_is_kept() {
        for (markdown, text) in [
            (
                "# Title\n\n**Bold** and [a link](https://a.example/x_(y)) end",
                "Title\n\nBold and a link end",
            ),
            ("![a logo](/logo.png) after", "a logo after"),
            ("1 \\* 2 \\[x\\]", "1 * 2 [x]"),
            (
                "> quoted\n\n```rust\nlet a = b[0];\n```",
                "quoted\n\nlet a = b[0];",
            ),
            ("wow! [\\[x\\]](<a b)c>) é", "wow! [x] é"),
            ("a | b \\| c", "a | b | c"),
            ("~~old~~ H<sub>2</sub>O", "old H2O"),
            ("one  \ntwo\\\nthree", "one\ntwo\nthree"),
            ("one\n\n---\n\ntwo", "one\n\ntwo"),
            (
                "- one\n- two\n  1. three\n  2. four\n\nend",
                "- one\n- two\n  1. three\n  2. four\n\nend",
            ),
            ("- [x] done\n- [ ] open", "- [x] done\n- [ ] open"),
            ("US$5 is **less** than US$6", "US$5 is less than US$6"),
            (
                "$\\{a\\}*b*$ and $$x \\\\ y$$",
                "$\\{a\\}*b*$ and $$x \\\\ y$$",
            ),
        ] {
            assert_eq!(plain_text(markdown), text, "{markdown}");
        }
    }

    #[test]
    fn code_stays_as_it_is() {
        assert_eq!(
            plain_text("Use `a[i]*b | c\\d` and `x**2`"),
            "Use a[i]*b | c\\d and x**2"
        );
        assert_eq!(
            plain_text("````\n  ```\n# [x] *y*  \n````\n\nafter"),
            "  ```\n# [x] *y*\n\nafter"
        );
    }

    #[test]
    fn cells_are_separated_by_tabs() {
        assert_eq!(
            plain_text("| a | b |\n|---|---|\n| `c\\|d` | e<br>f |\n|  | g |\n\nend"),
            "a\tb\nc|d\te f\n\tg\n\nend"
        );
        assert_eq!(plain_text("|  |  |\n|---|---|\n| a | b |"), "a\tb");
    }

    /// A quadratic conversion needs minutes for each of these lines.
    #[test]
    fn long_lines_of_delimiters_are_converted_in_linear_time() {
        for pattern in orbweaver_nasty::markdown() {
            let markdown = pattern.sized(4_000_000);
            let text = plain_text(&markdown);
            assert!(text.len() <= markdown.len(), "{}", pattern.name);
        }
        let images = "![".repeat(2_000_000);
        assert_eq!(plain_text(&images), images);
    }
}
