//! The pass itself.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::rc::Rc;
use std::sync::LazyLock;

use lol_html::html_content::{Attribute, Element, TextChunk, TextType};
use lol_html::{
    DocumentContentHandlers, ElementContentHandlers, HandlerResult, HtmlRewriter, MemorySettings,
    Selector, Settings,
};
use orbweaver_urls::{Base, Resolved};

use super::entities::{self, Place};
use super::gap;
use super::hash::{TextHasher, collapse};
use super::links::{Link, Links};
use super::{PageFacts, Refresh};
use crate::content;
use crate::limits::{MAX_ANCHOR_BYTES, MAX_LINKS, MAX_TITLE_BYTES};
use crate::user_agent::PRODUCT_TOKEN;

/// What the tokeniser may hold: one unfinished tag, and an entry for each open element.
const MAX_MEMORY: usize = 32 << 20;

/// Images whose `alt` may stand in for a link's text.
const MAX_ALTS: usize = 10_000;

struct Selectors {
    a: Selector,
    area: Selector,
    img: Selector,
    base: Selector,
    link: Selector,
    meta: Selector,
    title: Selector,
    style: Selector,
    desc: Selector,
    template: Selector,
    hidden: Selector,
}

static SELECTORS: LazyLock<Selectors> = LazyLock::new(|| {
    #[expect(
        clippy::expect_used,
        reason = "the selectors are constants, and every test parses them"
    )]
    let parse = |selector: &str| {
        selector
            .parse::<Selector>()
            .expect("a constant selector parses")
    };
    Selectors {
        a: parse("a"),
        area: parse("area"),
        img: parse("img"),
        base: parse("base[href]"),
        link: parse("link[rel][href]"),
        meta: parse("meta[content]"),
        title: parse("title"),
        style: parse("style"),
        desc: parse("desc"),
        template: parse("template"),
        hidden: parse("[hidden]"),
    }
});

/// Reads a page. `base_url` is the URL that it was fetched from.
pub fn page_pass(html: &str, base_url: &str) -> PageFacts {
    let state = RefCell::new(State::new(html, None));
    let hidden = Rc::new(Cell::new(0));
    let degraded = run(html, &state, &hidden).is_err();
    state.into_inner().finish(base_url, degraded)
}

/// As [`page_pass`], with the first `most` bytes of the visible text, white space collapsed.
pub fn page_text(html: &str, base_url: &str, most: usize) -> (PageFacts, String) {
    let state = RefCell::new(State::new(html, Some(most)));
    let hidden = Rc::new(Cell::new(0));
    let degraded = run(html, &state, &hidden).is_err();
    let mut state = state.into_inner();
    let text = state.hasher.take_text();
    (state.finish(base_url, degraded), text)
}

/// Tokenises the page into `state`. An error leaves what was read until then.
fn run<'h>(html: &'h str, state: &RefCell<State<'h>>, hidden: &Rc<Cell<u32>>) -> HandlerResult {
    let on = |selector: &'static Selector, handle: fn(&mut State<'h>, &El<'_, '_, 'h>)| {
        let handlers =
            ElementContentHandlers::default().element(move |element: &mut Element<'_, '_>| {
                handle(&mut state.borrow_mut(), &El { element, html });
                Ok(())
            });
        (Cow::Borrowed(selector), handlers)
    };
    let hide = |selector: &'static Selector| {
        let hidden = Rc::clone(hidden);
        let handlers =
            ElementContentHandlers::default().element(move |element: &mut Element<'_, '_>| {
                conceal(element, &hidden);
                Ok(())
            });
        (Cow::Borrowed(selector), handlers)
    };
    let text = |chunk: &mut TextChunk<'_>| {
        state.borrow_mut().text(chunk, hidden.get() > 0);
        Ok(())
    };
    let selectors = &*SELECTORS;
    let settings = Settings::new()
        .with_strict(false)
        .with_memory_settings(MemorySettings::new().with_max_allowed_memory_usage(MAX_MEMORY))
        .append_element_content_handler(on(&selectors.a, State::anchor))
        .append_element_content_handler(on(&selectors.area, State::area))
        .append_element_content_handler(on(&selectors.img, State::image))
        .append_element_content_handler(on(&selectors.base, State::base))
        .append_element_content_handler(on(&selectors.link, State::link))
        .append_element_content_handler(on(&selectors.meta, State::meta))
        .append_element_content_handler(on(&selectors.title, State::unseen))
        .append_element_content_handler(on(&selectors.style, State::unseen))
        .append_element_content_handler(on(&selectors.desc, State::unseen))
        .append_element_content_handler(hide(&selectors.template))
        .append_element_content_handler(hide(&selectors.hidden))
        .append_document_content_handler(DocumentContentHandlers::default().text(text));
    let mut rewriter = HtmlRewriter::new(settings, |_: &[u8]| {});
    rewriter.write(html.as_bytes())?;
    rewriter.end()?;
    Ok(())
}

/// Counts an element whose content no reader sees, until its end tag. Elements whose end
/// tag may be left out are not counted: without a tree, the rest of the page would be
/// taken for theirs.
fn conceal(element: &mut Element<'_, '_>, hidden: &Rc<Cell<u32>>) {
    const MAY_STAY_OPEN: [&str; 19] = [
        "p", "li", "dt", "dd", "option", "optgroup", "tr", "td", "th", "thead", "tbody", "tfoot",
        "colgroup", "caption", "html", "head", "body", "rt", "rp",
    ];
    if MAY_STAY_OPEN.contains(&element.tag_name().as_str()) {
        return;
    }
    if let Some(handlers) = element.end_tag_handlers() {
        hidden.set(hidden.get() + 1);
        let hidden = Rc::clone(hidden);
        handlers.push(Box::new(move |_| {
            hidden.set(hidden.get().saturating_sub(1));
            Ok(())
        }));
    }
}

/// An element with its source, from which attributes are read without copying.
struct El<'e, 't, 'h> {
    element: &'e Element<'e, 't>,
    html: &'h str,
}

impl<'h> El<'_, '_, 'h> {
    /// An attribute's value as written: the first of its name, as in a tree.
    fn attr(&self, name: &str) -> Option<&'h str> {
        self.range(name)
            .map(|range| self.html.get(range).unwrap_or(""))
    }

    fn range(&self, name: &str) -> Option<Range<usize>> {
        let named = |attribute: &&Attribute<'_>| {
            let known = attribute
                .name_source_location()
                .and_then(|at| self.html.get(at.bytes()));
            known.is_some_and(|known| known.eq_ignore_ascii_case(name))
        };
        let attribute = self.element.attributes().iter().find(named)?;
        Some(
            attribute
                .value_source_location()
                .map_or(0..0, |at| at.bytes()),
        )
    }

    fn end(&self) -> usize {
        self.element.source_location().bytes().end
    }
}

/// A link as found: everything but its text is still in the source.
struct Found<'h> {
    href: &'h str,
    rel: &'h str,
    /// Stands in for text: `alt`, `aria-label` or `title`.
    label: &'h str,
    /// Its text, in [`State::anchors`].
    text: Range<usize>,
}

struct State<'h> {
    html: &'h str,
    /// Where the last text ended.
    at: usize,
    hasher: TextHasher,
    /// Text whose references are decoded.
    scratch: String,
    title: Option<String>,
    /// The title is complete.
    titled: bool,
    /// Where the text of such an element as [`unseen`](Self::unseen) begins or goes on.
    unseen_at: Option<usize>,
    base: Option<&'h str>,
    canonical: Option<&'h str>,
    found: Vec<Found<'h>>,
    dropped: usize,
    anchors: Vec<u8>,
    /// `alt` of images within links, by the link's index.
    alts: Vec<(usize, &'h str)>,
    /// The open link's index and where its tag ended.
    open: Option<(usize, usize)>,
    /// Of the open link's text.
    begun: bool,
    space: bool,
    facts: PageFacts,
}

impl<'h> State<'h> {
    fn new(html: &'h str, keep: Option<usize>) -> Self {
        Self {
            html,
            at: 0,
            hasher: TextHasher::new(keep),
            scratch: String::new(),
            title: None,
            titled: false,
            unseen_at: None,
            base: None,
            canonical: None,
            found: Vec::new(),
            dropped: 0,
            anchors: Vec::new(),
            alts: Vec::new(),
            open: None,
            begun: false,
            space: false,
            facts: PageFacts::default(),
        }
    }

    fn text(&mut self, chunk: &TextChunk<'_>, hidden: bool) {
        let range = chunk.source_location().bytes();
        let markup = self.html.get(self.at..range.start).unwrap_or("");
        if !markup.is_empty() {
            self.gap(markup);
        }
        self.at = range.end;
        let text = chunk.as_str();
        match chunk.text_type() {
            TextType::Data | TextType::PlainText | TextType::CDataSection if text.is_empty() => {}
            TextType::Data if self.unseen_at == Some(range.start) => {
                self.unseen_at = Some(range.end)
            }
            TextType::Data => {
                if text.contains('&') {
                    let mut scratch = std::mem::take(&mut self.scratch);
                    scratch.clear();
                    entities::decode_into(text, Place::Text, &mut scratch);
                    self.visible(&scratch, hidden);
                    self.scratch = scratch;
                } else {
                    self.visible(text, hidden);
                }
            }
            TextType::PlainText | TextType::CDataSection => self.visible(text, hidden),
            TextType::RCData if self.unseen_at == Some(range.start) => {
                // The title's text may come in pieces; a second title is none.
                self.unseen_at = Some(range.end);
                if self.titled {
                    return;
                }
                self.titled = chunk.last_in_text_node();
                let title = self.title.get_or_insert_default();
                let room = MAX_TITLE_BYTES.saturating_sub(title.len());
                title.push_str(text.get(..text.floor_char_boundary(room)).unwrap_or(""));
            }
            TextType::RCData | TextType::RawText | TextType::ScriptData => {}
        }
    }

    /// What the markup between two texts does to them.
    fn gap(&mut self, markup: &str) {
        let gap = gap::read(markup.as_bytes());
        if gap.breaks {
            self.hasher.gap();
            self.space = true;
        }
        let Some((_, opened)) = self.open else { return };
        // An end tag before the open link's own start tag ended an earlier one.
        let start = self.at;
        let closes = if opened <= start {
            gap.closes_link
        } else {
            let since = markup.get(opened - start..).unwrap_or("");
            gap::read(since.as_bytes()).closes_link
        };
        if closes.is_some() {
            self.close_link();
        }
    }

    fn visible(&mut self, text: &str, hidden: bool) {
        if !hidden {
            self.hasher.push(text);
        }
        if let Some((index, _)) = self.open
            && let Some(link) = self.found.get(index)
            && self.anchors.len() - link.text.start < MAX_ANCHOR_BYTES
        {
            let cut = text
                .get(..text.floor_char_boundary(MAX_ANCHOR_BYTES * 4))
                .unwrap_or("");
            collapse(cut, &mut self.begun, &mut self.space, &mut self.anchors);
        }
    }

    fn close_link(&mut self) {
        if let Some((index, _)) = self.open.take()
            && let Some(link) = self.found.get_mut(index)
        {
            let text = self.anchors.get(link.text.start..).unwrap_or_default();
            let text = std::str::from_utf8(text).unwrap_or("");
            let end = link.text.start + text.floor_char_boundary(MAX_ANCHOR_BYTES);
            self.anchors.truncate(end);
            link.text.end = end;
        }
    }

    fn anchor(&mut self, element: &El<'_, '_, 'h>) {
        self.close_link();
        if let Some(index) = self.push(element) {
            self.open = Some((index, element.end()));
            self.begun = false;
            self.space = false;
        }
    }

    fn area(&mut self, element: &El<'_, '_, 'h>) {
        self.push(element);
    }

    fn push(&mut self, element: &El<'_, '_, 'h>) -> Option<usize> {
        let href = element
            .attr("href")
            .or_else(|| element.attr("xlink:href"))?;
        if self.found.len() >= MAX_LINKS {
            self.dropped += 1;
            return None;
        }
        let given = |name: &&str| element.attr(name).filter(|label| !label.is_empty());
        let label = ["alt", "aria-label", "title"]
            .iter()
            .find_map(given)
            .unwrap_or("");
        let start = self.anchors.len();
        self.found.push(Found {
            href,
            rel: element.attr("rel").unwrap_or(""),
            label,
            text: start..start,
        });
        Some(self.found.len() - 1)
    }

    fn image(&mut self, element: &El<'_, '_, 'h>) {
        let within = self
            .open
            .filter(|_| self.alts.len() < MAX_ALTS && !self.begun);
        if let (Some((index, _)), Some(alt)) =
            (within, element.attr("alt").filter(|alt| !alt.is_empty()))
        {
            // The link may have ended since the last text.
            let markup = self
                .html
                .get(self.at.max(self.open.map_or(0, |(_, end)| end))..element.end());
            if markup.is_none_or(|markup| gap::read(markup.as_bytes()).closes_link.is_none()) {
                self.alts.push((index, alt));
            }
        }
    }

    fn base(&mut self, element: &El<'_, '_, 'h>) {
        self.base = self.base.or_else(|| element.attr("href"));
    }

    fn link(&mut self, element: &El<'_, '_, 'h>) {
        let rel = element.attr("rel").unwrap_or("");
        if self.canonical.is_none()
            && rel
                .split_ascii_whitespace()
                .any(|rel| rel.eq_ignore_ascii_case("canonical"))
        {
            self.canonical = element.attr("href");
        }
    }

    fn meta(&mut self, element: &El<'_, '_, 'h>) {
        let content = || decoded(element.attr("content").unwrap_or(""));
        if let Some(name) = element.attr("name") {
            let name = name.trim();
            if name.eq_ignore_ascii_case("robots") || name.eq_ignore_ascii_case(PRODUCT_TOKEN) {
                self.facts.robots.add(&content());
            }
        }
        let pragma = element.attr("http-equiv").unwrap_or("");
        if self.facts.refresh.is_none() && pragma.trim().eq_ignore_ascii_case("refresh") {
            self.facts.refresh = Refresh::parse(&content());
        }
    }

    /// A title, or what a drawing has in its place: a tooltip, a description, a style sheet
    /// that is no raw text there.
    fn unseen(&mut self, element: &El<'_, '_, 'h>) {
        self.unseen_at = Some(element.end());
    }

    fn finish(mut self, base_url: &str, degraded: bool) -> PageFacts {
        self.close_link();
        let fallback = Base::new(base_url);
        let base = match (&fallback, self.base) {
            (Some(page), Some(href)) => page
                .join(&decoded(href))
                .and_then(|url| Base::new(url.as_str()))
                .or(fallback),
            (None, Some(href)) => Base::new(&decoded(href)),
            (_, None) => fallback,
        };
        let mut facts = std::mem::take(&mut self.facts);
        if let Some(base) = &base {
            facts.canonical = self
                .canonical
                .and_then(|href| base.join(decoded(href).trim()))
                .map(Resolved::into_string);
            facts.links = self.resolve(base, facts.robots.nofollow);
        }
        facts.base = base.map_or_else(|| base_url.to_owned(), |base| base.as_str().to_owned());
        facts.title = self
            .title
            .map(|title| one_line(&decoded(&title)))
            .filter(|title| !title.is_empty());
        let title = facts.title.as_deref().unwrap_or("");
        let (chars, hash) = self
            .hasher
            .finish(title, facts.canonical.as_deref().unwrap_or(""));
        facts.text_chars = chars;
        facts.content_hash = if degraded {
            content::bytes_hash(self.html.as_bytes())
        } else {
            hash
        };
        facts.degraded = degraded;
        facts
    }

    fn resolve(&self, base: &Base, page_nofollow: bool) -> Links {
        let text = self.found.len() * base.as_str().len().min(64) + self.anchors.len();
        let mut links = Links::with_capacity(self.found.len(), text, self.dropped);
        let mut to = Resolved::default();
        let mut alts = self.alts.iter().peekable();
        for (index, found) in self.found.iter().enumerate() {
            let mut label = String::new();
            while let Some((_, alt)) = alts.next_if(|(of, _)| *of <= index) {
                label.push(' ');
                label.push_str(&decoded(alt));
            }
            if !base.join_into(&decoded(found.href), &mut to) {
                continue;
            }
            let text = self.anchors.get(found.text.clone()).unwrap_or_default();
            let mut anchor = Cow::Borrowed(std::str::from_utf8(text).unwrap_or(""));
            if anchor.is_empty() {
                label = one_line(&label);
                anchor = Cow::Owned(if label.is_empty() {
                    one_line(&decoded(found.label))
                } else {
                    label
                });
                let cut = anchor.floor_char_boundary(MAX_ANCHOR_BYTES);
                anchor.to_mut().truncate(cut);
            }
            let rel = if found.rel.is_empty() {
                Cow::Borrowed("")
            } else {
                Cow::Owned(one_line(&decoded(found.rel)))
            };
            let nofollow = page_nofollow || forbids_following(&rel);
            links.push(Link {
                to: to.as_str(),
                anchor: &anchor,
                rel: &rel,
                nofollow,
            });
        }
        links
    }
}

fn forbids_following(rel: &str) -> bool {
    rel.split_ascii_whitespace().any(|rel| {
        ["nofollow", "ugc", "sponsored"]
            .iter()
            .any(|known| rel.eq_ignore_ascii_case(known))
    })
}

fn decoded(attribute: &str) -> Cow<'_, str> {
    if !attribute.contains('&') {
        return Cow::Borrowed(attribute);
    }
    let mut out = String::with_capacity(attribute.len());
    entities::decode_into(attribute, Place::Attribute, &mut out);
    Cow::Owned(out)
}

fn one_line(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    collapse(text, &mut false, &mut false, &mut out);
    String::from_utf8(out).unwrap_or_default()
}
