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
    Guid,
    Lastmod,
}

/// An entry being parsed.
struct Open {
    depth: u32,
    is_sitemap: bool,
    /// An `item` or `entry` of a feed.
    is_of_feed: bool,
    url: String,
    /// Of an item of RSS: its URL, unless it has a link.
    guid: String,
    /// The URL is longer than any that is read.
    is_overlong: bool,
    /// The same of `guid`, which does not matter where there is a link.
    is_guid_overlong: bool,
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
            if self.sitemap.truncated {
                return Ok(());
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
                let is_of_feed = matches!(name, "item" | "entry");
                if depth > 1 && (is_sitemap || is_of_feed || name == "url") {
                    *open = Some(Open {
                        depth,
                        is_sitemap,
                        is_of_feed,
                        url: String::new(),
                        guid: String::new(),
                        is_overlong: false,
                        is_guid_overlong: false,
                        lastmod: String::new(),
                    });
                }
                None
            }
            Some(entry) if depth == entry.depth + 1 => match name {
                // The first is the page's; an image's or a video's may stand beside it.
                "loc" => {
                    let prefix = start.name().prefix();
                    let of_media = prefix.is_some_and(|p| matches!(p.as_ref(), "image" | "video"));
                    (entry.url.is_empty() && !of_media).then_some(Field::Url)
                }
                // In a sitemap it names translations of the page. In Atom it is an attribute, and
                // `alternate` means the page itself; in RSS it is a text.
                "link" if entry.is_of_feed => {
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
                // RSS 2.0: a permanent link, unless it says otherwise.
                "guid" if entry.is_of_feed => {
                    let attribute = start.try_get_attribute("isPermaLink").ok().flatten();
                    let is_link =
                        attribute.is_none_or(|is| !is.value.eq_ignore_ascii_case("false"));
                    (is_link && entry.guid.is_empty()).then_some(Field::Guid)
                }
                "lastmod" | "pubdate" | "updated" => {
                    entry.lastmod.is_empty().then_some(Field::Lastmod)
                }
                _ => None,
            },
            Some(_) => None,
        }
    }

    /// Takes an entry; one too many is what makes the list a cut one.
    fn put(&mut self, entry: Open) {
        let url = match entry.url.trim() {
            _ if entry.is_overlong => "",
            "" if entry.is_guid_overlong => "",
            "" => Some(entry.guid.trim())
                .filter(|guid| guid.starts_with("http://") || guid.starts_with("https://"))
                .unwrap_or(""),
            url => url,
        };
        let resolved = match &self.base {
            Some(base) if !url.is_empty() => base.join(url),
            _ => None,
        };
        let Some(url) = resolved else { return };
        if self.is_full() {
            self.sitemap.truncated = true;
            return;
        }
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
        for line in text.split(['\n', '\r']).map(str::trim) {
            if !(line.starts_with("http://") || line.starts_with("https://")) {
                continue;
            }
            if let Some(url) = Base::new(line) {
                if self.is_full() {
                    self.sitemap.truncated = true;
                    return;
                }
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
            Field::Guid => &mut entry.guid,
            Field::Lastmod => &mut entry.lastmod,
        };
        // White space before a value is no part of it, and not yet a value.
        let text = if into.is_empty() {
            text.trim_start()
        } else {
            text
        };
        if into.len() + text.len() <= MAX_URL_BYTES {
            into.push_str(text);
            return;
        }
        // A part of it is another URL.
        match field {
            Field::Url => entry.is_overlong = true,
            Field::Guid => entry.is_guid_overlong = true,
            Field::Lastmod => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Sitemap {
        parse_text(text, "https://a.example/sitemap.xml").expect("a sitemap")
    }

    fn urls(text: &str) -> Vec<String> {
        let pages = read(text).pages.into_iter();
        pages.map(|entry| entry.url).collect()
    }

    #[test]
    fn a_full_list_is_cut_only_where_more_follows() {
        let list = |count: usize, tail: &str| {
            let entries = "<url><loc>/</loc></url>".repeat(count);
            let lines = "https://a.example/\n".repeat(count);
            (format!("<urlset>{entries}{tail}</urlset>"), lines)
        };
        let full = list(MAX_SITEMAP_URLS, "\n<!-- end --><url><loc></loc></url>\n");
        let more = list(MAX_SITEMAP_URLS + 1, "");
        for (text, truncated) in [
            (full.0, false),
            (full.1, false),
            (more.0, true),
            (more.1, true),
        ] {
            let sitemap = read(&text);
            let found = (sitemap.pages.len(), sitemap.truncated, sitemap.malformed);
            assert_eq!(found, (MAX_SITEMAP_URLS, truncated, false));
        }
    }

    #[test]
    fn an_entry_s_url_is_its_own_loc_alone() {
        const LOC: &str = "<loc>https://a.example/en</loc>";
        for around in [
            "<xhtml:link rel='alternate' hreflang='de' href='https://a.example/de'/>",
            "<xhtml:link rel='alternate' href='https://a.example/de'></xhtml:link>",
            "<link>https://a.example/other</link>",
            "<image:loc>https://a.example/i.png</image:loc>",
            "<image:image><image:loc>https://a.example/i.png</image:loc></image:image>",
            "<priority>0.5</priority>text",
            "<loc> </loc>",
        ] {
            for entry in [format!("{around}{LOC}"), format!("{LOC}{around}")] {
                let text = format!("<urlset><url>{entry}</url></urlset>");
                assert_eq!(urls(&text), ["https://a.example/en"], "{entry}");
            }
        }
        let twice = format!("<urlset><url>{LOC}{LOC}</url></urlset>");
        assert_eq!(urls(&twice), ["https://a.example/en"]);
        for before in ["<atom:link rel='self' href='/self'/>", "<link> </link>"] {
            let item = format!("<item>{before}<link>/a</link></item>");
            let feed = format!("<rss><channel>{item}</channel></rss>");
            assert_eq!(urls(&feed), ["https://a.example/a"], "{before}");
        }
    }

    #[test]
    fn an_item_without_a_link_has_the_url_of_its_permanent_id() {
        let of = |item: &str| {
            urls(&format!(
                "<rss><channel><item>{item}</item></channel></rss>"
            ))
        };
        let guid = "<guid>https://a.example/p</guid>";
        assert_eq!(of(guid), ["https://a.example/p"]);
        let link = "<link>https://a.example/l</link>";
        assert_eq!(of(&format!("{guid}{link}")), ["https://a.example/l"]);
        assert_eq!(of(&format!("{link}{guid}")), ["https://a.example/l"]);
        for none in [
            "<guid isPermaLink='false'>https://a.example/p</guid>",
            "<guid>urn:uuid:1</guid>",
            "<guid>12</guid>",
        ] {
            assert!(of(none).is_empty(), "{none}");
        }
        assert!(urls("<urlset><url><guid>https://a.example/p</guid></url></urlset>").is_empty());
    }

    #[test]
    fn a_list_of_lines_may_end_them_in_any_way() {
        for end in ["\n", "\r\n", "\r"] {
            let list = ["https://a.example/1", "https://a.example/2"].join(end);
            assert_eq!(urls(&list).len(), 2, "{end:?}");
        }
    }

    #[test]
    fn a_url_that_is_too_long_is_none() {
        let long = "x".repeat(MAX_URL_BYTES);
        let text = format!("<urlset><url><loc>/a?b=1&amp;{long}&amp;c</loc></url></urlset>");
        assert!(urls(&text).is_empty());
        let guid = format!("<guid>https://a.example/{long}</guid>");
        let link = "<link>https://a.example/l</link>";
        for (item, found) in [
            (format!("{guid}{link}"), vec!["https://a.example/l"]),
            (format!("{link}{guid}"), vec!["https://a.example/l"]),
            (format!("<link> </link>{guid}"), vec![]),
            (
                format!("<link>/{long}</link><guid>https://a.example/p</guid>"),
                vec![],
            ),
        ] {
            let feed = format!("<rss><channel><item>{item}</item></channel></rss>");
            assert_eq!(urls(&feed), found, "{item:.60}");
        }
        let space = " ".repeat(MAX_URL_BYTES);
        let text = format!("<urlset><url><loc>{space}/a</loc></url></urlset>");
        assert_eq!(urls(&text), ["https://a.example/a"]);
    }
}
