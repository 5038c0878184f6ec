//! A bound on work: references, and properties inside properties, can make a small page
//! cost the square of its size.

use orbweaver_sdk::dom::View;

/// Bytes of text that values may hold, all syntaxes together.
const MAX_TEXT: usize = 12 << 20;

/// What may still be done, all syntaxes together.
#[derive(Debug)]
pub struct Budget {
    /// Nodes that may be visited.
    left: u64,
    /// Bytes that values may hold.
    text: usize,
}

impl Budget {
    /// Many times what an honest page needs.
    pub fn of(view: &View<'_>) -> Self {
        Self {
            left: 20_000 + 16 * u64::from(view.len()),
            text: MAX_TEXT,
        }
    }

    /// Pays for a value that is written `times` over: the value, or nothing.
    pub fn text(&mut self, value: String, times: usize) -> String {
        match self.text.checked_sub(value.len().saturating_mul(times)) {
            Some(left) => {
                self.text = left;
                value
            }
            None => {
                self.text = 0;
                String::new()
            }
        }
    }

    /// Pays for `visits`; false when there is not enough left, and from then on.
    pub fn spend(&mut self, visits: u32) -> bool {
        match self.left.checked_sub(u64::from(visits)) {
            // Whoever visits nodes gathers text: without room for that there is no use.
            Some(left) if self.text > 0 => {
                self.left = left;
                true
            }
            _ => {
                self.left = 0;
                false
            }
        }
    }
}
