//! The elements that are open, as far as one can tell without a tree: enough to know
//! where what nobody sees ends.

use orbweaver_markup::names::{self, Name};

/// Elements within each other that are told apart; real pages have tens.
const MAX_DEPTH: usize = 256;

/// Elements that are open and whose end tag may not be left out.
#[derive(Debug, Default)]
pub(super) struct OpenElements {
    names: Vec<Name>,
    /// Elements that were opened beyond the limit.
    deeper: usize,
    /// How many were open when the outermost hidden one began.
    hidden: Option<usize>,
}

impl OpenElements {
    /// Whether what comes now is seen by nobody.
    pub const fn hide(&self) -> bool {
        self.hidden.is_some()
    }

    /// An element begins. One whose end tag may be left out hides nothing: the rest of the
    /// page would be taken for its content.
    pub fn open(&mut self, name: Name, hidden: bool) {
        if name.may_stay_open() {
            return;
        }
        if self.names.len() >= MAX_DEPTH {
            self.deeper += 1;
            return;
        }
        if self.hidden.is_none() && (hidden || name == names::TEMPLATE) {
            self.hidden = Some(self.names.len());
        }
        self.names.push(name);
    }

    /// An element ends, and all that are open within it. An end tag of none is ignored.
    pub fn close(&mut self, name: Name) {
        if self.deeper > 0 {
            self.deeper -= 1;
            return;
        }
        if name.may_stay_open() {
            return;
        }
        if let Some(at) = self.names.iter().rposition(|open| *open == name) {
            self.names.truncate(at);
            if self.hidden.is_some_and(|hidden| at <= hidden) {
                self.hidden = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_hidden_ends_with_its_element_or_one_around_it() {
        let mut elements = OpenElements::default();
        for name in [names::SECTION, names::DIV] {
            elements.open(name, false);
        }
        elements.open(names::DIV, true);
        elements.open(names::DIV, true);
        elements.close(names::SPAN);
        elements.close(names::DIV);
        assert!(elements.hide());
        elements.close(names::DIV);
        assert!(!elements.hide());
        elements.open(names::TEMPLATE, false);
        assert!(elements.hide());
        elements.close(names::SECTION);
        assert!(!elements.hide());
        elements.open(names::P, true);
        assert!(!elements.hide());
    }

    #[test]
    fn depth_without_end_is_survived() {
        let mut elements = OpenElements::default();
        for _ in 0..1_000 {
            elements.open(names::DIV, false);
        }
        elements.open(names::DIV, true);
        assert!(!elements.hide());
        for _ in 0..2_000 {
            elements.close(names::DIV);
        }
        elements.open(names::DIV, true);
        assert!(elements.hide());
    }
}
