//! Lists and their items.

use orbweaver_sdk::dom::{Node, attr, tag};

use crate::walk::{Close, Walker};
use crate::writer::{Gap, Mode};

/// A list that is open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct List {
    ordered: bool,
    /// Number of the next item.
    number: i64,
    step: i64,
    /// Has the second of the two kinds of marks, since it follows another list directly.
    alternate: bool,
    /// An item has been written.
    begun: bool,
    /// The last item had blank lines in it.
    loose: bool,
    pub in_item: bool,
    /// Blank lines written before the open item's content.
    blanks: u32,
    /// Stands in a list without an item around it.
    indented: bool,
}

/// Numbers of CommonMark's ordered lists have at most nine digits.
const MAX_NUMBER: i64 = 999_999_999;

impl<'a> Walker<'a> {
    pub(crate) fn open_list(&mut self, node: Node<'a>, tag: u16) {
        let ordered = tag == tag::OL;
        let reversed = ordered && node.has_attr(attr::REVERSED);
        let start = if ordered {
            number(node, attr::START)
        } else {
            None
        };
        let number = start.unwrap_or_else(|| {
            if reversed {
                node.children().filter(|n| n.tag() == tag::LI).count() as i64
            } else {
                1
            }
        });
        let mut list = List {
            ordered,
            number,
            step: if reversed { -1 } else { 1 },
            ..List::default()
        };

        let flow = self.w.mode == Mode::Flow;
        match self.lists.last().copied().filter(|_| flow) {
            Some(outer) if outer.in_item => {
                // A list that begins with another number than 1 does not interrupt a paragraph.
                let loose = self.w.blanks > outer.blanks || (ordered && number != 1);
                self.w
                    .block_after(if loose { Gap::Blank } else { Gap::Line });
            }
            Some(outer) if outer.begun => {
                self.w.block_after(Gap::Line);
                let indent = if outer.ordered { "   " } else { "  " };
                let container = self.w.enter(indent, indent);
                self.containers.push(container);
                list.indented = true;
            }
            // Below no item there is nothing to indent for, and four spaces would make code.
            _ => self.w.block(),
        }
        let (at, last) = self.last_list;
        list.alternate = at == self.w.out.len() && last.ordered == ordered && !last.alternate;
        self.lists.push(list);
        self.push(node, Close::List);
    }

    pub(crate) fn close_list(&mut self) {
        if let Some(list) = self.lists.pop() {
            if list.indented {
                self.leave_container();
            }
            self.w.block();
            if list.begun {
                self.last_list = (self.w.out.len(), list);
            }
        }
    }

    pub(crate) fn open_item(&mut self, node: Node<'a>) {
        // An item that no list holds, or whose list's own item is still open, is a bullet.
        let strays = self.lists.last().is_none_or(|list| list.in_item);
        if strays {
            let follows = node.prev_sibling().map(|n| {
                if n.is_text() {
                    n.prev_sibling()
                } else {
                    Some(n)
                }
            });
            let begun = follows.flatten().is_some_and(|n| n.tag() == tag::LI);
            self.w.block();
            self.lists.push(List {
                begun,
                number: 1,
                step: 1,
                ..List::default()
            });
        }
        let planned = self.is_planned();
        let Some(list) = self.lists.last_mut() else {
            return;
        };
        if let Some(value) = number(node, attr::VALUE).filter(|_| list.ordered) {
            list.number = value;
        }
        list.in_item = true;
        self.scratch.clear();
        // A cell has no lists: what it shows of one is text, and a number would be a word of it.
        if list.ordered && !(planned && self.w.mode == Mode::Cell) {
            use std::fmt::Write;
            let delimiter = if list.alternate { ')' } else { '.' };
            // Writing to a String does not fail.
            let _ = write!(
                self.scratch,
                "{}{delimiter} ",
                list.number.clamp(0, MAX_NUMBER)
            );
        } else {
            self.scratch
                .push_str(if list.alternate { "* " } else { "- " });
        }
        list.number = list.number.saturating_add(list.step);
        let gap = if list.loose { Gap::Blank } else { Gap::Line };
        let begun = list.begun;

        if self.w.mode == Mode::Flow {
            if begun {
                self.w.block_after(gap);
            } else {
                let gap = self.w.gap;
                self.w.block_after(gap.max(Gap::Line));
            }
            let coming = u32::from(self.w.gap == Gap::Blank && !self.w.out.is_empty());
            let indent = "            ".get(..self.scratch.len()).unwrap_or("  ");
            let container = self.w.enter(&self.scratch, indent);
            self.containers.push(container);
            let blanks = self.w.blanks + coming;
            if let Some(list) = self.lists.last_mut() {
                list.blanks = blanks;
            }
        } else {
            self.w.block();
            if self.w.mode == Mode::Cell {
                self.w.bullet.clone_from(&self.scratch);
            }
        }
        self.push(node, if strays { Close::List } else { Close::Item });
        if strays {
            self.push(node, Close::Item);
        }
    }

    pub(crate) fn close_item(&mut self) {
        self.w.block();
        let written = if self.w.mode == Mode::Flow {
            self.leave_container()
        } else {
            true
        };
        self.w.bullet.clear();
        let blanks = self.w.blanks;
        if let Some(list) = self.lists.last_mut() {
            list.in_item = false;
            if written {
                list.begun = true;
                list.loose = blanks > list.blanks;
            }
        }
    }
}

fn number(node: Node<'_>, attribute: u16) -> Option<i64> {
    node.attr(attribute)?.trim_ascii().parse::<i64>().ok()
}
