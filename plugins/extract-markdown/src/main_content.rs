//! Which part of a page is converted.

use orbweaver_sdk::dom::View;

/// The nodes to convert: `start..end` without the subtrees of `skips`.
pub(crate) struct Plan {
    pub start: u32,
    pub end: u32,
    /// Roots of subtrees to leave out, ascending.
    pub skips: Vec<u32>,
    /// Hidden content counts.
    pub show_hidden: bool,
}

impl Plan {
    /// The whole document.
    pub fn of_whole(view: &View<'_>) -> Self {
        Self {
            start: 0,
            end: view.len(),
            skips: Vec::new(),
            show_hidden: false,
        }
    }

    /// The whole document, with what it hides.
    pub fn of_everything(view: &View<'_>) -> Self {
        Self {
            show_hidden: true,
            ..Self::of_whole(view)
        }
    }

    /// The main content.
    pub fn of_main_content(view: &View<'_>) -> Self {
        Self::of_whole(view)
    }
}
