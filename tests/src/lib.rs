//! What tests and benchmarks stand on besides the product itself.

pub mod crawl;
pub mod drill;
pub mod program;
pub mod proxies;
pub mod soak;

pub use orbweaver_postgres as postgres;
