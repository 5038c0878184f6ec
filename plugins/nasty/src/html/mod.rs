//! Patterns of HTML documents, by subject.

use crate::Pattern;

mod attributes;
mod data;
mod foreign;
mod forms;
mod head;
mod inline;
mod links;
mod media;
mod nesting;
mod shapes;
mod tables;
mod text;

/// Every pattern of HTML.
pub fn html() -> impl Iterator<Item = &'static Pattern> + Clone {
    [
        nesting::PATTERNS,
        inline::PATTERNS,
        links::PATTERNS,
        attributes::PATTERNS,
        text::PATTERNS,
        head::PATTERNS,
        data::PATTERNS,
        media::PATTERNS,
        tables::PATTERNS,
        forms::PATTERNS,
        foreign::PATTERNS,
        shapes::PATTERNS,
    ]
    .into_iter()
    .flatten()
}
