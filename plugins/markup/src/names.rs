//! Element names as numbers, and classes of elements in the HTML standard.

/// An element's name in lower case: its bytes as one number, which is fast to compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name(u128);

impl Name {
    /// Reads a name in a tag, in any case. A name of more than sixteen bytes becomes a hash: all
    /// known elements have shorter names.
    #[inline]
    pub fn read(name: &[u8]) -> Self {
        let mut packed = 0_u128;
        for byte in name {
            packed = packed.rotate_left(8) ^ u128::from(byte.to_ascii_lowercase());
        }
        Self(packed)
    }

    /// Creates a known name of at most sixteen lower-case letters.
    pub const fn new(name: &str) -> Self {
        let bytes = name.as_bytes();
        let mut packed = 0;
        let mut at = 0;
        while at < bytes.len() {
            packed = packed << 8 | bytes[at] as u128;
            at += 1;
        }
        Self(packed)
    }
}

macro_rules! names {
    ($($constant:ident = $name:literal),* $(,)?) => {
        $(
            #[doc = concat!("`", $name, "`")]
            pub const $constant: Name = Name::new($name);
        )*
    };
}

names! {
    A = "a", ADDRESS = "address", ANNOTATION_XML = "annotation-xml", AREA = "area",
    ARTICLE = "article", ASIDE = "aside", B = "b", BASE = "base", BASEFONT = "basefont",
    BGSOUND = "bgsound", BIG = "big", BLOCKQUOTE = "blockquote", BODY = "body", BR = "br",
    CAPTION = "caption", CENTER = "center", CODE = "code", COL = "col", COLGROUP = "colgroup",
    DD = "dd", DESC = "desc", DETAILS = "details", DIALOG = "dialog", DIR = "dir", DIV = "div",
    DL = "dl", DT = "dt", EM = "em", EMBED = "embed", FIELDSET = "fieldset",
    FIGCAPTION = "figcaption", FIGURE = "figure", FONT = "font", FOOTER = "footer",
    FOREIGN_OBJECT = "foreignobject", FORM = "form", FRAME = "frame", H1 = "h1", H2 = "h2",
    H3 = "h3", H4 = "h4", H5 = "h5", H6 = "h6", HEAD = "head", HEADER = "header",
    HGROUP = "hgroup", HR = "hr", HTML = "html", I = "i", IFRAME = "iframe", IMG = "img",
    INPUT = "input", KEYGEN = "keygen", LEGEND = "legend", LI = "li", LINK = "link",
    LISTING = "listing", MAIN = "main", MATH = "math", MENU = "menu", META = "meta", MI = "mi",
    MN = "mn", MO = "mo", MS = "ms", MTEXT = "mtext", NAV = "nav", NOBR = "nobr",
    NOEMBED = "noembed", NOFRAMES = "noframes", NOSCRIPT = "noscript", OL = "ol",
    OPTGROUP = "optgroup", OPTION = "option", P = "p", PARAM = "param", PLAINTEXT = "plaintext",
    PRE = "pre", RP = "rp", RT = "rt", RUBY = "ruby", S = "s", SCRIPT = "script",
    SECTION = "section", SMALL = "small", SOURCE = "source", SPAN = "span", STRIKE = "strike",
    STRONG = "strong", STYLE = "style", SUB = "sub", SUMMARY = "summary", SUP = "sup",
    SVG = "svg", TABLE = "table", TBODY = "tbody", TD = "td", TEMPLATE = "template",
    TEXTAREA = "textarea", TFOOT = "tfoot", TH = "th", THEAD = "thead", TITLE = "title",
    TR = "tr", TRACK = "track", TT = "tt", U = "u", UL = "ul", VAR = "var", WBR = "wbr",
    XMP = "xmp",
}

impl Name {
    /// Whether it starts and ends a line: `display: block` and similar in the HTML standard's
    /// style sheet.
    pub const fn breaks(self) -> bool {
        matches!(
            self,
            ADDRESS
                | ARTICLE
                | ASIDE
                | BLOCKQUOTE
                | BODY
                | BR
                | CAPTION
                | CENTER
                | DD
                | DETAILS
                | DIALOG
                | DIR
                | DIV
                | DL
                | DT
                | FIELDSET
                | FIGCAPTION
                | FIGURE
                | FOOTER
                | FORM
                | H1
                | H2
                | H3
                | H4
                | H5
                | H6
                | HEADER
                | HGROUP
                | HR
                | LEGEND
                | LI
                | MAIN
                | MENU
                | NAV
                | OL
                | OPTION
                | P
                | PRE
                | SECTION
                | SUMMARY
                | TABLE
                | TD
                | TH
                | TITLE
                | TR
                | UL
        )
    }

    /// Whether its end tag may be omitted, so that its end is unknown without a tree.
    pub const fn may_stay_open(self) -> bool {
        matches!(
            self,
            BODY | CAPTION
                | COLGROUP
                | DD
                | DT
                | HEAD
                | HTML
                | LI
                | OPTGROUP
                | OPTION
                | P
                | RP
                | RT
                | TBODY
                | TD
                | TFOOT
                | TH
                | THEAD
                | TR
        )
    }

    /// Whether it never has content.
    pub const fn is_void(self) -> bool {
        matches!(
            self,
            AREA | BASE
                | BASEFONT
                | BGSOUND
                | BR
                | COL
                | EMBED
                | FRAME
                | HR
                | IMG
                | INPUT
                | KEYGEN
                | LINK
                | META
                | PARAM
                | SOURCE
                | TRACK
                | WBR
        )
    }

    /// Whether it ends an enclosing SVG or MathML element: HTML standard, section 13.2.6.5.
    pub const fn leaves_foreign(self) -> bool {
        matches!(
            self,
            B | BIG
                | BLOCKQUOTE
                | BODY
                | BR
                | CENTER
                | CODE
                | DD
                | DIV
                | DL
                | DT
                | EM
                | EMBED
                | H1
                | H2
                | H3
                | H4
                | H5
                | H6
                | HEAD
                | HR
                | I
                | IMG
                | LI
                | LISTING
                | MENU
                | META
                | NOBR
                | OL
                | P
                | PRE
                | RUBY
                | S
                | SMALL
                | SPAN
                | STRONG
                | STRIKE
                | SUB
                | SUP
                | TABLE
                | TT
                | U
                | UL
                | VAR
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_without_case_and_distinguished() {
        assert_eq!(Name::read(b"DiV"), DIV);
        assert_eq!(Name::read(b"annotation-XML"), ANNOTATION_XML);
        assert_ne!(Name::read(b"divx"), DIV);
        assert_ne!(Name::read(b""), A);
        assert_ne!(
            Name::read(b"my-rather-long-element-a"),
            Name::read(b"my-rather-long-element-b")
        );
        assert!(Name::read(b"FIGCAPTION").breaks() && !Name::read(b"h7").breaks());
    }
}
