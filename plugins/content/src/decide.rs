//! Which blocks are kept, given the probability of each.

use crate::blocks::Block;

/// Keeps the blocks by which the expected F1 of the page's words is highest.
///
/// The best set of blocks has one border: all above half of the F1 that is reached with it
/// (Lipton, Elkan and Naryanaswamy 2014, "Optimal thresholding of classifiers to maximize
/// F1"). Where a model is unsure of a page the border sinks, since little is lost then by
/// keeping more. A few rounds find it.
///
/// `by_rules` is the rules' own verdict on each block: it shifts the odds of the block by
/// `lean`, a logit. The model has read it, too, but on pages that the rules were made on, where
/// they are right more often than on those that nobody has seen.
pub fn keep(blocks: &[Block], logits: &[f32], by_rules: &[bool], lean: f32) -> Vec<bool> {
    let weighted: Vec<(f32, f32)> = blocks
        .iter()
        .zip(logits)
        .zip(by_rules)
        .map(|((block, logit), kept)| {
            let logit = if *kept { logit + lean } else { logit - lean };
            (block.halves as f32 / 2.0, 1.0 / (1.0 + (-logit).exp()))
        })
        .collect();
    let total: f32 = weighted.iter().map(|(words, p)| words * p).sum();
    let mut border = 0.45;
    for _ in 0..6 {
        let (mut all, mut right) = (0.0, 0.0);
        for (words, p) in &weighted {
            if *p >= border {
                all += words;
                right += words * p;
            }
        }
        border = right / (all + total).max(1e-6);
    }
    weighted.iter().map(|(_, p)| *p >= border).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(count: usize) -> Vec<Block> {
        let block = Block {
            halves: 20,
            ..Block::default()
        };
        vec![block; count]
    }

    #[test]
    fn on_a_page_that_is_clear_the_border_is_near_a_half() {
        assert_eq!(
            keep(&blocks(4), &[9.0, 9.0, -0.8, -9.0], &[false; 4], 0.0),
            [true, true, false, false]
        );
    }

    #[test]
    fn on_a_page_that_is_not_more_is_kept() {
        // One chance in four each: nothing better is to be had.
        assert_eq!(
            keep(&blocks(4), &[-1.1, -1.1, -1.1, -6.0], &[false; 4], 0.0),
            [true, true, true, false]
        );
    }

    #[test]
    fn a_page_without_words_is_no_division_by_zero() {
        assert_eq!(keep(&[Block::default()], &[0.0], &[false], 0.0), [true]);
        assert!(keep(&[], &[], &[], 1.0).is_empty());
    }

    #[test]
    fn the_rules_decide_where_the_model_is_unsure_and_are_overruled_where_it_is_not() {
        let rules = [true, true, false, false];
        let logits = [-0.5, -4.0, 0.5, 4.0];
        assert_eq!(
            keep(&blocks(4), &logits, &rules, 1.0),
            [true, false, false, true]
        );
    }
}
