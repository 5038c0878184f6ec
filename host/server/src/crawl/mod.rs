//! Crawls: what a run is asked to do, how it is queued, and how what it stored is read.

pub mod cleanup;
pub mod links;
pub mod spec;
pub mod submit;
