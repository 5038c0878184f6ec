//! Pages and links of a finished crawl of the caller's project. Needs permission
//! `crawl-data`.

use crate::{Error, Page};

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunStatus {
    /// It is complete, or was cut by a limit.
    Done,
    /// The seed could not be fetched, or the crawl gave up; it may have pages all the same.
    Failed,
}

/// A finished run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The run's id.
    pub id: i64,
    /// Its seed URL.
    pub url: String,
    /// How it ended.
    pub status: RunStatus,
    /// Number of pages fetched, with any status.
    pub page_count: u64,
}

/// A page of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageRow {
    /// The page's id, for [`open`].
    pub id: i64,
    /// Its final URL.
    pub url: String,
    /// HTTP status of its response.
    pub status: u16,
    /// Length of the decoded body.
    pub bytes: u64,
}

/// Links of a batch of pages, in columns with one element per link.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Links {
    /// The page that contains the link.
    pub from_page: Vec<i64>,
    /// The link's target: a page of the same run. Links to other targets are left out.
    pub to_page: Vec<i64>,
    /// Index into `anchors`.
    pub anchor: Vec<u32>,
    /// Whether the link has nofollow, ugc or sponsored.
    pub nofollow: Vec<bool>,
    /// Distinct anchor texts.
    pub anchors: Vec<String>,
    /// Pass as `after` for the next batch; `None` at the end.
    pub next: Option<i64>,
}

/// Returns a run. If it is not finished, the error is [`Code::InvalidInput`](crate::Code::InvalidInput).
pub fn run(id: i64) -> Result<Run, Error> {
    super::backend::run(id)
}

/// Returns pages with an id above `after` (start with 0), ascending, at most `limit` (10,000 at
/// most).
pub fn pages(run: i64, after: i64, limit: u32) -> Result<Vec<PageRow>, Error> {
    super::backend::pages(run, after, limit)
}

/// Returns internal links of the next pages with an id above `after`, at most `pages` pages.
pub fn links(run: i64, after: i64, pages: u32) -> Result<Links, Error> {
    super::backend::links(run, after, pages)
}

/// Returns a stored page with its body.
pub fn open(page: i64) -> Result<Page<'static>, Error> {
    super::backend::open(page)
}
