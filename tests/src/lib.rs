//! Helpers for tests and benchmarks.

pub mod crawl;
pub mod drill;
pub mod program;
pub mod proxies;
pub mod registry;
pub mod soak;

pub use orbweaver_postgres as postgres;
pub use orbweaver_s3 as s3;
