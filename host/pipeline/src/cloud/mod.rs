//! Backends for fetching pages: this host, its browser, proxy pools, and an upstream
//! provider.
//!
//! Each is a [`Backend`](backend::Backend). [`Cloud::load`] uses the requested one, or for
//! `auto` the cheapest that succeeds. Nothing here bills: the caller reserves before and
//! records afterwards what the job has [spent](backend::Job::spent), with its page or in vain.

mod auto;
pub mod backend;
mod client;
pub mod detect;
mod llm;
mod local;
mod money;
mod pools;
mod sessions;
pub mod small_crawl;
mod unpaid;
pub mod vendor;

pub use auto::{verdict, verdict_of_stored};
pub use client::Cloud;
pub use llm::{Answered, Llm, ModelUsage, NO_MODEL, Prompted};
pub use money::{Spent, UnderWay, micros, traffic_micros, usd};
