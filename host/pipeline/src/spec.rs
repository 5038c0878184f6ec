//! The parameters of a scan.

use orbweaver_store::CloudMode;

use crate::browsing::Browsing;
use crate::extract_fields::ExtractSpec;
use crate::extractor_options::ExtractorOptions;

/// The validated parameters of a scan.
#[derive(Clone, Debug)]
pub struct ScanSpec {
    /// Absolute URL, http or https, as requested.
    pub url: String,
    /// User agent to send; `None`: the service chooses.
    pub user_agent: Option<String>,
    /// A stored page younger than this is used instead of a fetch.
    pub max_age_seconds: Option<u64>,
    /// How the page may be fetched.
    pub cloud_mode: CloudMode,
    /// Whether a plain request follows refreshes as redirects.
    pub follow_refresh: bool,
    /// What to extract.
    pub content: Content,
    /// How the page is rendered.
    pub browsing: Browsing,
}

/// The contents of a scan's answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Content {
    /// Omit Markdown and article.
    pub metadata_only: bool,
    /// Markdown of the main content only, without navigation, footer and sidebars.
    pub only_main_content: bool,
    /// Include the page's links.
    pub include_links: bool,
    /// Include a screenshot.
    pub screenshot: bool,
    /// Additional extractors.
    pub extractors: Vec<String>,
    /// Options of the request, by role.
    pub options: ExtractorOptions,
    /// Fields that the request describes.
    pub extract: Option<ExtractSpec>,
}
