//! The two measures of the public sets.
//!
//! - **Words** (WCXB): tokens are lower-case `\w+`, as a multiset; the score of a set is the
//!   mean F1 of its pages.
//! - **Shingles** (scrapinghub's article-extraction-benchmark): runs of four tokens, case
//!   kept, as a multiset; the score of a set is the harmonic mean of mean precision and mean
//!   recall.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::LazyLock;

use regex::Regex;

/// `\w` of Python's `re`, which both sets were scored with: `str.isalnum()` and `_`. It leaves
/// out combining marks, which Rust's `\w` has.
#[expect(clippy::expect_used, reason = "a constant pattern, covered by tests")]
static TOKEN: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"[\p{L}\p{N}_]+").expect("a valid pattern"));

/// Maximal runs of word characters.
pub fn tokens(text: &str) -> Vec<&str> {
    TOKEN.find_iter(text).map(|found| found.as_str()).collect()
}

fn counts<T: Hash + Eq>(items: impl Iterator<Item = T>) -> HashMap<T, usize> {
    let mut counts = HashMap::new();
    for item in items {
        *counts.entry(item).or_default() += 1;
    }
    counts
}

/// What was found, in excess and missing, as counts over two multisets.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Overlap {
    /// In both: true positives.
    pub tp: f64,
    /// In the answer only: false positives.
    pub fp: f64,
    /// In the truth only: false negatives.
    pub missed: f64,
}

impl Overlap {
    fn of<T: Hash + Eq>(truth: &HashMap<T, usize>, found: &HashMap<T, usize>) -> Self {
        let common: usize = truth
            .iter()
            .map(|(k, n)| *n.min(found.get(k).unwrap_or(&0)))
            .sum();
        let (all, got): (usize, usize) = (truth.values().sum(), found.values().sum());
        Self {
            tp: common as f64,
            fp: (got - common) as f64,
            missed: (all - common) as f64,
        }
    }

    /// Precision of the page.
    pub fn precision(self) -> f64 {
        rate(self.tp, self.fp, self.missed)
    }

    /// Recall of the page.
    pub fn recall(self) -> f64 {
        rate(self.tp, self.missed, self.fp)
    }

    /// F1 of the page; 1 where truth and answer are both empty.
    pub fn f1(self) -> f64 {
        let sum = self.weight();
        if sum == 0.0 { 1.0 } else { 2.0 * self.tp / sum }
    }

    /// The denominator of F1.
    pub fn weight(self) -> f64 {
        2.0 * self.tp + self.fp + self.missed
    }
}

fn rate(tp: f64, error: f64, other: f64) -> f64 {
    match (tp, error, other) {
        (_, 0.0, 0.0) => 1.0,
        (0.0, 0.0, _) => 0.0,
        _ => tp / (tp + error),
    }
}

/// Overlap of the runs of four tokens, case kept.
pub fn shingles(truth: &str, found: &str) -> Overlap {
    let (truth, found) = (tokens(truth), tokens(found));
    Overlap::of(&counts(runs(&truth)), &counts(runs(&found)))
}

fn runs<'t>(tokens: &'t [&'t str]) -> impl Iterator<Item = &'t [&'t str]> {
    tokens.windows(tokens.len().clamp(1, 4))
}

/// Overlap of lower-case tokens.
pub fn words(truth: &str, found: &str) -> Overlap {
    let (truth, found) = (truth.to_lowercase(), found.to_lowercase());
    Overlap::of(
        &counts(tokens(&truth).into_iter()),
        &counts(tokens(&found).into_iter()),
    )
}

/// F1 of a set by shingles: the harmonic mean of mean precision (over pages with an answer)
/// and mean recall (over pages with a truth).
pub fn set_f1(pages: impl Iterator<Item = Overlap> + Clone) -> f64 {
    let p = mean(
        pages
            .clone()
            .filter(|o| o.tp + o.fp > 0.0)
            .map(Overlap::precision),
    );
    let r = mean(pages.filter(|o| o.tp + o.missed > 0.0).map(Overlap::recall));
    if p + r > 0.0 {
        2.0 * p * r / (p + r)
    } else {
        0.0
    }
}

/// The mean; 0 of nothing.
pub fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut count) = (0.0, 0u32);
    for value in values {
        sum += value;
        count += 1;
    }
    sum / f64::from(count.max(1))
}

/// The value below which a share of the values lies (nearest rank); 0 of nothing.
pub fn percentile(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let last = values.len().saturating_sub(1);
    let at = (last as f64 * share).round() as usize;
    values.get(at.min(last)).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_those_of_python_s_word_class() {
        // `re.findall(r"\w+", …)` of Python 3.
        for (text, expected) in [
            (
                "don't re-count a_b 3.14",
                vec!["don", "t", "re", "count", "a_b", "3", "14"],
            ),
            ("Ünïcode ½ ² Ⅷ", vec!["Ünïcode", "½", "²", "Ⅷ"]),
            ("东京 タワー", vec!["东京", "タワー"]),
            // A vowel sign is a mark: no word character in Python.
            ("हिंदी", vec!["ह", "द"]),
            ("…—“”", vec![]),
        ] {
            assert_eq!(tokens(text), expected, "{text:?}");
        }
    }

    #[test]
    fn words_are_counted_as_a_multiset_without_case() {
        let overlap = words("The cat, the dog.", "the CAT the the bird");
        assert_eq!(
            overlap,
            Overlap {
                tp: 3.0,
                fp: 2.0,
                missed: 1.0
            }
        );
        assert_eq!(overlap.precision(), 0.6);
        assert_eq!(overlap.recall(), 0.75);
        assert!((overlap.f1() - 2.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn empty_texts_have_the_scores_of_the_public_metrics() {
        assert_eq!(words("", "").f1(), 1.0);
        assert_eq!(words("a", "").f1(), 0.0);
        assert_eq!(words("a", "").precision(), 0.0);
        assert_eq!(words("", "a").recall(), 0.0);
        assert_eq!(words("", "").recall(), 1.0);
    }

    #[test]
    fn shingles_are_runs_of_four_tokens_with_case() {
        assert_eq!(
            shingles("a b c d e", "a b c d E"),
            Overlap {
                tp: 1.0,
                fp: 1.0,
                missed: 1.0
            }
        );
        // Fewer than four tokens are one shingle.
        assert_eq!(shingles("a b", "a b").f1(), 1.0);
        assert_eq!(shingles("a b", "b a").f1(), 0.0);
    }

    #[test]
    fn a_set_by_shingles_leaves_empty_answers_out_of_precision() {
        let full = Overlap {
            tp: 8.0,
            fp: 0.0,
            missed: 2.0,
        };
        let empty = Overlap {
            tp: 0.0,
            fp: 0.0,
            missed: 5.0,
        };
        let f1 = set_f1([full, empty].into_iter());
        let (p, r) = (1.0, 0.4);
        assert!((f1 - 2.0 * p * r / (p + r)).abs() < 1e-12);
    }

    #[test]
    fn percentiles_are_of_the_nearest_rank() {
        let mut values = vec![5.0, 1.0, 3.0, 2.0, 4.0];
        assert_eq!(percentile(&mut values, 0.5), 3.0);
        assert_eq!(percentile(&mut values, 0.95), 5.0);
        assert_eq!(percentile(&mut [], 0.5), 0.0);
    }
}
