//! The rules for parsing tokens in foreign content:
//! <https://html.spec.whatwg.org/multipage/parsing.html#parsing-main-inforeign>.

use super::super::names::Name;
use super::super::token::{Content, Tag};
use super::{Builder, Open, class, foreign_names};
use crate::format::{NS_MATHML, NS_SVG};
use crate::names::{attr, tag};

/// Where HTML begins again.
const HTML_AGAIN: u32 = class::HTML | class::TEXT_POINT | class::HTML_POINT;

impl Builder {
    /// Whether these rules apply to a start tag.
    #[inline]
    pub(super) fn is_foreign_start(&self, name: Name) -> bool {
        let current = self.open.current();
        if !current.is_foreign() || current.is(class::HTML_POINT) {
            return false;
        }
        if current.is(class::TEXT_POINT) {
            return name == Name::MGLYPH || name == Name::MALIGNMARK;
        }
        if current.is(class::ANNOTATION) {
            return name.tag() != tag::SVG && !current.is(class::HTML_ANNOTATION);
        }
        true
    }

    /// Whether these rules apply to text.
    #[inline]
    pub(super) fn is_foreign_text(&self) -> bool {
        let points = class::TEXT_POINT | class::HTML_POINT | class::HTML_ANNOTATION;
        let current = self.open.current();
        current.is_foreign() && !current.is(points)
    }

    /// A start tag. `None`: it ended the foreign content and is to be processed by the mode.
    pub(super) fn foreign_start(&mut self, tag: &Tag<'_>) -> Option<Content> {
        if leaves_foreign_content(tag) {
            self.open.pop_to(HTML_AGAIN);
            return None;
        }
        let namespace = if self.open.current().is(class::SVG) {
            NS_SVG
        } else {
            NS_MATHML
        };
        self.insert_foreign(namespace, tag);
        Some(Content::Markup)
    }

    /// An end tag. Returns whether it is done with, not to be processed by the mode.
    pub(super) fn foreign_end(&mut self, name: Name) -> bool {
        if matches!(name.tag(), tag::BR | tag::P) {
            self.open.pop_to(HTML_AGAIN);
            return false;
        }
        let mut index = self.open.len();
        while index > 1 {
            index -= 1;
            let open = self.open.get(index);
            if open.is(class::HTML) {
                return false;
            }
            if open.name == name {
                self.open.truncate(index);
                return true;
            }
        }
        true
    }

    /// Inserts an element of SVG or MathML and opens it, unless its tag closes itself.
    pub(super) fn insert_foreign(&mut self, namespace: u32, tag: &Tag<'_>) {
        let (id, spelled) = foreign_names::element(namespace, tag);
        let attrs = tag
            .attrs
            .iter()
            .map(|attribute| foreign_names::attribute(namespace, attribute));
        let node = self.arena.create_element(namespace, id, spelled, attrs);
        self.insert_at(self.place_in(self.open.current()), node);
        if tag.self_closing {
            return;
        }
        let mut class = class::of(namespace, tag.name);
        if class & class::ANNOTATION != 0 && contains_html(tag) {
            class |= class::HTML_ANNOTATION;
        }
        self.open.push(Open {
            node,
            name: tag.name,
            class,
        });
    }
}

/// Whether an `annotation-xml` says that it contains HTML.
fn contains_html(tag: &Tag<'_>) -> bool {
    tag.attr(attr::ENCODING).is_some_and(|encoding| {
        ["text/html", "application/xhtml+xml"]
            .iter()
            .any(|html| encoding.eq_ignore_ascii_case(html))
    })
}

/// Whether a start tag can only be HTML's.
fn leaves_foreign_content(tag: &Tag<'_>) -> bool {
    match tag.name.tag() {
        tag::B
        | tag::BIG
        | tag::BLOCKQUOTE
        | tag::BODY
        | tag::BR
        | tag::CENTER
        | tag::CODE
        | tag::DD
        | tag::DIV
        | tag::DL
        | tag::DT
        | tag::EM
        | tag::EMBED
        | tag::H1
        | tag::H2
        | tag::H3
        | tag::H4
        | tag::H5
        | tag::H6
        | tag::HEAD
        | tag::HR
        | tag::I
        | tag::IMG
        | tag::LI
        | tag::LISTING
        | tag::MENU
        | tag::META
        | tag::NOBR
        | tag::OL
        | tag::P
        | tag::PRE
        | tag::RUBY
        | tag::S
        | tag::SMALL
        | tag::SPAN
        | tag::STRONG
        | tag::STRIKE
        | tag::SUB
        | tag::SUP
        | tag::TABLE
        | tag::TT
        | tag::U
        | tag::UL
        | tag::VAR => true,
        tag::FONT => [attr::COLOR, attr::FACE, attr::SIZE]
            .iter()
            .any(|id| tag.attr(*id).is_some()),
        _ => false,
    }
}
