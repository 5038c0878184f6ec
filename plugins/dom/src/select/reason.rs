//! Why a text is no selector, in words.

use cssparser::{BasicParseErrorKind, ParseErrorKind};
use selectors::parser::SelectorParseErrorKind;

/// The rule that a text breaks, without its place: the parser has the tokens no more.
pub(super) const fn reason(kind: &ParseErrorKind<SelectorParseErrorKind>) -> &'static str {
    match kind {
        ParseErrorKind::Basic(kind) => basic(kind),
        ParseErrorKind::Custom(kind) => custom(kind),
    }
}

const fn basic(kind: &BasicParseErrorKind) -> &'static str {
    match kind {
        BasicParseErrorKind::UnexpectedToken => {
            "it has a character or word that cannot stand where it is"
        }
        BasicParseErrorKind::EndOfInput => "it ends too early",
        BasicParseErrorKind::AtRuleInvalid | BasicParseErrorKind::AtRuleBodyInvalid => {
            "it has an @ rule"
        }
        BasicParseErrorKind::QualifiedRuleInvalid => "it is a rule with a body",
        BasicParseErrorKind::TooManyNestedBlocks => "it has too many nested parentheses",
    }
}

const fn custom(kind: &SelectorParseErrorKind) -> &'static str {
    match kind {
        SelectorParseErrorKind::EmptySelector => "it, or a part between commas, is empty",
        SelectorParseErrorKind::DanglingCombinator => {
            "nothing follows a combinator (space, >, + or ~)"
        }
        SelectorParseErrorKind::NonCompoundSelector => {
            "it has a combinator where only one element may be described"
        }
        SelectorParseErrorKind::InvalidState => {
            "it has a part that is not allowed there, such as :has() in :has()"
        }
        SelectorParseErrorKind::UnsupportedPseudoClassOrElement => {
            "it has a pseudo-class or pseudo-element that is not supported"
        }
        SelectorParseErrorKind::PseudoElementExpectedColon
        | SelectorParseErrorKind::PseudoElementExpectedIdent
        | SelectorParseErrorKind::NoIdentForPseudo => "no name follows a colon",
        SelectorParseErrorKind::NonPseudoElementAfterSlotted
        | SelectorParseErrorKind::InvalidPseudoElementAfterSlotted
        | SelectorParseErrorKind::InvalidPseudoElementInsideWhere => {
            "it has a pseudo-element that is not allowed there"
        }
        SelectorParseErrorKind::UnexpectedIdent => "it has a word that cannot stand where it is",
        SelectorParseErrorKind::ExpectedNamespace => {
            "it has a namespace that is not known: html, svg, math, xlink and xml are"
        }
        SelectorParseErrorKind::ExplicitNamespaceUnexpectedToken => {
            "no name of an element follows |"
        }
        SelectorParseErrorKind::ClassNeedsIdent => "no name of a class follows a dot",
        SelectorParseErrorKind::NoQualifiedNameInAttributeSelector
        | SelectorParseErrorKind::InvalidQualNameInAttr => "no name of an attribute follows [",
        SelectorParseErrorKind::ExpectedBarInAttr => "no | follows * in [ ]",
        SelectorParseErrorKind::UnexpectedTokenInAttributeSelector => {
            "the name of an attribute is not followed by ], =, ~=, |=, ^=, $= or *="
        }
        SelectorParseErrorKind::BadValueInAttr => {
            "the value of an attribute is neither a word nor in quotes"
        }
    }
}
