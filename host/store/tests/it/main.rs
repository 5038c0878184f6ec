//! The store's behaviour, on both databases.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a helper that cannot do its work fails its test"
)]

mod blobs;
mod change_watch;
mod checkpoints;
mod crawls;
mod exclusive_work;
mod hosts;
mod index_claims;
mod jobs;
mod lock_order;
mod log_writes;
mod monitors;
mod page_feeds;
mod partitions;
mod parts;
mod replicas;
mod run_rows;
mod schema;
mod store;
mod support;
