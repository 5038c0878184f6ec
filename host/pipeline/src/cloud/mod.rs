//! Where pages come from besides this host's plain HTTP: its browser, proxy pools, an
//! upstream provider.
//!
//! Each is a [`Backend`](backend::Backend); [`Cloud::load`] goes to the one that is asked
//! for, or, where none is, to the cheapest that succeeds. Nothing here bills: whoever calls
//! reserves before and books afterwards what [`Loaded`](backend::Loaded) says.

mod auto;
pub mod backend;
mod client;
pub mod detect;
mod local;
mod money;
mod pools;
pub mod small_crawl;
pub mod vendor;

pub use client::Cloud;
pub use money::{micros, of_bytes, usd};
