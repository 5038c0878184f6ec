//! Blocks of a document as HTML: opens and closes the lists around items.

use crate::html::{MAX_HTML, attribute, escape, is_target};

/// Deepest nesting of lists.
const MAX_LEVEL: usize = 9;

/// The HTML of a document that is being written.
#[derive(Debug, Default)]
pub(crate) struct Sink {
    out: String,
    /// The lists that are open, from the outermost: `ul` or `ol`.
    lists: Vec<&'static str>,
}

/// A paragraph that is being written: HTML.
#[derive(Debug, Default)]
pub(crate) struct Paragraph {
    html: String,
    link: bool,
}

impl Paragraph {
    /// Appends text.
    pub(crate) fn text(&mut self, text: &str) {
        escape(text, &mut self.html);
    }

    /// Appends a line break.
    pub(crate) fn line_break(&mut self) {
        self.html.push_str("<br>");
    }

    /// Begins a link; one within another is left out, as is one that leads nowhere.
    pub(crate) fn link(&mut self, url: &str) {
        if !self.link && is_target(url) {
            self.html.push_str("<a");
            attribute("href", url.trim(), &mut self.html);
            self.html.push('>');
            self.link = true;
        }
    }

    /// Ends the link, if one is open.
    pub(crate) fn end_link(&mut self) {
        if std::mem::take(&mut self.link) {
            self.html.push_str("</a>");
        }
    }

    fn finish(mut self) -> String {
        self.end_link();
        self.html
    }
}

/// What a paragraph is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Plain,
    /// A heading's level, from 1.
    Heading(usize),
    /// An item of a list: its level, from 0, and whether it is numbered.
    Item(usize, bool),
}

impl Sink {
    /// Whether there is room for more.
    pub(crate) fn has_room(&self) -> bool {
        self.out.len() <= MAX_HTML
    }

    /// Writes a paragraph; one without text is left out.
    pub(crate) fn paragraph(&mut self, paragraph: Paragraph, kind: Kind) {
        let html = paragraph.finish();
        if html.trim().is_empty() || !self.has_room() {
            return;
        }
        let name = match kind {
            Kind::Item(level, ordered) => {
                self.lists_to(level.min(MAX_LEVEL) + 1, ordered);
                "li".to_owned()
            }
            Kind::Heading(level) => {
                self.close_lists();
                format!("h{}", level.clamp(1, 6))
            }
            Kind::Plain => {
                self.close_lists();
                "p".to_owned()
            }
        };
        self.out.push_str(&format!("<{name}>{html}</{name}>\n"));
    }

    /// Writes a tag of a table.
    pub(crate) fn tag(&mut self, tag: &str) {
        self.close_lists();
        self.out.push_str(tag);
    }

    fn lists_to(&mut self, depth: usize, ordered: bool) {
        let kind = if ordered { "ol" } else { "ul" };
        while self.lists.len() > depth {
            self.close_list();
        }
        if self.lists.len() == depth && self.lists.last() != Some(&kind) {
            self.close_list();
        }
        while self.lists.len() < depth {
            self.out.push_str(&format!("<{kind}>\n"));
            self.lists.push(kind);
        }
    }

    fn close_list(&mut self) {
        if let Some(kind) = self.lists.pop() {
            self.out.push_str(&format!("</{kind}>\n"));
        }
    }

    fn close_lists(&mut self) {
        while !self.lists.is_empty() {
            self.close_list();
        }
    }

    /// The HTML, and whether it has everything.
    pub(crate) fn finish(mut self) -> (String, bool) {
        self.close_lists();
        let whole = self.has_room();
        (self.out, whole)
    }
}
