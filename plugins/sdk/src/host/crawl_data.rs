//! Pages and links of a finished crawl of the caller's own project. Permission
//! `crawl-data`.

use crate::{Error, Page};

/// A finished run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The run's id.
    pub id: i64,
    /// The seed.
    pub url: String,
    /// `done` or `failed`.
    pub status: String,
    /// Pages fetched, whatever their status.
    pub page_count: u64,
}

/// A page of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageRow {
    /// The page's id, for [`open`].
    pub id: i64,
    /// Its final URL.
    pub url: String,
    /// The HTTP status it answered with.
    pub status: u16,
    /// Length of the decoded body.
    pub bytes: u64,
}

/// Links of a batch of pages, in columns: one element each per link.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Links {
    /// The page that the link stands on.
    pub from_page: Vec<i64>,
    /// The page of the same run that the link leads to, or -1.
    pub to_page: Vec<i64>,
    /// Index into `anchors`.
    pub anchor: Vec<u32>,
    /// Whether the link says nofollow, ugc or sponsored.
    pub nofollow: Vec<bool>,
    /// Anchor texts, each once.
    pub anchors: Vec<String>,
    /// Pass as `after` for the next batch; `None` at the end.
    pub next: Option<i64>,
}

/// A run by its id. A run that is not finished is [`Error::InvalidInput`].
pub fn run(id: i64) -> Result<Run, Error> {
    super::backend::run(id)
}

/// Pages with an id above `after` (0 at first), ascending, at most `limit` (10,000 at
/// most).
pub fn pages(run: i64, after: i64, limit: u32) -> Result<Vec<PageRow>, Error> {
    super::backend::pages(run, after, limit)
}

/// Internal links of pages with an id above `after`, of at most `pages` pages.
pub fn links(run: i64, after: i64, pages: u32) -> Result<Links, Error> {
    super::backend::links(run, after, pages)
}

/// A stored page with its body.
pub fn open(page: i64) -> Result<Page<'static>, Error> {
    super::backend::open(page)
}
