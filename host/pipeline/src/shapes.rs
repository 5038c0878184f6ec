//! Schemas of the built-in plugins' answers, for the OpenAPI document only: answers are sent
//! unchanged and never parsed into these types.

use std::collections::BTreeMap;

use serde_json::Value;
use utoipa::ToSchema;

/// Metadata of a page.
#[derive(ToSchema)]
#[expect(dead_code, reason = "a schema, never constructed")]
pub(crate) struct Metadata {
    title: Option<String>,
    description: Option<String>,
    canonical: Option<String>,
    /// Open Graph properties, without the prefix `og:`.
    og: BTreeMap<String, Value>,
    /// Twitter Card properties, without the prefix `twitter:`.
    twitter: BTreeMap<String, Value>,
    json_ld: Vec<Value>,
    /// The article's own title.
    #[schema(extensions(("x-extension" = json!(true))))]
    headline: Option<String>,
    /// Language, as a BCP 47 tag.
    #[schema(extensions(("x-extension" = json!(true))))]
    lang: Option<String>,
    /// `declared` by the page, or `detected` in its text.
    #[schema(extensions(("x-extension" = json!(true))))]
    lang_source: Option<String>,
    #[schema(extensions(("x-extension" = json!(true))))]
    author: Option<String>,
    /// Date or time, ISO 8601.
    #[schema(extensions(("x-extension" = json!(true))))]
    published: Option<String>,
    /// Date or time, ISO 8601.
    #[schema(extensions(("x-extension" = json!(true))))]
    modified: Option<String>,
    #[schema(extensions(("x-extension" = json!(true))))]
    site_name: Option<String>,
    #[schema(extensions(("x-extension" = json!(true))))]
    section: Option<String>,
    /// URL of the page's own image.
    #[schema(extensions(("x-extension" = json!(true))))]
    image: Option<String>,
    /// Its URL.
    #[schema(extensions(("x-extension" = json!(true))))]
    favicon: Option<String>,
    #[schema(extensions(("x-extension" = json!(true))))]
    viewport: Option<String>,
    #[schema(extensions(("x-extension" = json!(true))))]
    charset: Option<String>,
    /// Directives of the page's robots metas.
    #[schema(extensions(("x-extension" = json!(true))))]
    robots: Option<String>,
    #[schema(extensions(("x-extension" = json!(true))))]
    generator: Option<String>,
    #[schema(extensions(("x-extension" = json!(true))))]
    tags: Vec<String>,
    #[schema(extensions(("x-extension" = json!(true))))]
    keywords: Vec<String>,
    /// Feeds that the page offers.
    #[schema(extensions(("x-extension" = json!(true))))]
    feeds: Vec<Feed>,
}

/// A feed of the page.
#[derive(ToSchema)]
#[schema(as = PageFeed)]
#[expect(dead_code, reason = "a schema, never constructed")]
struct Feed {
    url: String,
    /// Its media type.
    r#type: String,
    title: Option<String>,
}

/// Signals that search engines use.
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
    /// Maps a language to a URL.
    hreflang: BTreeMap<String, String>,
    ai_directives: BTreeMap<String, Value>,
    /// Where the page leads by itself, by its `Refresh` header or a `meta` element.
    #[schema(extensions(("x-extension" = json!(true))))]
    refresh: Option<Refresh>,
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

/// A refresh of a page.
#[derive(ToSchema)]
#[schema(as = PageRefresh)]
#[expect(dead_code, reason = "a schema, never constructed")]
struct Refresh {
    /// After how many seconds.
    #[schema(minimum = 0)]
    seconds: u32,
    /// Its target; null for the page itself.
    url: Option<String>,
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
    /// Absolute URL of the target.
    to: String,
    /// Text of the link.
    anchor: String,
    /// The `rel` attribute.
    rel: Option<String>,
    nofollow: bool,
}
