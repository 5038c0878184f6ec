//! The facts that the rules need, collected in one pass over the document.

use std::collections::{BTreeMap, BTreeSet};

use orbweaver_content::visible;
use orbweaver_sdk::dom::{Namespace, Node, View, attr, tag};
use orbweaver_sdk::head::Head;
use orbweaver_sdk::text::{self, Counter, Piece};
use orbweaver_sdk::urls::{KeyRules, Resolved, key_of};
use orbweaver_sdk::{Error, Page};
use serde::Serialize;
use unicode_width::UnicodeWidthStr;

/// Most words of an application that has not started yet.
const APPLICATION_WORDS: u64 = 50;

/// Figures of the page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Stats {
    /// Words of the visible text.
    pub word_count: u64,
    /// Links with an `href`.
    pub link_count: u64,
    /// `img` elements.
    pub image_count: u64,
    /// Headings `h1` to `h6`.
    pub heading_count: u64,
    /// Length of the HTML.
    pub html_bytes: u64,
    /// Length of the visible text, white space collapsed.
    pub text_bytes: u64,
    /// `text_bytes` ÷ `html_bytes`.
    pub content_ratio: f64,
    /// Whether there is a JSON-LD block.
    pub has_json_ld: bool,
}

/// A link: an `a` or `area` with an `href`.
pub struct Link<'p> {
    /// The element.
    pub node: Node<'p>,
    /// `href`, trimmed.
    pub href: &'p str,
    /// Its target, if that is an `http` or `https` URL.
    pub target: Option<Resolved>,
    /// Whether the target is on the page's own site (same host, with or without `www.`, and port).
    pub internal: bool,
    /// Whether its `rel` has nofollow, ugc or sponsored.
    pub nofollow: bool,
}

/// The facts of a page. Contents of `noscript` and `template` count only for the size of the
/// document, because visitors do not see them.
pub struct Facts<'p> {
    /// The page.
    pub page: &'p Page<'p>,
    /// Its document.
    pub view: &'p View<'p>,
    /// Title, metas, links.
    pub head: Head<'p>,
    /// Its URL after redirects.
    pub url: Option<Resolved>,
    /// Whether it is a page to check: status 2xx and HTML.
    pub is_page: bool,
    /// Whether it is HTML.
    pub is_html: bool,
    /// `<title>` elements outside SVG.
    pub titles: Vec<Node<'p>>,
    /// Headings with their levels, in document order.
    pub headings: Vec<(u8, Node<'p>)>,
    /// `img` elements.
    pub images: Vec<Node<'p>>,
    /// Links.
    pub links: Vec<Link<'p>>,
    /// Every other element that a rule needs.
    pub others: Vec<Node<'p>>,
    /// Elements with an id, by id.
    pub ids: BTreeMap<&'p str, u32>,
    /// Names of `a` elements, which are link targets like ids.
    pub names: BTreeSet<&'p str>,
    /// Number of elements of the whole document.
    pub elements: u64,
    /// The deepest nesting.
    pub depth: u64,
    /// The visible text, white space collapsed.
    pub text: String,
    /// Its words.
    pub words: u64,
    /// Source, in lower case, of a noscript that contains the page's content.
    pub noscript: String,
}

impl<'p> Facts<'p> {
    /// Reads a page.
    pub fn of(page: &'p Page<'p>) -> Result<Self, Error> {
        let view = page.view()?;
        let is_html = is_html(page, view);
        let mut facts = Self {
            page,
            view,
            head: Head::of(page)?,
            url: Resolved::parse(page.final_url()),
            is_page: is_html && (200..300).contains(&page.status()),
            is_html,
            titles: Vec::new(),
            headings: Vec::new(),
            images: Vec::new(),
            links: Vec::new(),
            others: Vec::new(),
            ids: BTreeMap::new(),
            names: BTreeSet::new(),
            elements: 0,
            depth: 0,
            text: String::new(),
            words: 0,
            noscript: String::new(),
        };
        facts.read_text();
        facts.read_noscript();
        facts.collect();
        Ok(facts)
    }

    fn collect(&mut self) {
        let mut open: Vec<u32> = Vec::new();
        // End of the open noscript or template.
        let mut unseen = 0;
        for node in self.view.elements() {
            while open.last().is_some_and(|end| *end <= node.id()) {
                open.pop();
            }
            open.push(node.end());
            self.elements += 1;
            self.depth = self.depth.max(open.len() as u64);
            if node.id() < unseen {
                continue;
            }
            if let Some(id) = node.attr(attr::ID).filter(|id| !id.trim_ascii().is_empty()) {
                *self.ids.entry(id).or_default() += 1;
            }
            let html = node.namespace() == Namespace::Html;
            if node.tag() == tag::A {
                self.names.extend(node.attr(attr::NAME));
            }
            match node.tag() {
                tag::NOSCRIPT | tag::TEMPLATE => unseen = node.end(),
                tag::TITLE if html => self.titles.push(node),
                tag::H1 => self.headings.push((1, node)),
                tag::H2 => self.headings.push((2, node)),
                tag::H3 => self.headings.push((3, node)),
                tag::H4 => self.headings.push((4, node)),
                tag::H5 => self.headings.push((5, node)),
                tag::H6 => self.headings.push((6, node)),
                tag::IMG => self.images.push(node),
                tag::A | tag::AREA if html => match node.attr(attr::HREF) {
                    Some(href) => self.link(node, href.trim_ascii()),
                    None => self.others.push(node),
                },
                tag::META
                | tag::LINK
                | tag::SCRIPT
                | tag::IFRAME
                | tag::FRAMESET
                | tag::FORM
                | tag::PICTURE
                | tag::AUDIO
                | tag::VIDEO
                | tag::SOURCE
                | tag::TRACK
                | tag::OBJECT
                | tag::EMBED
                | tag::APPLET => self.others.push(node),
                _ if node.has_attr(attr::ITEMPROP) => self.others.push(node),
                _ => {}
            }
        }
    }

    fn link(&mut self, node: Node<'p>, href: &'p str) {
        let target = self.page.base().and_then(|base| base.join(href));
        let internal = target.as_ref().is_some_and(|target| self.is_own(target));
        let rel = node.attr(attr::REL).unwrap_or("");
        self.links.push(Link {
            node,
            href,
            target,
            internal,
            nofollow: orbweaver_sdk::robots::rel_forbids_following(rel),
        });
    }

    fn read_text(&mut self) {
        let Some(body) = self.view.body() else { return };
        let mut counter = Counter::default();
        let mut collapse = text::Collapse::default();
        for piece in visible::pieces(body) {
            match piece {
                Piece::Text(text) => {
                    counter.push(text);
                    collapse.push(text, &mut self.text);
                }
                Piece::Break => {
                    counter.gap();
                    collapse.gap();
                }
            }
        }
        self.words = counter.words();
    }

    /// Some applications, such as forums, put their content for robots into a noscript, which is
    /// plain text to a parser with scripts enabled. If there is almost no other text, it counts as
    /// the page's text.
    fn read_noscript(&mut self) {
        if self.words >= APPLICATION_WORDS {
            return;
        }
        let Some(body) = self.view.body() else { return };
        let mut source = String::new();
        for node in body.elements().filter(|n| n.tag() == tag::NOSCRIPT) {
            node.push_text_content(&mut source);
        }
        let mut inside = Counter::default();
        let mut collapse = text::Collapse::default();
        let mut shown = String::new();
        // The text before a tag, and after each.
        for part in source.split('<') {
            let text = part.split_once('>').map_or(part, |(_, text)| text);
            inside.push(text);
            inside.gap();
            collapse.push(text, &mut shown);
            collapse.gap();
        }
        if inside.words() > APPLICATION_WORDS.max(self.words) {
            self.words += inside.words();
            self.text.push(' ');
            self.text.push_str(&shown);
            self.noscript = source.to_ascii_lowercase();
        }
    }

    /// Figures of the page for the answer.
    pub fn stats(&self) -> Stats {
        let html_bytes = self.page.size();
        let text_bytes = self.text.len() as u64;
        let ratio = match html_bytes {
            0 => 0.0,
            bytes => text_bytes as f64 / bytes as f64,
        };
        Stats {
            word_count: self.words,
            link_count: self.links.len() as u64,
            image_count: self.images.len() as u64,
            heading_count: self.headings.len() as u64,
            html_bytes,
            text_bytes,
            content_ratio: (ratio * 10_000.0).round() / 10_000.0,
            has_json_ld: self
                .others
                .iter()
                .any(|n| orbweaver_sdk::jsonld::is_block(*n)),
        }
    }

    /// The language of the html element. `xml:lang` has a meaning in XHTML alone (HTML, section 3.2.6.2).
    pub fn lang(&self) -> Option<&'p str> {
        let kind = self.page.header("content-type").unwrap_or("");
        let kind = kind.split(';').next().unwrap_or("").trim_ascii();
        if kind.eq_ignore_ascii_case("application/xhtml+xml") {
            return self.head.lang;
        }
        let lang = self.view.html()?.attr(attr::LANG)?.trim_ascii();
        (!lang.is_empty()).then_some(lang)
    }

    /// Whether an element is in the head.
    pub fn in_head(&self, node: Node<'_>) -> bool {
        self.view.head().is_some_and(|head| head.contains(node))
    }

    /// Elements with this tag, except in noscript and template.
    pub fn tagged(&self, wanted: u16) -> impl Iterator<Item = Node<'p>> {
        self.others
            .iter()
            .copied()
            .filter(move |node| node.tag() == wanted)
    }

    /// `<link>`s of the head with this `rel` and an `href`.
    pub fn head_links(&self, rel: &str) -> impl Iterator<Item = (&'p str, Node<'p>)> {
        let links = self.head.links.iter().filter(move |link| link.is(rel));
        links
            .filter(|link| link.is_in_head())
            .map(|link| (link.href, link.node))
    }

    /// Resolves a URL reference.
    pub fn resolve(&self, reference: &str) -> Option<Resolved> {
        self.page.base()?.join(reference)
    }

    /// The distinct canonical URLs in the head, as written and resolved.
    pub fn canonicals(&self) -> Vec<(&'p str, Option<Resolved>)> {
        let mut found: Vec<(&str, Option<Resolved>)> = Vec::new();
        for (href, _) in self.head_links("canonical") {
            let url = self.resolve(href).filter(|_| !href.trim_ascii().is_empty());
            if !found.iter().any(|(_, known)| *known == url) {
                found.push((href, url));
            }
        }
        found
    }

    /// The canonical URL of the page, from its head or its Link header.
    pub fn canonical(&self) -> Option<Resolved> {
        let named = self.canonicals().into_iter().find_map(|(_, url)| url);
        named.or_else(|| self.header_canonical())
    }

    /// The canonical URL of the `Link` header.
    pub fn header_canonical(&self) -> Option<Resolved> {
        let base = orbweaver_sdk::urls::Base::new(self.page.final_url())?;
        let mut links = self
            .page
            .header_values("link")
            .flat_map(orbweaver_sdk::head::link_header);
        let (href, _) = links.find(|(_, rel)| {
            rel.split_ascii_whitespace()
                .any(|token| token.eq_ignore_ascii_case("canonical"))
        })?;
        base.join(href)
    }

    /// Whether a URL is on the page's own site. http and https on their default ports are one site.
    pub fn is_own(&self, url: &Resolved) -> bool {
        let bare = |host: &str| host.strip_prefix("www.").unwrap_or(host).to_owned();
        self.url
            .as_ref()
            .is_some_and(|own| bare(own.host()) == bare(url.host()) && own.port() == url.port())
    }

    /// Whether a URL is probably on another host of the page's owner, judged by the name: such as
    /// shop and help pages.
    pub fn is_related(&self, url: &Resolved) -> bool {
        self.url
            .as_ref()
            .is_some_and(|own| domain(own.host()) == domain(url.host()))
    }

    /// Whether two URLs are the same page, ignoring tracking parameters.
    pub fn is_same(one: &Resolved, other: &Resolved) -> bool {
        key_of(one, KeyRules::default()) == key_of(other, KeyRules::default())
    }

    /// Whether a URL is the page's own.
    pub fn is_self(&self, url: &Resolved) -> bool {
        self.url.as_ref().is_some_and(|own| Self::is_same(own, url))
    }

    /// Whether the page was fetched over HTTPS.
    pub fn is_https(&self) -> bool {
        self.url.as_ref().is_some_and(|url| url.scheme() == "https")
    }

    /// Whether the page is on this machine, which browsers trust without TLS (W3C, Secure
    /// Contexts).
    pub fn is_loopback(&self) -> bool {
        self.url.as_ref().is_some_and(|url| is_loopback(url.host()))
    }
}

fn is_html(page: &Page<'_>, view: &View<'_>) -> bool {
    match page.header("content-type") {
        Some(kind) => {
            let kind = kind
                .split(';')
                .next()
                .unwrap_or(kind)
                .trim()
                .to_ascii_lowercase();
            matches!(kind.as_str(), "text/html" | "application/xhtml+xml")
        }
        // Sniffed as in browsers: it contains some HTML.
        None => view
            .elements()
            .any(|n| !matches!(n.tag(), tag::HTML | tag::HEAD | tag::BODY)),
    }
}

/// The registered domain, as far as it is known without the public suffix list: the last two
/// labels, or three if these are like `co.uk`. An IP address is unchanged.
fn domain(host: &str) -> &str {
    if host.starts_with('[') || host.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
        return host;
    }
    let mut dots = host.rmatch_indices('.').map(|(at, _)| at);
    let (last, second) = (dots.next(), dots.next());
    let (Some(last), Some(second)) = (last, second) else {
        return host;
    };
    let is_registry = host.len() - last == 3 && last - second <= 4;
    let start = match is_registry {
        true => dots.next().map_or(0, |at| at + 1),
        false => second + 1,
    };
    host.get(start..).unwrap_or(host)
}

/// Whether a host is the local machine.
pub fn is_loopback(host: &str) -> bool {
    host == "localhost"
        || host.ends_with(".localhost")
        || host == "[::1]"
        || host.starts_with("127.")
}

/// An element's start tag as HTML, for samples.
pub fn opening(node: Node<'_>) -> String {
    let mut out = format!("<{}", node.name());
    for attribute in node.attrs() {
        let value = attribute.value();
        if matches!(attribute.id(), attr::STYLE | attr::SRCSET)
            || attribute.name().starts_with("on")
        {
            continue;
        }
        out.push(' ');
        out.push_str(attribute.name());
        if !value.is_empty() {
            out.push_str("=\"");
            out.push_str(value);
            out.push('"');
        }
        if out.len() > 400 {
            break;
        }
    }
    out.push('>');
    out
}

/// Whether an element or an ancestor is hidden from all users.
pub fn is_hidden(node: Node<'_>) -> bool {
    let hides = |node: Node<'_>| {
        node.has_attr(attr::HIDDEN)
            || node.attr(attr::ARIA_HIDDEN) == Some("true")
            || node.attr(attr::STYLE).is_some_and(|style| {
                let style: String = style.split_ascii_whitespace().collect();
                style.contains("display:none") || style.contains("visibility:hidden")
            })
    };
    hides(node) || node.ancestors().any(hides)
}

/// Display width of a text in characters (UAX #11): those of Chinese, Japanese and Korean are twice
/// as wide, and marks that combine with another character have no width of their own.
pub fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}
