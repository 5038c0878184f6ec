//! RSS (0.9 to 2.0) and Atom.

use orbweaver_markup::{Place, Token, Tokens, decode_into, xml_root};
use orbweaver_sdk::Error;
use orbweaver_sdk::urls::{Base, Resolved};

use super::{Content, Entry, Feed, MAX_ENTRIES};
use crate::html::{MAX_HTML, attribute, escape};
use crate::xml::{Element, Xml, local, read as read_xml};

/// The refusal of another document.
const NO_FEED: &str = "the XML is no feed: its root is neither rss, RDF nor feed";

/// Bytes in which the root element begins, behind declarations and comments.
const ROOT_WITHIN: usize = 64 << 10;

/// Elements of XHTML without an end tag in HTML (section 13.1.2): `</br>` would be a second `<br>`.
const VOID: &[&str] = &[
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track",
    "wbr",
];

/// Reads a feed whose URL is `url`.
pub(super) fn read(text: &str, url: &str) -> Result<Feed, Error> {
    // Another document, such as a page of HTML, is not read to its end.
    let head = text.trim_start_matches('\u{feff}').as_bytes();
    let root = xml_root(head.get(..ROOT_WITHIN).unwrap_or(head)).unwrap_or_default();
    let name = root.rsplit(|&b| b == b':').next().unwrap_or_default();
    let is_feed = [b"rss".as_slice(), b"rdf", b"feed"]
        .iter()
        .any(|known| name.eq_ignore_ascii_case(known));
    if !is_feed {
        return Err(Error::failed(NO_FEED));
    }
    let mut reader = Reader {
        document: Base::new(url),
        ..Reader::default()
    };
    let whole = read_xml(text, |event| reader.event(event));
    if reader.feed.format.is_empty() {
        return Err(Error::failed(NO_FEED));
    }
    reader.end_entry();
    reader.feed.damaged = !whole;
    Ok(reader.feed)
}

#[derive(Default)]
struct Reader {
    feed: Feed,
    /// Names of the open elements, without the prefixes of the formats themselves.
    path: Vec<String>,
    entry: Option<Entry>,
    /// The `guid` of the entry, as far as it is a URL: its link, where it has no other.
    guid: String,
    text: String,
    /// The `type` of an Atom text.
    kind: String,
    /// Elements open within XHTML, which is kept as it is.
    markup: usize,
    /// The feed's URL.
    document: Option<Base>,
    /// The `xml:base` of open elements, each with the number of elements around its own.
    bases: Vec<(usize, Base)>,
    /// Bytes of all references resolved so far.
    resolved: usize,
}

impl Reader {
    fn event(&mut self, event: Xml<'_>) {
        match event {
            Xml::Start(element) => self.start(&element),
            Xml::Text(text) if self.markup > 0 => escape(&text, &mut self.text),
            Xml::Text(text) => self.text.push_str(&text),
            Xml::End(_) if self.markup > 1 => {
                self.markup -= 1;
                if let Some(name) = self
                    .path
                    .pop()
                    .filter(|name| !VOID.contains(&name.as_str()))
                {
                    self.text.push_str(&format!("</{name}>"));
                }
            }
            Xml::End(name) => {
                self.markup = 0;
                self.end(&name);
            }
        }
        while self
            .bases
            .last()
            .is_some_and(|(depth, _)| *depth >= self.path.len())
        {
            self.bases.pop();
        }
    }

    fn start(&mut self, element: &Element<'_>) {
        let name = plain_name(element.name());
        if let Some(base) = element.attribute("base") {
            let around = self.bases.last().map(|(_, base)| base);
            let base = self.join(around.or(self.document.as_ref()), &base);
            self.resolved += base.as_ref().map_or(0, |url| url.as_str().len());
            let base = base.and_then(Base::from_resolved);
            self.bases.extend(base.map(|base| (self.path.len(), base)));
        }
        if self.markup > 0 {
            let name = local(&name).to_owned();
            self.text.push_str(&format!("<{name}"));
            for known in ["href", "src", "alt", "title"] {
                if let Some(value) = element.attribute(known) {
                    let value = match known {
                        "href" | "src" => self.resolve(value),
                        _ => value,
                    };
                    attribute(known, &value, &mut self.text);
                }
            }
            self.text.push('>');
            self.markup += 1;
            self.path.push(name);
            return;
        }
        self.text.clear();
        if self.path.is_empty() {
            self.feed.format = match name.as_str() {
                "rss" | "rdf:RDF" => "rss",
                "feed" => "atom",
                _ => "",
            };
            self.feed.about.lang = element.attribute("lang").unwrap_or_default();
        }
        self.kind = element.attribute("type").unwrap_or_default();
        match name.as_str() {
            "item" | "entry" => {
                self.end_entry();
                self.entry = Some(Entry::default());
            }
            // RSS 2.0: a permanent link, unless it says otherwise.
            "guid" => self.kind = element.attribute("isPermaLink").unwrap_or_default(),
            "link" if self.feed.format == "atom" || element.attribute("href").is_some() => {
                self.link(element);
            }
            "enclosure" => {
                let url = element.attribute("url").unwrap_or_default();
                self.target().files.push(url);
            }
            "category" => {
                let tag = element
                    .attribute("term")
                    .or_else(|| element.attribute("text"));
                self.target().tags.extend(tag);
            }
            "content" | "summary" | "title" | "subtitle" if self.kind == "xhtml" => self.markup = 1,
            _ => {}
        }
        self.path.push(name);
    }

    /// A link of Atom: the one to the page, or a file.
    fn link(&mut self, element: &Element<'_>) {
        let Some(url) = element.attribute("href") else {
            return;
        };
        let url = self.resolve(url);
        let relation = element.attribute("rel").unwrap_or_default();
        let target = self.target();
        match relation.as_str() {
            "" | "alternate" if target.link.is_empty() => target.link = url,
            "enclosure" => target.files.push(url),
            _ => {}
        }
    }

    /// A reference resolved against the `xml:base` that applies to it; as written where there is
    /// none.
    fn resolve(&mut self, reference: String) -> String {
        let base = self.bases.last().map(|(_, base)| base);
        match self.join(base, &reference) {
            Some(url) => {
                self.resolved += url.as_str().len();
                url.into_string()
            }
            None => reference,
        }
    }

    /// A long base with many short links must not cost many times the feed's size.
    fn join(&self, base: Option<&Base>, reference: &str) -> Option<Resolved> {
        base.filter(|_| self.resolved < MAX_HTML)?.join(reference)
    }

    fn end(&mut self, name: &str) {
        let name = plain_name(name);
        // An end tag without its start.
        let Some(at) = self.path.iter().rposition(|open| *open == name) else {
            return;
        };
        self.path.truncate(at);
        let parent = self
            .path
            .last()
            .map(String::as_str)
            .unwrap_or_default()
            .to_owned();
        let text = std::mem::take(&mut self.text);
        match name.as_str() {
            "item" | "entry" => return self.end_entry(),
            "name" if parent == "author" => {
                self.author(text.trim());
                return;
            }
            "email" | "uri" | "url" | "width" | "height" if parent != "item" => return,
            _ => {}
        }
        // Parts of an image, an author or a source are not those of the entry.
        let is_of_entry = matches!(
            parent.as_str(),
            "channel" | "feed" | "item" | "entry" | "rdf:RDF"
        );
        if !is_of_entry && (parent.as_str(), name.as_str()) != ("media:group", "media:description")
        {
            return;
        }
        let kind = std::mem::take(&mut self.kind);
        let is_html = matches!(
            kind.as_str(),
            "html" | "xhtml" | "text/html" | "application/xhtml+xml"
        );
        let is_atom = self.feed.format == "atom";
        // References of XHTML are resolved as it is read.
        let is_source = match is_atom {
            true => matches!(kind.as_str(), "html" | "text/html"),
            false => matches!(name.as_str(), "content:encoded" | "description"),
        };
        let text = match is_source {
            true => self.rebased(text),
            false => text,
        };
        let content = Content { text, is_html };
        let trimmed = content.text.trim().to_owned();
        let target = self.target();
        match name.as_str() {
            "title" => target.title = content,
            "link" if target.link.is_empty() => target.link = trimmed,
            "guid" if trimmed.starts_with("http") && !kind.eq_ignore_ascii_case("false") => {
                self.guid = trimmed;
            }
            "content:encoded" => target.content = Content::html(content.text),
            "content" if is_atom => target.content = content,
            "description" => target.summary = Content::html(content.text),
            "summary" | "subtitle" | "tagline" => target.summary = content,
            // All the text that the entries of videos have.
            "media:description" if target.summary.is_empty() => target.summary = content,
            "itunes:summary" if target.summary.is_empty() => target.summary = content,
            "pubDate" | "published" | "dc:date" | "issued" => target.published = trimmed,
            "updated" | "modified" | "lastBuildDate" | "dcterms:modified" => {
                target.updated = trimmed
            }
            "author" | "dc:creator" | "itunes:author" | "managingEditor" => self.author(&trimmed),
            "language" | "dc:language" => target.lang = trimmed,
            "category" if !trimmed.is_empty() => target.tags.push(trimmed),
            _ => {}
        }
    }

    /// HTML with its references resolved against the `xml:base` that applies to it; as written where there
    /// is none.
    fn rebased(&mut self, html: String) -> String {
        let Some((_, base)) = self.bases.last() else {
            return html;
        };
        let (mut out, mut copied) = (String::new(), 0);
        let mut tokens = Tokens::new(&html);
        while let Some(token) = tokens.next() {
            if !matches!(token, Token::Start(_)) {
                continue;
            }
            for (name, place) in tokens.places() {
                if !["href", "src"]
                    .iter()
                    .any(|known| name.eq_ignore_ascii_case(known))
                {
                    continue;
                }
                let mut reference = String::new();
                let written = html.get(place.clone()).unwrap_or("");
                decode_into(written, Place::Attribute, &mut reference);
                let Some(url) = self.join(Some(base), &reference) else {
                    continue;
                };
                self.resolved += url.as_str().len();
                out.push_str(html.get(copied..place.start).unwrap_or(""));
                escape(&url.as_str().replace('\'', "%27"), &mut out);
                copied = place.end;
            }
        }
        if copied == 0 {
            return html;
        }
        out.push_str(html.get(copied..).unwrap_or(""));
        out
    }

    fn author(&mut self, name: &str) {
        // RSS: `mail@example.org (Name)`.
        let name = match name.split_once('(') {
            Some((mail, name)) if mail.contains('@') => name.trim_end_matches(')'),
            _ => name,
        };
        let (name, authors) = (name.trim().to_owned(), &mut self.target().authors);
        if !name.is_empty() && !authors.contains(&name) && authors.len() < 50 {
            authors.push(name);
        }
    }

    fn target(&mut self) -> &mut Entry {
        self.entry.as_mut().unwrap_or(&mut self.feed.about)
    }

    fn end_entry(&mut self) {
        let guid = std::mem::take(&mut self.guid);
        if let Some(mut entry) = self.entry.take()
            && self.feed.entries.len() < MAX_ENTRIES
        {
            if entry.link.is_empty() {
                entry.link = guid;
            }
            self.feed.entries.push(entry);
        }
    }
}

/// The name without a prefix that stands for the format itself.
fn plain_name(name: &str) -> String {
    let plain = ["atom:", "atom10:", "a10:", "rss:"]
        .iter()
        .find_map(|prefix| name.strip_prefix(prefix));
    plain.unwrap_or(name).to_owned()
}
