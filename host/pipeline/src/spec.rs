//! What a scan is asked to do.

use orbweaver_store::CloudMode;

/// A scan that passed validation.
#[derive(Clone, Debug)]
pub struct ScanSpec {
    /// Absolute, http or https, as it was asked for.
    pub url: String,
    /// User agent to send; none: the service chooses.
    pub user_agent: Option<String>,
    /// A stored page younger than this answers.
    pub max_age_seconds: Option<u64>,
    /// Where the page may come from.
    pub cloud_mode: CloudMode,
    /// What to extract.
    pub content: Content,
}

/// What a scan's answer has in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Content {
    /// No Markdown, no article.
    pub metadata_only: bool,
    /// Markdown without navigation, footer and sidebars.
    pub only_main_content: bool,
    /// The page's links.
    pub include_links: bool,
    /// A picture of the page.
    pub screenshot: bool,
    /// Extractors beyond the contract's.
    pub extractors: Vec<String>,
}
