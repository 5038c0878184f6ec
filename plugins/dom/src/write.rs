//! From HTML to a snapshot: html5ever's tokenizer and tree builder over an arena, then
//! one pass in document order.

mod arena;
mod atoms;
mod emit;

use html5ever::ParseOpts;
use html5ever::tendril::TendrilSink;

use crate::Snapshot;

/// Where a tree is cut. A snapshot that was cut says so: see [`View::truncated`](crate::View::truncated).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most nodes of a snapshot; later ones in document order are left out.
    pub max_nodes: u32,
    /// Most elements above one another, `<html>` being the first. A deeper element becomes a
    /// child of the deepest allowed one's parent, so that no text is lost.
    pub max_depth: u32,
}

impl Default for Limits {
    /// Two million nodes; 512 levels, as browsers have it.
    fn default() -> Self {
        Self {
            max_nodes: 2_000_000,
            max_depth: 512,
        }
    }
}

/// Parses a document with the default [`Limits`]. Never fails: every string is some document.
pub fn parse(html: &str) -> Snapshot {
    parse_with(html, &Limits::default())
}

/// Parses a document.
pub fn parse_with(html: &str, limits: &Limits) -> Snapshot {
    let max_nodes = limits.max_nodes.max(1);
    let max_depth = limits.max_depth.max(4) as usize;
    let sink = arena::Sink::new(html.len(), max_nodes as usize);
    let arena = html5ever::parse_document(sink, ParseOpts::default()).one(html);
    emit::write(arena, max_nodes, max_depth)
}
