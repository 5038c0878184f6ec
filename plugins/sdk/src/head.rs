//! Metadata of a document: title, metas, links, language.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use orbweaver_dom::{Namespace, Node, View, attr, tag};
use orbweaver_urls::{Base, Resolved};

use crate::text::collapse;
use crate::{Error, Page, text};

/// Most names read of one `<meta>`. Its content may be written once for each of them.
const MAX_NAMES: usize = 8;

/// A `<meta>` that has a content.
#[derive(Clone, Copy, Debug)]
pub struct Meta<'p> {
    /// `name`, `property`, `itemprop` or `http-equiv`, trimmed, as written.
    pub name: &'p str,
    /// `content`, as written.
    pub content: &'p str,
    /// Which of these attributes it is, as in [`attr`].
    pub attribute: u16,
    /// The element, which may have several names.
    pub node: Node<'p>,
}

impl Meta<'_> {
    /// Whether it states a property of a Microdata item: of a thing on the page, which need not be
    /// the page.
    pub fn is_of_item(&self) -> bool {
        self.attribute == attr::ITEMPROP
    }
}

/// A `<link>` with an `href`.
#[derive(Clone, Copy, Debug)]
pub struct Link<'p> {
    /// `rel`, as written.
    pub rel: &'p str,
    /// `href`, as written; it may be empty.
    pub href: &'p str,
    /// The element, for its other attributes.
    pub node: Node<'p>,
}

impl Link<'_> {
    /// Its target, resolved. An empty `href` is none (HTML standard, section 4.2.4): resolved, it
    /// would be the page itself.
    pub fn target(&self, base: &Base) -> Option<Resolved> {
        let href = self.href.trim_ascii();
        (!href.is_empty()).then(|| base.join(href))?
    }

    /// Whether `rel` has this keyword, ignoring case.
    pub fn is(&self, rel: &str) -> bool {
        self.rel
            .split_ascii_whitespace()
            .any(|token| token.eq_ignore_ascii_case(rel))
    }

    /// Whether it is in the head, as the parser ends it.
    pub fn is_in_head(&self) -> bool {
        let head = self.node.view().head();
        head.is_some_and(|head| head.contains(self.node))
    }
}

/// The `hreflang`, trimmed, of a `<link rel="alternate">`: the language of the page's version there.
/// `None` if its `type` is not that of a page: a feed has a language, too.
pub fn hreflang(link: Node<'_>) -> Option<&str> {
    let language = link.attr(attr::HREFLANG)?.trim_ascii();
    is_of_page(link.attr(attr::TYPE)).then_some(language)
}

/// Whether the `type` of a link is that of a page, or is not given.
fn is_of_page(kind: Option<&str>) -> bool {
    let kind = kind.unwrap_or("");
    let kind = kind.split(';').next().unwrap_or(kind).trim_ascii();
    let mut of_page = ["", "text/html", "application/xhtml+xml"].into_iter();
    of_page.any(|known| known.eq_ignore_ascii_case(kind))
}

/// Metadata of a document, from one pass over it. Metas and links in the body are included,
/// because a stray tag in the head moves the rest of it into the body; search engines, too, obey
/// robots metas there. The canonical URL is that of the head alone: see [`canonical`](Self::canonical).
#[derive(Clone, Debug, Default)]
pub struct Head<'p> {
    /// The first HTML `<title>` (not that of an SVG), white space collapsed; `None` if it is
    /// empty.
    pub title: Option<String>,
    /// `lang` of the root element, as written.
    pub lang: Option<&'p str>,
    /// The first `<meta charset>`.
    pub charset: Option<&'p str>,
    /// Metas in document order.
    pub metas: Vec<Meta<'p>>,
    /// Links in document order.
    pub links: Vec<Link<'p>>,
}

impl<'p> Head<'p> {
    /// Reads a page's metadata.
    pub fn of(page: &'p Page<'_>) -> Result<Self, Error> {
        Ok(Self::of_view(page.view()?))
    }

    /// Reads a document.
    pub fn of_view(view: &'p View<'_>) -> Self {
        let mut head = Self::default();
        let mut titled = false;
        if let Some(html) = view.html() {
            head.lang = html.attr(attr::LANG).or_else(|| html.attr(attr::XML_LANG));
        }
        head.lang = head
            .lang
            .map(str::trim_ascii)
            .filter(|lang| !lang.is_empty());
        // What has these names in a drawing is none of them.
        let stated = view
            .tagged_outside_templates(|id| matches!(id, tag::TITLE | tag::META | tag::LINK))
            .filter(|node| node.namespace() == Namespace::Html);
        for node in stated {
            match node.tag() {
                tag::TITLE if !titled => {
                    titled = true;
                    head.title = Some(text::line(node)).filter(|title| !title.is_empty());
                }
                tag::META => head.meta(node),
                tag::LINK => {
                    if let (Some(rel), Some(href)) = (node.attr(attr::REL), node.attr(attr::HREF)) {
                        head.links.push(Link { rel, href, node });
                    }
                }
                _ => {}
            }
        }
        head
    }

    fn meta(&mut self, node: Node<'p>) {
        if let Some(charset) = node.attr(attr::CHARSET) {
            self.charset = self
                .charset
                .or(Some(charset.trim_ascii()))
                .filter(|c| !c.is_empty());
        }
        let Some(content) = node.attr(attr::CONTENT) else {
            return;
        };
        // A meta may have both `name` and `property`, with different meanings.
        let names = [attr::NAME, attr::PROPERTY, attr::ITEMPROP, attr::HTTP_EQUIV]
            .into_iter()
            .filter_map(|id| Some((id, node.attr(id)?)))
            .flat_map(|(id, names)| names.split_ascii_whitespace().map(move |name| (id, name)));
        for (attribute, name) in names.take(MAX_NAMES) {
            self.metas.push(Meta {
                name,
                content,
                attribute,
                node,
            });
        }
    }

    /// The metas with these names, in document order, without those that are empty. Case is
    /// ignored. Properties of Microdata items are among them.
    pub fn named<'s>(&'s self, names: &'s [&str]) -> impl Iterator<Item = &'s Meta<'p>> + 's {
        self.metas.iter().filter(|meta| {
            names
                .iter()
                .any(|name| meta.name.eq_ignore_ascii_case(name))
                && !meta.content.trim().is_empty()
        })
    }

    /// Contents of the metas with these names, in document order, trimmed, without empty ones.
    /// Case is ignored. Those of Microdata items are left out: see [`named`](Self::named).
    pub fn all<'s>(&'s self, names: &'s [&str]) -> impl Iterator<Item = &'p str> + 's {
        self.named(names)
            .filter(|meta| !meta.is_of_item())
            .map(|meta| meta.content.trim())
    }

    /// The content of the first of these names that a meta has, white space collapsed: the order
    /// of names takes precedence over the order of metas.
    pub fn meta_text(&self, names: &[&str]) -> Option<String> {
        names
            .iter()
            .find_map(|name| self.all(&[name]).next())
            .map(collapse)
    }

    /// The first link with this `rel`, resolved.
    pub fn link(&self, page: &Page<'_>, rel: &str) -> Option<String> {
        let links = self.links.iter().filter(|link| link.is(rel));
        first_url(links, page)
    }

    /// The canonical URL, resolved: the `<link>` in the head, else the HTTP header `Link` (RFC 6596).
    /// A link in the body is none: whoever may write a comment could write it, so search engines
    /// ignore it.
    pub fn canonical(&self, page: &Page<'_>) -> Option<String> {
        let links = self.links.iter().filter(|link| link.is("canonical"));
        first_url(links.filter(|link| link.is_in_head()), page).or_else(|| {
            let headers = page.header_values("link");
            let href = headers.flat_map(link_header).find(|(_, rel)| {
                rel.split_ascii_whitespace()
                    .any(|token| token.eq_ignore_ascii_case("canonical"))
            })?;
            // URLs in the header are relative to the page's URL, not to `<base>`.
            let base = Base::new(page.final_url())?;
            base.join(href.0).map(|url| url.into_string())
        })
    }

    /// The document's language: `lang` of the root element, else `Content-Language` in a meta or
    /// header, if it names exactly one.
    pub fn language(&self, page: &'p Page<'_>) -> Option<&'p str> {
        let one = |value: &'p str| Some(value.trim()).filter(|v| !v.is_empty() && !v.contains(','));
        self.lang
            .or_else(|| self.all(&["content-language"]).next().and_then(one))
            .or_else(|| page.header("content-language").and_then(one))
    }

    /// Metas whose name starts with `prefix` (ignoring case), with the prefix removed: the first
    /// of each name, in document order. If that is empty, the first one that is not has its place.
    pub fn prefixed(&self, prefix: &str) -> Vec<Meta<'p>> {
        let mut places = BTreeMap::new();
        let mut found: Vec<Meta<'p>> = Vec::new();
        for meta in &self.metas {
            let starts = meta
                .name
                .get(..prefix.len())
                .is_some_and(|s| s.eq_ignore_ascii_case(prefix));
            let Some(name) = meta
                .name
                .get(prefix.len()..)
                .filter(|n| starts && !n.is_empty())
            else {
                continue;
            };
            let meta = Meta {
                name,
                content: meta.content.trim(),
                ..*meta
            };
            match places.entry(name) {
                Entry::Vacant(place) => {
                    place.insert(found.len());
                    found.push(meta);
                }
                Entry::Occupied(place) => {
                    let first = found.get_mut(*place.get());
                    if let Some(first) = first.filter(|first| first.content.is_empty()) {
                        *first = meta;
                    }
                }
            }
        }
        found
    }
}

/// The first of these links with a target that is a URL, resolved.
fn first_url<'l, 'p: 'l>(
    mut links: impl Iterator<Item = &'l Link<'p>>,
    page: &Page<'_>,
) -> Option<String> {
    let base = page.base()?;
    let url = links.find_map(|link| link.target(base))?;
    Some(url.into_string())
}

/// The targets of a `Link` header (RFC 8288) with their `rel`; a comma or semicolon inside a
/// target's brackets does not separate.
pub fn link_header(value: &str) -> impl Iterator<Item = (&str, &str)> {
    header_links(value).map(|link| (link.target, link.parameter("rel").unwrap_or("")))
}

/// A link of a `Link` header.
#[derive(Clone, Copy, Debug)]
pub struct HeaderLink<'h> {
    /// Its target, as written.
    pub target: &'h str,
    parameters: &'h str,
}

impl<'h> HeaderLink<'h> {
    /// The first parameter with this name, as `rel`.
    pub fn parameter(&self, name: &str) -> Option<&'h str> {
        self.parameters.split(';').find_map(|parameter| {
            let (known, value) = parameter.split_once('=')?;
            let value = value.trim_matches([' ', '\t', ',', '"']);
            known.trim().eq_ignore_ascii_case(name).then_some(value)
        })
    }

    /// The language of the page's version there, as [`hreflang`] reads it.
    pub fn hreflang(&self) -> Option<&'h str> {
        let language = self.parameter("hreflang")?;
        is_of_page(self.parameter("type")).then_some(language)
    }

    /// Whether `rel` has this keyword, ignoring case.
    pub fn is(&self, rel: &str) -> bool {
        let mut tokens = self.parameter("rel").unwrap_or("").split_ascii_whitespace();
        tokens.any(|token| token.eq_ignore_ascii_case(rel))
    }
}

/// The links of a `Link` header (RFC 8288); a comma or semicolon inside a target's brackets does not
/// separate.
pub fn header_links(value: &str) -> impl Iterator<Item = HeaderLink<'_>> {
    let mut rest = value;
    std::iter::from_fn(move || {
        let (_, after) = rest.split_once('<')?;
        let (target, after) = after.split_once('>')?;
        // Parameters end where the next target begins.
        let end = after.find('<').unwrap_or(after.len());
        let (parameters, next) = after.split_at_checked(end)?;
        rest = next;
        Some(HeaderLink { target, parameters })
    })
}
