//! Crawls: their requests and the engine that runs them; monitors, which start runs on a
//! schedule; webhooks, which report the end of runs.
//!
//! A worker leases runs and works on each in a task (`run`) that decides what is fetched
//! next. Fetches run concurrently and return finished rows, and one task of the process writes
//! them (`commit`). After every commit the database has all results and state of a run, so
//! that any worker can continue it.

pub mod advice;
pub mod cleanup;
mod commit;
mod concurrency;
pub mod config;
mod context;
mod entry;
pub mod export;
mod fetch;
mod follow;
mod frontier;
mod handle;
pub mod hooks;
pub mod link_reader;
pub mod list;
mod live;
pub mod map;
mod navigation;
mod not_modified;
mod page;
pub mod patterns;
mod politeness;
pub mod render;
mod render_page;
pub mod request;
pub mod reuse;
mod run;
pub mod scheduler;
mod scope;
mod seed;
pub mod set_back;
mod shared;
pub mod spec;
pub mod submit;
mod traps;
pub mod webhooks;
mod worker;
mod worker_lock;

pub use context::{Crawls, CrawlsParts};
pub use live::LiveRuns;
pub use run::long_crawl_delay;
pub use worker::run as work;
pub use worker_lock::{WorkerLockHolder, wait_for_worker_lock};

/// Boxes the future of a public async function, so that it is compiled here, once, and not in
/// every crate that awaits it.
pub(crate) use async_recursion::async_recursion as boxed;
