//! One streaming pass over a page: its links, title, canonical URL, base, robots directives,
//! and the hash of its visible text.
//!
//! It runs for every crawled page, so it builds neither tree nor tokens: tags and texts are
//! ranges of the source, and nothing is allocated for them.

mod decoded;
mod facts;
mod hash;
mod links;
mod open;
mod pass;
mod refresh;
mod robots_meta;

pub use facts::PageFacts;
pub use links::{Link, Links};
pub use orbweaver_markup::Refresh;
pub use pass::{page_pass, page_text};
pub use refresh::page_refresh;
pub use robots_meta::{Directives, x_robots_tag};

#[cfg(test)]
mod tests;
