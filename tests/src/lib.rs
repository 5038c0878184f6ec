//! What tests and benchmarks stand on besides the product itself.

pub mod crawl;
pub mod drill;
pub mod postgres;
pub mod program;
pub mod proxies;
