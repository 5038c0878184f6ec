//! `orbweaver:plugin@1`: one module per interface links its functions to the capability that
//! implements them.

pub(crate) mod bindings;
mod charged;
mod crawl;
mod crawl_data;
mod dom;
pub(crate) mod errors;
mod extraction;
pub(crate) mod hooking;
mod http;
mod inputs;
mod job;
pub(crate) mod linker;
mod log;
mod pages;
mod parsing;
mod rendering;
mod state;
