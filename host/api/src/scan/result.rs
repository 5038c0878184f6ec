//! The scan result's shape, for the OpenAPI document: the answer itself is put together
//! from the plugins' JSON without going through these types.

use std::collections::BTreeMap;

use serde_json::Value;
use utoipa::ToSchema;

/// What a scan found. Fields that an extractor could not fill are null, and `errors` says
/// why. A body that is no HTML (an image, a PDF, plain text) has no Markdown, article,
/// metadata or signals.
#[derive(ToSchema)]
#[expect(dead_code, reason = "a schema, never constructed")]
pub(super) struct ScanResult {
    /// The URL asked for.
    #[schema(format = "uri")]
    url: String,
    /// The URL that answered, after redirects.
    #[schema(format = "uri")]
    final_url: String,
    /// HTTP status of the target.
    status: u16,
    /// How the page came: `none` (plain HTTP), `browser` or `unblocker`. With `auto` this says
    /// what was enough.
    #[schema(extensions(("x-extension" = json!(true))))]
    cloud_mode: String,
    /// Length of the decoded body.
    #[schema(minimum = 0)]
    bytes: u64,
    /// Lower-case hex SHA-256 of the visible text, title and canonical URL; of the raw
    /// bytes where the body is no HTML.
    #[schema(pattern = "^[0-9a-f]{64}$")]
    content_hash: String,
    /// The page as Markdown, links kept.
    markdown: Option<String>,
    /// The main content as plain text.
    article: Option<String>,
    /// The main content as HTML.
    article_html: Option<String>,
    metadata: Option<Metadata>,
    signals: Option<Signals>,
    /// AI crawler to `allowed`, `partial` or `disallowed`; null where robots.txt could not
    /// be asked for.
    ai_bot_policy: Option<BTreeMap<String, String>>,
    /// The site's llms.txt.
    llms_txt: Option<String>,
    /// The site's llms-full.txt.
    llms_full_txt: Option<String>,
    /// With `include_links`.
    #[schema(required = false)]
    links: Option<Vec<Link>>,
    /// With `screenshot_inline`: PNG in base64.
    #[schema(required = false)]
    screenshot: Option<String>,
    /// Why there is no screenshot.
    #[schema(required = false)]
    screenshot_error: Option<String>,
    /// Outputs of further extractors, by name.
    #[schema(required = false, extensions(("x-extension" = json!(true))))]
    extensions: BTreeMap<String, Value>,
    /// Extractors that failed.
    #[schema(extensions(("x-extension" = json!(true))))]
    errors: Vec<ExtractorError>,
}

/// What the page says about itself.
#[derive(ToSchema)]
#[expect(dead_code, reason = "a schema, never constructed")]
struct Metadata {
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
struct Signals {
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
struct Link {
    /// Absolute.
    to: String,
    /// Its text.
    anchor: String,
    /// The `rel` attribute.
    rel: Option<String>,
    nofollow: bool,
}

/// An extractor that failed.
#[derive(ToSchema)]
#[expect(dead_code, reason = "a schema, never constructed")]
struct ExtractorError {
    role: String,
    plugin: Option<String>,
    message: String,
}
