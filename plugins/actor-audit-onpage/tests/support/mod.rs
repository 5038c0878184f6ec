//! A page without faults, and functions that add faults.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use orbweaver_actor_audit_onpage::{Output, RobotsFile, audit};
use orbweaver_sdk::testing::Document;

/// URL of the clean page.
pub const URL: &str = "https://garden.example/guides/pruning-apple-trees";

/// A page, its headers and its site's robots.txt.
#[derive(Clone)]
pub struct Setup {
    pub html: String,
    url: String,
    asked: Option<Vec<String>>,
    status: u16,
    headers: Vec<(String, String)>,
    robots: RobotsFile,
}

/// A page that satisfies every rule.
pub fn clean() -> Setup {
    let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    Setup {
        html: include_str!("../../fixtures/clean.html").to_owned(),
        url: URL.to_owned(),
        asked: None,
        status: 200,
        headers: vec![
            header("content-type", "text/html; charset=utf-8"),
            header("strict-transport-security", "max-age=31536000"),
            header(
                "content-security-policy",
                "default-src 'self' https:; frame-ancestors 'none'",
            ),
            header("x-content-type-options", "nosniff"),
        ],
        robots: RobotsFile::File(include_str!("../../fixtures/robots.txt").to_owned()),
    }
}

impl Setup {
    /// Replaces the whole document.
    pub fn document(mut self, html: &str) -> Self {
        html.clone_into(&mut self.html);
        self
    }

    /// Replaces a piece of the HTML, which must exist.
    pub fn swap(mut self, old: &str, new: &str) -> Self {
        assert!(self.html.contains(old), "no {old:?} in the page");
        self.html = self.html.replace(old, new);
        self
    }

    /// Adds to the end of the head.
    pub fn head(self, more: &str) -> Self {
        self.swap("</head>", &format!("{more}</head>"))
    }

    /// Adds to the end of the article.
    pub fn body(self, more: &str) -> Self {
        self.swap("</article>", &format!("{more}</article>"))
    }

    /// Moves the page together with its own URLs.
    pub fn at(mut self, url: &str) -> Self {
        self.html = self.html.replace(URL, url);
        self.moved(url)
    }

    /// Moves the page only.
    pub fn moved(mut self, url: &str) -> Self {
        url.clone_into(&mut self.url);
        self
    }

    /// Redirects from these URLs lead to the page.
    pub fn from(mut self, urls: &[&str]) -> Self {
        self.asked = Some(urls.iter().map(|url| (*url).to_owned()).collect());
        self
    }

    pub fn status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// Sets a header; an empty value removes it.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(known, _)| known != name);
        if !value.is_empty() {
            self.headers.push((name.to_owned(), value.to_owned()));
        }
        self
    }

    pub fn robots(mut self, text: &str) -> Self {
        self.robots = RobotsFile::File(text.to_owned());
        self
    }

    pub fn no_robots(mut self, robots: RobotsFile) -> Self {
        self.robots = robots;
        self
    }

    pub fn audit(&self) -> Output {
        let asked = self
            .asked
            .as_ref()
            .and_then(|urls| urls.first())
            .unwrap_or(&self.url);
        let mut document = Document::new(asked, &self.html)
            .final_url(&self.url)
            .status(self.status);
        for (name, value) in &self.headers {
            document = document.header(name, value);
        }
        for url in self.asked.iter().flatten() {
            document = document.redirect(url, 301);
        }
        audit(&document.into_page(), &self.robots).expect("an audit")
    }

    /// Ids of the rules that it breaks.
    pub fn broken(&self) -> Vec<&'static str> {
        self.audit()
            .findings
            .iter()
            .map(|finding| finding.rule)
            .collect()
    }
}
