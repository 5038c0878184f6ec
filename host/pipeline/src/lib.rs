//! A page through the configured extractors: fetched or taken from the store, decoded and
//! parsed once, every role in one call, the answer put together from the plugins' own JSON.

mod answer;
mod answers;
mod blocking;
pub mod blocklist;
mod charge;
pub mod cloud;
pub mod config;
mod context;
pub mod convert;
mod document;
mod error;
mod extract;
mod picture;
mod pipeline;
mod results;
mod roles;
pub mod rules;
mod scan;
pub mod search_index;
mod shapes;
mod site;
mod site_lookup;
mod source;
mod spec;
mod stored;
mod text_diff;

pub use answer::{Picture, ScanResult, assemble};
pub use blocking::blocking;
pub use charge::Bill;
pub use context::{Scans, ScansParts};
pub use document::Document;
pub use error::{FailureKind, ScanError};
pub use pipeline::{Pipeline, PipelineSettings};
pub use roles::{Outcome, RoleError, RoleRequest};
pub use scan::scan;
pub use site::Site;
pub use spec::{Content, ScanSpec};
pub use stored::{KeptContent, PageContent, Parts, StoredError};
pub use text_diff::TextChange;
