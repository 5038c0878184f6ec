//! `<noscript>`. The parser acts as if scripts run, so its content is one text: unparsed HTML
//! source. Two parts of it matter: the image that a lazy-loaded one stands for, and, on a
//! page that is empty without scripts, the whole page, as forums send it to crawlers.

use std::borrow::Cow;

use orbweaver_content::visible::{self, Look};
use orbweaver_markup::{Name, Place, Token, Tokens, decode_into, names};
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
                let mut tokens = Tokens::new(below.text());
                while let Some(token) = tokens.next() {
                    if let Token::Start(tag) = token
                        && tag.name == names::IMG
                    {
                        self.source_image(&tokens);
                    }
                }
            } else if below.tag() == tag::IMG && !self.follows_image() {
                self.take_back_empty_image();
                self.image(below);
            }
        }
        self.pass(node)
    }

    fn source_image(&mut self, tag: &Tokens<'_>) {
        let is_pixel = attribute(tag, "width").is_some_and(|w| matches!(&*w, "0" | "1"))
            || attribute(tag, "style").is_some_and(|s| visible::of_style(&s) == Look::Hidden);
        let source = attribute(tag, "src").or_else(|| attribute(tag, "data-src"));
        if let Some(source) = source.filter(|_| !is_pixel) {
            self.take_back_empty_image();
            let alt = attribute(tag, "alt").unwrap_or_default();
            self.write_image(Some(&source), &alt, None);
        }
    }

    /// Converts HTML source: headings, items of lists, links, images, emphasis and code;
    /// other elements only keep their text apart.
    fn source(&mut self, html: &str) {
        let in_flow = self.w.mode == Mode::Flow;
        self.source_depth = self.containers.len();
        let mut tokens = Tokens::new(html);
        // An element whose content is read apart: `<template>`, or `<pre>` with its text.
        let mut apart: Option<(Name, String)> = None;
        while let Some(token) = tokens.next() {
            if let Some((element, text)) = &mut apart {
                match token {
                    Token::Text(more) | Token::Title(more) => {
                        decode_into(more, Place::Text, text);
                        continue;
                    }
                    Token::Verbatim(more) => {
                        text.push_str(more);
                        continue;
                    }
                    Token::End(name) if name == *element => {}
                    Token::Start(_) | Token::End(_) => continue,
                }
            }
            if let Some((names::PRE, code)) = apart.take() {
                self.source_code(&code);
            }
            match token {
                Token::Text(text) | Token::Title(text) => self.w.text(&decoded(text)),
                Token::Verbatim(text) => self.w.text(text),
                Token::Start(tag) if tag.name == names::TEMPLATE => {
                    apart = Some((tag.name, String::new()));
                }
                Token::Start(tag) if tag.name == names::PRE && in_flow => {
                    apart = Some((tag.name, String::new()));
                }
                Token::Start(tag) => self.source_start(tag.name, &tokens, in_flow),
                Token::End(name) => self.source_end(name, in_flow),
            }
        }
        if let Some((names::PRE, code)) = apart {
            self.source_code(&code);
        }
        if in_flow {
            self.leave_source_container();
        }
        for kind in [Kind::Link, Kind::Strong, Kind::Emphasis] {
            self.w.end_mark(kind);
        }
    }

    fn source_code(&mut self, code: &str) {
        if !code.trim().is_empty() {
            self.fenced("", code.trim_matches('\n').trim_end());
        }
    }

    fn source_start(&mut self, name: Name, tag: &Tokens<'_>, in_flow: bool) {
        match name {
            name if in_flow && let Some(first) = heading_prefix(name) => {
                self.leave_source_container();
                self.enter_source_container(first, "");
                self.w.mode = Mode::Line;
            }
            names::LI if in_flow => {
                self.end_source_item();
                self.enter_source_container("- ", "  ");
            }
            names::A => self.source_link(tag),
            names::B | names::STRONG => _ = self.w.begin_mark(Kind::Strong),
            names::I | names::EM => _ = self.w.begin_mark(Kind::Emphasis),
            names::IMG => self.source_image(tag),
            name => self.source_border(name),
        }
    }

    fn source_end(&mut self, name: Name, in_flow: bool) {
        match name {
            name if in_flow && heading_prefix(name).is_some() => self.leave_source_container(),
            names::LI if in_flow => self.end_source_item(),
            names::UL | names::OL if in_flow => self.leave_source_container(),
            names::A => self.w.end_mark(Kind::Link),
            names::B | names::STRONG => self.w.end_mark(Kind::Strong),
            names::I | names::EM => self.w.end_mark(Kind::Emphasis),
            name => self.source_border(name),
        }
    }

    /// Keeps the texts before and after a tag apart, where its element does.
    fn source_border(&mut self, name: Name) {
        match name {
            names::BR => self.w.line_break(),
            names::TD | names::TH => self.w.soft_space(Space::Blank),
            name if name.breaks() && name != names::LI => self.w.block(),
            _ => {}
        }
    }

    fn end_source_item(&mut self) {
        let gap = if self.containers.len() > self.source_depth {
            Gap::Line
        } else {
            self.w.gap
        };
        self.leave_source_container();
        self.w.gap = gap;
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

    fn source_link(&mut self, tag: &Tokens<'_>) {
        self.w.end_mark(Kind::Link);
        let Some(href) = attribute(tag, "href") else {
            return;
        };
        let mut tail = std::mem::take(&mut self.w.link_tail);
        tail.clear();
        tail.push_str("](");
        let leads = self.to.push(&href, false, &mut tail);
        if let Some(title) = attribute(tag, "title") {
            push_title(&title, false, &mut tail);
        }
        tail.push(')');
        self.w.link_tail = tail;
        if leads {
            self.w.begin_mark(Kind::Link);
        }
    }
}

/// What begins the line of a heading of that name; `None` for other elements.
fn heading_prefix(name: Name) -> Option<&'static str> {
    Some(match name {
        names::H1 => "# ",
        names::H2 => "## ",
        names::H3 => "### ",
        names::H4 => "#### ",
        names::H5 => "##### ",
        names::H6 => "###### ",
        _ => return None,
    })
}

/// The value of an attribute of the start tag just read.
fn attribute<'t>(tag: &Tokens<'t>, name: &str) -> Option<Cow<'t, str>> {
    let value = tag.attribute(name)?;
    if !value.contains('&') {
        return Some(Cow::Borrowed(value));
    }
    let mut out = String::with_capacity(value.len());
    decode_into(value, Place::Attribute, &mut out);
    Some(Cow::Owned(out))
}

fn decoded(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    decode_into(text, Place::Text, &mut out);
    Cow::Owned(out)
}
