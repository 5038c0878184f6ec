//! Properties of open elements that the rules ask for, as bits.

use super::super::names::Name;
use crate::format::{NS_HTML, NS_MATHML, NS_SVG};
use crate::names::tag;

/// In the HTML namespace.
pub(super) const HTML: u32 = 1;
/// In the SVG namespace.
pub(super) const SVG: u32 = 1 << 1;
/// In the MathML namespace.
pub(super) const MATHML: u32 = 1 << 2;
/// Ends a scope: <https://html.spec.whatwg.org/multipage/parsing.html#has-an-element-in-scope>. As in
/// every snapshot so far, `annotation-xml` does not.
pub(super) const SCOPE: u32 = 1 << 3;
/// Ends a list item scope, besides [`SCOPE`].
pub(super) const LIST_SCOPE: u32 = 1 << 4;
/// Ends a button scope, besides [`SCOPE`].
pub(super) const BUTTON_SCOPE: u32 = 1 << 5;
/// Ends a table scope.
pub(super) const TABLE_SCOPE: u32 = 1 << 6;
/// Special: <https://html.spec.whatwg.org/multipage/parsing.html#special>. As in every snapshot
/// so far, `search`, `keygen` and elements of SVG and MathML are not, and `isindex` is.
pub(super) const SPECIAL: u32 = 1 << 7;
/// Its end tag may be implied.
pub(super) const IMPLIED_END: u32 = 1 << 8;
/// Its end tag may be implied at the end of a template.
pub(super) const IMPLIED_END_IN_TEMPLATE: u32 = 1 << 9;
/// What is misplaced in it goes before its table.
pub(super) const FOSTERS: u32 = 1 << 10;
/// Where a table row may stand, or a whole template or document.
pub(super) const ROW_PARENT: u32 = 1 << 11;
/// Where a cell may stand, or a whole template or document.
pub(super) const CELL_PARENT: u32 = 1 << 12;
/// `h1` to `h6`.
pub(super) const HEADING: u32 = 1 << 13;
/// `td` and `th`.
pub(super) const CELL: u32 = 1 << 14;
/// A MathML text integration point.
pub(super) const TEXT_POINT: u32 = 1 << 15;
/// An HTML integration point that `foreignObject`, `desc` and `title` of SVG are.
pub(super) const HTML_POINT: u32 = 1 << 16;
/// `annotation-xml` of MathML.
pub(super) const ANNOTATION: u32 = 1 << 17;
/// An `annotation-xml` whose contents are HTML.
pub(super) const HTML_ANNOTATION: u32 = 1 << 18;

/// The bits of an element, but for [`HTML_ANNOTATION`].
#[inline]
pub(super) fn of(namespace: u32, name: Name) -> u32 {
    match namespace {
        NS_HTML => {
            let known = usize::from(name.tag());
            HTML_CLASSES.get(known).copied().unwrap_or(HTML)
        }
        NS_SVG => match name.tag() {
            tag::DESC | tag::TITLE => SVG | HTML_POINT | SCOPE,
            _ if name == Name::FOREIGN_OBJECT => SVG | HTML_POINT | SCOPE,
            _ => SVG,
        },
        NS_MATHML => match name.tag() {
            tag::MI | tag::MO | tag::MN | tag::MS | tag::MTEXT => MATHML | TEXT_POINT | SCOPE,
            tag::ANNOTATION_XML => MATHML | ANNOTATION,
            _ => MATHML,
        },
        _ => 0,
    }
}

/// The bits of HTML's elements by id.
static HTML_CLASSES: [u32; tag::NAMES.len()] = html_classes();

const fn html_classes() -> [u32; tag::NAMES.len()] {
    let mut classes = [HTML; tag::NAMES.len()];
    let sets: [(u32, &[u16]); 12] = [
        (
            SCOPE,
            &[
                tag::APPLET,
                tag::CAPTION,
                tag::HTML,
                tag::TABLE,
                tag::TD,
                tag::TH,
                tag::MARQUEE,
                tag::OBJECT,
                tag::SELECT,
                tag::TEMPLATE,
            ],
        ),
        (LIST_SCOPE, &[tag::OL, tag::UL]),
        (BUTTON_SCOPE, &[tag::BUTTON]),
        (TABLE_SCOPE, &[tag::HTML, tag::TABLE, tag::TEMPLATE]),
        (
            SPECIAL,
            &[
                tag::ADDRESS,
                tag::APPLET,
                tag::AREA,
                tag::ARTICLE,
                tag::ASIDE,
                tag::BASE,
                tag::BASEFONT,
                tag::BGSOUND,
                tag::BLOCKQUOTE,
                tag::BODY,
                tag::BR,
                tag::BUTTON,
                tag::CAPTION,
                tag::CENTER,
                tag::COL,
                tag::COLGROUP,
                tag::DD,
                tag::DETAILS,
                tag::DIR,
                tag::DIV,
                tag::DL,
                tag::DT,
                tag::EMBED,
                tag::FIELDSET,
                tag::FIGCAPTION,
                tag::FIGURE,
                tag::FOOTER,
                tag::FORM,
                tag::FRAME,
                tag::FRAMESET,
                tag::H1,
                tag::H2,
                tag::H3,
                tag::H4,
                tag::H5,
                tag::H6,
                tag::HEAD,
                tag::HEADER,
                tag::HGROUP,
                tag::HR,
                tag::HTML,
                tag::IFRAME,
                tag::IMG,
                tag::INPUT,
                tag::ISINDEX,
                tag::LI,
                tag::LINK,
                tag::LISTING,
                tag::MAIN,
                tag::MARQUEE,
                tag::MENU,
                tag::META,
                tag::NAV,
                tag::NOEMBED,
                tag::NOFRAMES,
                tag::NOSCRIPT,
                tag::OBJECT,
                tag::OL,
                tag::P,
                tag::PARAM,
                tag::PLAINTEXT,
                tag::PRE,
                tag::SCRIPT,
                tag::SECTION,
                tag::SELECT,
                tag::SOURCE,
                tag::STYLE,
                tag::SUMMARY,
                tag::TABLE,
                tag::TBODY,
                tag::TD,
                tag::TEMPLATE,
                tag::TEXTAREA,
                tag::TFOOT,
                tag::TH,
                tag::THEAD,
                tag::TITLE,
                tag::TR,
                tag::TRACK,
                tag::UL,
                tag::WBR,
                tag::XMP,
            ],
        ),
        (
            IMPLIED_END | IMPLIED_END_IN_TEMPLATE,
            &[
                tag::DD,
                tag::DT,
                tag::LI,
                tag::OPTION,
                tag::OPTGROUP,
                tag::P,
                tag::RB,
                tag::RP,
                tag::RT,
                tag::RTC,
            ],
        ),
        (
            IMPLIED_END_IN_TEMPLATE,
            &[
                tag::CAPTION,
                tag::COLGROUP,
                tag::TBODY,
                tag::TD,
                tag::TFOOT,
                tag::TH,
                tag::THEAD,
                tag::TR,
            ],
        ),
        (
            FOSTERS,
            &[tag::TABLE, tag::TBODY, tag::TFOOT, tag::THEAD, tag::TR],
        ),
        (
            ROW_PARENT,
            &[tag::TBODY, tag::TFOOT, tag::THEAD, tag::TEMPLATE, tag::HTML],
        ),
        (CELL_PARENT, &[tag::TR, tag::TEMPLATE, tag::HTML]),
        (
            HEADING,
            &[tag::H1, tag::H2, tag::H3, tag::H4, tag::H5, tag::H6],
        ),
        (CELL, &[tag::TD, tag::TH]),
    ];
    let mut set = 0;
    while set < sets.len() {
        let (class, tags) = sets[set];
        let mut at = 0;
        while at < tags.len() {
            classes[tags[at] as usize] |= class;
            at += 1;
        }
        set += 1;
    }
    classes
}
