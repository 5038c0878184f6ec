//! Resolving and normalising URLs: the one module that host and plugins share, so that
//! a link means the same to the crawler's frontier, the `links` plugin and every actor.
//!
//! [`Base::join`] resolves what stands in an `href` after the WHATWG URL standard. The
//! common ASCII shapes are resolved by copying bytes; everything else goes to the crate
//! `url`, and a differential test holds the two together. [`key`] is the normalised form
//! under which a page is known to a crawl; what is fetched is always the link as written.

mod join;
mod key;
mod resolved;

pub use join::Base;
pub use key::{KeyRules, key, key_into, key_of};
pub use resolved::Resolved;
pub use url::Url;

/// The longest URL that is resolved, in bytes. Servers refuse requests half as long, and
/// a page with a million links and a base of megabytes must not multiply the two.
pub const MAX_URL_BYTES: usize = 16 * 1024;

/// Bytes that all URLs resolved for one page may have together: 100,000 links of 160 bytes.
/// Later references of the page count as unresolvable. See [`Base::limited`].
pub const MAX_PAGE_URL_BYTES: u64 = 16 << 20;
