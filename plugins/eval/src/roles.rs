//! The extractors' roles, run natively on a page.

use anyhow::{Result, anyhow};
use orbweaver_sdk::{Error, Page};
use serde_json::Value;

/// One role with the options that it is measured with.
#[derive(Clone, Copy)]
pub struct Role {
    /// How it is called in tables.
    pub name: &'static str,
    extract: fn(&Page<'_>, &str) -> Result<String, Error>,
    options: &'static str,
}

/// The `article` role.
pub const ARTICLE: Role = Role {
    name: "article",
    extract: orbweaver_extract_article::extract,
    options: "{}",
};

/// The `markdown` role with `only_main_content`.
pub const MAIN_MARKDOWN: Role = Role {
    name: "markdown of main content",
    extract: orbweaver_extract_markdown::extract,
    options: r#"{"only_main_content":true}"#,
};

/// The `metadata` role.
pub const METADATA: Role = Role {
    name: "metadata",
    extract: orbweaver_extract_metadata::extract,
    options: "{}",
};

/// The six roles of a scan, and Markdown of the main content.
pub const ALL: &[Role] = &[
    ARTICLE,
    Role {
        name: "markdown",
        extract: orbweaver_extract_markdown::extract,
        options: "{}",
    },
    MAIN_MARKDOWN,
    METADATA,
    Role {
        name: "links",
        extract: orbweaver_extract_links::extract,
        options: "{}",
    },
    Role {
        name: "signals",
        extract: orbweaver_extract_signals::extract,
        options: "{}",
    },
    Role {
        name: "structured-data",
        extract: orbweaver_extract_structured_data::extract,
        options: "{}",
    },
];

impl Role {
    /// The role's answer as JSON text.
    ///
    /// # Errors
    /// The extractor's own, with the role's name.
    pub fn json(&self, page: &Page<'_>) -> Result<String> {
        (self.extract)(page, self.options).map_err(|error| anyhow!("{}: {error:?}", self.name))
    }

    /// The role's answer.
    ///
    /// # Errors
    /// As [`json`](Self::json).
    pub fn answer(&self, page: &Page<'_>) -> Result<Value> {
        Ok(serde_json::from_str(&self.json(page)?)?)
    }
}
