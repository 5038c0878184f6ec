//! The work of a crawl: its frontier, the commits of its pages, and what hosts allow. Runs
//! and pages, as other modules keep them, are re-exported here.

mod commit;
pub(crate) mod errors;
pub(crate) mod frontier;
mod hosts;

pub use crate::pages::{
    CrawledPage, Differing, LinkRows, LinkSlice, Orphan, PackedLinks, PageItem, PageRange,
    PageRecord, PreviousPage, RunDiff, StoredLink, each_link, pack_links, pack_targets,
    slice_links, unpack_links, unpack_targets,
};
pub use crate::runs::{
    Created, Ending, Lease, LeasedRun, NewRun, Progress, Removed, Run, RunFilter, RunItem,
    RunState, SkipReason,
};
pub use commit::{Committed, RunBatch};
pub use errors::FailedUrl;
pub use frontier::{FrontierChange, FrontierRow, KnownRow, NewFrontier};
