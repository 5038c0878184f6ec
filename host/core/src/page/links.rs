//! A page's links, with all their text in one string.

use std::ops::Range;

/// A link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link<'a> {
    /// Target URL: absolute, as written, with its fragment.
    pub to: &'a str,
    /// Its text, else the `alt` of its images, else its label or title.
    pub anchor: &'a str,
    /// Its `rel`, white space collapsed; empty without one.
    pub rel: &'a str,
    /// Whether it must not be followed: by `rel` nofollow, ugc or sponsored, or by the page's
    /// own robots directive.
    pub nofollow: bool,
}

/// Links in document order, with repeats.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Links {
    text: String,
    items: Vec<LinkRanges>,
    /// Number of links beyond the limits of number and of URL bytes.
    pub dropped: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct LinkRanges {
    to: Range<u32>,
    anchor: Range<u32>,
    rel: Range<u32>,
    nofollow: bool,
}

impl<'a> FromIterator<Link<'a>> for Links {
    fn from_iter<T: IntoIterator<Item = Link<'a>>>(links: T) -> Self {
        let mut all = Self::default();
        for link in links {
            all.push(link);
        }
        all
    }
}

impl Links {
    /// The link at an index.
    pub fn get(&self, index: usize) -> Option<Link<'_>> {
        self.items.get(index).map(|item| self.link(item))
    }

    /// Number of links.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Bytes of their text.
    pub const fn text_bytes(&self) -> usize {
        self.text.len()
    }

    /// All of them.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Link<'_>> {
        self.items.iter().map(|item| self.link(item))
    }

    /// Adds these.
    pub fn append(&mut self, links: &Self) {
        links.iter().for_each(|link| self.push(link));
        self.dropped += links.dropped;
    }

    /// Marks all links nofollow, because the response headers say so.
    pub fn forbid_following(&mut self) {
        for item in &mut self.items {
            item.nofollow = true;
        }
    }

    fn link(&self, item: &LinkRanges) -> Link<'_> {
        Link {
            to: self.part(&item.to),
            anchor: self.part(&item.anchor),
            rel: self.part(&item.rel),
            nofollow: item.nofollow,
        }
    }

    fn part(&self, range: &Range<u32>) -> &str {
        self.text
            .get(range.start as usize..range.end as usize)
            .unwrap_or("")
    }

    /// Reserves room for `links` links with `text` bytes of text; `dropped` were left out already.
    pub(super) fn with_capacity(links: usize, text: usize, dropped: usize) -> Self {
        Self {
            text: String::with_capacity(text),
            items: Vec::with_capacity(links),
            dropped,
        }
    }

    pub(super) fn push(&mut self, link: Link<'_>) {
        let mut put = |text: &str| {
            let start = u32::try_from(self.text.len()).unwrap_or(u32::MAX);
            self.text.push_str(text);
            start..u32::try_from(self.text.len()).unwrap_or(u32::MAX)
        };
        let (to, anchor, rel) = (put(link.to), put(link.anchor), put(link.rel));
        self.items.push(LinkRanges {
            to,
            anchor,
            rel,
            nofollow: link.nofollow,
        });
    }
}
