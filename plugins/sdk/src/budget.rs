//! A bound on the work of one role: references, and elements inside elements, can make a
//! small page cost the square of its size.

use orbweaver_dom::View;

/// Bytes of text that all values may have together.
const MAX_TEXT: usize = 12 << 20;

/// The node visits and the bytes of text that one role may still use for a page.
///
/// Needed where the subtrees of many elements are read and the elements may be nested: links,
/// headings, items.
#[derive(Debug)]
pub struct Budget {
    /// Nodes that may be visited.
    visits: u64,
    /// Bytes of text that values may have.
    text: usize,
}

impl Budget {
    /// Many times what an honest page needs: sixteen visits of each node, 12 MiB of text.
    pub fn of(view: &View<'_>) -> Self {
        Self {
            visits: 20_000 + 16 * u64::from(view.len()),
            text: MAX_TEXT,
        }
    }

    /// Pays for a value that is written `times` over: the value, or an empty text once the
    /// budget is spent.
    pub fn text(&mut self, value: String, times: usize) -> String {
        if self.spend_text(value.len().saturating_mul(times)) {
            value
        } else {
            String::new()
        }
    }

    /// Pays for so many bytes of text; false when there is not enough left, and from then on.
    pub fn spend_text(&mut self, bytes: usize) -> bool {
        let left = self.text.checked_sub(bytes);
        self.text = left.unwrap_or(0);
        left.is_some()
    }

    /// Pays for `visits` of nodes; false when there is not enough left, and from then on.
    pub fn spend(&mut self, visits: u32) -> bool {
        match self.visits.checked_sub(u64::from(visits)) {
            // Visits are for gathering text: without room for text there is no use.
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
