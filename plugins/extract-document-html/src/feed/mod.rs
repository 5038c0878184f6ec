//! Feeds to HTML: RSS, Atom and JSON Feed. Each entry becomes an `article`.

mod json;
mod xml;

use orbweaver_sdk::Error;

use crate::Converted;
use crate::html::{Head, MAX_HTML, attribute, escape, is_target};

/// Most entries that are read.
const MAX_ENTRIES: usize = 10_000;

/// Text that a feed has as plain text or as HTML.
#[derive(Debug, Default, Clone)]
pub(crate) struct Content {
    pub(crate) text: String,
    pub(crate) is_html: bool,
}

impl Content {
    fn plain(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            is_html: false,
        }
    }

    fn html(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            is_html: true,
        }
    }

    fn is_empty(&self) -> bool {
        self.text.trim().is_empty()
    }

    fn write(&self, out: &mut String) {
        match self.is_html {
            true => out.push_str(self.text.trim()),
            false => escape(self.text.trim(), out),
        }
    }
}

/// An entry, or the feed itself.
#[derive(Debug, Default)]
pub(crate) struct Entry {
    pub(crate) title: Content,
    pub(crate) link: String,
    pub(crate) published: String,
    pub(crate) updated: String,
    pub(crate) authors: Vec<String>,
    pub(crate) summary: Content,
    pub(crate) content: Content,
    /// Files that belong to it, such as the sound of a podcast: URLs.
    pub(crate) files: Vec<String>,
    pub(crate) tags: Vec<String>,
    pub(crate) lang: String,
}

/// A feed.
#[derive(Debug, Default)]
pub(crate) struct Feed {
    /// `rss`, `atom` or `json-feed`.
    pub(crate) format: &'static str,
    pub(crate) about: Entry,
    pub(crate) entries: Vec<Entry>,
    /// Whether it ended before it should.
    pub(crate) damaged: bool,
}

/// Converts a feed whose URL is `url`.
///
/// # Errors
/// The text is no feed.
pub(crate) fn convert(text: &str, url: &str) -> Result<Converted, Error> {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let feed = match text.starts_with('{') {
        true => json::read(text)?,
        false => xml::read(text, url)?,
    };
    let (body, written) = body(&feed);
    let name = match feed.format {
        "atom" => "an Atom feed",
        "rss" => "an RSS feed",
        _ => "a JSON feed",
    };
    let mut notice = match feed.entries.len() {
        1 => format!("converted from {name} of 1 entry"),
        count => format!("converted from {name} of {count} entries"),
    };
    if feed.damaged {
        notice.push_str("; it is damaged after the last of them");
    }
    if written < feed.entries.len() {
        notice.push_str(&format!("; only the first {written} have fitted"));
    }
    let about = feed.about;
    let title = plain(&about.title);
    let head = Head {
        lang: about.lang,
        site: title.clone(),
        title,
        authors: about.authors,
        description: plain(&about.summary),
        keywords: about.tags.join(", "),
        published: about.published,
        modified: about.updated,
    };
    Ok(Converted {
        html: head.document(&body),
        format: feed.format,
        notice,
    })
}

/// The text without its tags.
fn plain(content: &Content) -> String {
    if !content.is_html {
        return content.text.trim().to_owned();
    }
    let mut text = String::new();
    let mut rest = content.text.as_str();
    while let Some((before, after)) = rest.split_once('<') {
        text.push_str(before);
        let Some((_, after)) = after.split_once('>') else {
            rest = "";
            break;
        };
        rest = after;
    }
    text.push_str(rest);
    let mut decoded = String::new();
    orbweaver_markup::decode_into(&text, orbweaver_markup::Place::Text, &mut decoded);
    decoded.trim().to_owned()
}

/// The body, and how many entries it has.
fn body(feed: &Feed) -> (String, usize) {
    let mut out = String::new();
    if !feed.about.title.is_empty() {
        out.push_str("<h1>");
        linked(&feed.about.link, &feed.about.title, &mut out);
        out.push_str("</h1>\n");
    }
    if !feed.about.summary.is_empty() {
        out.push_str("<p>");
        feed.about.summary.write(&mut out);
        out.push_str("</p>\n");
    }
    for (at, entry) in feed.entries.iter().enumerate() {
        if out.len() > MAX_HTML {
            return (out, at);
        }
        out.push_str("<article>\n");
        let untitled = Content::plain(entry.link.as_str());
        let title = if entry.title.is_empty() {
            &untitled
        } else {
            &entry.title
        };
        if !title.is_empty() {
            out.push_str("<h2>");
            linked(&entry.link, title, &mut out);
            out.push_str("</h2>\n");
        }
        byline(entry, &mut out);
        let content = if entry.content.is_empty() {
            &entry.summary
        } else {
            &entry.content
        };
        if !content.is_empty() {
            let name = if content.is_html { "div" } else { "p" };
            out.push_str(&format!("<{name}>"));
            content.write(&mut out);
            out.push_str(&format!("</{name}>\n"));
        }
        for file in entry.files.iter().filter(|file| is_target(file)) {
            out.push_str("<p>");
            linked(file, &Content::plain(file.as_str()), &mut out);
            out.push_str("</p>\n");
        }
        out.push_str("</article>\n");
    }
    (out, feed.entries.len())
}

fn byline(entry: &Entry, out: &mut String) {
    let date = match entry.published.is_empty() {
        true => &entry.updated,
        false => &entry.published,
    };
    if date.is_empty() && entry.authors.is_empty() {
        return;
    }
    out.push_str("<p>");
    if !date.is_empty() {
        out.push_str("<time");
        attribute("datetime", date, out);
        out.push('>');
        escape(date, out);
        out.push_str("</time> ");
    }
    escape(&entry.authors.join(", "), out);
    out.push_str("</p>\n");
}

fn linked(url: &str, text: &Content, out: &mut String) {
    if !is_target(url) {
        return text.write(out);
    }
    out.push_str("<a");
    attribute("href", url.trim(), out);
    out.push('>');
    text.write(out);
    out.push_str("</a>");
}
