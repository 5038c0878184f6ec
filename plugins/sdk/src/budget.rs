//! Bounds the work of one role: with references or nested elements, a small page could otherwise
//! cost quadratic time.

use orbweaver_dom::View;

/// Most bytes of text that all values may have together.
const MAX_TEXT: usize = 12 << 20;

/// The node visits and bytes of text that one role may still use for a page.
///
/// Needed if the subtrees of many, possibly nested elements are read: links, headings, items.
#[derive(Debug)]
pub struct Budget {
    /// Remaining node visits.
    visits: u64,
    /// Remaining bytes of text.
    text: usize,
}

impl Budget {
    /// Much more than an ordinary page needs: sixteen visits of each node, 12 MiB of text.
    pub fn of(view: &View<'_>) -> Self {
        Self {
            visits: 20_000 + 16 * u64::from(view.len()),
            text: MAX_TEXT,
        }
    }

    /// Charges a value that is written `times` times. Returns the value, or an empty text if the
    /// budget is exhausted.
    pub fn text(&mut self, value: String, times: usize) -> String {
        if self.spend_text(value.len().saturating_mul(times)) {
            value
        } else {
            String::new()
        }
    }

    /// Charges bytes of text. False if not enough are left, and always after that.
    pub fn spend_text(&mut self, bytes: usize) -> bool {
        let left = self.text.checked_sub(bytes);
        self.text = left.unwrap_or(0);
        left.is_some()
    }

    /// Charges node visits. False if not enough are left, and always after that.
    pub fn spend(&mut self, visits: u32) -> bool {
        match self.visits.checked_sub(u64::from(visits)) {
            // Visits collect text, so they are useless when no text is left.
            Some(left) if self.text > 0 => {
                self.visits = left;
                true
            }
            _ => {
                self.visits = 0;
                false
            }
        }
    }
}
