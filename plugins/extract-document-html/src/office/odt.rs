//! ODT: the text of `content.xml`, and the properties of `meta.xml`.

use std::collections::HashMap;

use orbweaver_sdk::Error;

use super::archive::Archive;
use super::notes::Notes;
use super::odt_styles::{Look, Styles};
use super::sink::{Kind, MAX_OPEN, Paragraph, Script, Sink};
use super::table::Cell;
use crate::Converted;
use crate::html::Head;
use crate::xml::{Element, Xml, local, read};

pub(super) fn convert(archive: &Archive<'_>) -> Result<Converted, Error> {
    let text = archive.text("content.xml")?.unwrap_or_default();
    let mut reader = Reader::default();
    read(&archive.text("styles.xml")?.unwrap_or_default(), |event| {
        if let Xml::Start(element) = event {
            reader.styles.start(&element);
        }
    });
    let end = read(&text, |event| reader.event(event));
    if !reader.is_text {
        return Err(Error::failed(
            "the archive is an OpenDocument file, but no text document",
        ));
    }
    reader.end_note();
    while !reader.open.is_empty() {
        reader.end_paragraph();
    }
    let (mut body, mut whole) = reader.sink.finish();
    whole &= reader.notes.write(&mut body);
    let mut notice = "converted from an ODT document".to_owned();
    if !end {
        notice.push_str("; it is damaged after what was read");
    } else if !whole {
        notice.push_str("; the text beyond 8 MiB was left out");
    }
    Ok(Converted {
        html: head(&archive.text("meta.xml")?.unwrap_or_default()).document(&body),
        format: "odt",
        notice,
    })
}

fn head(xml: &str) -> Head {
    let (mut head, mut text) = (Head::default(), String::new());
    let mut keywords: Vec<String> = Vec::new();
    let mut creator = String::new();
    read(xml, |event| match event {
        Xml::Start(_) => text.clear(),
        Xml::Text(more) => text.push_str(&more),
        Xml::End(name) => {
            let text = std::mem::take(&mut text).trim().to_owned();
            match local(&name) {
                "title" => head.title = text,
                "initial-creator" if !text.is_empty() => head.authors = vec![text],
                "creator" => creator = text,
                "description" => head.description = text,
                "subject" if head.description.is_empty() => head.description = text,
                "keyword" => keywords.push(text),
                "language" => head.lang = text,
                "creation-date" => head.published = text,
                "date" => head.modified = text,
                _ => {}
            }
        }
    });
    if head.authors.is_empty() && !creator.is_empty() {
        head.authors.push(creator);
    }
    head.keywords = keywords.join(", ");
    head
}

/// The text around a note.
struct Interrupted {
    sink: Sink,
    lists: Vec<List>,
    /// Paragraphs that are open.
    open: usize,
}

/// A list that is open.
#[derive(Debug, Default)]
struct List {
    style: String,
    ordered: bool,
    /// The number of its last item.
    count: u32,
    /// The identifier by which another list may go on with its numbers.
    id: Option<String>,
    /// Whether the item that is open has a paragraph: further ones are no items.
    has_paragraph: bool,
}

#[derive(Default)]
struct Reader {
    sink: Sink,
    /// Whether it is a text document.
    is_text: bool,
    /// Paragraphs within paragraphs are those of notes and frames.
    open: Vec<(Paragraph, Kind)>,
    notes: Notes,
    /// Marks of notes in the text.
    marks: u32,
    /// The note that is being read: what it interrupts.
    note: Option<Interrupted>,
    /// The lists that are open, from the outermost.
    lists: Vec<List>,
    /// How far ended lists have counted, by their identifier and by their style.
    counts: HashMap<String, u32>,
    styles: Styles,
    /// What text was before each part of it that is open.
    scripts: Vec<Option<Script>>,
    skipped: usize,
}

impl Reader {
    fn event(&mut self, event: Xml<'_>) {
        if self.skipped > 0 {
            match event {
                Xml::Start(_) => self.skipped += 1,
                Xml::End(_) => self.skipped -= 1,
                Xml::Text(_) => {}
            }
            return;
        }
        match event {
            Xml::Start(element) => self.start(&element),
            Xml::End(name) => self.end(&name),
            Xml::Text(text) => {
                if let Some((paragraph, _)) = self.open.last_mut() {
                    paragraph.text(&text.replace('\n', " "));
                }
            }
        }
    }

    fn start(&mut self, element: &Element<'_>) {
        match element.name() {
            "office:text" => self.is_text = true,
            "text:h" => {
                let level = element
                    .attribute("outline-level")
                    .and_then(|level| level.parse().ok());
                self.begin_paragraph(Kind::Heading(level.unwrap_or(1)));
            }
            "text:p" => {
                let kind = self.kind();
                self.begin_paragraph(kind);
            }
            "text:list" => self.begin_list(element),
            "text:list-item" => self.begin_item(element),
            // Text before the items.
            "text:list-header" => {
                if let Some(list) = self.lists.last_mut() {
                    list.has_paragraph = true;
                }
            }
            "text:span" => self.begin_span(element),
            "table:table" => self.sink.table(),
            "table:table-header-rows" => self.sink.set_head(true),
            "table:table-row" => self.sink.row(count(element, "number-rows-repeated")),
            "table:table-cell" => self.sink.cell(Cell::new(
                count(element, "number-columns-spanned"),
                count(element, "number-rows-spanned"),
                count(element, "number-columns-repeated"),
            )),
            "text:note" => self.start_note(),
            // Comments, deleted text, the numbers of notes, and cells below others.
            "office:annotation"
            | "text:tracked-changes"
            | "text:note-citation"
            | "table:covered-table-cell" => self.skipped = 1,
            name => {
                if self.styles.start(element) {
                    return;
                }
                let Some((paragraph, _)) = self.open.last_mut() else {
                    return;
                };
                match name {
                    "text:s" => {
                        let count = element.attribute("c").and_then(|count| count.parse().ok());
                        paragraph.text(&" ".repeat(count.unwrap_or(1_usize).min(100)));
                    }
                    // A picture has both.
                    "text:tab" | "svg:title" | "svg:desc" => paragraph.text(" "),
                    "text:line-break" => paragraph.line_break(),
                    "text:a" => paragraph.link(&element.attribute("href").unwrap_or_default()),
                    _ => {}
                }
            }
        }
    }

    fn end(&mut self, name: &str) {
        match name {
            "text:h" | "text:p" => self.end_paragraph(),
            "text:list" => self.end_list(),
            "text:span" => {
                let before = self.scripts.pop().flatten();
                if let Some((paragraph, _)) = self.open.last_mut() {
                    paragraph.script(before);
                }
            }
            "text:a" => {
                if let Some((paragraph, _)) = self.open.last_mut() {
                    paragraph.end_link();
                }
            }
            "table:table" => self.sink.end_table(),
            "table:table-header-rows" => self.sink.set_head(false),
            "table:table-row" => self.sink.end_row(),
            "table:table-cell" => self.sink.end_cell(),
            "text:note" => self.end_note(),
            _ => {}
        }
    }

    fn begin_list(&mut self, element: &Element<'_>) {
        let own = element.attribute("style-name");
        let around = self.lists.last().filter(|_| own.is_none());
        let inherited = around.is_some_and(|list| list.ordered);
        let style = around.map(|list| list.style.clone()).or(own);
        let style = style.unwrap_or_default();
        let level = self.lists.len() + 1;
        let said = self.styles.level(&style, level);
        let ordered = said.map_or(inherited, |start| start.is_some());
        let goes_on = element.attribute("continue-numbering").as_deref() == Some("true");
        let other = element.attribute("continue-list");
        let before = other.or(goes_on.then(|| style.clone()).filter(|_| level == 1));
        let before = before.and_then(|key| self.counts.get(&key).copied());
        let first = said.flatten().unwrap_or(1);
        self.lists.push(List {
            style,
            ordered,
            count: before.unwrap_or(first.saturating_sub(1)),
            id: element.attribute("id"),
            has_paragraph: false,
        });
    }

    fn begin_item(&mut self, element: &Element<'_>) {
        if let Some(list) = self.lists.last_mut() {
            let start = element
                .attribute("start-value")
                .and_then(|n| n.parse().ok());
            list.count = start.unwrap_or(list.count.saturating_add(1));
            list.has_paragraph = false;
        }
    }

    fn end_list(&mut self) {
        let Some(list) = self.lists.pop() else { return };
        if self.lists.is_empty() {
            let id = list.id.into_iter();
            self.counts
                .extend(id.chain([list.style]).map(|key| (key, list.count)));
        }
        // What comes behind it in the item around it is none of its own.
        if let Some(around) = self.lists.last_mut() {
            around.has_paragraph = true;
        }
    }

    /// What a paragraph is that begins here: the first one of an item, or text.
    fn kind(&mut self) -> Kind {
        let level = self.lists.len().saturating_sub(1);
        let Some(list) = self.lists.last_mut() else {
            return Kind::Plain;
        };
        if std::mem::replace(&mut list.has_paragraph, true) {
            return Kind::Plain;
        }
        Kind::Item {
            level,
            ordered: list.ordered,
            number: list.ordered.then_some(list.count),
        }
    }

    fn begin_span(&mut self, element: &Element<'_>) {
        let Some((paragraph, _)) = self.open.last_mut() else {
            return self.scripts.push(None);
        };
        let before = paragraph.next_script();
        match self.styles.look(element.attribute("style-name").as_deref()) {
            Some(Look::Hidden) => {
                self.skipped = 1;
                return;
            }
            Some(Look::Script(script)) => paragraph.script(Some(script)),
            None => {}
        }
        self.scripts.push(before);
    }

    /// Writes the mark of a note, and begins the note apart from the text; notes have none.
    fn start_note(&mut self) {
        let has_room = self.note.is_none() && self.sink.has_room();
        let open = self.open.len();
        let Some((paragraph, _)) = self.open.last_mut().filter(|_| has_room) else {
            self.skipped = 1;
            return;
        };
        self.marks += 1;
        paragraph.note(self.marks);
        let note = Sink::beside(self.sink.written());
        self.note = Some(Interrupted {
            sink: std::mem::replace(&mut self.sink, note),
            lists: std::mem::take(&mut self.lists),
            open,
        });
    }

    fn end_note(&mut self) {
        let Some(around) = self.note.take() else {
            return;
        };
        while self.open.len() > around.open {
            self.end_paragraph();
        }
        let note = std::mem::replace(&mut self.sink, around.sink);
        self.lists = around.lists;
        let before = self.notes.bytes();
        self.notes.add(self.marks, note);
        self.sink.add_elsewhere(self.notes.bytes() - before);
    }

    fn begin_paragraph(&mut self, kind: Kind) {
        if self.open.len() < MAX_OPEN {
            self.open.push((Paragraph::default(), kind));
        }
    }

    fn end_paragraph(&mut self) {
        if let Some((paragraph, kind)) = self.open.pop() {
            self.sink.paragraph(paragraph, kind);
        }
    }
}

/// How often something is there, or how far it reaches: once where nothing is said.
fn count(element: &Element<'_>, name: &str) -> usize {
    let count = element.attribute(name).and_then(|count| count.parse().ok());
    count.unwrap_or(1)
}
