//! `<noscript>`. Where scripts are taken to run, its content is one text: HTML source that
//! nobody has parsed. Two things in it matter: the image that a lazy one stands for, and,
//! on a page that is empty without its scripts, the whole page, as forums send it to
//! crawlers. This reads just enough HTML for those.

use std::borrow::Cow;

use orbweaver_sdk::dom::{Node, tag};

use crate::destinations::push_title;
use crate::marks::Kind;
use crate::walk::Walker;
use crate::writer::{Gap, Mode, Space};

impl<'a> Walker<'a> {
    pub(crate) fn noscript(&mut self, node: Node<'a>) -> u32 {
        for below in node.descendants() {
            if below.is_text() && self.shows_hidden() {
                self.source(below.text());
            } else if below.is_text() && !self.follows_image() {
                for piece in Source::of(below.text()) {
                    if let Piece::Open("img" | "IMG", attributes) = piece {
                        self.source_image(attributes);
                    }
                }
            } else if below.tag() == tag::IMG && !self.follows_image() {
                self.take_back_empty_image();
                self.image(below);
            }
        }
        self.pass(node)
    }

    fn source_image(&mut self, attributes: &str) {
        let is_pixel = attribute(attributes, "width").is_some_and(|w| matches!(&*w, "0" | "1"))
            || attribute(attributes, "style").is_some_and(|s| s.contains("none"));
        let source = attribute(attributes, "src").or_else(|| attribute(attributes, "data-src"));
        if let Some(source) = source.filter(|_| !is_pixel) {
            self.take_back_empty_image();
            let alt = attribute(attributes, "alt").unwrap_or_default();
            self.write_image(Some(&source), &alt, None);
        }
    }

    /// Converts HTML source: headings, items of lists, links, images, emphasis and code;
    /// other elements only keep their text apart.
    fn source(&mut self, html: &str) {
        let in_flow = self.w.mode == Mode::Flow;
        self.source_depth = self.containers.len();
        let mut source = Source::of(html);
        while let Some(piece) = source.next() {
            let (name, attributes) = match piece {
                Piece::Text(text) => {
                    self.w.text(&decoded(text));
                    continue;
                }
                Piece::Open(name, attributes) => (name.to_ascii_lowercase(), Some(attributes)),
                Piece::Close(name) => (name.to_ascii_lowercase(), None),
            };
            match (name.as_str(), attributes) {
                ("script" | "style" | "template", Some(_)) => source.skip_past(&name),
                ("h1" | "h2" | "h3" | "h4" | "h5" | "h6", attributes) if in_flow => {
                    self.leave_source_container();
                    if attributes.is_some() {
                        let level = name.bytes().last().map_or(1, |b| usize::from(b - b'0'));
                        let first = "###### ".get(6 - level.min(6)..).unwrap_or("# ");
                        self.enter_source_container(first, "");
                        self.w.mode = Mode::Line;
                    }
                }
                ("li", attributes) if in_flow => {
                    let gap = if self.containers.len() > self.source_depth {
                        Gap::Line
                    } else {
                        self.w.gap
                    };
                    self.leave_source_container();
                    self.w.gap = gap;
                    if attributes.is_some() {
                        self.enter_source_container("- ", "  ");
                    }
                }
                ("ul" | "ol", None) if in_flow => self.leave_source_container(),
                ("pre", Some(_)) if in_flow => {
                    let mut code = String::new();
                    for piece in Source::of(source.take_until(&name)) {
                        if let Piece::Text(text) = piece {
                            code.push_str(&decoded(text));
                        }
                    }
                    if !code.trim().is_empty() {
                        self.fenced("", code.trim_matches('\n').trim_end());
                    }
                }
                ("a", Some(attributes)) => self.source_link(attributes),
                ("a", None) => self.w.end_mark(Kind::Link),
                ("b" | "strong", Some(_)) => _ = self.w.begin_mark(Kind::Strong),
                ("b" | "strong", None) => self.w.end_mark(Kind::Strong),
                ("i" | "em", Some(_)) => _ = self.w.begin_mark(Kind::Emphasis),
                ("i" | "em", None) => self.w.end_mark(Kind::Emphasis),
                ("img", Some(attributes)) => self.source_image(attributes),
                ("br", _) => self.w.line_break(),
                ("td" | "th", _) => self.w.soft_space(Space::Blank),
                (
                    "p" | "div" | "section" | "article" | "main" | "header" | "footer" | "nav"
                    | "aside" | "ul" | "ol" | "dl" | "dt" | "dd" | "table" | "tr" | "blockquote"
                    | "figure" | "form" | "hr" | "pre" | "details" | "summary",
                    _,
                ) => self.w.block(),
                _ => {}
            }
        }
        if in_flow {
            self.leave_source_container();
        }
        for kind in [Kind::Link, Kind::Strong, Kind::Emphasis] {
            self.w.end_mark(kind);
        }
    }

    /// A heading or an item of the source; one is open at a time.
    fn enter_source_container(&mut self, first: &str, rest: &str) {
        self.w.block_after(self.w.gap.max(Gap::Line));
        self.source_depth = self.containers.len();
        let container = self.w.enter(first, rest);
        self.containers.push(container);
    }

    fn leave_source_container(&mut self) {
        self.w.suspend();
        self.w.mode = Mode::Flow;
        if self.containers.len() > self.source_depth {
            self.leave_container();
        }
        self.w.block();
        self.source_depth = self.containers.len();
    }

    fn source_link(&mut self, attributes: &str) {
        self.w.end_mark(Kind::Link);
        let Some(href) = attribute(attributes, "href") else {
            return;
        };
        let mut tail = std::mem::take(&mut self.w.link_tail);
        tail.clear();
        tail.push_str("](");
        let leads = self.to.push(&href, false, &mut tail);
        if let Some(title) = attribute(attributes, "title") {
            push_title(&title, false, &mut tail);
        }
        tail.push(')');
        self.w.link_tail = tail;
        if leads {
            self.w.begin_mark(Kind::Link);
        }
    }
}

/// A piece of HTML source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece<'s> {
    Text(&'s str),
    /// A start tag: its name and the rest of it.
    Open(&'s str, &'s str),
    Close(&'s str),
}

/// Cuts HTML source into pieces; comments and declarations are left out.
struct Source<'s> {
    rest: &'s str,
}

impl<'s> Source<'s> {
    fn of(html: &'s str) -> Self {
        Self { rest: html }
    }

    /// The source up to the end tag of an element that has begun, and goes on after it.
    fn take_until(&mut self, name: &str) -> &'s str {
        let ends = self.rest.match_indices("</").find(|(at, _)| {
            self.rest
                .get(at + 2..at + 2 + name.len())
                .is_some_and(|n| n.eq_ignore_ascii_case(name))
        });
        let (taken, rest) = self
            .rest
            .split_at(ends.map_or(self.rest.len(), |(at, _)| at));
        self.rest = rest;
        taken
    }

    fn skip_past(&mut self, name: &str) {
        self.take_until(name);
    }
}

impl<'s> Iterator for Source<'s> {
    type Item = Piece<'s>;

    fn next(&mut self) -> Option<Piece<'s>> {
        loop {
            let rest = self.rest;
            if rest.is_empty() {
                return None;
            }
            if let Some(comment) = rest.strip_prefix("<!--") {
                self.rest = comment.split_once("-->").map_or("", |(_, after)| after);
                continue;
            }
            let begins = rest.starts_with('<')
                && rest
                    .as_bytes()
                    .get(1)
                    .is_some_and(|&b| b.is_ascii_alphabetic() || b"/!?".contains(&b));
            if !begins {
                // At least one character, so that a lone `<` is text.
                let end = rest
                    .char_indices()
                    .skip(1)
                    .find(|&(_, c)| c == '<')
                    .map_or(rest.len(), |(at, _)| at);
                let (text, after) = rest.split_at(end);
                self.rest = after;
                return Some(Piece::Text(text));
            }
            let end = tag_end(rest);
            let (tag, after) = rest.split_at(end);
            self.rest = after.strip_prefix('>').unwrap_or(after);
            let inside = tag.get(1..).unwrap_or("");
            let name_end = |t: &str| {
                t.find(|c: char| !c.is_ascii_alphanumeric() && c != '-')
                    .unwrap_or(t.len())
            };
            if let Some(closing) = inside.strip_prefix('/') {
                return Some(Piece::Close(closing.get(..name_end(closing)).unwrap_or("")));
            }
            if inside.starts_with(|c: char| c.is_ascii_alphabetic()) {
                let (name, attributes) = inside.split_at(name_end(inside));
                return Some(Piece::Open(name, attributes));
            }
        }
    }
}

/// Where a tag's `>` stands: outside of quotes.
fn tag_end(tag: &str) -> usize {
    let mut quote = None;
    let mut before = b' ';
    for (at, byte) in tag.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return at,
            (None, b'"' | b'\'') if before == b'=' => quote = Some(byte),
            (Some(open), _) if open == byte => quote = None,
            _ => {}
        }
        before = byte;
    }
    tag.len()
}

/// The value of an attribute in the source of a start tag.
fn attribute<'t>(attributes: &'t str, name: &str) -> Option<Cow<'t, str>> {
    let mut from = 0;
    loop {
        let at = from + attributes.get(from..)?.find(name)?;
        from = at + name.len();
        let begins = at
            .checked_sub(1)
            .and_then(|i| attributes.as_bytes().get(i))
            .is_none_or(u8::is_ascii_whitespace);
        let Some(value) = attributes
            .get(from..)?
            .trim_start()
            .strip_prefix('=')
            .filter(|_| begins)
        else {
            continue;
        };
        let value = value.trim_start();
        let value = match value.chars().next() {
            Some(quote @ ('"' | '\'')) => value.get(1..)?.split(quote).next()?,
            _ => value.split(|c: char| c.is_ascii_whitespace()).next()?,
        };
        return Some(decoded(value));
    }
}

/// Source text with the character references that matter for reading decoded.
fn decoded(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        let (plain, reference) = rest.split_at(at);
        out.push_str(plain);
        let name = reference
            .get(1..)
            .and_then(|r| r.split_once(';'))
            .map_or("", |(name, _)| name);
        match character(name) {
            Some(c) => {
                out.push(c);
                rest = reference.get(name.len() + 2..).unwrap_or("");
            }
            None => {
                out.push('&');
                rest = reference.get(1..).unwrap_or("");
            }
        }
    }
    out.push_str(rest);
    Cow::Owned(out)
}

fn character(name: &str) -> Option<char> {
    Some(match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => '\u{a0}',
        "hellip" => '…',
        "mdash" => '—',
        "ndash" => '–',
        "lsquo" => '‘',
        "rsquo" => '’',
        "ldquo" => '“',
        "rdquo" => '”',
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16),
                None => number.parse(),
            };
            char::from_u32(code.ok()?).filter(|c| *c != '\0')?
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn source_is_cut_into_tags_and_text() {
        let html = "a<!-- <b> --><A title=\"x > y\" href='u'>b</a> 1 < 2<br/>";
        let pieces: Vec<_> = Source::of(html).collect();
        assert_eq!(
            pieces,
            [
                Piece::Text("a"),
                Piece::Open("A", " title=\"x > y\" href='u'"),
                Piece::Text("b"),
                Piece::Close("a"),
                Piece::Text(" 1 "),
                Piece::Text("< 2"),
                Piece::Open("br", "/"),
            ]
        );
    }

    #[test]
    fn attributes_are_found_by_their_whole_name() {
        let tag = " data-src=\"lazy\" src = 'a&amp;b' alt=x/";
        assert_eq!(attribute(tag, "src").as_deref(), Some("a&b"));
        assert_eq!(attribute(tag, "data-src").as_deref(), Some("lazy"));
        assert_eq!(attribute(tag, "title"), None);
    }

    #[test]
    fn unknown_references_stay() {
        assert_eq!(decoded("&lt;&#x41;&#66;&nope;& &amp"), "<AB&nope;& &amp");
    }
}
