//! The list of active formatting elements and the adoption agency.

use super::super::names::Name;
use super::super::token::Tag;
use super::{Builder, Open, class};
use crate::format::{NONE, NS_HTML};
use crate::names::tag;

/// A formatting element, or a marker.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// Its node; [`NONE`] for a marker.
    node: u32,
    tag: u16,
}

impl Entry {
    const MARKER: Self = Self {
        node: NONE,
        tag: tag::UNKNOWN,
    };

    fn is_marker(self) -> bool {
        self.node == NONE
    }
}

/// <https://html.spec.whatwg.org/multipage/parsing.html#the-list-of-active-formatting-elements>
#[derive(Default)]
pub(super) struct Formatting {
    entries: Vec<Entry>,
    markers: u32,
}

impl Formatting {
    /// How many elements it has, markers left out.
    pub(super) fn elements(&self) -> u32 {
        self.entries.len() as u32 - self.markers
    }

    /// Whether it has an element of this name.
    pub(super) fn has_named(&self, name: Name) -> bool {
        self.entries
            .iter()
            .any(|entry| !entry.is_marker() && Name::of(entry.tag) == name)
    }

    pub(super) fn push_marker(&mut self) {
        self.entries.push(Entry::MARKER);
        self.markers += 1;
    }

    pub(super) fn clear_to_marker(&mut self) {
        while let Some(entry) = self.entries.pop() {
            if entry.is_marker() {
                self.markers -= 1;
                return;
            }
        }
    }

    /// The indices and entries after the last marker, the last first.
    fn since_marker(&self) -> impl Iterator<Item = (usize, Entry)> + '_ {
        let entries = self.entries.iter().copied().enumerate().rev();
        entries.take_while(|(_, entry)| !entry.is_marker())
    }

    fn position(&self, node: u32) -> Option<usize> {
        self.entries.iter().position(|entry| entry.node == node)
    }

    fn remove_node(&mut self, node: u32) {
        if let Some(index) = self.position(node) {
            self.entries.remove(index);
        }
    }
}

impl Builder {
    /// Inserts and opens a formatting element, of which the list has at most three that are alike.
    pub(super) fn insert_formatting(&mut self, tag: &Tag<'_>) {
        let name = tag.name.tag();
        let (mut count, mut earliest) = (0, 0);
        for (index, entry) in self.formatting.since_marker() {
            if entry.tag == name && self.arena.has_equal_attrs(entry.node, &tag.attrs) {
                count += 1;
                earliest = index;
            }
        }
        if count >= 3 {
            self.formatting.entries.remove(earliest);
        }
        let element = self.insert(tag);
        self.formatting.entries.push(Entry {
            node: element.node,
            tag: name,
        });
    }

    /// <https://html.spec.whatwg.org/multipage/parsing.html#reconstruct-the-active-formatting-elements>
    #[inline]
    pub(super) fn reconstruct_formatting(&mut self) {
        if let Some(last) = self.formatting.entries.last()
            && !self.is_marker_or_open(*last)
        {
            self.reopen_formatting();
        }
    }

    fn is_marker_or_open(&self, entry: Entry) -> bool {
        entry.is_marker() || self.open.position(entry.node).is_some()
    }

    fn reopen_formatting(&mut self) {
        let entries = &self.formatting.entries;
        let last_kept = entries
            .iter()
            .rposition(|entry| self.is_marker_or_open(*entry));
        for index in last_kept.map_or(0, |index| index + 1)..entries.len() {
            let entry = self.formatting.entries[index];
            let element = self.create_like(entry);
            self.insert_at(self.place_in(self.open.current()), element.node);
            self.open.push(element);
            self.formatting.entries[index].node = element.node;
        }
    }

    /// A new element like a formatting element.
    fn create_like(&mut self, entry: Entry) -> Open {
        let name = Name::of(entry.tag);
        Open {
            node: self.arena.create_like(entry.node),
            name,
            class: class::of(NS_HTML, name),
        }
    }

    /// A link ends the one that is open, for links do not nest.
    pub(super) fn close_a(&mut self) {
        let mut links = self.formatting.since_marker();
        let Some((_, link)) = links.find(|(_, entry)| entry.tag == tag::A) else {
            return;
        };
        drop(links);
        self.end_formatting(tag::A);
        self.formatting.remove_node(link.node);
        self.open.remove_node(link.node);
    }

    /// The end tag of a formatting element: the adoption agency.
    /// <https://html.spec.whatwg.org/multipage/parsing.html#adoption-agency-algorithm>
    pub(super) fn end_formatting(&mut self, subject: u16) {
        let current = self.open.current();
        if current.is_tag(subject) && self.formatting.position(current.node).is_none() {
            self.open.pop();
            return;
        }
        for _ in 0..8 {
            let mut entries = self.formatting.since_marker();
            let Some((list_index, entry)) = entries.find(|(_, entry)| entry.tag == subject) else {
                drop(entries);
                self.close_any(Name::of(subject));
                return;
            };
            drop(entries);
            let Some(stack_index) = self.open.position(entry.node) else {
                self.formatting.entries.remove(list_index);
                return;
            };
            let is_in_scope = |open: &Open| open.node == entry.node;
            if !self.open.has_in(class::SCOPE, is_in_scope) {
                return;
            }
            let mut inside = self.open.iter().enumerate().skip(stack_index);
            let Some((block_index, block)) = inside.find(|(_, open)| open.is(class::SPECIAL))
            else {
                self.open.truncate(stack_index);
                self.formatting.entries.remove(list_index);
                return;
            };
            self.adopt(entry, stack_index, *block, block_index);
        }
    }

    /// Splits a formatting element in two: one before the block inside it, one inside the block.
    fn adopt(&mut self, entry: Entry, stack_index: usize, block: Open, block_index: usize) {
        let ancestor = self.open.get(stack_index.saturating_sub(1));
        let mut last = block;
        // The element after which the new one comes in the list, in place of the old one's own place.
        let mut bookmark = None;
        let mut index = block_index;
        for step in 1_u32.. {
            index = index.saturating_sub(1);
            let node = self.open.get(index);
            if index == 0 || node.node == entry.node {
                break;
            }
            let list_index = self.formatting.position(node.node);
            let Some(list_index) = list_index.filter(|_| step <= 3) else {
                self.formatting.remove_node(node.node);
                self.open.remove(index);
                continue;
            };
            let element = self.create_like(self.formatting.entries[list_index]);
            self.open.replace(index, element);
            self.formatting.entries[list_index].node = element.node;
            if last.node == block.node {
                bookmark = Some(element.node);
            }
            self.arena.append(element.node, last.node);
            last = element;
        }
        self.arena.detach(last.node);
        self.insert_at(self.place_in(ancestor), last.node);

        let element = self.create_like(entry);
        self.arena.reparent_children(block.node, element.node);
        self.arena.append(block.node, element.node);
        let new_entry = Entry {
            node: element.node,
            ..entry
        };
        match bookmark.and_then(|node| self.formatting.position(node)) {
            Some(index) => {
                self.formatting.entries.insert(index + 1, new_entry);
                self.formatting.remove_node(entry.node);
            }
            None => {
                if let Some(index) = self.formatting.position(entry.node) {
                    self.formatting.entries[index] = new_entry;
                }
            }
        }
        self.open.remove_node(entry.node);
        if let Some(index) = self.open.position(block.node) {
            self.open.insert(index + 1, element);
        }
    }
}
