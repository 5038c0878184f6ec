//! Inline marks: emphasis, code spans, links.
//!
//! A mark is opened by the first content inside of its element and closed with the
//! element, or at the end of the block: Markdown's marks do not cross blocks, so an
//! emphasis over two paragraphs is written once in each.

use crate::writer::Writer;

/// Bytes of destinations that are written because links go on in further blocks. Links that would need more
/// end with their first block: one long destination may have many blocks.
const MAX_REPEATED: usize = 256 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Strong,
    Emphasis,
    Strike,
    Superscript,
    Subscript,
    Link,
    /// A code span between `fence` backticks, with a space inside of them if `padded`.
    Code {
        fence: u32,
        padded: bool,
    },
}

impl Kind {
    /// Delimiters that open and close only beside the right characters (CommonMark 0.31,
    /// section 6.2, "left-flanking"), with the tags that do so anywhere.
    fn delimiter(self) -> Option<(&'static str, &'static str, &'static str)> {
        match self {
            Self::Strong => Some(("**", "<strong>", "</strong>")),
            Self::Emphasis => Some(("*", "<em>", "</em>")),
            Self::Strike => Some(("~~", "<del>", "</del>")),
            _ => None,
        }
    }

    /// The first character of its opening.
    fn sign(self) -> char {
        match self {
            Self::Strong | Self::Emphasis => '*',
            Self::Strike => '~',
            Self::Link => '[',
            Self::Code { .. } => '`',
            Self::Superscript | Self::Subscript => '<',
        }
    }

    pub fn is_same(self, other: Self) -> bool {
        std::mem::discriminant(&self) == std::mem::discriminant(&other)
    }
}

/// An element that is open and has a mark.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    kind: Kind,
    /// Where its opening was written.
    at: usize,
    /// Written as a tag; of a link, that it is not written.
    tag: bool,
}

/// An emphasis that has been closed and may yet go on or become a tag.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Closed {
    mark: Mark,
    /// Where its closing delimiter begins and ends.
    close_at: usize,
    end: usize,
}

impl Writer {
    /// An element with a mark begins. False if one of its kind is open, which it then only
    /// repeats.
    pub fn begin_mark(&mut self, kind: Kind) -> bool {
        if self.marks.iter().any(|m| m.kind.is_same(kind)) {
            return false;
        }
        let mark = Mark {
            kind,
            at: 0,
            tag: false,
        };
        match self.marks.last() {
            // Nothing can be marked inside of a code span: it is cut around a link.
            Some(last) if matches!(last.kind, Kind::Code { .. }) => {
                self.suspend_code();
                self.marks.insert(self.marks.len() - 1, mark);
            }
            _ => self.marks.push(mark),
        }
        self.code |= matches!(kind, Kind::Code { .. });
        self.link_written &= kind != Kind::Link;
        self.dirty = true;
        true
    }

    /// The innermost element with a mark of this kind ends.
    pub fn end_mark(&mut self, kind: Kind) {
        let Some(index) = self.marks.iter().rposition(|m| m.kind.is_same(kind)) else {
            return;
        };
        while self.opened > index {
            self.close_last();
        }
        self.marks.remove(index);
        if matches!(kind, Kind::Code { .. }) {
            self.code = false;
        }
        self.dirty = true;
    }

    /// Whether a mark of this kind is written and not closed.
    pub fn is_open(&self, kind: Kind) -> bool {
        self.marks
            .iter()
            .take(self.opened)
            .any(|m| m.kind.is_same(kind))
    }

    /// Whether an element with a mark of this kind is open.
    pub fn has_mark(&self, kind: Kind) -> bool {
        self.marks.iter().any(|m| m.kind.is_same(kind))
    }

    /// Closes every mark; what is still inside of their elements opens them again.
    pub fn suspend(&mut self) {
        while self.opened > 0 {
            self.close_last();
            self.dirty = true;
        }
    }

    /// Closes an open code span, for what cannot stand in it.
    pub fn suspend_code(&mut self) {
        if self.opened == self.marks.len()
            && self
                .marks
                .last()
                .is_some_and(|m| matches!(m.kind, Kind::Code { .. }))
        {
            self.close_last();
            self.dirty = true;
        }
    }

    /// Takes the mark of a code span off, for an image or a formula that stands in it and is
    /// none of its text; to be given to [`resume_code`](Self::resume_code).
    pub fn set_code_aside(&mut self) -> Option<Mark> {
        self.suspend_code();
        let aside = self.marks.pop_if(|m| matches!(m.kind, Kind::Code { .. }));
        self.code = false;
        aside
    }

    pub fn resume_code(&mut self, aside: Option<Mark>) {
        if let Some(mark) = aside {
            self.marks.push(mark);
            self.code = true;
            self.dirty = true;
        }
    }

    fn close_last(&mut self) {
        let Some(&mark) = self.opened.checked_sub(1).and_then(|i| self.marks.get(i)) else {
            return;
        };
        self.opened -= 1;
        match mark.kind {
            Kind::Link if mark.tag => {}
            Kind::Link => {
                self.out.push_str(&self.link_tail);
                self.link_end = self.out.len();
                self.brackets = false;
            }
            Kind::Code { fence, padded } => {
                let from = mark.at + fence as usize;
                let piece = self.out.get(from..).unwrap_or("");
                // A link may have cut the code beside a backtick of its own.
                let cut = !padded && (piece.starts_with('`') || piece.ends_with('`'));
                if cut {
                    self.out.insert(from, ' ');
                }
                if padded || cut {
                    self.out.push(' ');
                }
                self.backticks(fence);
            }
            Kind::Superscript => self.out.push_str("</sup>"),
            Kind::Subscript => self.out.push_str("</sub>"),
            _ => {
                if self.closed.last().is_some_and(|c| c.end != self.out.len()) {
                    self.closed.clear();
                }
                let close_at = self.out.len();
                if let Some((delimiter, _, tag)) = mark.kind.delimiter() {
                    self.out.push_str(if mark.tag { tag } else { delimiter });
                }
                if self.link_end == close_at {
                    self.link_end = self.out.len();
                }
                self.closed.push(Closed {
                    mark,
                    close_at,
                    end: self.out.len(),
                });
            }
        }
    }

    /// Opens the marks that wait for content, which begins with `next`.
    pub fn open_marks(&mut self, next: char) {
        if self.closed.last().is_some_and(|c| c.end != self.out.len()) {
            self.closed.clear();
        }
        while let Some(&mark) = self.marks.get(self.opened) {
            let index = self.opened;
            self.opened += 1;
            if mark.kind.delimiter().is_none() {
                // An emphasis inside of it is not the one that ended before it.
                self.closed.clear();
            }
            let (at, tag) = match mark.kind {
                Kind::Link if !self.may_write_link() => (0, true),
                Kind::Link => {
                    self.before_bracket();
                    self.out.push('[');
                    self.brackets = true;
                    (self.out.len() - 1, false)
                }
                Kind::Code { fence, padded } => {
                    if self.out.ends_with('`') && !self.out.ends_with("\\`") {
                        // Two spans that touch would be one.
                        self.out.push(' ');
                    }
                    let at = self.out.len();
                    self.backticks(fence);
                    if padded {
                        self.out.push(' ');
                    }
                    (at, false)
                }
                Kind::Superscript => {
                    self.out.push_str("<sup>");
                    (0, true)
                }
                Kind::Subscript => {
                    self.out.push_str("<sub>");
                    (0, true)
                }
                kind => self.open_emphasis(kind, index, next),
            };
            if let Some(mark) = self.marks.get_mut(index) {
                mark.at = at;
                mark.tag = tag;
            }
        }
        // What was closed inside of an emphasis that goes on.
        self.settle_closed(next);
    }

    /// Whether the open link is written here: again, if it was before and there is room for that.
    fn may_write_link(&mut self) -> bool {
        if !std::mem::replace(&mut self.link_written, true) {
            return true;
        }
        self.repeated += self.link_tail.len();
        self.repeated <= MAX_REPEATED
    }

    fn open_emphasis(&mut self, kind: Kind, index: usize, next: char) -> (usize, bool) {
        // `<b>a</b><b>b</b>` is one emphasis: `**a****b**` would be none.
        if let Some(closed) = self.closed.last().filter(|c| c.mark.kind == kind) {
            let mark = closed.mark;
            self.out.truncate(closed.close_at);
            self.closed.pop();
            return (mark.at, mark.tag);
        }
        if kind == Kind::Strike && self.out.ends_with('~') && !self.out.ends_with("\\~") {
            // A tilde of the text would be one of the delimiter.
            self.out.pop();
            self.out.push_str("\\~");
        }
        // Delimiters of the same character are one run, judged by what is around it.
        let inner = self.marks.get(index + 1..).unwrap_or_default();
        let next = match inner.iter().find(|m| m.kind.sign() != kind.sign()) {
            Some(mark) => mark.kind.sign(),
            None => next,
        };
        let at = self.out.len();
        let before = self.last_char();
        let tag = is_punctuation(next) && !before.is_whitespace() && !is_punctuation(before)
            || self.joins_closed(kind, index, next)
            || self.may_close_outer(kind, index, next);
        // What is closed before it does not go on behind it.
        self.closed.clear();
        if let Some((delimiter, open, _)) = kind.delimiter() {
            self.out.push_str(if tag { open } else { delimiter });
        }
        (at, tag)
    }

    /// Whether the delimiter would be one run with that of the emphasis which ended before it, and
    /// readers might take the run for something else: they do not where it stands between letters.
    fn joins_closed(&self, kind: Kind, index: usize, next: char) -> bool {
        let touches = |c: &&Closed| !c.mark.tag && c.mark.kind.sign() == kind.sign();
        let Some(closed) = self.closed.last().filter(touches) else {
            return false;
        };
        let last = self.out.get(..closed.close_at);
        let last = last.and_then(|text| text.chars().next_back());
        let parts_letters = !is_punctuation(next) && last.is_some_and(|c| !is_punctuation(c));
        let inner = self.marks.get(index + 1);
        let is_longer = inner.is_some_and(|m| m.kind.sign() == kind.sign());
        self.closed.len() > 1 || is_longer || !parts_letters
    }

    /// Whether the delimiter, which opens, might close the emphasis around it (CommonMark 0.31,
    /// section 6.2, rules 9 and 10).
    fn may_close_outer(&self, kind: Kind, index: usize, next: char) -> bool {
        let before = self.last_char();
        if before.is_whitespace() || is_punctuation(before) != is_punctuation(next) {
            return false;
        }
        let mut around = self.marks.get(..index).unwrap_or_default().iter();
        let is_outer =
            |m: &&Mark| !m.tag && m.kind.delimiter().is_some() && m.kind.sign() == kind.sign();
        let (Some(outer), Some((delimiter, ..))) = (around.rfind(is_outer), kind.delimiter())
        else {
            return false;
        };
        let text = self.out.as_bytes();
        let sign = |at: &usize| text.get(*at).is_some_and(|b| char::from(*b) == kind.sign());
        let behind = (outer.at..text.len()).take_while(sign).count();
        if outer.at + behind == text.len() {
            // Both open in one run.
            return false;
        }
        let ahead = (0..outer.at).rev().take_while(sign).count();
        let escapes = text.get(..outer.at - ahead).unwrap_or_default();
        let escapes = escapes.iter().rev().take_while(|b| **b == b'\\').count();
        // One that is escaped is none of the run.
        let run = behind + ahead.saturating_sub(escapes % 2);
        !(run + delimiter.len()).is_multiple_of(3)
    }

    /// Content that begins with `next` comes directly after closed emphasis. Where the
    /// closing delimiter would not close (after punctuation and before a letter), the
    /// emphasis becomes tags.
    pub fn settle_closed(&mut self, next: char) {
        let adjacent = self.closed.last().is_some_and(|c| c.end == self.out.len());
        let inside = self.closed.first().and_then(|c| self.out.get(..c.close_at));
        let last = inside.and_then(|text| text.chars().next_back());
        // What stands before the delimiter of another character is that delimiter.
        let sign = |c: &Closed| if c.mark.tag { '<' } else { c.mark.kind.sign() };
        let is_mixed = self.closed.windows(2).any(|pair| match pair {
            [inner, outer] => sign(inner) != sign(outer),
            _ => false,
        });
        let fails = adjacent
            && !next.is_whitespace()
            && !is_punctuation(next)
            && (is_mixed || last.is_some_and(is_punctuation));
        if fails {
            // Inner ones come first: from the end of the output backwards, closings in
            // reverse order, then openings in order.
            for closed in self.closed.iter().rev().filter(|c| !c.mark.tag) {
                if let Some((delimiter, _, tag)) = closed.mark.kind.delimiter() {
                    let range = closed.close_at..closed.close_at + delimiter.len();
                    self.out.replace_range(range, tag);
                }
            }
            for closed in self.closed.iter().filter(|c| !c.mark.tag) {
                if let Some((delimiter, tag, _)) = closed.mark.kind.delimiter() {
                    let range = closed.mark.at..closed.mark.at + delimiter.len();
                    self.out.replace_range(range, tag);
                    if self.line_start > closed.mark.at {
                        self.line_start += tag.len() - delimiter.len();
                    }
                }
            }
        }
        self.closed.clear();
    }

    /// Before the `[` of a link: `!` would make it an image, and a link that touches the
    /// one before would read as one word with it.
    fn before_bracket(&mut self) {
        if self.link_end == self.out.len() && !self.keeps_words {
            self.out.push(' ');
        } else if self.out.ends_with('!') {
            self.out.pop();
            self.out.push_str("\\!");
        }
    }

    fn backticks(&mut self, count: u32) {
        self.out.extend(std::iter::repeat_n('`', count as usize));
    }
}

/// Punctuation as far as flanking goes: what is no letter, digit or white space. Combining
/// marks count as punctuation here, which at worst writes a tag where a delimiter would do.
pub(crate) fn is_punctuation(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_punctuation();
    }
    !c.is_alphanumeric() && !c.is_whitespace()
}
