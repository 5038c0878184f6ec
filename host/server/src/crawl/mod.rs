//! Crawls: what a run is asked to do.

pub mod spec;
