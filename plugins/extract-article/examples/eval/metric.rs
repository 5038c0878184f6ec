//! The two measures of the evaluation sets.

use std::collections::HashMap;
use std::hash::Hash;

/// Maximal runs of word characters: letters, digits, marks and the underscore, as `\w`.
pub fn tokens(text: &str) -> Vec<&str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_' || is_mark(c)))
        .filter(|t| !t.is_empty())
        .collect()
}

/// Combining marks that Rust's `is_alphanumeric` leaves out (general category M, the
/// blocks that occur in running text).
fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{591}'..='\u{5bd}'
        | '\u{610}'..='\u{61a}' | '\u{64b}'..='\u{65f}' | '\u{93a}'..='\u{93c}'
        | '\u{93e}'..='\u{94f}' | '\u{e31}' | '\u{e34}'..='\u{e3a}' | '\u{e47}'..='\u{e4e}'
        | '\u{200c}' | '\u{200d}' | '\u{20d0}'..='\u{20f0}' | '\u{fe00}'..='\u{fe0f}')
}

fn counts<T: Hash + Eq>(items: impl Iterator<Item = T>) -> HashMap<T, usize> {
    let mut counts = HashMap::new();
    for item in items {
        *counts.entry(item).or_default() += 1;
    }
    counts
}

/// What was found, in excess and missing, as counts over two multisets.
#[derive(Clone, Copy, Debug, Default)]
pub struct Overlap {
    pub tp: f64,
    pub fp: f64,
    pub fn_: f64,
}

impl Overlap {
    fn of<T: Hash + Eq>(truth: HashMap<T, usize>, found: HashMap<T, usize>) -> Self {
        let common: usize = truth
            .iter()
            .map(|(k, n)| *n.min(found.get(k).unwrap_or(&0)))
            .sum();
        let (all, got): (usize, usize) = (truth.values().sum(), found.values().sum());
        Self {
            tp: common as f64,
            fp: (got - common) as f64,
            fn_: (all - common) as f64,
        }
    }

    /// Precision of the page; `None` for empty output.
    pub fn precision(self) -> f64 {
        rate(self.tp, self.fp, self.fn_)
    }

    /// Recall of the page.
    pub fn recall(self) -> f64 {
        rate(self.tp, self.fn_, self.fp)
    }

    /// F1 of the page.
    pub fn f1(self) -> f64 {
        let sum = 2.0 * self.tp + self.fp + self.fn_;
        if sum == 0.0 { 1.0 } else { 2.0 * self.tp / sum }
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
    Overlap::of(counts(runs(&truth)), counts(runs(&found)))
}

fn runs<'t>(tokens: &'t [&'t str]) -> impl Iterator<Item = &'t [&'t str]> {
    let size = tokens.len().clamp(1, 4);
    tokens.windows(size)
}

/// Overlap of lower-case tokens.
pub fn words(truth: &str, found: &str) -> Overlap {
    let (truth, found) = (truth.to_lowercase(), found.to_lowercase());
    Overlap::of(
        counts(tokens(&truth).into_iter()),
        counts(tokens(&found).into_iter()),
    )
}

/// Figures of a set by the articles' measure: precision, recall, F1, share of exact pages.
pub fn articles(pages: &[(Overlap, bool)]) -> [f64; 4] {
    let mean = |v: Vec<f64>| v.iter().sum::<f64>() / v.len().max(1) as f64;
    let p = mean(
        pages
            .iter()
            .filter(|(o, _)| o.tp + o.fp > 0.0)
            .map(|(o, _)| o.precision())
            .collect(),
    );
    let r = mean(
        pages
            .iter()
            .filter(|(o, _)| o.tp + o.fn_ > 0.0)
            .map(|(o, _)| o.recall())
            .collect(),
    );
    let exact = pages.iter().filter(|(_, e)| *e).count() as f64 / pages.len().max(1) as f64;
    [p, r, 2.0 * p * r / (p + r).max(f64::MIN_POSITIVE), exact]
}
