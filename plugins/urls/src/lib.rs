//! Resolves and normalises URLs. Host and plugins share this module, so that a link means the same
//! to the crawler's frontier, the `links` plugin and every actor.
//!
//! [`Base::join`] resolves an `href` as in the WHATWG URL standard. Common ASCII forms are resolved
//! by copying bytes, all others by the crate `url`; a differential test checks that both agree.
//! [`key`] is the normalised form by which a crawl identifies a page; the link is always fetched as
//! written.

mod join;
mod key;
mod resolved;

pub use join::Base;
pub use key::{KeyRules, key, key_into, key_of};
pub use resolved::Resolved;
pub use url::Url;

/// Longest URL that is resolved, in bytes. Servers refuse requests half as long, and a page with a
/// million links and a base of megabytes must not multiply the two.
pub const MAX_URL_BYTES: usize = 16 * 1024;

/// Most bytes of all URLs resolved for one page together: 100,000 links of 160 bytes. Later
/// references of the page count as unresolvable. See [`Base::limited`].
pub const MAX_PAGE_URL_BYTES: u64 = 16 << 20;
