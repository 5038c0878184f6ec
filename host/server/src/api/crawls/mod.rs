//! Crawls: runs, their pages and links, what two runs differ in.

pub(crate) mod request;
