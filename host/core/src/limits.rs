//! Limits that several modules share. What an operator may tune is in the configuration
//! of the crate that enforces it; these are fixed.

/// The longest URL that is fetched, in bytes.
pub const MAX_URL_BYTES: usize = orbweaver_urls::MAX_URL_BYTES;

/// Links kept of one page. The 100,000th link of a page finds no new content; a page of a
/// million is an attack.
pub const MAX_LINKS: usize = 100_000;

/// Bytes of anchor text kept per link.
pub const MAX_ANCHOR_BYTES: usize = 1024;

/// Bytes of a page's title that count for its hash.
pub const MAX_TITLE_BYTES: usize = 16 * 1024;

/// Bytes of a robots.txt that are read.
pub const MAX_ROBOTS_BYTES: usize = orbweaver_robots::MAX_ROBOTS_BYTES;

/// Bytes of an uncompressed sitemap that are read.
pub const MAX_SITEMAP_BYTES: usize = orbweaver_sitemaps::MAX_SITEMAP_BYTES;

/// URLs taken from one sitemap, or sitemaps from one index.
pub const MAX_SITEMAP_URLS: usize = orbweaver_sitemaps::MAX_SITEMAP_URLS;
