//! Blocks of a document as HTML: opens and closes the lists around items, and the tables.

use super::table::{Cell, Tables};
use crate::html::{MAX_HTML, attribute, escape, is_target};

/// Deepest nesting of lists.
const MAX_LEVEL: usize = 9;
/// Most paragraphs that are open, one within another, and most tables.
pub(super) const MAX_OPEN: usize = 1_000;
/// Most bytes that are written because cells and rows are repeated.
const MAX_COPIED: usize = 1 << 20;

/// The HTML of a document that is being written.
#[derive(Debug, Default)]
pub(crate) struct Sink {
    out: String,
    /// Bytes of the document's HTML that are not in `out`.
    elsewhere: usize,
    /// The lists that are open, from the outermost.
    lists: Vec<List>,
    tables: Tables,
    paragraphs: usize,
    copied: usize,
}

/// A list that is open.
#[derive(Debug)]
struct List {
    /// `ul` or `ol`.
    name: &'static str,
    /// The number of the next item, if items are numbered and the document says how.
    next: Option<u32>,
}

/// A paragraph that is being written: HTML.
#[derive(Debug, Default)]
pub(crate) struct Paragraph {
    html: String,
    link: bool,
    /// The element that is open for a raised or lowered text.
    script: Option<Script>,
    /// What the text is that comes next.
    next_script: Option<Script>,
}

/// Text that is raised or lowered, without which a number is another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Script {
    Super,
    Sub,
}

impl Script {
    fn name(self) -> &'static str {
        match self {
            Self::Super => "sup",
            Self::Sub => "sub",
        }
    }
}

impl Paragraph {
    /// Appends text, as long as there is room for it in a document.
    pub(crate) fn text(&mut self, text: &str) {
        if !text.is_empty() && self.html.len() <= MAX_HTML {
            self.turn_to(self.next_script);
        }
        if let Some(room) = (MAX_HTML + 1).checked_sub(self.html.len()) {
            // The character at the border makes it larger than the most.
            let end = text.ceil_char_boundary(room);
            escape(text.get(..end).unwrap_or(text), &mut self.html);
        }
    }

    /// Says whether the text that comes is raised or lowered.
    pub(crate) fn script(&mut self, script: Option<Script>) {
        self.next_script = script;
    }

    /// Whether the text that comes is raised or lowered.
    pub(crate) fn next_script(&self) -> Option<Script> {
        self.next_script
    }

    /// Ends the element of a raised or lowered text, and begins another.
    fn turn_to(&mut self, script: Option<Script>) {
        if self.script == script {
            return;
        }
        for (tag, script) in [("</", self.script), ("<", script)] {
            if let Some(script) = script {
                self.html.push_str(tag);
                self.html.push_str(script.name());
                self.html.push('>');
            }
        }
        self.script = script;
    }

    /// Appends a line break.
    pub(crate) fn line_break(&mut self) {
        if self.html.len() <= MAX_HTML {
            self.html.push_str("<br>");
        }
    }

    /// Begins a link; one within another is left out, as is one that leads nowhere.
    pub(crate) fn link(&mut self, url: &str) {
        if !self.link && self.html.len() <= MAX_HTML && is_target(url) {
            self.turn_to(None);
            self.html.push_str("<a");
            attribute("href", url.trim(), &mut self.html);
            self.html.push('>');
            self.link = true;
        }
    }

    /// Ends the link, if one is open.
    pub(crate) fn end_link(&mut self) {
        if std::mem::take(&mut self.link) {
            self.turn_to(None);
            self.html.push_str("</a>");
        }
    }

    /// Appends the mark of a note.
    pub(crate) fn note(&mut self, number: u32) {
        if self.html.len() > MAX_HTML {
            return;
        }
        self.turn_to(None);
        // There are no links within links.
        let mark = match self.link {
            true => format!("<sup>{number}</sup>"),
            false => format!(r##"<sup><a href="#note-{number}">{number}</a></sup>"##),
        };
        self.html.push_str(&mark);
    }

    /// Whether it has no text.
    pub(crate) fn is_empty(&self) -> bool {
        self.html.trim().is_empty()
    }

    fn finish(mut self) -> String {
        self.turn_to(None);
        self.end_link();
        self.html
    }
}

/// What a paragraph is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Plain,
    /// A heading's level, from 1.
    Heading(usize),
    /// An item of a list.
    Item {
        /// Its level, from 0.
        level: usize,
        /// Whether it is numbered.
        ordered: bool,
        /// The number, if the document says it.
        number: Option<u32>,
    },
}

impl Sink {
    /// One for a part of a document of which so many bytes are written elsewhere.
    pub(crate) fn beside(elsewhere: usize) -> Self {
        Self {
            elsewhere,
            ..Self::default()
        }
    }

    /// Bytes of the document that are written.
    pub(crate) fn written(&self) -> usize {
        let out = self.out.len() + self.tables.coming();
        out.saturating_add(self.elsewhere)
    }

    /// Adds to the bytes that are written elsewhere.
    pub(crate) fn add_elsewhere(&mut self, bytes: usize) {
        self.elsewhere = self.elsewhere.saturating_add(bytes);
    }

    /// Whether there is room for more.
    pub(crate) fn has_room(&self) -> bool {
        self.written() <= MAX_HTML
    }

    /// Writes a paragraph; one without text is left out.
    pub(crate) fn paragraph(&mut self, paragraph: Paragraph, kind: Kind) {
        let html = paragraph.finish();
        if html.trim().is_empty() || !self.has_room() {
            return;
        }
        self.paragraphs += 1;
        if self.tables.unwritten_cell().is_some() {
            self.close_lists();
            self.tables.write_cell(&mut self.out);
        }
        let (name, value) = match kind {
            Kind::Item {
                level,
                ordered,
                number,
            } => {
                let value = self.lists_to(level.min(MAX_LEVEL) + 1, ordered, number);
                ("li".to_owned(), value)
            }
            Kind::Heading(level) => {
                self.close_lists();
                (format!("h{}", level.clamp(1, 6)), None)
            }
            Kind::Plain => {
                self.close_lists();
                ("p".to_owned(), None)
            }
        };
        self.start_tag(&name, "value", value);
        self.out.push_str(&format!("{html}</{name}>\n"));
    }

    /// Begins a table.
    pub(crate) fn table(&mut self) {
        self.close_lists();
        let room = self.has_room();
        if room {
            self.tables.write_cell(&mut self.out);
        }
        self.tables.begin(&mut self.out, room);
    }

    /// Ends the table.
    pub(crate) fn end_table(&mut self) {
        self.end_row();
        self.tables.end(&mut self.out);
    }

    /// Whether the rows that come name the columns.
    pub(crate) fn set_head(&mut self, head: bool) {
        self.tables.set_head(head);
    }

    /// Begins a row that is there so often.
    pub(crate) fn row(&mut self, repeats: usize) {
        self.end_row();
        let room = self.has_room();
        self.tables
            .begin_row(repeats, self.paragraphs, &mut self.out, room);
    }

    /// Ends the row.
    pub(crate) fn end_row(&mut self) {
        self.end_cell();
        let repeated = self.tables.end_row(self.paragraphs, &mut self.out);
        self.repeat(repeated);
    }

    /// Leaves out columns at the beginning of the row.
    pub(crate) fn skip_columns(&mut self, columns: usize) {
        let room = self.has_room();
        self.tables.skip_columns(columns, &mut self.out, room);
    }

    /// Begins a cell. Its start tag is written when the cell has something, or ends.
    pub(crate) fn cell(&mut self, cell: Cell) {
        self.end_cell();
        self.tables.begin_cell(cell);
    }

    /// The cell whose start tag is not written yet.
    pub(crate) fn unwritten_cell(&mut self) -> Option<&mut Cell> {
        self.tables.unwritten_cell()
    }

    /// Ends the cell.
    pub(crate) fn end_cell(&mut self) {
        self.close_lists();
        let room = self.has_room();
        let repeated = self.tables.end_cell(&mut self.out, room);
        self.repeat(repeated);
    }

    /// Writes what was written from a place on again, until it is there so often.
    fn repeat(&mut self, repeated: Option<(usize, usize)>) {
        let Some((from, times)) = repeated.filter(|(_, times)| *times > 1) else {
            return;
        };
        let length = self.out.len().saturating_sub(from);
        let most = MAX_COPIED.saturating_sub(self.copied).checked_div(length);
        let copies = most.unwrap_or(0).min(times - 1);
        if copies == 0 || !self.has_room() {
            return;
        }
        let copy = self.out.get(from..).unwrap_or("").repeat(copies);
        self.copied += copy.len();
        self.out.push_str(&copy);
    }

    /// Opens and closes lists for an item. Returns the number that the item must say.
    fn lists_to(&mut self, depth: usize, ordered: bool, number: Option<u32>) -> Option<u32> {
        let name = if ordered { "ol" } else { "ul" };
        let number = number.filter(|_| ordered);
        while self.lists.len() > depth {
            self.close_list();
        }
        if self.lists.len() == depth
            && let Some(list) = self.lists.last()
        {
            // Numbers that begin again are those of another list.
            let begins_again = number.zip(list.next).is_some_and(|(own, next)| own < next);
            if list.name != name || begins_again {
                self.close_list();
            }
        }
        let is_open = self.lists.len() == depth;
        while self.lists.len() < depth {
            let is_own = self.lists.len() + 1 == depth;
            let start = number.filter(|number| is_own && *number != 1);
            self.start_tag(name, "start", start);
            self.out.push('\n');
            let next = number.map(|_| 1);
            self.lists.push(List { name, next });
        }
        let list = self.lists.last_mut()?;
        let next = std::mem::replace(&mut list.next, number.map(|n| n.saturating_add(1)));
        number.filter(|_| is_open && number != next)
    }

    /// Writes a start tag with the attribute, if it has a value.
    fn start_tag(&mut self, name: &str, attribute_name: &str, value: Option<u32>) {
        self.out.push('<');
        self.out.push_str(name);
        if let Some(value) = value {
            attribute(attribute_name, &value.to_string(), &mut self.out);
        }
        self.out.push('>');
    }

    fn close_list(&mut self) {
        if let Some(list) = self.lists.pop() {
            self.out.push_str(&format!("</{}>\n", list.name));
        }
    }

    fn close_lists(&mut self) {
        while !self.lists.is_empty() {
            self.close_list();
        }
    }

    /// The HTML, and whether it has everything.
    pub(crate) fn finish(mut self) -> (String, bool) {
        self.close_lists();
        let whole = self.has_room();
        while self.tables.is_open() {
            self.end_table();
        }
        (self.tables.finish(self.out), whole)
    }
}
