//! The output: one buffer, and what is owed to it before the next piece of content.
//!
//! Nothing is written until there is content for it. A block that begins or ends only
//! notes the gap that is due, a container (quote, list item) only its prefix, an emphasis
//! only its mark; the next text pays for all of them. So an empty element leaves no trace,
//! white space never piles up, and marks always stand next to the words they belong to.

use orbweaver_content::apart::is_han;

use crate::marks::{Closed, Mark};

/// What stands between two pieces of content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Gap {
    None,
    /// The next content begins a line (in a table cell: comes after a `<br>`).
    Line,
    /// The next content begins a block: a blank line comes before it.
    Blank,
}

/// How blocks are written where the output stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Blocks are blocks.
    Flow,
    /// One line only, as in a heading: blocks are apart by a space.
    Line,
    /// A cell of a table: blocks are apart by `<br>`.
    Cell,
}

/// White space that has been seen and not been written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    None,
    /// Any white space without a line end.
    Blank,
    /// White space with a line end, which between two Han characters means nothing.
    LineEnd,
}

/// What the first line of a `<dd>` begins with. Markdown has no definitions: it is text, and what
/// stands below it must not be indented, which makes code of it.
pub(crate) const DEFINITION: &str = ": ";

/// Deepest nesting of quotes and lists that is shown by prefixes. What is deeper is
/// written at this depth: a prefix per line and level would make output quadratic.
const MAX_CONTAINERS: u32 = 24;

pub(crate) struct Writer {
    pub out: String,
    /// Where the content of the last line begins, after its prefix.
    pub line_start: usize,
    /// The line continues a paragraph after a hard break.
    pub continued: bool,
    pub mode: Mode,
    pub gap: Gap,
    pub space: Space,
    /// A `<br>` is due.
    pub hard_break: bool,
    /// Something is due before the next content; when false, text is copied as it comes.
    pub dirty: bool,
    /// How many blank lines have been written between blocks.
    pub blanks: u32,
    /// What the next line of a list in a table cell begins with.
    pub bullet: String,
    /// Prefix of every line at this depth.
    prefix: String,
    /// What the next line has instead of `prefix[first_at..]`, if `waiting`.
    first: String,
    first_at: usize,
    /// A container is open in which nothing has been written.
    waiting: bool,
    /// The shortest prefix since the last content: what a blank line may carry.
    common: usize,
    containers: u32,
    /// Open elements with inline marks, outermost first; the first `opened` are written.
    pub marks: Vec<Mark>,
    pub opened: usize,
    /// Emphasis closed where the output ends.
    pub closed: Vec<Closed>,
    /// Inside of square brackets, where brackets must be escaped.
    pub brackets: bool,
    /// Text is inside of a code span: no escapes.
    pub code: bool,
    /// What closes the open link: `](destination "title")`.
    pub link_tail: String,
    /// Whether the open link was written before.
    pub link_written: bool,
    /// Bytes of destinations that were written again.
    pub repeated: usize,
    /// Where the last link ended.
    pub link_end: usize,
    /// The words are those of another text: no white space is added between links.
    pub keeps_words: bool,
}

/// A container to be left again; see [`Writer::enter`].
#[derive(Clone, Copy)]
pub(crate) struct Container {
    prefix: usize,
    first: usize,
    was_waiting: bool,
    opened_at: usize,
}

impl Writer {
    pub fn with_capacity(bytes: usize) -> Self {
        Self {
            out: String::with_capacity(bytes),
            line_start: 0,
            continued: false,
            mode: Mode::Flow,
            gap: Gap::Blank,
            space: Space::None,
            hard_break: false,
            dirty: true,
            blanks: 0,
            bullet: String::new(),
            prefix: String::new(),
            first: String::new(),
            first_at: 0,
            waiting: false,
            common: 0,
            containers: 0,
            marks: Vec::new(),
            opened: 0,
            closed: Vec::new(),
            brackets: false,
            code: false,
            link_tail: String::new(),
            link_written: false,
            repeated: 0,
            link_end: usize::MAX,
            keeps_words: false,
        }
    }

    /// The Markdown, without white space at its end.
    pub fn finish(mut self) -> String {
        self.suspend();
        self.out.truncate(self.out.trim_end().len());
        self.out
    }

    /// Whether the line has no content yet.
    #[inline]
    pub fn at_line_start(&self) -> bool {
        self.out.len() == self.line_start
    }

    /// Whether a container is open in which nothing has been written.
    pub fn is_waiting(&self) -> bool {
        self.waiting
    }

    /// A block begins or ends here.
    pub fn block(&mut self) {
        match self.mode {
            Mode::Flow => {
                self.suspend();
                self.space = Space::None;
                self.hard_break = false;
                // The gap before a container's first line was settled when it began.
                if !self.waiting {
                    self.gap = Gap::Blank;
                }
                self.dirty = true;
            }
            Mode::Cell => {
                self.hard_break = false;
                self.gap = self.gap.max(Gap::Line);
                self.dirty = true;
            }
            Mode::Line => self.soft_space(Space::Blank),
        }
    }

    /// As [`block`](Self::block), with this gap whatever was due before.
    pub fn block_after(&mut self, gap: Gap) {
        let keep = self.gap;
        self.block();
        if self.mode == Mode::Flow {
            self.gap = if self.waiting { keep } else { gap };
        }
    }

    /// White space, of which any amount counts as one.
    #[inline]
    pub fn soft_space(&mut self, space: Space) {
        if self.gap == Gap::None && !self.hard_break && self.space != Space::LineEnd {
            self.space = space;
            self.dirty = true;
        }
    }

    /// A `<br>`. One ends a line, a second one the paragraph; at the ends of a block it
    /// means nothing.
    pub fn line_break(&mut self) {
        if self.gap != Gap::None || self.at_line_start() {
            return;
        }
        match self.mode {
            Mode::Flow if self.hard_break => self.block(),
            Mode::Flow => {
                self.suspend_code();
                self.hard_break = true;
                self.space = Space::None;
                self.dirty = true;
            }
            Mode::Cell => self.block(),
            Mode::Line => self.soft_space(Space::Blank),
        }
    }

    /// Begins a container: its first line gets `first` before it, the others `rest`.
    pub fn enter(&mut self, first: &str, rest: &str) -> Container {
        self.drop_definition();
        let saved = Container {
            prefix: self.prefix.len(),
            first: self.first.len(),
            was_waiting: self.waiting,
            opened_at: self.out.len(),
        };
        if !self.waiting {
            self.waiting = true;
            self.first_at = self.prefix.len();
            self.first.clear();
        }
        self.containers += 1;
        if self.containers <= MAX_CONTAINERS {
            self.first.push_str(first);
            self.prefix.push_str(rest);
        } else if self.first.is_empty() {
            self.first.push_str(first);
        }
        self.dirty = true;
        saved
    }

    /// Ends a container. Whether anything was written in it.
    pub fn leave(&mut self, saved: Container) -> bool {
        let written = self.out.len() > saved.opened_at;
        if !written {
            self.first.truncate(saved.first);
            self.waiting = saved.was_waiting;
        }
        self.prefix.truncate(saved.prefix);
        self.common = self.common.min(saved.prefix);
        self.containers = self.containers.saturating_sub(1);
        written
    }

    /// Begins a line in the output with what the open containers put before it.
    pub fn start_line(&mut self) {
        if !self.out.is_empty() {
            if self.gap == Gap::Blank {
                self.out.push('\n');
                let common = self.prefix.get(..self.common).unwrap_or("");
                self.out.push_str(common.trim_end());
                self.blanks += 1;
            }
            self.out.push('\n');
        }
        if self.waiting {
            self.out
                .push_str(self.prefix.get(..self.first_at).unwrap_or(""));
            self.out.push_str(&self.first);
            self.first.clear();
            self.waiting = false;
        } else {
            self.out.push_str(&self.prefix);
        }
        self.line_start = self.out.len();
        self.common = self.prefix.len();
        self.gap = Gap::None;
        self.space = Space::None;
        self.hard_break = false;
        self.continued = false;
    }

    /// As [`start_line`](Self::start_line), for a block whose mark must stand first on its line.
    pub fn start_block(&mut self) {
        self.drop_definition();
        self.start_line();
    }

    /// Takes the mark of a definition back that waits for its text: behind it neither a fence nor
    /// a list, a table, a heading or a quote would be one.
    fn drop_definition(&mut self) {
        if let Some(around) = self.first.strip_suffix(DEFINITION) {
            self.first.truncate(around.len());
        }
    }

    /// Ends the line and begins the next one of the same block.
    pub fn next_line(&mut self) {
        self.gap = Gap::Line;
        self.start_line();
    }

    /// Pays what is due before content that begins with `next`.
    pub fn ready(&mut self, next: char) {
        if !self.dirty {
            return;
        }
        self.dirty = false;
        if self.gap != Gap::None {
            match self.mode {
                Mode::Cell => {
                    if !self.at_line_start() {
                        self.out.push_str("<br>");
                    }
                    self.gap = Gap::None;
                }
                // In a heading a gap is its own, due before its first word.
                Mode::Flow | Mode::Line => self.start_line(),
            }
            self.space = Space::None;
            self.closed.clear();
            if !self.bullet.is_empty() {
                self.out.push_str(&self.bullet);
                self.bullet.clear();
            }
        } else if self.hard_break {
            self.out.push_str("  ");
            self.next_line();
            self.continued = true;
            self.closed.clear();
        } else if self.space != Space::None {
            if !self.at_line_start() && !self.joins_han(next) {
                self.out.push(' ');
                self.closed.clear();
            }
            self.space = Space::None;
        }
        if self.opened < self.marks.len() {
            self.open_marks(next);
        } else if !self.closed.is_empty() {
            self.settle_closed(next);
        }
    }

    /// Writes `text` as it is, as content of its own.
    pub fn raw(&mut self, text: &str) {
        let Some(next) = text.chars().next() else {
            return;
        };
        self.ready(next);
        if next == '(' && !self.code {
            self.part_brackets();
        }
        self.out.push_str(text);
    }

    /// The last character of the line, a space at its start.
    pub fn last_char(&self) -> char {
        if self.at_line_start() {
            return ' ';
        }
        self.out.chars().next_back().unwrap_or(' ')
    }

    /// A line end in the source between two characters of scripts that are written
    /// without spaces is no space (CSS Text 3, segment break transformation).
    fn joins_han(&self, next: char) -> bool {
        self.space == Space::LineEnd && is_han(next) && is_han(self.last_char())
    }
}
