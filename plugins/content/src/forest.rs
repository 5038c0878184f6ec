//! Evaluates the models: boosted decision trees whose every level asks one question.
//!
//! Such a tree of depth d is d questions and 2^d answers, so that a block's answer is found
//! without a branch: each question gives one bit of an index. Features are bytes below 128;
//! eight blocks are asked at once, as the bytes of one word, with plain additions: the sum
//! of a feature and 127 less the border reaches the high bit just where the feature is
//! above the border.
//!
//! A model is a byte string, made by `train/train.py`:
//!
//! ```text
//! "OWF1"  trees: u16  outputs: u8  scale: f32  bias: f32 for each output
//! a tree: depth: u8, then (feature: u16, border: u8) for each level,
//!         then outputs x 2^depth leaves: i16, in units of the scale
//! ```
//!
//! Numbers are little-endian.

use crate::features::Matrix;

/// Deepest tree: its index fits a byte.
const MAX_DEPTH: usize = 8;

const HIGH: u64 = 0x8080_8080_8080_8080;
const ONES: u64 = 0x0101_0101_0101_0101;

/// A model to be evaluated.
#[derive(Clone, Copy)]
pub struct Forest<'m> {
    trees: u16,
    outputs: usize,
    scale: f32,
    bias: &'m [u8],
    body: &'m [u8],
}

/// Reads little-endian numbers off the front of a byte string.
struct Reader<'m>(&'m [u8]);

impl<'m> Reader<'m> {
    fn take(&mut self, count: usize) -> Option<&'m [u8]> {
        let (head, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(head)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    fn u16(&mut self) -> Option<u16> {
        Some(u16::from_le_bytes(self.take(2)?.try_into().ok()?))
    }

    fn f32(&mut self) -> Option<f32> {
        Some(f32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }
}

impl<'m> Forest<'m> {
    /// Reads a model's head; `None` if it is none.
    pub fn of(model: &'m [u8]) -> Option<Self> {
        let mut reader = Reader(model.strip_prefix(b"OWF1")?);
        let trees = reader.u16()?;
        let outputs = usize::from(reader.byte()?);
        let scale = reader.f32()?;
        let bias = reader.take(outputs * 4)?;
        Some(Self {
            trees,
            outputs,
            scale,
            bias,
            body: reader.0,
        })
    }

    /// The model's answers for every block: those for the first output, then those for the
    /// second and so on, each as many as the matrix' stride. Answers are logits.
    pub fn evaluate(&self, matrix: &Matrix) -> Vec<f32> {
        let stride = matrix.stride;
        let mut sums = vec![0i32; stride * self.outputs];
        let mut index = vec![0u64; stride / 8];
        let mut table = [0; 1 << MAX_DEPTH];
        let mut reader = Reader(self.body);
        for _ in 0..self.trees {
            let tree = self.tree(matrix, &mut reader, &mut index, &mut table, &mut sums);
            if tree.is_none() {
                break;
            }
        }
        let mut bias = Reader(self.bias);
        let mut out = Vec::with_capacity(sums.len());
        for chunk in sums.chunks(stride.max(1)) {
            let bias = bias.f32().unwrap_or(0.0);
            out.extend(chunk.iter().map(|&s| s as f32 * self.scale + bias));
        }
        out
    }

    /// Adds one tree's answers. `index` and `table` are room to work in.
    fn tree(
        &self,
        matrix: &Matrix,
        reader: &mut Reader<'m>,
        index: &mut [u64],
        table: &mut [i32; 1 << MAX_DEPTH],
        sums: &mut [i32],
    ) -> Option<()> {
        let stride = matrix.stride;
        let depth = usize::from(reader.byte()?);
        if depth > MAX_DEPTH {
            return None;
        }
        index.fill(0);
        for level in 0..depth {
            let feature = usize::from(reader.u16()?);
            let border = reader.byte()?.min(127);
            let add = ONES * u64::from(127 - border);
            let from = feature.checked_mul(stride)?;
            let column = matrix.data.get(from..from.checked_add(stride)?)?;
            ask(column, add, level, index);
        }
        let leaves = 1 << depth;
        for output in 0..self.outputs {
            let answers = reader.take(leaves * 2)?.as_chunks::<2>().0;
            for (slot, answer) in table.iter_mut().zip(answers) {
                *slot = i32::from(i16::from_le_bytes(*answer));
            }
            let sums = sums.get_mut(output * stride..(output + 1) * stride)?;
            for (eight, word) in sums.as_chunks_mut::<8>().0.iter_mut().zip(index.iter()) {
                for (sum, leaf) in eight.iter_mut().zip(word.to_le_bytes()) {
                    // A byte, and there are 256.
                    *sum += table[usize::from(leaf)];
                }
            }
        }
        Some(())
    }
}

/// Asks one question of every block: sets the index's bit of this level where the feature is above the
/// border. Plain steps on words, of which the sandbox takes two at once.
#[cfg_attr(target_family = "wasm", target_feature(enable = "simd128"))]
fn ask(column: &[u8], add: u64, level: usize, index: &mut [u64]) {
    for (slot, bytes) in index.iter_mut().zip(column.as_chunks::<8>().0) {
        let above = (u64::from_le_bytes(*bytes) + add) & HIGH;
        *slot |= above >> (7 - level);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One tree of two levels over two features, two outputs.
    fn model() -> Vec<u8> {
        let mut model = b"OWF1".to_vec();
        model.extend(1u16.to_le_bytes());
        model.push(2);
        model.extend(0.5f32.to_le_bytes());
        model.extend(1.0f32.to_le_bytes());
        model.extend((-1.0f32).to_le_bytes());
        model.push(2);
        model.extend([0, 0, 10, 1, 0, 126]);
        for leaf in [0i16, 2, 4, 6, 0, -2, -4, -6] {
            model.extend(leaf.to_le_bytes());
        }
        model
    }

    #[test]
    fn every_level_asks_whether_a_feature_is_above_its_border() {
        let mut data = vec![0; 16];
        // Blocks: neither, first only, second only, both; then borders themselves.
        data[..6].copy_from_slice(&[0, 11, 0, 127, 10, 10]);
        data[8..14].copy_from_slice(&[0, 0, 127, 127, 126, 127]);
        let matrix = Matrix { stride: 8, data };
        let bytes = model();
        let answers = Forest::of(&bytes)
            .map(|f| f.evaluate(&matrix))
            .unwrap_or_default();
        assert_eq!(answers.get(..6), Some(&[1.0, 2.0, 3.0, 4.0, 1.0, 3.0][..]));
        assert_eq!(answers.get(8..12), Some(&[-1.0, -2.0, -3.0, -4.0][..]));
    }

    #[test]
    fn a_damaged_model_gives_answers_without_its_damaged_trees() {
        let matrix = Matrix {
            stride: 8,
            data: vec![0; 16],
        };
        let bytes = model();
        for cut in 0..bytes.len() {
            let Some(forest) = Forest::of(&bytes[..cut]) else {
                continue;
            };
            assert_eq!(forest.evaluate(&matrix).len(), 16, "{cut}");
        }
        assert!(Forest::of(b"").is_none());
    }
}
