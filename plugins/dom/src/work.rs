//! Bounds the work of a search.

use std::cell::Cell;

/// How much work a search with a [`Selector`](crate::Selector) may still do, in units of about ten
/// nanoseconds: looking at an element, or going from it to another, costs one for every eight bytes
/// of the selector, looking for an attribute one for every eight that the element has, and reading it one
/// for every four bytes of its value.
///
/// Selectors such as `a ~ b`, `:has()` and `:nth-child()` look at other elements than the one that is
/// tried, so that the work on a hostile page can grow with the square of its size.
///
/// With debug assertions the crate `selectors` counts the siblings of an element again wherever it has
/// their number already, and panics where the work ran out in between: bound searches in builds without.
#[derive(Debug)]
pub struct Work {
    left: Cell<u64>,
    /// Cost of one element.
    step: Cell<u64>,
}

impl Work {
    /// Work of this many units.
    pub const fn units(units: u64) -> Self {
        Self {
            left: Cell::new(units),
            step: Cell::new(1),
        }
    }

    /// Whether the work is used up: then the search has ended early.
    pub fn is_exhausted(&self) -> bool {
        self.left.get() == 0
    }

    /// Sets what looking at one element costs, by the selector's length.
    pub(crate) fn set_step(&self, selector_bytes: usize) {
        self.step.set(1 + selector_bytes as u64 / 8);
    }

    /// Charges one element. False if the work is used up, and always after that.
    #[inline]
    pub(crate) fn element(&self) -> bool {
        self.spend(self.step.get())
    }

    /// Charges looking for one among this many attributes. Same as [`element`](Self::element).
    #[inline]
    pub(crate) fn attrs(&self, count: usize) -> bool {
        self.spend(1 + count as u64 / 8)
    }

    /// Charges reading this many bytes. Same as [`element`](Self::element).
    #[inline]
    pub(crate) fn bytes(&self, bytes: usize) -> bool {
        self.spend(bytes as u64 / 4)
    }

    #[inline]
    fn spend(&self, units: u64) -> bool {
        match self.left.get().checked_sub(units) {
            Some(left) if left > 0 => {
                self.left.set(left);
                true
            }
            _ => {
                self.left.set(0);
                false
            }
        }
    }
}
