//! Parses one sitemap.

use std::borrow::Cow;

use orbweaver_urls::{Base, MAX_URL_BYTES};
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::{Entry, MAX_SITEMAP_URLS, MAX_SITEMAP_URLS_BYTES, NotSitemap, Sitemap, is_date};

/// Parses a sitemap after [unpacking](super::unpack) and decoding. `url` is its own URL; relative
/// entries are resolved against it.
///
/// # Errors
/// When the text is not a sitemap.
pub fn parse_text(text: &str, url: &str) -> Result<Sitemap, NotSitemap> {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let mut found = Finder {
        base: Base::new(url),
        sitemap: Sitemap::default(),
        bytes: 0,
    };
    if text.starts_with('<') {
        found.xml(text)?
    } else {
        found.lines(text)
    }
    let Finder { sitemap, .. } = found;
    let is_list = text.starts_with('<') || !sitemap.pages.is_empty();
    if is_list {
        Ok(sitemap)
    } else {
        Err(NotSitemap::Other)
    }
}

struct Finder {
    base: Option<Base>,
    sitemap: Sitemap,
    /// Bytes of the URLs found so far.
    bytes: usize,
}

/// The fields of an entry that are used.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Field {
    Url,
    Lastmod,
}

/// An entry being parsed.
struct Open {
    depth: u32,
    is_sitemap: bool,
    url: String,
    lastmod: String,
}

impl Finder {
    /// Elements are identified by local name and depth, because namespaces are often wrong: an
    /// entry's own fields are one level below it, those of images and videos two.
    fn xml(&mut self, text: &str) -> Result<(), NotSitemap> {
        let mut reader = Reader::from_str(text);
        let config = reader.config_mut();
        config.check_end_names = false;
        config.allow_unmatched_ends = true;
        config.allow_dangling_amp = true;
        let mut depth = 0_u32;
        let mut known = false;
        let mut open: Option<Open> = None;
        let mut field: Option<Field> = None;
        loop {
            match reader.read_event() {
                Ok(Event::Start(start)) => {
                    depth += 1;
                    let name = start.local_name().into_inner().to_ascii_lowercase();
                    if !known {
                        check_root(&name)?;
                        known = true;
                    }
                    field = self.start(&name, depth, &start, &mut open);
                }
                Ok(Event::Empty(start)) => {
                    let name = start.local_name().into_inner().to_ascii_lowercase();
                    if !known {
                        check_root(&name)?;
                        known = true;
                    }
                    self.start(&name, depth + 1, &start, &mut open);
                    if open.as_ref().is_some_and(|entry| entry.depth > depth) {
                        open = None;
                    }
                }
                Ok(Event::End(_)) => {
                    field = None;
                    if open.as_ref().is_some_and(|entry| entry.depth >= depth)
                        && let Some(entry) = open.take()
                    {
                        self.put(entry);
                    }
                    depth = depth.saturating_sub(1);
                }
                Ok(Event::Text(text)) => push(&mut open, field, &text),
                Ok(Event::CData(text)) => push(&mut open, field, &text),
                Ok(Event::GeneralRef(reference)) => {
                    // Entities that a document declares are not expanded, which prevents the
                    // "billion laughs" attack.
                    let text = match &*reference {
                        "amp" => Some('&'),
                        "lt" => Some('<'),
                        "gt" => Some('>'),
                        "quot" => Some('"'),
                        "apos" => Some('\''),
                        _ => reference.resolve_char_ref().ok().flatten(),
                    };
                    let mut buffer = [0; 4];
                    push(
                        &mut open,
                        field,
                        text.map_or("", |c| c.encode_utf8(&mut buffer)),
                    );
                }
                Ok(Event::Eof) => break,
                Ok(_) => {}
                Err(_) => {
                    self.sitemap.malformed = true;
                    break;
                }
            }
            if self.is_full() {
                self.sitemap.truncated = true;
                break;
            }
        }
        if open.is_some() {
            self.sitemap.malformed = true;
        }
        if known {
            Ok(())
        } else {
            Err(NotSitemap::Other)
        }
    }

    fn start(
        &self,
        name: &str,
        depth: u32,
        start: &BytesStart<'_>,
        open: &mut Option<Open>,
    ) -> Option<Field> {
        match open {
            None => {
                let is_sitemap = name == "sitemap";
                if depth > 1 && (is_sitemap || matches!(name, "url" | "item" | "entry")) {
                    *open = Some(Open {
                        depth,
                        is_sitemap,
                        url: String::new(),
                        lastmod: String::new(),
                    });
                }
                None
            }
            Some(entry) if depth == entry.depth + 1 => match name {
                "loc" => Some(Field::Url),
                "link" => {
                    // In Atom it is an attribute, and `alternate` means the page itself; in RSS it
                    // is a text.
                    let attribute = |name: &str| start.try_get_attribute(name).ok().flatten();
                    let rel = attribute("rel").map(|rel| rel.value.to_string());
                    if let Some(href) = attribute("href")
                        && entry.url.is_empty()
                        && rel.is_none_or(|rel| rel == "alternate")
                    {
                        let href: Cow<'_, str> = quick_xml::escape::unescape(&href.value)
                            .unwrap_or_else(|_| Cow::Owned(href.value.to_string()));
                        entry.url.push_str(&href);
                        return None;
                    }
                    entry.url.is_empty().then_some(Field::Url)
                }
                "lastmod" | "pubdate" | "updated" => {
                    entry.lastmod.is_empty().then_some(Field::Lastmod)
                }
                _ => None,
            },
            Some(_) => None,
        }
    }

    fn put(&mut self, entry: Open) {
        if self.is_full() {
            return;
        }
        let url = entry.url.trim();
        let resolved = match &self.base {
            Some(base) if !url.is_empty() => base.join(url),
            _ => None,
        };
        let Some(url) = resolved else { return };
        let lastmod = Some(entry.lastmod.trim())
            .filter(|date| is_date(date))
            .map(str::to_owned);
        let entries = if entry.is_sitemap {
            &mut self.sitemap.sitemaps
        } else {
            &mut self.sitemap.pages
        };
        self.bytes += url.as_str().len();
        entries.push(Entry {
            url: url.into_string(),
            lastmod,
        });
    }

    fn lines(&mut self, text: &str) {
        for line in text.lines().map(str::trim) {
            if !(line.starts_with("http://") || line.starts_with("https://")) {
                continue;
            }
            if self.is_full() {
                self.sitemap.truncated = true;
                return;
            }
            if let Some(url) = Base::new(line) {
                self.bytes += url.as_str().len();
                self.sitemap.pages.push(Entry {
                    url: url.as_str().to_owned(),
                    lastmod: None,
                });
            }
        }
    }

    fn is_full(&self) -> bool {
        self.sitemap.pages.len() + self.sitemap.sitemaps.len() >= MAX_SITEMAP_URLS
            || self.bytes >= MAX_SITEMAP_URLS_BYTES
    }
}

fn check_root(name: &str) -> Result<(), NotSitemap> {
    match name {
        "urlset" | "sitemapindex" | "rss" | "feed" | "rdf" => Ok(()),
        "html" | "head" | "body" => Err(NotSitemap::Html),
        _ => Err(NotSitemap::Other),
    }
}

fn push(open: &mut Option<Open>, field: Option<Field>, text: &str) {
    if let (Some(entry), Some(field)) = (open, field) {
        let into = match field {
            Field::Url => &mut entry.url,
            Field::Lastmod => &mut entry.lastmod,
        };
        if into.len() + text.len() <= MAX_URL_BYTES {
            into.push_str(text);
        }
    }
}
