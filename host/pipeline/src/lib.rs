//! The pipeline: fetches a page or loads it from the store, decodes and parses it once, runs all
//! roles in one call, and assembles the answer from the plugins' own JSON.

mod answer;
mod answer_budget;
mod blocking;
pub mod blocklist;
pub mod browsing;
mod charge;
pub mod cloud;
pub mod config;
mod context;
mod conversion;
pub mod convert;
mod document;
mod error;
mod extract;
mod extract_check;
mod extract_fields;
mod extractor_cache;
mod extractor_options;
mod fetch_code;
mod input_hash;
mod invalid_field;
mod kept_agent;
mod kept_answers;
mod masked;
mod option_rules;
mod picture;
mod pipeline;
mod request_headers;
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

pub use answer::{Besides, Picture, ScanResult, assemble};
pub use answer_budget::AnswerBudget;
pub use blocking::{INLINE_BYTES, blocking, blocking_of, sized};
pub use charge::{Bill, Charge, cost_token};
pub use context::{Scans, ScansParts};
pub use conversion::{ConvertedDocument, DOCUMENT_ROLE, convert_document, readable_page};
pub use document::Document;
pub use error::{FailureKind, ScanError};
pub use extract::log_failure;
pub use extract_fields::{
    ExtractRequest, ExtractSpec, Extracted, FieldError, PromptSpec, SELECTORS_ROLE, STORED_KEY,
    split_stored,
};
pub use extractor_options::ExtractorOptions;
pub use fetch_code::fetch_code;
pub use kept_agent::{AskedWith, Rendering};
pub use masked::page_without;
pub use pipeline::{Pipeline, PipelineSettings};
pub use roles::{Outcome, RoleError, RoleRequest};
pub use scan::scan;
pub use site::{JUDGE_COST, Site};
pub use spec::{Content, ScanSpec};
pub use stored::{HookRecord, KeptContent, PageContent, Parts, StoredContent, StoredError};
pub use text_diff::TextChange;

/// Caches drop what was not used for this long: memory that one load took serves the next, or is
/// free. Work that repeats within it, such as many formats of one page, is done once.
pub(crate) const CACHE_IDLE: std::time::Duration = std::time::Duration::from_secs(60);

/// Boxes the future of a public async function, so that it is compiled here, once, and not in
/// every crate that awaits it.
pub(crate) use async_recursion::async_recursion as boxed;
