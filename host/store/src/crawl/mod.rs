//! Crawl runs: their rows, their leases, their frontier, and the commits of their pages.

mod commit;
mod delete;
mod diff;
mod frontier;
mod graph;
mod lease;
mod links;
mod previous;
mod read;
mod runs;

pub use commit::{Committed, CrawledPage, FrontierChange, NewFrontier, RunBatch};
pub use delete::Removed;
pub use diff::{Differing, RunDiff};
pub use frontier::{FrontierRow, KnownRow};
pub use graph::Orphan;
pub use lease::{Ending, Lease, LeasedRun};
pub use links::{
    LinkSlice, StoredLink, each_link, pack_links, pack_targets, slice_links, unpack_links,
    unpack_targets,
};
pub use previous::PreviousPage;
pub use read::{LinkRows, PackedLinks, PageItem, PageRange, PageRecord, RunItem};
pub use runs::{Created, NewRun, Progress, Run, RunFilter, RunState};
