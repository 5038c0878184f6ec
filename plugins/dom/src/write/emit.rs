//! From the finished tree to the snapshot's words: one pass in document order.

use super::arena::{Arena, ArenaNode};
use crate::Snapshot;
use crate::format::{
    ATTR_WORDS, FLAG_QUIRKS, FLAG_TRUNCATED, HEADER_WORDS, KIND_DOCUMENT, KIND_ELEMENT, KIND_TEXT,
    MAGIC, NODE_WORDS, NONE, VERSION,
};

/// A node of the snapshot whose subtree is not complete yet.
struct Open {
    id: u32,
    last_child: u32,
}

/// Writes records; knows nothing of the tree but the path from the document to here.
struct Writer {
    words: Vec<u32>,
    /// As long as elements come in the order of their creation, how many of the arena's attribute
    /// records are those of the snapshot.
    in_order: u32,
    /// The snapshot's attribute records, once they are others than the arena's.
    attrs: Option<Vec<[u32; 4]>>,
    open: Vec<Open>,
    count: u32,
}

impl Writer {
    /// Ends the subtrees of all but the `keep` outermost open nodes.
    fn close_to(&mut self, keep: usize) {
        while self.open.len() > keep {
            let Some(closed) = self.open.pop() else {
                return;
            };
            let end = HEADER_WORDS + closed.id as usize * NODE_WORDS + 2;
            if let Some(word) = self.words.get_mut(end) {
                *word = self.count;
            }
        }
    }

    /// Adds a node below the innermost open one.
    fn push(&mut self, kind: u32, start: u32, len: u32) -> u32 {
        let id = self.count;
        self.count += 1;
        let (parent, prev) = match self.open.last_mut() {
            Some(parent) => (parent.id, std::mem::replace(&mut parent.last_child, id)),
            None => (NONE, NONE),
        };
        self.words
            .extend_from_slice(&[kind, parent, id + 1, prev, start, len]);
        id
    }

    /// Takes an element's attribute records, and its name before them if it has one.
    /// Returns the index of the first attribute.
    fn push_attrs(&mut self, arena: &Arena, node: &ArenaNode) -> u32 {
        let named = u32::from(node.kind >> 16 == 0);
        let (start, end) = (node.start - named, node.start + node.len);
        if self.attrs.is_none() && (start == self.in_order || start == end) {
            self.in_order += end - start;
            return self.in_order - node.len;
        }
        let attrs = self.attrs.get_or_insert_with(|| {
            let mut attrs = Vec::with_capacity(arena.attrs.len());
            attrs.extend_from_slice(&arena.attrs[..self.in_order as usize]);
            attrs
        });
        let first = attrs.len() as u32 + named;
        attrs.extend_from_slice(&arena.attrs[start as usize..end as usize]);
        first
    }
}

/// Writes the tree below the document. Of a tree deeper than `max_depth` elements, the deeper
/// ones become children of the last allowed one's parent; what comes after the first
/// `max_nodes` nodes is left out.
pub(super) fn write(mut arena: Arena, max_nodes: u32, max_depth: usize) -> Snapshot {
    let nodes = arena.nodes.len().min(max_nodes as usize);
    let attr_words = arena.attrs.len() * ATTR_WORDS;
    let mut out = Writer {
        words: Vec::with_capacity(HEADER_WORDS + nodes * NODE_WORDS + attr_words),
        in_order: 0,
        attrs: None,
        open: Vec::with_capacity(64),
        count: 0,
    };
    out.words.resize(HEADER_WORDS, 0);
    let mut truncated = arena.truncated;

    let mut at = 0;
    // The number of ancestors in the arena, where the path in the snapshot may be shorter.
    let mut depth = 0_usize;
    loop {
        if out.count == max_nodes {
            truncated = true;
            break;
        }
        let node = arena.nodes[at as usize];
        let mut below = NONE;
        match node.kind & 0xff {
            KIND_ELEMENT => {
                if depth > max_depth {
                    truncated = true;
                    out.close_to(max_depth);
                }
                let first = out.push_attrs(&arena, &node);
                let id = out.push(node.kind, first, node.len);
                out.open.push(Open {
                    id,
                    last_child: NONE,
                });
                below = node.first;
            }
            KIND_DOCUMENT => {
                let id = out.push(node.kind, 0, 0);
                out.open.push(Open {
                    id,
                    last_child: NONE,
                });
                below = node.first;
            }
            KIND_TEXT if node.first != NONE => {
                let (start, len) = join(&mut arena, &node);
                out.push(node.kind, start, len);
            }
            _ => {
                out.push(node.kind, node.start, node.len);
            }
        }
        if below != NONE {
            at = below;
            depth += 1;
            continue;
        }
        // Up until there is a next sibling. A node's own subtree is closed when it is left.
        let mut here = &arena.nodes[at as usize];
        if here.is(KIND_ELEMENT) {
            out.close_to(depth.min(max_depth));
        }
        while here.next == NONE && here.parent != NONE {
            at = here.parent;
            depth -= 1;
            here = &arena.nodes[at as usize];
            out.close_to(depth.min(max_depth));
        }
        if here.next == NONE {
            break;
        }
        at = here.next;
    }
    out.close_to(0);

    let mut flags = 0;
    if arena.quirks {
        flags |= FLAG_QUIRKS;
    }
    if truncated {
        flags |= FLAG_TRUNCATED;
    }
    let Writer {
        mut words,
        attrs,
        count,
        in_order,
        ..
    } = out;
    let attrs = match &attrs {
        Some(attrs) => attrs.as_slice(),
        None => &arena.attrs[..in_order as usize],
    };
    let header = [MAGIC | VERSION, count, attrs.len() as u32, flags];
    for (word, value) in words.iter_mut().zip(header) {
        *word = value;
    }
    words.extend_from_slice(attrs.as_flattened());
    Snapshot {
        words,
        text: arena.text,
    }
}

/// Copies the pieces of a text node to the end of the text. Returns offset and length.
fn join(arena: &mut Arena, node: &ArenaNode) -> (u32, u32) {
    let start = arena.text.len();
    arena.text.extend_from_within(range(node.start, node.len));
    let mut at = node.first;
    while let Some(piece) = arena.pieces.get(at as usize) {
        arena.text.extend_from_within(range(piece.start, piece.len));
        at = piece.next;
    }
    (start as u32, (arena.text.len() - start) as u32)
}

fn range(start: u32, len: u32) -> std::ops::Range<usize> {
    start as usize..(start + len) as usize
}
