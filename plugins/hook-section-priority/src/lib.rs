//! Orders a crawl by sections of the site: URLs whose path starts in a given way are fetched first,
//! later, or not at all.

use orbweaver_sdk::hook::{Discovery, FoundLink, Hook, LinkVerdict, Visit};
use orbweaver_sdk::{Error, Page};
use serde::Deserialize;

orbweaver_sdk::hook! { hook: SectionPriority }

/// The configuration.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Config {
    /// Priorities by the start of the path; the longest start counts.
    pub sections: Vec<Section>,
    /// Starts of paths that are not fetched.
    pub skip: Vec<String>,
}

/// A section of the site.
#[derive(Clone, Debug, Deserialize)]
pub struct Section {
    /// Start of the path.
    pub prefix: String,
    /// URLs of higher priority are fetched first.
    pub priority: i32,
}

/// The hook.
pub struct SectionPriority;

impl Hook for SectionPriority {
    type Config = Config;

    fn discover(
        config: &Config,
        _visit: &Visit,
        _page: &Page<'_>,
        links: &[FoundLink],
    ) -> Result<Discovery, Error> {
        Ok(Discovery::of_each(links, |link| {
            let path = path(&link.url);
            let starts = |prefix: &&String| path.starts_with(prefix.as_str());
            if let Some(prefix) = config.skip.iter().find(starts) {
                return LinkVerdict::Skip(format!("the section {prefix} is left out"));
            }
            let section = config
                .sections
                .iter()
                .filter(|section| path.starts_with(section.prefix.as_str()))
                .max_by_key(|section| section.prefix.len());
            LinkVerdict::Follow(section.map_or(0, |section| section.priority))
        }))
    }
}

/// The path of an absolute URL, with its query.
fn path(url: &str) -> &str {
    let authority = url.find("://").map_or(0, |at| at + 3);
    let rest = url.get(authority..).unwrap_or_default();
    rest.find('/').and_then(|at| rest.get(at..)).unwrap_or("/")
}
