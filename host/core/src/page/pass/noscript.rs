//! What is in a `noscript`: the page itself, or links beside it.

use std::borrow::Cow;

use orbweaver_markup::{Token, Tokens};

use super::super::decoded::decoded_text;
use super::super::open::OpenElements;
use super::{State, hides};
use crate::limits::MAX_LINKS;

/// A `noscript` this long, in bytes, may hold a page.
const PLAUSIBLY_PAGE: usize = 1_500;
/// The shortest source that has a link.
const LINK_BYTES: usize = "<a href=x>".len();

impl<'h> State<'h> {
    /// Keeps the source in a `noscript` until the page has been read.
    pub(super) fn keep_noscript(&mut self, source: &'h str) {
        if source.len() >= LINK_BYTES && self.noscripts.len() < MAX_LINKS {
            self.noscripts.push(source);
        }
    }

    /// Where nearly all text of the page is in a `noscript`, that is the page: forums that are
    /// applications keep their threads there. Its text and links follow the page's own.
    pub(super) fn show_noscript(&mut self) {
        let longest = self.noscripts.iter().enumerate();
        let Some((index, source)) = longest.max_by_key(|(_, source)| source.len()) else {
            return;
        };
        let source = *source;
        let shorter_than = |bytes: usize| self.hasher.is_shorter((bytes / 2) as u64);
        if source.len() < PLAUSIBLY_PAGE
            || !shorter_than(source.len())
            || !shorter_than(text_bytes(source))
        {
            return;
        }
        self.noscripts.remove(index);
        self.hasher.gap();
        self.noscript(source);
    }

    /// Takes the links of the other ones, and nothing else: their texts mostly say that scripts are off.
    pub(super) fn link_noscripts(&mut self) {
        self.close_link();
        self.own = (self.found.len(), self.dropped);
        self.links_only = true;
        for source in std::mem::take(&mut self.noscripts) {
            self.noscript(source);
            self.close_link();
        }
    }

    fn noscript(&mut self, source: &'h str) {
        self.close_link();
        self.elements = OpenElements::default();
        self.in_noscript = true;
        self.source(source);
    }
}

/// How much visible text a source has, its words one space apart.
fn text_bytes(html: &str) -> usize {
    let mut bytes = 0;
    let mut elements = OpenElements::default();
    let mut tokens = Tokens::new(html);
    while let Some(token) = tokens.next() {
        let text = match token {
            Token::Start(tag) => {
                if !tag.empty {
                    elements.open(tag.name, hides(tag, &tokens));
                }
                continue;
            }
            Token::End(name) => {
                elements.close(name);
                continue;
            }
            Token::Text(text) => decoded_text(text),
            Token::Verbatim(text) => Cow::Borrowed(text),
            Token::Title(_) => continue,
        };
        if !elements.hide() {
            let words = text.split_whitespace();
            bytes += words.map(|word| word.len() + 1).sum::<usize>();
        }
    }
    bytes
}
