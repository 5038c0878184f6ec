//! The store's behaviour, on both databases.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a helper that cannot do its work fails its test"
)]

mod accounts;
mod blob_losses;
mod blob_sweeps;
mod blobs;
mod change_watch;
mod checkpoints;
mod commits;
mod crawls;
mod exclusive_work;
mod given;
mod hosts;
mod idempotency;
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
