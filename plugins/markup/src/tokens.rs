//! A page's tags and texts as ranges of its source, following the HTML standard's tokeniser
//! (section 13.2.5). Nothing is built, copied or allocated for a token.
//!
//! The standard's tokeniser depends on the tree: on elements with raw text, and on where SVG and
//! MathML start and end. This one tracks both without a tree.

use std::ops::Range;

use memchr::{memchr, memchr_iter, memchr2, memmem};

use crate::names::{self, Name};

/// Most attributes read of a tag; further ones are skipped.
const MAX_ATTRIBUTES: usize = 512;
/// Most nested SVG and MathML elements that are tracked.
const MAX_SPACES: usize = 256;

/// The tokens of a page; comments and raw text are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token<'h> {
    /// Text whose character references are not yet decoded.
    Text(&'h str),
    /// Text without character references: of a CDATA section or of `plaintext`.
    Verbatim(&'h str),
    /// The text of a `title` outside SVG, with character references not yet decoded.
    Title(&'h str),
    /// A start tag; its attributes can be read until the next token.
    Start(Tag),
    /// An end tag.
    End(Name),
}

/// A start tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    /// Its element's name.
    pub name: Name,
    /// Whether it has no content: a void element, or a self-closing one within SVG or MathML.
    pub empty: bool,
    /// Whether it is an SVG or MathML element.
    pub foreign: bool,
    /// Whether it has the attribute `hidden`.
    pub hidden: bool,
}

/// Position of an attribute in the source.
#[derive(Clone, Debug)]
struct Attribute {
    name: Range<usize>,
    value: Range<usize>,
}

/// Position of a tag in the source.
struct Read {
    name: Name,
    closed: bool,
    hidden: bool,
    end: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Space {
    Html,
    Svg,
    MathMl,
}

/// Kind of text after a start tag, where it is not markup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Raw {
    /// Up to the end tag with this name.
    Text(Name),
    Title,
    Script,
    /// Up to the end of the page.
    Plain,
}

/// Iterates over the tokens of a page.
pub struct Tokens<'h> {
    html: &'h str,
    at: usize,
    /// Position of the last tag's name.
    name: Range<usize>,
    attributes: Vec<Attribute>,
    raw: Option<Raw>,
    /// Open SVG and MathML elements, outermost first; empty in plain HTML.
    spaces: Vec<Space>,
}

impl<'h> Tokens<'h> {
    /// Creates the tokeniser for a page or a part of one.
    pub fn new(html: &'h str) -> Self {
        Self {
            html,
            at: 0,
            name: 0..0,
            attributes: Vec::new(),
            raw: None,
            spaces: Vec::new(),
        }
    }

    /// Value, as written, of an attribute of the last start tag: the first with this name, as in a
    /// tree. `name` is in lower case.
    pub fn attribute(&self, name: &str) -> Option<&'h str> {
        let found = self.attributes.iter().find(|attribute| {
            attribute.name.len() == name.len()
                && (self.html.as_bytes().get(attribute.name.clone()))
                    .is_some_and(|known| known.eq_ignore_ascii_case(name.as_bytes()))
        })?;
        Some(self.html.get(found.value.clone()).unwrap_or(""))
    }

    /// Name, as written, of the last tag.
    pub fn name(&self) -> &'h str {
        self.html.get(self.name.clone()).unwrap_or("")
    }

    /// Names and values, as written, of the attributes of the last start tag.
    pub fn attributes(&self) -> impl Iterator<Item = (&'h str, &'h str)> {
        let read = |range: &Range<usize>| self.html.get(range.clone()).unwrap_or("");
        self.attributes
            .iter()
            .map(move |attribute| (read(&attribute.name), read(&attribute.value)))
    }

    /// Names, as written, and the places of the values in the source of the attributes of the last start
    /// tag.
    pub fn places(&self) -> impl Iterator<Item = (&'h str, Range<usize>)> {
        let name = |range: &Range<usize>| self.html.get(range.clone()).unwrap_or("");
        self.attributes
            .iter()
            .map(move |attribute| (name(&attribute.name), attribute.value.clone()))
    }

    /// The raw text that the start tag just read is followed by, as of `noscript`; empty where it
    /// begins none. It is no token.
    pub fn raw_text(&self) -> &'h str {
        match self.raw {
            Some(Raw::Text(name)) => {
                self.text(self.at, self.at + raw_len(self.rest(self.at), name))
            }
            _ => "",
        }
    }

    fn text(&self, from: usize, to: usize) -> &'h str {
        self.html.get(from..to).unwrap_or("")
    }

    fn rest(&self, at: usize) -> &'h [u8] {
        self.html.as_bytes().get(at..).unwrap_or_default()
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.html.as_bytes().get(at).copied()
    }

    fn space(&self) -> Space {
        self.spaces.last().copied().unwrap_or(Space::Html)
    }

    /// The text of an element with raw text; `None` if it is not returned.
    fn raw(&mut self, raw: Raw) -> Option<Token<'h>> {
        let from = self.at;
        let rest = self.rest(from);
        let len = match raw {
            Raw::Plain => rest.len(),
            Raw::Script => script_len(rest),
            Raw::Title => raw_len(rest, names::TITLE),
            Raw::Text(name) => raw_len(rest, name),
        };
        self.at = from + len;
        let text = self.text(from, self.at);
        match raw {
            Raw::Plain if len > 0 => Some(Token::Verbatim(text)),
            Raw::Title if len > 0 => Some(Token::Title(text)),
            _ => None,
        }
    }

    /// Whether a `<` starts markup.
    fn is_markup(&self, at: usize) -> bool {
        match self.byte(at + 1) {
            Some(b'/') => self.byte(at + 2).is_some(),
            Some(byte) => byte.is_ascii_alphabetic() || matches!(byte, b'!' | b'?'),
            None => false,
        }
    }

    /// Reads the markup at a `<`: returns its token, if any, and its end.
    fn markup(&mut self, at: usize) -> (Option<Token<'h>>, usize) {
        let closing = self.byte(at + 1) == Some(b'/');
        let name = at + 1 + usize::from(closing);
        match self.byte(name) {
            Some(byte) if byte.is_ascii_alphabetic() => {
                // The page ends within a tag: the standard drops the tag.
                let Some(read) = self.tag(name) else {
                    return (None, self.html.len());
                };
                let token = if closing {
                    self.close(read.name);
                    Token::End(read.name)
                } else {
                    Token::Start(self.open(&read))
                };
                (Some(token), read.end)
            }
            Some(b'!') if !closing => self.declaration(at),
            _ => (None, self.past(name, b'>')),
        }
    }

    fn past(&self, from: usize, byte: u8) -> usize {
        memchr(byte, self.rest(from)).map_or(self.html.len(), |len| from + len + 1)
    }

    /// Reads a comment, a CDATA section, a doctype, or anything treated as a comment.
    fn declaration(&self, at: usize) -> (Option<Token<'h>>, usize) {
        const CDATA: &[u8] = b"<![CDATA[";
        let rest = self.rest(at);
        if rest.starts_with(b"<!--") {
            return (None, at + comment_len(rest));
        }
        if self.space() != Space::Html && rest.starts_with(CDATA) {
            let from = at + CDATA.len();
            return match memmem::find(self.rest(from), b"]]>") {
                Some(len) => (
                    Some(Token::Verbatim(self.text(from, from + len))),
                    from + len + 3,
                ),
                None => (
                    Some(Token::Verbatim(self.text(from, self.html.len()))),
                    self.html.len(),
                ),
            };
        }
        (None, self.past(at + 2, b'>'))
    }

    /// Reads the tag whose name starts at `from`; `None` if the page ends before its end.
    fn tag(&mut self, from: usize) -> Option<Read> {
        let bytes = self.html.as_bytes();
        let run = |from: usize, ends: fn(u8) -> bool| -> Option<usize> {
            let rest = bytes.get(from..)?;
            rest.iter().position(|&b| ends(b)).map(|len| from + len)
        };
        let mut at = run(from, |b| is_blank(b) || matches!(b, b'/' | b'>'))?;
        let mut read = Read {
            name: Name::read(bytes.get(from..at)?),
            closed: false,
            hidden: false,
            end: 0,
        };
        self.name = from..at;
        self.attributes.clear();
        loop {
            let byte = *bytes.get(at)?;
            if byte == b'>' {
                read.end = at + 1;
                return Some(read);
            }
            // Only a slash right before the end closes the element.
            read.closed = byte == b'/';
            if read.closed || is_blank(byte) {
                at += 1;
                continue;
            }
            let start = at;
            // A name may start with `=`, but not contain another one.
            at = run(at + 1, |b| is_blank(b) || matches!(b, b'/' | b'>' | b'='))?;
            let stop = at;
            if *bytes.get(at)? != b'=' {
                at = run(at, |b| !is_blank(b))?;
            }
            let mut value = at..at;
            if *bytes.get(at)? == b'=' {
                at = run(at + 1, |b| !is_blank(b))?;
                match *bytes.get(at)? {
                    quote @ (b'"' | b'\'') => {
                        let len = memchr(quote, bytes.get(at + 1..)?)?;
                        value = at + 1..at + 1 + len;
                        at += len + 2;
                    }
                    b'>' => {}
                    _ => {
                        let end = run(at, |b| is_blank(b) || b == b'>')?;
                        value = at..end;
                        at = end;
                    }
                }
            }
            read.hidden |= bytes.get(start..stop)?.eq_ignore_ascii_case(b"hidden");
            if self.attributes.len() < MAX_ATTRIBUTES {
                self.attributes.push(Attribute {
                    name: start..stop,
                    value,
                });
            }
        }
    }

    /// Processes a start tag.
    fn open(&mut self, read: &Read) -> Tag {
        let (space, name, closed) = (self.space(), read.name, read.closed);
        let tag = |empty, foreign| Tag {
            name,
            empty,
            foreign,
            hidden: read.hidden,
        };
        match (space, name) {
            (Space::Html, names::SVG) => self.enter(Space::Svg, closed),
            (Space::Html, names::MATH) => self.enter(Space::MathMl, closed),
            (Space::Html, _) => {
                self.raw = raw_of(name);
                return tag(name.is_void(), false);
            }
            _ if name.leaves_foreign() || (name == names::FONT && self.is_html_font()) => {
                self.leave_foreign();
                return tag(name.is_void(), false);
            }
            (Space::Svg, names::SVG) => self.enter(Space::Svg, closed),
            (Space::MathMl, names::MATH) => self.enter(Space::MathMl, closed),
            _ if self.is_integration_point(space, name) => self.enter(Space::Html, closed),
            _ => {}
        }
        tag(closed, true)
    }

    fn close(&mut self, name: Name) {
        match self.space() {
            Space::Html => {
                let outer = self.spaces.len().checked_sub(2);
                let outer = outer.and_then(|at| self.spaces.get(at)).copied();
                let point = match outer {
                    Some(Space::Svg) => is_svg_point(name),
                    Some(Space::MathMl) => is_math_point(name) || name == names::ANNOTATION_XML,
                    _ => false,
                };
                if point {
                    self.spaces.pop();
                }
            }
            space => {
                if matches!(
                    (space, name),
                    (Space::Svg, names::SVG) | (Space::MathMl, names::MATH)
                ) {
                    self.spaces.pop();
                } else if matches!(name, names::P | names::BR) {
                    self.leave_foreign();
                }
            }
        }
    }

    fn enter(&mut self, space: Space, closed: bool) {
        if !closed && self.spaces.len() < MAX_SPACES {
            self.spaces.push(space);
        }
    }

    fn leave_foreign(&mut self) {
        while self.space() != Space::Html {
            self.spaces.pop();
        }
    }

    fn is_html_font(&self) -> bool {
        ["color", "face", "size"]
            .iter()
            .any(|name| self.attribute(name).is_some())
    }

    /// Whether an element of SVG or MathML contains HTML.
    fn is_integration_point(&self, space: Space, name: Name) -> bool {
        match space {
            Space::Svg => is_svg_point(name),
            Space::MathMl if name == names::ANNOTATION_XML => {
                let encoding = self.attribute("encoding").unwrap_or("");
                ["text/html", "application/xhtml+xml"]
                    .iter()
                    .any(|html| encoding.eq_ignore_ascii_case(html))
            }
            Space::MathMl => is_math_point(name),
            Space::Html => false,
        }
    }
}

impl<'h> Iterator for Tokens<'h> {
    type Item = Token<'h>;

    fn next(&mut self) -> Option<Token<'h>> {
        if let Some(raw) = self.raw.take()
            && let Some(token) = self.raw(raw)
        {
            return Some(token);
        }
        let mut at = self.at;
        loop {
            let Some(len) = memchr(b'<', self.rest(at)) else {
                let text = self.text(self.at, self.html.len());
                self.at = self.html.len();
                return (!text.is_empty()).then_some(Token::Text(text));
            };
            let open = at + len;
            if !self.is_markup(open) {
                at = open + 1;
                continue;
            }
            if open > self.at {
                let text = self.text(self.at, open);
                self.at = open;
                return Some(Token::Text(text));
            }
            let (token, end) = self.markup(open);
            (self.at, at) = (end, end);
            if token.is_some() {
                return token;
            }
        }
    }
}

/// White space within tags, as in the standard.
const fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\x0c' | b'\r')
}

/// The kind of raw text after a start tag of HTML, if any. Without scripting `noscript` would
/// contain markup; readers have scripting.
const fn raw_of(name: Name) -> Option<Raw> {
    match name {
        names::TITLE => Some(Raw::Title),
        names::SCRIPT => Some(Raw::Script),
        names::PLAINTEXT => Some(Raw::Plain),
        names::TEXTAREA
        | names::STYLE
        | names::XMP
        | names::IFRAME
        | names::NOEMBED
        | names::NOFRAMES
        | names::NOSCRIPT => Some(Raw::Text(name)),
        _ => None,
    }
}

const fn is_svg_point(name: Name) -> bool {
    matches!(name, names::FOREIGN_OBJECT | names::DESC | names::TITLE)
}

const fn is_math_point(name: Name) -> bool {
    matches!(
        name,
        names::MI | names::MO | names::MN | names::MS | names::MTEXT
    )
}

/// Whether a tag with this name starts here; `rest` is the text after the `<` or `</`.
fn is_tag(rest: &[u8], name: Name) -> bool {
    let len = rest.iter().take(LONGEST_RAW + 1);
    let len = len.take_while(|b| b.is_ascii_alphabetic()).count();
    let ends = rest.get(len);
    ends.is_some_and(|&b| is_blank(b) || matches!(b, b'/' | b'>'))
        && rest.get(..len).is_some_and(|read| Name::read(read) == name)
}

/// Longest name of an element with raw text: `textarea` and others.
const LONGEST_RAW: usize = 8;

/// Length of raw text: up to the end tag with this name, else the whole text.
fn raw_len(text: &[u8], name: Name) -> usize {
    memmem::find_iter(text, b"</")
        .find(|at| is_tag(text.get(at + 2..).unwrap_or_default(), name))
        .unwrap_or(text.len())
}

/// Length of a script. Within `<!--` a `<script>` hides the next end tag.
fn script_len(text: &[u8]) -> usize {
    let (mut escaped, mut within) = (false, false);
    let mut at = 0;
    while let Some(len) = text.get(at..).and_then(|rest| memchr2(b'<', b'-', rest)) {
        at += len;
        let rest = text.get(at..).unwrap_or_default();
        if rest.starts_with(b"-") {
            if escaped && rest.starts_with(b"-->") {
                (escaped, within) = (false, false);
            }
        } else if !escaped && rest.starts_with(b"<!--") {
            escaped = true;
            // The dashes may also belong to the end of the comment.
            at += 1;
        } else if rest.get(1) == Some(&b'/') {
            if is_tag(rest.get(2..).unwrap_or_default(), names::SCRIPT) {
                if !within {
                    return at;
                }
                within = false;
            }
        } else if escaped && is_tag(rest.get(1..).unwrap_or_default(), names::SCRIPT) {
            within = true;
        }
        at += 1;
    }
    text.len()
}

/// Length of the comment at the start of `text`, including `<!--` and its end.
fn comment_len(text: &[u8]) -> usize {
    const OPEN: usize = 4;
    let abrupt = if text.get(OPEN) == Some(&b'>') {
        OPEN + 1
    } else if text.get(OPEN..).is_some_and(|rest| rest.starts_with(b"->")) {
        OPEN + 2
    } else {
        0
    };
    if abrupt > 0 {
        return abrupt;
    }
    let body = text.get(OPEN..).unwrap_or_default();
    memchr_iter(b'>', body)
        .find(|&at| {
            let before = body.get(..at).unwrap_or_default();
            before.ends_with(b"--") || before.ends_with(b"--!")
        })
        .map_or(text.len(), |at| OPEN + at + 1)
}

#[cfg(test)]
mod tests;
