//! The work of a crawl: its frontier, commits of pages, and waiting times of hosts. Types of
//! runs and pages are re-exported here from their modules.

pub(crate) mod commit;
pub(crate) mod errors;
pub(crate) mod frontier;
mod hosts;
pub(crate) mod keys;
mod list;
pub(crate) mod notes;
mod skipped;

pub use crate::pages::{
    CrawledPage, DifferentPage, LinkRows, LinkSlice, LinkedPage, NewRecord, Orphan, PackedLinks,
    PageItem, PageRange, PageRecord, PageSummary, PreviousPage, RunDiff, RunRecord, StoredLink,
    each_link, is_unreliable, pack_links, pack_targets, slice_links, unpack_links, unpack_targets,
};
pub use crate::runs::{
    BatchParts, Created, DeletionStep, EndedRun, Ending, Lease, LeasedPart, LeasedRun, NewReport,
    NewRun, PartLease, PartState, Progress, Run, RunFilter, RunItem, RunState, SiteTexts,
    SkipReason, StoredReport,
};
pub use commit::{Committed, RunBatch};
pub use errors::{FailedUrl, UNREADABLE_SITEMAP};
pub use frontier::{FrontierChange, FrontierRow, KnownRow, LentUrl, NewFrontier};
pub use hosts::HostSlot;
pub use keys::KeyUse;
pub use notes::{FailurePlace, NewNote, NoteKind, RunFailure, RunNote};
pub use skipped::{DuplicatePage, DuplicateUrl, SkippedPlace, SkippedUrl};
