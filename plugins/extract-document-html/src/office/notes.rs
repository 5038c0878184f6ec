//! Footnotes and endnotes: they are written after the text, in the order of their marks.

use std::collections::BTreeMap;

use super::sink::Sink;

/// Bytes of the tags around a note, at most.
const TAGS: usize = 64;

/// The notes that the text refers to.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// HTML by number, from 1.
    html: BTreeMap<u32, String>,
    bytes: usize,
    /// Whether some were cut or left out, since there was no room.
    cut: bool,
}

impl Notes {
    /// Bytes of all.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds a note that was written by itself. The first of a number counts.
    pub(super) fn add(&mut self, number: u32, sink: Sink) {
        let (html, whole) = sink.finish();
        self.cut |= !whole;
        let has_room = whole || !html.is_empty();
        if has_room && !self.html.contains_key(&number) {
            self.bytes += html.len() + TAGS;
            self.html.insert(number, html);
        }
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.html.len()
    }

    /// Writes them after the text. Returns whether they are whole.
    pub(super) fn write(self, out: &mut String) -> bool {
        if self.html.is_empty() {
            return !self.cut;
        }
        out.push_str("<section role=\"doc-endnotes\">\n<ol>\n");
        for (place, (number, html)) in self.html.into_iter().enumerate() {
            out.push_str(&format!("<li id=\"note-{number}\""));
            // A note that cannot be read is left out.
            if place + 1 != number as usize {
                out.push_str(&format!(" value=\"{number}\""));
            }
            out.push_str(&format!(">{html}</li>\n"));
        }
        out.push_str("</ol>\n</section>\n");
        !self.cut
    }
}
