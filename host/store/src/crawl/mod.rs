//! Crawl runs: their rows, their leases, their frontier, and the commits of their pages.

mod commit;
mod frontier;
mod lease;
mod runs;

pub use commit::{Committed, CrawledPage, FrontierChange, NewFrontier, RunBatch};
pub use frontier::{FrontierRow, KnownRow};
pub use lease::{Ending, Lease, LeasedRun};
pub use runs::{Created, NewRun, Progress, Run, RunFilter, RunState};
