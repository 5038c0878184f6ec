//! Shapes of the shipped plugins' answers, for the OpenAPI document: what a plugin returns
//! goes out as it is, and is never read into these types.

use std::collections::BTreeMap;

use serde_json::Value;
use utoipa::ToSchema;

/// What the page says about itself.
#[derive(ToSchema)]
#[expect(dead_code, reason = "a schema, never constructed")]
pub(crate) struct Metadata {
    title: Option<String>,
    description: Option<String>,
    canonical: Option<String>,
    /// Open Graph, keys without `og:`.
    og: BTreeMap<String, Value>,
    /// Twitter Card, keys without `twitter:`.
    twitter: BTreeMap<String, Value>,
    json_ld: Vec<Value>,
}

/// What search engines look at.
#[derive(ToSchema)]
#[expect(dead_code, reason = "a schema, never constructed")]
pub(crate) struct Signals {
    title: Option<String>,
    description: Option<String>,
    canonical: Option<String>,
    lang: Option<String>,
    h1: Vec<String>,
    h2: Vec<String>,
    h3: Vec<String>,
    robots_meta: Vec<String>,
    jsonld_types: Vec<String>,
    /// Language to URL.
    hreflang: BTreeMap<String, String>,
    ai_directives: BTreeMap<String, Value>,
    word_count: u64,
    char_count: u64,
    links: LinkCounts,
    headings: Vec<Heading>,
    jsonld: Vec<Value>,
}

#[derive(ToSchema)]
#[expect(dead_code, reason = "a schema, never constructed")]
struct LinkCounts {
    internal: u64,
    external: u64,
    nofollow: u64,
    total: u64,
}

#[derive(ToSchema)]
#[expect(dead_code, reason = "a schema, never constructed")]
struct Heading {
    /// 1 to 6.
    level: u8,
    text: String,
}

/// A link of the page.
#[derive(ToSchema)]
#[schema(as = ScanLink)]
#[expect(dead_code, reason = "a schema, never constructed")]
pub(crate) struct Link {
    /// Absolute.
    to: String,
    /// Its text.
    anchor: String,
    /// The `rel` attribute.
    rel: Option<String>,
    nofollow: bool,
}
