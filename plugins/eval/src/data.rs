//! Pages with ground truth, as two public sets lay them out.
//!
//! - scrapinghub's article-extraction-benchmark: `{id: {url, articleBody}}`;
//! - WCXB: `{id: {url, page_type, title, author, publish_date, main_content, with, without}}`.
//!
//! Both keep a page as `html/<id>.html.gz` beside `ground-truth.json`. The fields `modified`,
//! `language`, `site_name` and `description` are read where a set has them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use flate2::read::MultiGzDecoder;
use orbweaver_sdk::testing::Document;
use serde::Deserialize;

use crate::Common;
use crate::sites;

/// Most bytes of one decompressed page.
const MAX_PAGE_BYTES: u64 = 64 << 20;

/// How a set is scored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Runs of four tokens; precision and recall averaged over the set first.
    Shingles,
    /// Lower-case tokens; F1 averaged over pages.
    Words,
}

/// One page with its truth.
#[derive(Clone, Debug)]
pub struct TruePage {
    /// The page's id in its set.
    pub id: String,
    /// The URL that it was fetched from.
    pub url: String,
    /// The registrable domain of the URL.
    pub site: String,
    /// `article` in a set that does not tell.
    pub page_type: String,
    /// How its set is scored.
    pub measure: Measure,
    /// The true main content as plain text.
    pub text: String,
    /// Snippets that must appear in the text.
    pub with: Vec<String>,
    /// Snippets that must not appear in it.
    pub without: Vec<String>,
    /// True facts about the page, by the names of [`FIELDS`]; absent where the set is silent.
    pub facts: BTreeMap<&'static str, String>,
    file: PathBuf,
}

/// Names of facts, and the keys that sets use for them.
const FIELDS: &[(&str, &[&str])] = &[
    ("title", &["title"]),
    ("author", &["author"]),
    ("published", &["publish_date", "published"]),
    ("modified", &["modified", "modified_date"]),
    ("language", &["language", "lang"]),
    ("site_name", &["site_name"]),
    ("description", &["description"]),
];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Record {
    url: Option<String>,
    article_body: Option<String>,
    #[serde(rename = "main_content")]
    main_content: Option<String>,
    #[serde(rename = "page_type")]
    page_type: Option<String>,
    #[serde(default)]
    with: Option<Vec<String>>,
    #[serde(default)]
    without: Option<Vec<String>>,
    #[serde(flatten)]
    other: BTreeMap<String, serde_json::Value>,
}

impl TruePage {
    /// Reads and decompresses the page's HTML.
    ///
    /// # Errors
    /// The file cannot be read, or is larger than 64 MiB.
    pub fn html(&self) -> Result<String> {
        let file = File::open(&self.file).with_context(|| self.file.display().to_string())?;
        let mut bytes = Vec::new();
        MultiGzDecoder::new(file)
            .take(MAX_PAGE_BYTES + 1)
            .read_to_end(&mut bytes)
            .with_context(|| self.file.display().to_string())?;
        if bytes.len() as u64 > MAX_PAGE_BYTES {
            bail!("{}: more than 64 MiB of HTML", self.file.display());
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The page as extractors see it, under its own URL.
    ///
    /// # Errors
    /// As [`html`](Self::html).
    pub fn document(&self) -> Result<Document> {
        Ok(Document::new(&self.url, &self.html()?))
    }
}

#[cfg(test)]
impl TruePage {
    /// A page without content.
    pub fn for_test() -> Self {
        Self {
            id: String::new(),
            url: String::new(),
            site: String::new(),
            page_type: String::new(),
            measure: Measure::Words,
            text: String::new(),
            with: Vec::new(),
            without: Vec::new(),
            facts: BTreeMap::new(),
            file: PathBuf::new(),
        }
    }
}

/// Reads the folders that the command names, pages in the order of their ids.
///
/// # Errors
/// A folder has no readable `ground-truth.json`, or no page is left.
pub fn load(common: &Common) -> Result<Vec<TruePage>> {
    let mut pages = Vec::new();
    for folder in &common.data {
        pages.extend(folder_pages(folder)?);
    }
    pages.retain(|page| {
        let wanted = |filter: &Option<String>, value: &str, whole: bool| {
            filter.as_ref().is_none_or(|f| {
                if whole {
                    value == f
                } else {
                    value.starts_with(f.as_str())
                }
            })
        };
        wanted(&common.page_type, &page.page_type, true) && wanted(&common.show, &page.id, false)
    });
    if pages.is_empty() {
        bail!("--data: no page of these folders is left after --type and --show");
    }
    Ok(pages)
}

fn folder_pages(folder: &Path) -> Result<Vec<TruePage>> {
    let path = folder.join("ground-truth.json");
    let json = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let records: BTreeMap<String, Record> =
        serde_json::from_str(&json).with_context(|| path.display().to_string())?;
    records
        .into_iter()
        .map(|(id, record)| page(folder, id, record))
        .collect()
}

fn page(folder: &Path, id: String, record: Record) -> Result<TruePage> {
    // An id becomes part of a path.
    if id.contains(['/', '\\']) || id.starts_with('.') {
        bail!("ground-truth.json: the id {id:?} is no file name");
    }
    let url = record.url.unwrap_or_default();
    let (measure, text) = match record.article_body {
        Some(text) => (Measure::Shingles, text),
        // A page without content has null.
        None => (Measure::Words, record.main_content.unwrap_or_default()),
    };
    let mut facts = BTreeMap::new();
    for (name, keys) in FIELDS {
        let mut values = keys
            .iter()
            .filter_map(|key| record.other.get(*key)?.as_str());
        if let Some(value) = values.find(|value| !value.trim().is_empty()) {
            facts.insert(*name, value.trim().to_owned());
        }
    }
    Ok(TruePage {
        site: sites::site_of(&url).unwrap_or_else(|| id.clone()),
        page_type: record.page_type.unwrap_or_else(|| "article".to_owned()),
        file: folder.join("html").join(format!("{id}.html.gz")),
        with: record.with.unwrap_or_default(),
        without: record.without.unwrap_or_default(),
        id,
        url,
        measure,
        text,
        facts,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn both_layouts_are_read_and_each_page_has_its_own_url() {
        let folder = tempfile::tempdir().expect("folder");
        let truth = r#"{
            "b": {"url": "https://www.example.co.uk/a", "articleBody": "One two."},
            "a": {"url": "https://shop.example.org/p", "page_type": "product", "title": " T ",
                  "author": null, "publish_date": "2024-01-02", "main_content": "Three",
                  "with": ["x"], "without": []}
        }"#;
        std::fs::write(folder.path().join("ground-truth.json"), truth).expect("truth");
        std::fs::create_dir(folder.path().join("html")).expect("folder");
        let file = File::create(folder.path().join("html/a.html.gz")).expect("file");
        let mut gz = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
        gz.write_all(b"<p>\xff").expect("written");
        gz.finish().expect("finished");

        let pages = folder_pages(folder.path()).expect("pages");
        assert_eq!(pages.len(), 2);
        assert_eq!(
            (pages[0].measure, pages[1].measure),
            (Measure::Words, Measure::Shingles)
        );
        assert_eq!(
            pages[0].facts,
            BTreeMap::from([
                ("title", "T".to_owned()),
                ("published", "2024-01-02".to_owned())
            ])
        );
        assert_eq!(pages[1].page_type, "article");
        assert_eq!(pages[1].site, "example.co.uk");
        assert_eq!(pages[0].html().expect("html"), "<p>\u{fffd}");
        assert_eq!(
            pages[0].document().expect("document").page().final_url(),
            "https://shop.example.org/p"
        );
        assert!(pages[1].html().is_err(), "its file is missing");
    }

    #[test]
    fn an_id_never_leaves_the_folder() {
        let record = || Record {
            url: None,
            article_body: Some(String::new()),
            main_content: None,
            page_type: None,
            with: None,
            without: None,
            other: BTreeMap::new(),
        };
        for id in ["../x", "a/b", ".hidden", "a\\b"] {
            assert!(
                page(Path::new("d"), id.to_owned(), record()).is_err(),
                "{id}"
            );
        }
        assert!(page(Path::new("d"), "0123".to_owned(), record()).is_ok());
    }
}
