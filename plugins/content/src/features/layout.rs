//! Which features there are, and where each stands in a block's row.

use crate::context::INSIDE;
use crate::words::MARKS;

/// Features of a block by itself.
pub const OWN: [&str; 34] = [
    "chars",
    "words",
    "link_share",
    "links",
    "punct",
    "punct_share",
    "stop_share",
    "digit_share",
    "capital_share",
    "word_length",
    "title_share",
    "description_share",
    "head",
    "tail",
    "tag",
    "prices",
    "years",
    "copyright",
    "separators",
    "at",
    "phrase",
    "texts",
    "copies",
    "copy_before",
    "like",
    "like_chars",
    "like_link",
    "like_stop",
    "depth",
    "heading",
    "kept",
    "nodes",
    "hidden",
    "prose",
];
/// Features of [`OWN`] that a block also has of its neighbours, up to three away.
pub(super) const SHARED: [usize; 11] = [0, 2, 5, 6, 14, 15, 20, 24, 29, 30, 32];
/// Neighbours by their distance.
pub(super) const AROUND: [isize; 6] = [-3, -2, -1, 1, 2, 3];
/// Features of each of the three nearest elements around a block that hold more than it.
pub(super) const BOX: [&str; 12] = [
    "chars",
    "link_share",
    "prose_share",
    "stop_share",
    "blocks",
    "kept_share",
    "like",
    "at",
    "tag",
    "hidden_share",
    "prices_share",
    "headings",
];
pub(super) const BOXES: usize = 3;
/// Features of a block's place on the page.
pub(super) const PLACE: [&str; 19] = [
    "index",
    "progress",
    "after_h1",
    "since_heading",
    "heading_level",
    "heading_phrase",
    "heading_chars",
    "since_kept",
    "until_kept",
    "near_chars",
    "near_link",
    "near_stop",
    "near_kept",
    "far_kept",
    "far_prose",
    "since_phrase",
    "last_phrase",
    "max_like",
    "h1_before",
];
/// Features of the page, the same for all of its blocks.
pub const PAGE: [&str; 34] = [
    "p_article",
    "p_forum",
    "p_product",
    "p_listing",
    "p_documentation",
    "p_kind",
    "p_chars",
    "p_blocks",
    "p_prose",
    "p_link",
    "p_stop",
    "p_kept",
    "p_kept_blocks",
    "p_headings",
    "p_h1",
    "p_prices",
    "p_years",
    "p_items",
    "p_tables",
    "p_forms",
    "p_pre",
    "p_articles",
    "p_main",
    "p_hidden",
    "p_max_like",
    "p_depth",
    "p_images",
    "p_url_depth",
    "p_url_words",
    "p_url_digits",
    "p_url_query",
    "p_long_blocks",
    "p_phrases",
    "p_titled",
];

/// The types of page, in the order of the page model's answers.
pub const TYPES: [&str; 7] = [
    "article",
    "collection",
    "documentation",
    "forum",
    "listing",
    "product",
    "service",
];

pub(super) const FIRST_INSIDE: usize = OWN.len();
pub(super) const FIRST_MARK: usize = FIRST_INSIDE + INSIDE.len();
pub(super) const FIRST_SHARED: usize = FIRST_MARK + MARKS.len();
pub(super) const FIRST_BOX: usize = FIRST_SHARED + SHARED.len() * AROUND.len();
pub(super) const FIRST_PLACE: usize = FIRST_BOX + BOX.len() * BOXES;
pub(super) const FIRST_PAGE: usize = FIRST_PLACE + PLACE.len();
/// Where the probabilities of the types of page begin.
pub const FIRST_TYPE: usize = FIRST_PAGE + PAGE.len();
/// Features of a block, in all.
pub const COUNT: usize = FIRST_TYPE + TYPES.len();

/// The features' names, in order.
pub fn names() -> Vec<String> {
    let own = OWN.iter().map(|s| (*s).to_owned());
    let inside = INSIDE.iter().map(|s| format!("in_{s}"));
    let marks = MARKS.iter().map(|(s, _)| format!("mark_{s}"));
    let shared = AROUND.iter().flat_map(|d| {
        SHARED
            .iter()
            .map(move |&i| format!("{}{d:+}", OWN.get(i).copied().unwrap_or("")))
    });
    let boxes = (1..=BOXES).flat_map(|n| BOX.iter().map(move |s| format!("box{n}_{s}")));
    let place = PLACE.iter().map(|s| (*s).to_owned());
    let page = PAGE.iter().map(|s| (*s).to_owned());
    let types = TYPES.iter().map(|s| format!("type_{s}"));
    own.chain(inside)
        .chain(marks)
        .chain(shared)
        .chain(boxes)
        .chain(place)
        .chain(page)
        .chain(types)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_feature_has_a_name() {
        let names = names();
        assert_eq!(names.len(), COUNT);
        let mut sorted = names.clone();
        sorted.sort();
        sorted.dedup();
        assert_eq!(sorted.len(), COUNT, "two features have one name");
    }
}
