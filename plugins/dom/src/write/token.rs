//! What the tokenizer hands to the tree builder. Strings are parts of the page; only those that
//! differ from it, because of references, NULs or capital letters, are copies.

use std::borrow::Cow;

use super::names::Name;

/// A tag.
#[derive(Debug)]
pub(super) struct Tag<'a> {
    pub(super) name: Name,
    /// The name's letters; empty if the snapshot's table has them.
    pub(super) spelled: Cow<'a, str>,
    /// In order, no name twice. An end tag's are left out.
    pub(super) attrs: Vec<Attr<'a>>,
    pub(super) self_closing: bool,
}

impl Default for Tag<'_> {
    fn default() -> Self {
        Self {
            name: Name::NONE,
            spelled: Cow::Borrowed(""),
            attrs: Vec::new(),
            self_closing: false,
        }
    }
}

impl Tag<'_> {
    /// The value of an attribute of the snapshot's table.
    pub(super) fn attr(&self, id: u16) -> Option<&str> {
        self.attrs.iter().find(|a| a.id == id).map(|a| &*a.value)
    }
}

/// An attribute.
#[derive(Debug)]
pub(super) struct Attr<'a> {
    /// [`names::key`](super::names::key) of its name.
    pub(super) key: u128,
    /// Its name's id in the snapshot's table or 0.
    pub(super) id: u16,
    pub(super) name: Cow<'a, str>,
    pub(super) value: Cow<'a, str>,
}

impl<'a> Attr<'a> {
    /// An attribute without a value.
    pub(super) fn new(key: u128, name: Cow<'a, str>) -> Self {
        Self {
            key,
            id: super::names::attr_id(key),
            name,
            value: Cow::Borrowed(""),
        }
    }

    /// Whether both have one name.
    #[inline]
    pub(super) fn is_named_like(&self, other: &Attr<'_>) -> bool {
        self.key == other.key && (self.key != 0 || self.name == other.name)
    }

    /// What its record says in HTML: word 0, the name where that is 0, and the value.
    #[inline]
    pub(super) fn parts(&self) -> AttrParts<'_> {
        let name = if self.id == 0 { &*self.name } else { "" };
        (u32::from(self.id), name, &self.value)
    }
}

/// What an attribute's record says: word 0, the name where that has no id, and the value.
pub(super) type AttrParts<'t> = (u32, &'t str, &'t str);

/// A doctype.
#[derive(Debug, Default)]
pub(super) struct Doctype<'a> {
    pub(super) name: Option<String>,
    pub(super) public_id: Option<Cow<'a, str>>,
    pub(super) system_id: Option<Cow<'a, str>>,
    pub(super) force_quirks: bool,
}

/// What the text after a start tag is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// Text and tags.
    Markup,
    /// Text up to the element's end tag.
    Raw(Raw),
    /// Text up to the end of the page.
    Plaintext,
}

/// Text that ends at the end tag of its element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Raw {
    /// With character references.
    Rcdata,
    /// Without.
    Rawtext,
    /// Without, and with comments that hide an end tag.
    Script,
}
