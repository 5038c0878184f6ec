//! The type of a page, with a probability.

use crate::features::{Matrix, PAGE, TYPES};
use crate::forest::Forest;

/// The types of page, as the Web Content Extraction Benchmark (WCXB) divides the web.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageType {
    /// One text: news, blog post, recipe, reference page.
    Article,
    /// Many things for sale or to choose from, each with a picture and a line.
    Collection,
    /// Manuals and references.
    Documentation,
    /// Questions and answers, threads, comment pages.
    Forum,
    /// Lists and tables of entries.
    Listing,
    /// One thing for sale.
    Product,
    /// Home pages, services, landing pages.
    Service,
}

/// In the order of [`TYPES`].
const ALL: [PageType; TYPES.len()] = [
    PageType::Article,
    PageType::Collection,
    PageType::Documentation,
    PageType::Forum,
    PageType::Listing,
    PageType::Product,
    PageType::Service,
];

impl PageType {
    /// The type's name: `article`, `collection` and so on.
    pub fn name(self) -> &'static str {
        TYPES.get(self as usize).copied().unwrap_or("")
    }
}

/// The probability of each type of page.
#[derive(Clone, Copy, Debug, Default)]
pub struct Types([f32; TYPES.len()]);

impl Types {
    /// Asks the page model.
    pub fn of(page: &[u8; PAGE.len()]) -> Self {
        // One row: a block of its own, seven more to fill a word.
        let mut data = vec![0; PAGE.len() * 8];
        for (row, value) in data.as_chunks_mut::<8>().0.iter_mut().zip(page) {
            *row = [*value, 0, 0, 0, 0, 0, 0, 0];
        }
        let matrix = Matrix { stride: 8, data };
        let answers = Forest::of(include_bytes!("../models/page-type.bin"))
            .map(|forest| forest.evaluate(&matrix))
            .unwrap_or_default();
        let mut shares = [0.0; TYPES.len()];
        let mut sum = 0.0;
        for (share, answer) in shares.iter_mut().zip(answers.chunks(8)) {
            *share = answer.first().copied().unwrap_or(0.0).exp();
            sum += *share;
        }
        Self(shares.map(|share| if sum > 0.0 { share / sum } else { 0.0 }))
    }

    /// Of a page all of whose statements about itself say that it is an article: 145 of 146
    /// such pages of the training data are.
    pub fn of_clear_article() -> Self {
        let mut shares = [0.0; TYPES.len()];
        if let Some(share) = shares.get_mut(PageType::Article as usize) {
            *share = 0.99;
        }
        Self(shares)
    }

    /// The same for a page on which no rule finds a sign of a forum, neither in its address nor in its markup:
    /// on pages of few words, the model takes a forum for the likeliest type of what it knows nothing of.
    #[must_use]
    pub fn without_forum(mut self) -> Self {
        /// How much less likely it is. Of the forums of the training data, one in twelve has no sign.
        const LESS: f32 = 0.6;
        if let Some(share) = self.0.get_mut(PageType::Forum as usize) {
            *share *= LESS;
        }
        let sum: f32 = self.0.iter().sum();
        if sum > 0.0 {
            self.0 = self.0.map(|share| share / sum);
        }
        self
    }

    /// Of a page that is certainly of a type.
    #[cfg(test)]
    pub fn only(kind: PageType) -> Self {
        let mut shares = [0.0; TYPES.len()];
        if let Some(share) = shares.get_mut(kind as usize) {
            *share = 1.0;
        }
        Self(shares)
    }

    /// The likeliest type, and its probability; `None` where nothing is known of any.
    pub fn best(&self) -> Option<(PageType, f32)> {
        let mut best: Option<(PageType, f32)> = None;
        for (kind, share) in ALL.into_iter().zip(self.0) {
            if share > best.map_or(0.0, |(_, share)| share) {
                best = Some((kind, share));
            }
        }
        best
    }

    /// The probability of a type.
    pub fn share(&self, kind: PageType) -> f32 {
        self.0.get(kind as usize).copied().unwrap_or(0.0)
    }

    /// The probabilities in parts of 127, as the block model reads them.
    pub fn bytes(&self) -> [u8; TYPES.len()] {
        self.0.map(|share| (share * 127.0) as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_without_a_sign_of_a_forum_is_less_likely_one() {
        let mut types = Types::default();
        for (kind, share) in [(PageType::Forum, 0.4), (PageType::Service, 0.35)] {
            types.0[kind as usize] = share;
        }
        types.0[PageType::Article as usize] = 0.25;
        assert_eq!(types.best().map(|(kind, _)| kind), Some(PageType::Forum));
        let fewer = types.without_forum();
        assert_eq!(fewer.best().map(|(kind, _)| kind), Some(PageType::Service));
        assert!((fewer.0.iter().sum::<f32>() - 1.0).abs() < 1e-5);
        let forum = Types::only(PageType::Forum).without_forum();
        assert_eq!(forum.best(), Some((PageType::Forum, 1.0)));
    }
}
