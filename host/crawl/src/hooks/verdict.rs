//! Decisions of hooks about a page, for the run's task.

use std::collections::HashMap;
use std::time::Duration;

use orbweaver_engine::JudgedLink;

/// What hooks decided about a page.
#[derive(Debug, Default)]
pub(crate) struct Hooked {
    links: HashMap<u32, JudgedLink>,
    /// URLs that hooks want besides the page's links.
    pub added: Vec<JudgedLink>,
    /// Links that hooks skipped.
    pub skipped: u64,
    /// The page's links were judged and taken before, if only in part: what hooks leave out counts
    /// already.
    pub is_again: bool,
    pub fate: Fate,
}

/// Whether hooks let a page be stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Fate {
    #[default]
    Kept,
    /// Fetched again after this time, if the run still may; stored otherwise.
    Retry(Duration),
    Dropped,
}

impl Hooked {
    /// Notes the verdict on the link with this index.
    pub fn insert(&mut self, index: u32, link: JudgedLink) {
        self.links.insert(index, link);
    }

    /// The verdict on the link with this index; none if hooks were not asked.
    pub fn link(&self, index: u32) -> Option<&JudgedLink> {
        self.links.get(&index)
    }
}
