#![doc = include_str!("../README.md")]

extern crate self as orbweaver_sdk;

#[cfg(target_family = "wasm")]
#[allow(
    missing_docs,
    reason = "generated; the WIT files are the documentation"
)]
mod bindings;
mod budget;
mod error;
#[cfg(target_family = "wasm")]
mod glue;
mod handle;
pub mod head;
pub mod hook;
mod host;
#[cfg(any(test, target_family = "wasm"))]
mod input;
pub mod json;
pub mod jsonld;
mod kept;
pub mod language;
mod macros;
#[cfg(target_family = "wasm")]
mod memory;
mod options;
mod page;
pub mod robots;
#[cfg(not(target_family = "wasm"))]
pub mod testing;

pub use budget::Budget;
pub use error::{Code, Error};
pub use host::{Call, crawl_data, http, inputs, job, join_all, log, state};
pub use host::{WaitFor, extract, render, render_many};
pub use options::Options;
pub use orbweaver_dom as dom;
pub use orbweaver_dom::text;
pub use orbweaver_urls as urls;
pub use page::{Header, Hop, Page, Parts};
pub use serde;
pub use serde_json;

/// JSON text (RFC 8259).
pub type Json = String;

/// What the macros expand to; not for authors.
#[doc(hidden)]
#[cfg(target_family = "wasm")]
#[allow(missing_docs, reason = "no part of the interface")]
pub mod __private {
    pub use crate::bindings::actor::export_actor;
    pub use crate::bindings::delivery_hook::export_delivery_hook;
    pub use crate::bindings::extractor::export_extractor;
    pub use crate::bindings::fetcher::export_fetcher;
    pub use crate::bindings::hook::export_hook;
    pub use crate::bindings::host::orbweaver::plugin::types::Error as RawError;
    pub use crate::glue::hook as hook_glue;
    pub use crate::glue::{extract, fetch, run};
    pub use wit_bindgen;

    pub mod extractor {
        pub use crate::bindings::extractor::exports::orbweaver::plugin::extracting::Guest;
        pub use crate::bindings::extractor::*;
        pub use crate::bindings::host::orbweaver::plugin::pages::Page;
    }

    pub mod actor {
        pub use crate::bindings::actor::exports::orbweaver::plugin::acting::Guest;
        pub use crate::bindings::actor::*;
    }

    pub mod hook {
        pub use crate::bindings::hook::exports::orbweaver::plugin::hooking::*;
        pub use crate::bindings::hook::*;
        pub use crate::bindings::host::orbweaver::plugin::pages::Page;
    }

    pub mod delivery_hook {
        pub use crate::bindings::delivery_hook::exports::orbweaver::plugin::delivering::*;
        pub use crate::bindings::delivery_hook::*;
    }

    pub mod fetcher {
        pub use crate::bindings::fetcher::exports::orbweaver::plugin::fetching::Guest;
        pub use crate::bindings::fetcher::*;
    }
}
