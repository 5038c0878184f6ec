//! Code: spans in a line, and fenced blocks.

use orbweaver_content::{invisible, visible};
use orbweaver_sdk::dom::{Node, tag};

use crate::language;
use crate::marks::Kind;
use crate::walk::{Close, Walker};
use crate::writer::{Gap, Mode};

/// Longest run of backticks of a code span. Its fences are longer, and a span is written once for each line
/// and each link in it.
const MAX_RUN: u32 = 16;

impl<'a> Walker<'a> {
    /// `<code>` and its like in running text. Links inside stay links: the span is cut
    /// around them.
    pub(crate) fn inline_code(&mut self, node: Node<'a>) -> u32 {
        let next = node.id() + 1;
        if self.w.code || node.id() < self.no_code_before {
            return next;
        }
        let (mut run, mut longest) = (0_u32, 0_u32);
        let (mut first, mut last) = (None, b' ');
        for below in node.descendants().filter(Node::is_text) {
            for &byte in below.text().as_bytes() {
                run = if byte == b'`' { run + 1 } else { 0 };
                longest = longest.max(run);
                if byte > b' ' {
                    first = first.or(Some(byte));
                    last = byte;
                }
            }
        }
        let Some(first) = first else {
            self.no_code_before = node.end();
            return next;
        };
        if longest > MAX_RUN {
            self.no_code_before = node.end();
            return next;
        }
        let padded = first == b'`' || last == b'`';
        let kind = Kind::Code {
            fence: longest + 1,
            padded,
        };
        if self.w.begin_mark(kind) {
            self.push(node, Close::Mark(kind));
        }
        next
    }

    /// `<pre>` and its like: a fenced block; where there are no blocks, code spans.
    pub(crate) fn preformatted(&mut self, node: Node<'a>) -> u32 {
        let language = language::of(node);
        let mut code = std::mem::take(&mut self.scratch);
        code.clear();
        self.gather(node, &mut code);
        let kept = code.trim_end().len();
        code.truncate(kept);
        let body = code.trim_start_matches('\n');
        if !body.is_empty() {
            match self.w.mode {
                Mode::Flow => self.fenced(&language, body),
                Mode::Cell | Mode::Line => {
                    for line in body.lines().filter(|line| !line.trim().is_empty()) {
                        self.w.block();
                        self.code_span(line.trim());
                    }
                    self.w.block();
                }
            }
        }
        self.scratch = code;
        self.pass(node)
    }

    pub(crate) fn fenced(&mut self, language: &str, body: &str) {
        self.w.block();
        self.w.gap = self.w.gap.max(Gap::Line);
        self.w.start_block();
        let fence = longest_run(body).max(2) + 1;
        let backticks = std::iter::repeat_n('`', fence);
        self.w.out.extend(backticks.clone());
        self.w.out.push_str(language);
        for line in body.split('\n') {
            self.w.next_line();
            if line.is_empty() {
                // No trailing space after a list's indent.
                let end = self.w.out.trim_end_matches(' ').len();
                self.w.out.truncate(end);
            }
            self.w.out.push_str(line);
        }
        self.w.next_line();
        self.w.out.extend(backticks);
        self.w.block();
    }

    /// A code span of its own.
    fn code_span(&mut self, text: &str) {
        let fence = longest_run(text) + 1;
        let backticks = std::iter::repeat_n('`', fence);
        let aside = self.w.set_code_aside();
        self.w.ready('`');
        let pad = if text.starts_with('`') || text.ends_with('`') {
            " "
        } else {
            ""
        };
        self.w.out.extend(backticks.clone());
        self.w.out.push_str(pad);
        for c in text.chars() {
            if c == '|' && self.w.mode == Mode::Cell {
                self.w.out.push('\\');
            }
            self.w.out.push(c);
        }
        self.w.out.push_str(pad);
        self.w.out.extend(backticks);
        self.w.resume_code(aside);
    }

    /// Appends the text of preformatted content, a line for each block and `<br>`.
    fn gather(&mut self, node: Node<'a>, out: &mut String) {
        self.ends.clear();
        let end = node.end();
        let mut id = node.id() + 1;
        while id < end {
            while self.ends.last().is_some_and(|&end| end <= id) {
                self.ends.pop();
                break_line(out);
            }
            let Some(below) = self.view.node(id) else {
                return;
            };
            id += 1;
            if self.skips(below.id()) {
                id = self.pass(below);
                continue;
            }
            if below.is_text() {
                out.push_str(&invisible::of_code(below.text()));
                continue;
            }
            match below.tag() {
                tag::BR => out.push('\n'),
                tag::SCRIPT
                | tag::STYLE
                | tag::TEMPLATE
                | tag::BUTTON
                | tag::SVG
                | tag::TEXTAREA
                | tag::SELECT
                | tag::NOSCRIPT => id = below.end(),
                _ if visible::is_line_number(below) => id = below.end(),
                tag::DIV | tag::P | tag::LI | tag::TR | tag::UL | tag::OL => {
                    break_line(out);
                    self.ends.push(below.end());
                }
                // Some highlighters write a `<code>` per line, others one for each token of a line
                // that is an element of its own.
                tag::CODE
                    if below.next_sibling().is_some_and(|n| n.tag() == tag::CODE)
                        && below
                            .parent()
                            .is_some_and(|n| n.id() == node.id() || n.tag() == tag::CODE) =>
                {
                    self.ends.push(below.end());
                }
                _ => {}
            }
        }
    }
}

fn break_line(out: &mut String) {
    if !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
}

fn longest_run(text: &str) -> usize {
    let (mut run, mut longest) = (0, 0);
    for byte in text.bytes() {
        run = if byte == b'`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}
