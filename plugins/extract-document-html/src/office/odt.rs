//! ODT: the text of `content.xml`, and the properties of `meta.xml`.

use std::collections::HashSet;

use orbweaver_sdk::Error;

use super::archive::Archive;
use super::notes::Notes;
use super::sink::{Kind, MAX_OPEN, Paragraph, Sink};
use super::table::Cell;
use crate::Converted;
use crate::html::Head;
use crate::xml::{Element, Xml, local, read};

pub(super) fn convert(archive: &Archive<'_>) -> Result<Converted, Error> {
    let text = archive.text("content.xml")?.unwrap_or_default();
    let mut reader = Reader::default();
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
    lists: Vec<bool>,
    /// Paragraphs that are open.
    open: usize,
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
    /// Names of the styles of the lists that are open.
    lists: Vec<bool>,
    /// Styles of lists whose items are numbered.
    numbered: HashSet<String>,
    style: String,
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
            "text:list-style" => self.style = element.attribute("name").unwrap_or_default(),
            "text:list-level-style-number"
                if element.attribute("level").as_deref() == Some("1") =>
            {
                self.numbered.insert(self.style.clone());
            }
            "text:h" => {
                let level = element
                    .attribute("outline-level")
                    .and_then(|level| level.parse().ok());
                self.begin_paragraph(Kind::Heading(level.unwrap_or(1)));
            }
            "text:p" => {
                let kind = match self.lists.last() {
                    Some(ordered) => Kind::Item {
                        level: self.lists.len() - 1,
                        ordered: *ordered,
                        number: None,
                    },
                    None => Kind::Plain,
                };
                self.begin_paragraph(kind);
            }
            "text:list" => {
                let style = element.attribute("style-name");
                let ordered = match style {
                    Some(style) => self.numbered.contains(&style),
                    None => self.lists.last().copied().unwrap_or(false),
                };
                self.lists.push(ordered);
            }
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
                let Some((paragraph, _)) = self.open.last_mut() else {
                    return;
                };
                match name {
                    "text:s" => {
                        let count = element.attribute("c").and_then(|count| count.parse().ok());
                        paragraph.text(&" ".repeat(count.unwrap_or(1_usize).min(100)));
                    }
                    "text:tab" => paragraph.text(" "),
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
            "text:list" => {
                self.lists.pop();
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
