//! What a selector is made of here: names with their ids, namespaces as numbers, the
//! pseudo-classes of a page at rest.

use std::fmt;

use cssparser::{CowRcStr, ParseError, ToCss};
use precomputed_hash::PrecomputedHash;
use selectors::parser::{self, SelectorParseErrorKind};

use crate::format::{NS_HTML, NS_MATHML, NS_SVG, NS_XLINK, NS_XML};
use crate::names::{attr, tag};

/// The types of a compiled selector.
#[derive(Clone, Debug)]
pub(super) struct Names;

impl parser::SelectorImpl for Names {
    type ExtraMatchingData<'a> = ();
    type AttrValue = Value;
    type Identifier = Text;
    type LocalName = Name;
    type NamespaceUrl = Namespace;
    type NamespacePrefix = Text;
    type BorrowedNamespaceUrl = Namespace;
    type BorrowedLocalName = Name;
    type NonTSPseudoClass = PseudoClass;
    type PseudoElement = PseudoElement;
}

/// A class, an id or a namespace's prefix.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Text(Box<str>);

impl AsRef<str> for Text {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Text {
    fn from(s: &str) -> Self {
        Self(s.into())
    }
}

impl ToCss for Text {
    fn to_css<W: fmt::Write>(&self, dest: &mut W) -> fmt::Result {
        cssparser::serialize_identifier(&self.0, dest)
    }
}

impl PrecomputedHash for Text {
    fn precomputed_hash(&self) -> u32 {
        hash(&self.0)
    }
}

/// The value an attribute is compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Value(Box<str>);

impl AsRef<str> for Value {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Value {
    fn from(s: &str) -> Self {
        Self(s.into())
    }
}

impl ToCss for Value {
    fn to_css<W: fmt::Write>(&self, dest: &mut W) -> fmt::Result {
        cssparser::serialize_string(&self.0, dest)
    }
}

/// The name of an element or attribute, with both tables' ids.
#[derive(Clone, Debug)]
pub(super) struct Name {
    text: Box<str>,
    tag: u16,
    attr: u16,
}

impl Name {
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn tag(&self) -> u16 {
        self.tag
    }

    pub(super) fn attr(&self) -> u16 {
        self.attr
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Name {}

impl From<&str> for Name {
    fn from(s: &str) -> Self {
        Self {
            text: s.into(),
            tag: tag::id(s),
            attr: attr::id(s),
        }
    }
}

impl ToCss for Name {
    fn to_css<W: fmt::Write>(&self, dest: &mut W) -> fmt::Result {
        cssparser::serialize_identifier(&self.text, dest)
    }
}

impl PrecomputedHash for Name {
    fn precomputed_hash(&self) -> u32 {
        hash(&self.text)
    }
}

/// FNV-1a. The crate asks for hashes for bloom filters, which are not used here.
fn hash(s: &str) -> u32 {
    s.bytes().fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

/// The namespace a selector asks for: one of the snapshot's, or none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Namespace(pub(super) Option<u32>);

impl PrecomputedHash for Namespace {
    fn precomputed_hash(&self) -> u32 {
        self.0.map_or(0, |number| number + 1)
    }
}

/// The pseudo-classes that are no matter of structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PseudoClass {
    Link,
    AnyLink,
    Checked,
    Disabled,
    Enabled,
    Required,
    Optional,
}

impl PseudoClass {
    const ALL: [(&'static str, Self); 7] = [
        ("link", Self::Link),
        ("any-link", Self::AnyLink),
        ("checked", Self::Checked),
        ("disabled", Self::Disabled),
        ("enabled", Self::Enabled),
        ("required", Self::Required),
        ("optional", Self::Optional),
    ];
}

impl parser::NonTSPseudoClass for PseudoClass {
    fn is_active_or_hover(&self) -> bool {
        false
    }

    fn is_user_action_state(&self) -> bool {
        false
    }
}

impl ToCss for PseudoClass {
    fn to_css<W: fmt::Write>(&self, dest: &mut W) -> fmt::Result {
        let name = Self::ALL
            .iter()
            .find(|(_, class)| class == self)
            .map_or("", |(name, _)| name);
        write!(dest, ":{name}")
    }
}

/// There are none: every pseudo-element is an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PseudoElement {}

impl parser::PseudoElement for PseudoElement {}

impl ToCss for PseudoElement {
    fn to_css<W: fmt::Write>(&self, _: &mut W) -> fmt::Result {
        match *self {}
    }
}

/// Which parts of the selector language are on.
pub(super) struct Grammar;

impl<'i> parser::Parser<'i> for Grammar {
    type Impl = Names;
    type Error = SelectorParseErrorKind;

    fn parse_nth_child_of(&self) -> bool {
        true
    }

    fn parse_is_and_where(&self) -> bool {
        true
    }

    fn parse_has(&self) -> bool {
        true
    }

    fn parse_non_ts_pseudo_class(
        &self,
        name: CowRcStr<'i>,
    ) -> Result<PseudoClass, ParseError<Self::Error>> {
        PseudoClass::ALL
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(&name))
            .map(|(_, class)| *class)
            .ok_or_else(|| {
                ParseError::custom(SelectorParseErrorKind::UnsupportedPseudoClassOrElement)
            })
    }

    fn namespace_for_prefix(&self, prefix: &Text) -> Option<Namespace> {
        let number = match prefix.as_ref() {
            "html" => NS_HTML,
            "svg" => NS_SVG,
            "math" => NS_MATHML,
            "xlink" => NS_XLINK,
            "xml" => NS_XML,
            _ => return None,
        };
        Some(Namespace(Some(number)))
    }
}
