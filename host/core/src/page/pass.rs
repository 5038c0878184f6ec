//! The streaming pass.

mod noscript;

use std::borrow::Cow;
use std::ops::Range;

use memchr::memchr;
use orbweaver_markup::{Name, Place, Refresh, Tag, Token, Tokens, decode_into, names};
use orbweaver_urls::{Base, KeyRules, MAX_PAGE_URL_BYTES, Resolved, key_of};

use super::decoded::{decoded, decoded_in, decoded_text, one_line};
use super::facts::PageFacts;
use super::hash::{TextHasher, collapse};
use super::links::{Link, Links};
use super::open::{OpenElements, style_hides};
use crate::limits::{MAX_ANCHOR_BYTES, MAX_LINKS, MAX_TITLE_BYTES};
use crate::user_agent::PRODUCT_TOKEN;

/// Visible text shorter than this may be a page whose content waits for a script.
const SUSPICIOUSLY_SHORT: u64 = 200;
/// Hidden content this long is taken for the page's own in that case.
const PLAUSIBLY_CONTENT: usize = 2_000;

/// Most images whose `alt` may replace a link's text.
const MAX_ALTS: usize = 10_000;

/// Reads a page. `base_url` is the URL that it was fetched from.
pub fn page_pass(html: &str, base_url: &str) -> PageFacts {
    read(html, None).finish(base_url)
}

/// Same as [`page_pass`], also returns the first `most` bytes of the visible text, white
/// space collapsed.
pub fn page_text(html: &str, base_url: &str, most: usize) -> (PageFacts, String) {
    let mut state = read(html, Some(most));
    let text = state.hasher.take_text();
    (state.finish(base_url), text)
}

fn read(html: &str, keep: Option<usize>) -> State<'_> {
    let mut state = State::new(keep);
    state.source(html);
    state.show_noscript();
    state.show_hidden();
    state.link_noscripts();
    state
}

/// A link as found: everything except its text is still in the source.
struct SourceLink<'h> {
    href: &'h str,
    rel: &'h str,
    /// Replaces missing text: `alt` or `aria-label`, or `aria-label` of an element in it.
    label: &'h str,
    /// Replaces a missing label: `title`, or the title of a drawing in it, which is text.
    title: (&'h str, Place),
    /// Its text, in [`State::anchors`].
    text: Range<usize>,
}

struct State<'h> {
    hasher: TextHasher,
    elements: OpenElements,
    /// Sources in `noscript`s that were not read yet.
    noscripts: Vec<&'h str>,
    /// One of them is being read: it says nothing of the document.
    in_noscript: bool,
    /// Only links are taken: the text is none of the page.
    links_only: bool,
    /// Texts that are hidden at first, while next to nothing is visible; empty between blocks.
    hidden: Vec<&'h str>,
    /// Buffer for text with decoded references.
    scratch: String,
    title: Option<String>,
    /// An SVG `title` or `desc` has just begun: the text right after it is not visible.
    unseen: bool,
    /// An SVG `title` is open; unlike the document's, it does not separate texts.
    drawing_title: bool,
    base: Option<&'h str>,
    canonical: Option<&'h str>,
    found: Vec<SourceLink<'h>>,
    dropped: usize,
    /// How many of both are before those of the `noscript`s that are not the page.
    own: (usize, usize),
    anchors: String,
    /// `alt` of images within links, by the link's index.
    alts: Vec<(usize, &'h str)>,
    /// Index of the open link.
    open: Option<usize>,
    /// Whether the open link has text yet.
    begun: bool,
    space: bool,
    facts: PageFacts,
}

impl<'h> State<'h> {
    fn new(keep: Option<usize>) -> Self {
        Self {
            hasher: TextHasher::new(keep),
            elements: OpenElements::default(),
            noscripts: Vec::new(),
            in_noscript: false,
            links_only: false,
            hidden: Vec::new(),
            scratch: String::new(),
            title: None,
            unseen: false,
            drawing_title: false,
            base: None,
            canonical: None,
            found: Vec::new(),
            dropped: 0,
            own: (0, 0),
            anchors: String::new(),
            alts: Vec::new(),
            open: None,
            begun: false,
            space: false,
            facts: PageFacts::default(),
        }
    }

    /// Reads the tokens of a source.
    fn source(&mut self, html: &'h str) {
        let mut tokens = Tokens::new(html);
        while let Some(token) = tokens.next() {
            match token {
                Token::Start(tag) => self.start(tag, &tokens),
                Token::End(name) => self.end(name),
                Token::Text(text) => self.text(text),
                Token::Verbatim(text) => self.visible(text),
                Token::Title(text) => self.title(text),
            }
        }
    }

    fn start(&mut self, tag: Tag, tokens: &Tokens<'h>) {
        self.unseen = false;
        if tag.name != names::A {
            self.label_link(tokens);
        }
        match tag.name {
            names::A => self.anchor(tokens),
            names::AREA => {
                self.push(tokens);
            }
            names::IMG => self.image(tokens),
            names::BASE | names::LINK | names::META if self.says_nothing(tag) => {}
            names::NOSCRIPT if !self.elements.are_in_template() => {
                self.keep_noscript(tokens.raw_text());
            }
            names::BASE => self.base = self.base.or_else(|| tokens.attribute("href")),
            names::LINK => self.link(tokens),
            names::META => self.meta(tokens),
            // Tooltip or description of a drawing, and its style sheet, which is not raw text
            // there.
            names::TITLE | names::DESC | names::STYLE if tag.foreign => self.unseen = true,
            _ => {}
        }
        if tag.name == names::TITLE && tag.foreign {
            self.drawing_title = !tag.empty;
        } else {
            self.gap(tag.name);
        }
        if !tag.empty {
            self.elements.open(tag.name, hides(tag, tokens));
        }
    }

    /// Whether an element here says nothing of the document: one in a template, which is no part of it, or
    /// one of a drawing, which has only the name of HTML's.
    fn says_nothing(&self, tag: Tag) -> bool {
        self.in_noscript || tag.foreign || self.elements.are_in_template()
    }

    fn end(&mut self, name: Name) {
        self.unseen = false;
        if name != names::TITLE || !std::mem::take(&mut self.drawing_title) {
            self.gap(name);
        }
        // In a template, it ends a link there, which is none of the page.
        if name == names::A && !self.elements.are_in_template() {
            self.close_link();
        }
        self.elements.close(name);
    }

    /// Separates the texts around a tag, if its element does so.
    fn gap(&mut self, name: Name) {
        if name.breaks() {
            self.space = true;
            if self.links_only {
                return;
            }
            self.hasher.gap();
            if self.hidden.last().is_some_and(|last| !last.is_empty()) {
                self.hidden.push("");
            }
        }
    }

    fn text(&mut self, text: &'h str) {
        if std::mem::take(&mut self.unseen) {
            if self.drawing_title
                && let Some(link) = self.open.and_then(|index| self.found.get_mut(index))
                && link.title.0.trim().is_empty()
            {
                link.title = (text, Place::Text);
            }
            return;
        }
        if self.elements.hide()
            && !self.links_only
            && !self.elements.is_template()
            && self.hasher.is_shorter(SUSPICIOUSLY_SHORT)
        {
            self.hidden.push(text);
        }
        if memchr(b'&', text.as_bytes()).is_some() {
            let mut scratch = std::mem::take(&mut self.scratch);
            scratch.clear();
            decode_into(text, Place::Text, &mut scratch);
            self.visible(&scratch);
            self.scratch = scratch;
        } else {
            self.visible(text);
        }
    }

    /// If almost no text is visible, a script probably shows the hidden text, so that counts as
    /// content.
    fn show_hidden(&mut self) {
        let hidden = std::mem::take(&mut self.hidden);
        let bytes: usize = hidden.iter().map(|text| text.trim().len()).sum();
        let is_page = self.hasher.is_shorter(1)
            || (self.hasher.is_shorter(SUSPICIOUSLY_SHORT) && bytes >= PLAUSIBLY_CONTENT);
        if !is_page {
            return;
        }
        self.hasher.gap();
        for text in hidden {
            if text.is_empty() {
                self.hasher.gap();
            } else {
                self.hasher.push(&decoded_text(text));
            }
        }
    }

    /// Keeps the first title that has text; cut before its references are decoded.
    fn title(&mut self, text: &str) {
        if self.title.is_none() && !self.in_noscript && !self.elements.are_in_template() {
            let cut = text.floor_char_boundary(MAX_TITLE_BYTES);
            self.title = Some(text.get(..cut).unwrap_or("").to_owned());
        }
    }

    fn visible(&mut self, text: &str) {
        if !self.elements.hide() && !self.links_only {
            self.hasher.push(text);
        }
        if let Some(index) = self.open
            && let Some(link) = self.found.get(index)
            && self.anchors.len() - link.text.start < MAX_ANCHOR_BYTES
            && !self.elements.are_in_template()
        {
            let cut = text
                .get(..text.floor_char_boundary(MAX_ANCHOR_BYTES * 4))
                .unwrap_or("");
            collapse(cut, &mut self.begun, &mut self.space, &mut self.anchors);
        }
    }

    fn close_link(&mut self) {
        if let Some(index) = self.open.take()
            && let Some(link) = self.found.get_mut(index)
        {
            let text = self.anchors.get(link.text.start..).unwrap_or_default();
            let end = link.text.start + text.floor_char_boundary(MAX_ANCHOR_BYTES);
            self.anchors.truncate(end);
            link.text.end = end;
        }
    }

    fn anchor(&mut self, tag: &Tokens<'h>) {
        if self.elements.are_in_template() {
            return;
        }
        self.close_link();
        self.open = self.push(tag);
        self.begun = false;
        self.space = false;
    }

    fn push(&mut self, tag: &Tokens<'h>) -> Option<usize> {
        let href = tag
            .attribute("href")
            .or_else(|| tag.attribute("xlink:href"))?;
        if self.elements.are_in_template() {
            return None;
        }
        if self.found.len() >= MAX_LINKS {
            self.dropped += 1;
            return None;
        }
        let given = |name: &&str| tag.attribute(name).filter(|label| !label.is_empty());
        let label = ["alt", "aria-label"].iter().find_map(given).unwrap_or("");
        let title = given(&"title").unwrap_or("");
        let start = self.anchors.len();
        self.found.push(SourceLink {
            href,
            rel: tag.attribute("rel").unwrap_or(""),
            label,
            title: (title, Place::Attribute),
            text: start..start,
        });
        Some(self.found.len() - 1)
    }

    /// Takes the label of an element for that of the link around it, which has no text yet.
    fn label_link(&mut self, tag: &Tokens<'h>) {
        if let Some(link) = self.open.and_then(|index| self.found.get_mut(index))
            && !self.begun
            && link.label.is_empty()
            && !self.elements.are_in_template()
        {
            link.label = tag.attribute("aria-label").unwrap_or("");
        }
    }

    fn image(&mut self, tag: &Tokens<'h>) {
        if let Some(index) = self.open.filter(|_| !self.begun)
            && self.alts.len() < MAX_ALTS
            && !self.elements.are_in_template()
            && let Some(alt) = tag.attribute("alt").filter(|alt| !alt.is_empty())
        {
            self.alts.push((index, alt));
        }
    }

    fn link(&mut self, tag: &Tokens<'h>) {
        let rel = tag.attribute("rel").unwrap_or("");
        if self.canonical.is_none()
            && rel
                .split_ascii_whitespace()
                .any(|rel| rel.eq_ignore_ascii_case("canonical"))
        {
            self.canonical = tag.attribute("href");
        }
    }

    fn meta(&mut self, tag: &Tokens<'h>) {
        let Some(content) = tag.attribute("content") else {
            return;
        };
        if let Some(name) = tag.attribute("name") {
            let name = name.trim();
            if name.eq_ignore_ascii_case("robots") || name.eq_ignore_ascii_case(PRODUCT_TOKEN) {
                self.facts.robots.add(&decoded(content));
            }
        }
        let pragma = tag.attribute("http-equiv").unwrap_or("");
        if self.facts.refresh.is_none() && pragma.trim().eq_ignore_ascii_case("refresh") {
            self.facts.refresh = Refresh::parse(&decoded(content));
        }
    }

    fn finish(mut self, base_url: &str) -> PageFacts {
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
        let base = base.map(|base| base.limited(MAX_PAGE_URL_BYTES));
        let mut facts = std::mem::take(&mut self.facts);
        // Sites write the session or the visitor's origin into it, which is no change of the page.
        let mut canonical_key = None;
        if let Some(base) = &base {
            let canonical = self
                .canonical
                .and_then(|href| base.join(decoded(href).trim()));
            canonical_key = canonical
                .as_ref()
                .map(|url| key_of(url, KeyRules::default()));
            facts.canonical = canonical.map(Resolved::into_string);
            (facts.links, facts.noscript_links) = self.resolve(base, facts.robots.nofollow);
        }
        facts.base = base.map_or_else(|| base_url.to_owned(), |base| base.as_str().to_owned());
        facts.title = self
            .title
            .map(|title| one_line(&decoded(&title)))
            .filter(|title| !title.is_empty());
        let title = facts.title.as_deref().unwrap_or("");
        let (chars, hash) = self
            .hasher
            .finish(title, canonical_key.as_deref().unwrap_or(""));
        facts.text_chars = chars;
        facts.content_hash = hash;
        facts
    }

    /// The links of the page, and those of `noscript`s beside it.
    fn resolve(&self, base: &Base, page_nofollow: bool) -> (Links, Links) {
        let (own, dropped) = self.own;
        let text = own * base.as_str().len().min(64) + self.anchors.len();
        let mut page = Links::with_capacity(own, text, dropped);
        let mut beside = Links::with_capacity(0, 0, self.dropped - dropped);
        let mut to = Resolved::default();
        let mut alts = self.alts.iter().peekable();
        for (index, found) in self.found.iter().enumerate() {
            let mut label = String::new();
            while let Some((_, alt)) = alts.next_if(|(of, _)| *of <= index) {
                label.push(' ');
                label.push_str(&decoded(alt));
            }
            let links = if index < own { &mut page } else { &mut beside };
            if !base.join_into(&decoded(found.href), &mut to) {
                links.dropped += usize::from(base.is_exhausted());
                continue;
            }
            let text = self.anchors.get(found.text.clone()).unwrap_or("");
            let mut anchor = Cow::Borrowed(text);
            if anchor.is_empty() {
                label = one_line(&label);
                if label.is_empty() {
                    label = one_line(&decoded(found.label));
                }
                if label.is_empty() {
                    let (title, place) = found.title;
                    label = one_line(&decoded_in(title, place));
                }
                anchor = Cow::Owned(label);
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
        (page, beside)
    }
}

/// Whether an element is hidden by its attributes, or as a template that is no declarative shadow root.
fn hides(tag: Tag, tokens: &Tokens<'_>) -> bool {
    if tag.name == names::TEMPLATE {
        let mode = tokens.attribute("shadowrootmode").unwrap_or("");
        return !["open", "closed"]
            .iter()
            .any(|is| mode.eq_ignore_ascii_case(is));
    }
    tag.hidden
        || tokens.attribute("style").is_some_and(style_hides)
        || (tag.name == names::DIALOG && tokens.attribute("open").is_none())
}

fn forbids_following(rel: &str) -> bool {
    rel.split_ascii_whitespace().any(|rel| {
        ["nofollow", "ugc", "sponsored"]
            .iter()
            .any(|known| rel.eq_ignore_ascii_case(known))
    })
}
