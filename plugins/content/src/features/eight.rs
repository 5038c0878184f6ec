//! Eight blocks' features before they are written to the matrix.

use super::Matrix;
use super::layout::COUNT;

/// The features of eight blocks that follow each other, feature by feature: a block's features
/// stand near each other here, in the matrix each is in a row of its own.
pub(super) struct Eight {
    rows: Box<[[u8; 8]; COUNT]>,
    /// The first of the blocks.
    first: usize,
}

impl Eight {
    pub fn new() -> Self {
        Self {
            rows: Box::new([[0; 8]; COUNT]),
            first: 0,
        }
    }

    /// Sets features that follow each other, of one of the eight blocks.
    pub fn set(&mut self, first: usize, block: usize, values: &[u8]) {
        let rows = self.rows.get_mut(first..).unwrap_or_default();
        for (row, value) in rows.iter_mut().zip(values) {
            row[block & 7] = *value;
        }
    }

    /// Writes these features of the blocks that were set, of which `next` follows the last, and
    /// goes on with the next eight.
    pub fn flush(&mut self, features: &[std::ops::Range<usize>], next: usize, to: &mut Matrix) {
        for feature in features.iter().cloned().flatten() {
            let row = to.row(feature).get_mut(self.first..).unwrap_or_default();
            let count = next - self.first;
            if let Some((eight, row)) = self.rows.get_mut(feature).zip(row.get_mut(..count)) {
                row.copy_from_slice(eight.get(..count).unwrap_or_default());
                *eight = [0; 8];
            }
        }
        self.first = next;
    }
}
