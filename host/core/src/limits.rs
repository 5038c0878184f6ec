//! Fixed limits that several modules share. Configurable limits are in the configuration of
//! the crate that enforces them.

/// Longest URL that is fetched, in bytes.
pub const MAX_URL_BYTES: usize = orbweaver_urls::MAX_URL_BYTES;

/// Most links kept of one page. Links beyond the 100,000th lead to no new content; a page with
/// a million is an attack.
pub const MAX_LINKS: usize = 100_000;

/// Most bytes of anchor text kept per link.
pub const MAX_ANCHOR_BYTES: usize = 1024;

/// Most bytes of a page's title that are hashed.
pub const MAX_TITLE_BYTES: usize = 16 * 1024;

/// Most bytes of a robots.txt that are parsed.
pub const MAX_ROBOTS_BYTES: usize = orbweaver_robots::MAX_ROBOTS_BYTES;

/// Most bytes of an uncompressed sitemap that are parsed.
pub const MAX_SITEMAP_BYTES: usize = orbweaver_sitemaps::MAX_SITEMAP_BYTES;

/// Most URLs taken from one sitemap, or sitemaps from one index.
pub const MAX_SITEMAP_URLS: usize = orbweaver_sitemaps::MAX_SITEMAP_URLS;
