//! Leaves out links by their text, and makes a record of every page.

use orbweaver_sdk::head::Head;
use orbweaver_sdk::hook::{
    Discovery, FoundLink, Hook, LinkVerdict, Made, RecordVerdict, Visit,
};
use orbweaver_sdk::serde_json::json;
use orbweaver_sdk::{Error, Page};
use serde::Deserialize;

orbweaver_sdk::hook! { hook: Plugin }

/// The configuration. The host checks it against the manifest's input schema.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Config {
    /// Texts of links that are not followed.
    pub skip: Vec<String>,
}

/// The hook.
pub struct Plugin;

impl Hook for Plugin {
    type Config = Config;

    fn discover(
        config: &Config,
        _visit: &Visit,
        _page: &Page<'_>,
        links: &[FoundLink],
    ) -> Result<Discovery, Error> {
        Ok(Discovery::of_each(links, |link| {
            if config.skip.contains(&link.anchor) {
                LinkVerdict::Skip(format!("its text is {:?}", link.anchor))
            } else {
                LinkVerdict::Follow(0)
            }
        }))
    }

    fn record(
        _config: &Config,
        visit: &Visit,
        page: &Page<'_>,
        _made: &Made,
    ) -> Result<RecordVerdict, Error> {
        let title = Head::of(page)?.title;
        RecordVerdict::emit(&json!({ "url": visit.url, "title": title }))
    }
}

#[cfg(test)]
mod tests {
    use orbweaver_sdk::hook::{FoundLink, Hook, LinkVerdict, Made, RecordVerdict, Visit};
    use orbweaver_sdk::testing::Document;

    use super::{Config, Plugin};

    #[test]
    fn a_link_is_left_out_by_its_text() {
        let config = Config {
            skip: vec!["Log in".to_owned()],
        };
        let links = ["Log in", "News"].map(|anchor| FoundLink {
            anchor: anchor.to_owned(),
            ..FoundLink::default()
        });
        let page = Document::new("https://example.com/", "");
        let judged = Plugin::discover(&config, &Visit::default(), &page.page(), &links).unwrap();
        assert!(matches!(judged.verdicts[0], LinkVerdict::Skip(_)));
        assert_eq!(judged.verdicts[1], LinkVerdict::Follow(0));
    }

    #[test]
    fn a_page_becomes_a_record() {
        let page = Document::new("https://example.com/", "<title>Hello</title>");
        let made = Made::default();
        let verdict = Plugin::record(&Config::default(), &Visit::default(), &page.page(), &made);
        let expected = RecordVerdict::Emit(vec![r#"{"title":"Hello","url":""}"#.to_owned()]);
        assert_eq!(verdict.unwrap(), expected);
    }
}
