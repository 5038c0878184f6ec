//! The open elements, as far as they are known without a tree: enough to find the end of
//! hidden content.

use orbweaver_markup::names::{self, Name};

/// Nested elements that are tracked; real pages have tens.
const MAX_DEPTH: usize = 256;

/// Open elements whose end tag may not be omitted.
#[derive(Debug, Default)]
pub(super) struct OpenElements {
    names: Vec<Name>,
    /// Number of elements opened beyond the limit.
    deeper: usize,
    /// Number of open elements when the outermost hidden one began.
    hidden: Option<usize>,
}

impl OpenElements {
    /// Whether the current position is hidden.
    pub const fn hide(&self) -> bool {
        self.hidden.is_some()
    }

    /// Opens an element. One whose end tag may be omitted never hides: the rest of the page
    /// would count as its content.
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

    /// Closes an element and all elements open within it. An end tag without a start is ignored.
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
    fn hidden_content_ends_with_its_element_or_an_outer_one() {
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
    fn endless_nesting_is_bounded() {
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
