//! DOCX: the main part with its styles, lists, links and notes.

use std::collections::HashMap;

use orbweaver_sdk::Error;

use super::archive::Archive;
use super::notes::Notes;
use super::numbering::Numbering;
use super::sink::{Kind, MAX_OPEN, Paragraph, Script, Sink};
use super::table::{Cell, Merge};
use crate::Converted;
use crate::html::Head;
use crate::xml::{Element, Xml, local, read};

/// Styles that are followed from one to the next.
const MAX_INHERITANCE: usize = 20;
/// Longest URL of a link, in bytes.
const MAX_TARGET: usize = 8 << 10;

pub(super) fn convert(archive: &Archive<'_>) -> Result<Converted, Error> {
    let main = main_part(archive)?;
    let other = "the archive is an Office file, but no text document";
    let folder = main.rsplit_once('/').map_or("", |(folder, _)| folder);
    if ["xl", "ppt"].contains(&folder) {
        return Err(Error::failed(other));
    }
    let text = archive.text(&main)?.ok_or_else(|| Error::failed(other))?;
    let part = |name: &str| archive.text(&format!("{folder}/{name}"));
    let file = main.rsplit('/').next().unwrap_or_default();
    let mut reader = Reader {
        styles: styles(&part("styles.xml")?.unwrap_or_default()),
        numbering: Numbering::read(&part("numbering.xml")?.unwrap_or_default()),
        targets: targets(&part(&format!("_rels/{file}.rels"))?.unwrap_or_default()),
        ..Reader::default()
    };
    let end = read(&text, |event| reader.event(event));
    reader.end_paragraph();
    let (mut body, mut whole) = std::mem::take(&mut reader.sink).finish();
    if body.is_empty() && !end {
        return Err(Error::failed(
            "the DOCX is damaged: its text cannot be read",
        ));
    }
    let marks = reader.marks.len();
    for (part_of, name) in [(Part::Footnotes, "footnotes"), (Part::Endnotes, "endnotes")] {
        if reader.marks.keys().any(|(part, _)| *part == part_of) {
            // Notes that cannot be read do not keep the text from being read.
            let text = part(&format!("{name}.xml")).unwrap_or_default();
            let links = part(&format!("_rels/{name}.xml.rels")).unwrap_or_default();
            reader.targets = targets(&links.unwrap_or_default());
            reader.notes(part_of, &text.unwrap_or_default(), body.len());
        }
    }
    let lack_notes = reader.notes.count() < marks;
    whole &= reader.notes.write(&mut body);
    let mut notice = "converted from a DOCX document".to_owned();
    if !end {
        notice.push_str("; it is damaged after what was read");
    } else if !whole {
        notice.push_str("; the text beyond 8 MiB was left out");
    } else if lack_notes {
        notice.push_str("; some of its notes cannot be read");
    }
    Ok(Converted {
        html: head(&archive.text("docProps/core.xml")?.unwrap_or_default()).document(&body),
        format: "docx",
        notice,
    })
}

/// The name of the main part: `word/document.xml` where nothing else is said.
fn main_part(archive: &Archive<'_>) -> Result<String, Error> {
    let mut main = None;
    let relations = archive.text("_rels/.rels")?.unwrap_or_default();
    read(&relations, |event| {
        if let Xml::Start(element) = event
            && element.local() == "Relationship"
            && element
                .attribute("Type")
                .is_some_and(|kind| kind.ends_with("/officeDocument"))
        {
            main = element.attribute("Target");
        }
    });
    let main = main.unwrap_or_else(|| "word/document.xml".to_owned());
    Ok(main.trim_start_matches('/').to_owned())
}

/// A style, as far as it says what a paragraph is.
#[derive(Default)]
struct Style {
    heading: Option<usize>,
    list: Option<(u32, usize)>,
    based_on: Option<String>,
}

fn styles(xml: &str) -> HashMap<String, Style> {
    let mut styles: HashMap<String, Style> = HashMap::new();
    let mut id = String::new();
    let mut level = 0;
    read(xml, |event| {
        let Xml::Start(element) = event else { return };
        let value = || element.attribute("val").unwrap_or_default();
        if element.local() == "style" {
            id = element.attribute("styleId").unwrap_or_default();
            styles.insert(id.clone(), Style::default());
            level = 0;
            return;
        }
        let Some(style) = styles.get_mut(&id) else {
            return;
        };
        match element.local() {
            "name" => {
                let name = value().to_lowercase();
                let number = name
                    .strip_prefix("heading ")
                    .and_then(|rest| rest.parse().ok());
                style.heading = number.or((name == "title").then_some(1));
            }
            "outlineLvl" if style.heading.is_none() => {
                style.heading = value()
                    .parse()
                    .ok()
                    .filter(|level: &usize| *level < 9)
                    .map(|l| l + 1);
            }
            "basedOn" => style.based_on = Some(value()),
            "ilvl" => level = value().parse().unwrap_or(0),
            "numId" => style.list = value().parse().ok().map(|list| (list, level)),
            _ => {}
        }
    });
    styles
}

/// URLs outside of the document, by the id of the relationship.
fn targets(xml: &str) -> HashMap<String, String> {
    let mut targets = HashMap::new();
    read(xml, |event| {
        if let Xml::Start(element) = event
            && element.local() == "Relationship"
            && element.attribute("TargetMode").as_deref() == Some("External")
            && let (Some(id), Some(target)) = (element.attribute("Id"), element.attribute("Target"))
        {
            // One long target may have many links.
            if target.len() <= MAX_TARGET {
                targets.insert(id, target);
            }
        }
    });
    targets
}

/// The core properties (ISO/IEC 29500-2, 11).
fn head(xml: &str) -> Head {
    let (mut head, mut text) = (Head::default(), String::new());
    read(xml, |event| match event {
        Xml::Start(_) => text.clear(),
        Xml::Text(more) => text.push_str(&more),
        Xml::End(name) => {
            let text = std::mem::take(&mut text);
            match local(&name) {
                "title" => head.title = text,
                "creator" if !text.trim().is_empty() => head.authors = vec![text.trim().to_owned()],
                "description" => head.description = text,
                "subject" if head.description.is_empty() => head.description = text,
                "keywords" => head.keywords = text,
                "language" => head.lang = text,
                "created" => head.published = text,
                "modified" => head.modified = text,
                _ => {}
            }
        }
    });
    head
}

/// A paragraph of the document that is being read.
#[derive(Default)]
struct Open {
    paragraph: Paragraph,
    style: String,
    heading: Option<usize>,
    list: Option<u32>,
    level: usize,
    /// Whether its properties are being read.
    in_properties: bool,
    /// Whether its end was deleted: with its text, it is gone.
    end_deleted: bool,
}

impl Open {
    /// Whether it was deleted.
    fn is_gone(&self) -> bool {
        self.end_deleted && self.paragraph.is_empty()
    }
}

/// A part of the archive with text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Part {
    #[default]
    Main,
    Footnotes,
    Endnotes,
}

#[derive(Default)]
struct Reader {
    styles: HashMap<String, Style>,
    numbering: Numbering,
    targets: HashMap<String, String>,
    sink: Sink,
    part: Part,
    /// The numbers of notes, by the part and their ids in it: the order of their marks in the text.
    marks: HashMap<(Part, i64), u32>,
    notes: Notes,
    /// The number of the note that is being read.
    note: Option<u32>,
    /// Bytes of HTML written before the notes.
    before_notes: usize,
    /// Paragraphs within paragraphs are those of text boxes.
    open: Vec<Open>,
    /// Whether text is that of the document: within `t`.
    in_text: bool,
    /// Whether the run of text is hidden.
    hidden: bool,
    /// Elements open within what is not read: the other form of something that was read already.
    skipped: usize,
    /// A piece of a field's instruction, while it is read.
    field: Option<String>,
    /// The instruction as far as it was read, which may be cut anywhere: `HYPERLINK "https://…"`.
    instruction: String,
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
            Xml::End(name) => self.end(local(&name)),
            Xml::Text(text) => {
                if let Some(field) = &mut self.field {
                    field.push_str(&text);
                } else if self.in_text
                    && !self.hidden
                    && let Some(open) = self.open.last_mut()
                {
                    open.paragraph.text(&text);
                }
            }
        }
    }

    fn start(&mut self, element: &Element<'_>) {
        let value = || element.attribute("val").unwrap_or_default();
        match element.local() {
            "p" if element.name() != "a:p" => {
                if self.open.len() < MAX_OPEN {
                    self.open.push(Open::default());
                }
            }
            "Fallback" | "del" | "moveFrom" => {
                self.skipped = 1;
                if let Some(open) = self.open.last_mut() {
                    open.end_deleted |= open.in_properties;
                }
            }
            // Properties as they were before a change.
            name if name.ends_with("PrChange") => self.skipped = 1,
            "t" => self.in_text = true,
            "r" => self.begin_run(),
            "tbl" => self.sink.table(),
            "tr" => {
                self.sink.set_head(false);
                self.sink.row(1);
            }
            "tblHeader" => self.sink.set_head(!is_off(&value())),
            "gridBefore" => self.sink.skip_columns(value().parse().unwrap_or(0)),
            "tc" => self.sink.cell(Cell::new(1, 1, 1)),
            "gridSpan" => {
                if let Some(cell) = self.sink.unwritten_cell() {
                    cell.columns = value().parse().unwrap_or(1);
                }
            }
            "vMerge" => {
                if let Some(cell) = self.sink.unwritten_cell() {
                    cell.merge = match value().as_str() {
                        "restart" => Merge::Begins,
                        _ => Merge::Continues,
                    };
                }
            }
            "footnote" | "endnote" if self.part != Part::Main => self.start_note(element),
            "footnoteReference" => self.mark(Part::Footnotes, element),
            "endnoteReference" => self.mark(Part::Endnotes, element),
            "instrText" => self.field = Some(String::new()),
            name => {
                let Some(open) = self.open.last_mut() else {
                    return;
                };
                match name {
                    "pPr" => open.in_properties = true,
                    // Of a paragraph, it is its end that is hidden.
                    "vanish" if !open.in_properties => self.hidden = !is_off(&value()),
                    "vertAlign" if !open.in_properties => {
                        open.paragraph.script(match value().as_str() {
                            "superscript" => Some(Script::Super),
                            "subscript" => Some(Script::Sub),
                            _ => None,
                        });
                    }
                    "pStyle" => open.style = value(),
                    "outlineLvl" => {
                        open.heading = value().parse().ok().map(|level: usize| level + 1)
                    }
                    "ilvl" => open.level = value().parse().unwrap_or(0),
                    "numId" => open.list = value().parse().ok(),
                    "tab" | "ptab" => open.paragraph.text(" "),
                    "br" | "cr" => open.paragraph.line_break(),
                    "noBreakHyphen" => open.paragraph.text("-"),
                    "hyperlink" => {
                        let target = element.attribute("id").and_then(|id| self.targets.get(&id));
                        open.paragraph.link(target.map_or("", String::as_str));
                    }
                    "fldSimple" => {
                        let url = element
                            .attribute("instr")
                            .and_then(|instr| hyperlink(&instr));
                        open.paragraph.link(&url.unwrap_or_default());
                    }
                    "fldChar" => match element.attribute("fldCharType").as_deref() {
                        Some("begin") => self.instruction.clear(),
                        Some("end") => open.paragraph.end_link(),
                        _ => {}
                    },
                    _ => {}
                }
            }
        }
    }

    fn end(&mut self, name: &str) {
        match name {
            "p" => self.end_paragraph(),
            "t" => self.in_text = false,
            "r" => self.begin_run(),
            "pPr" => {
                if let Some(open) = self.open.last_mut() {
                    open.in_properties = false;
                }
            }
            "tbl" => self.sink.end_table(),
            "tr" => self.sink.end_row(),
            "tc" => self.sink.end_cell(),
            "footnote" | "endnote" => self.end_note(),
            "hyperlink" | "fldSimple" => {
                if let Some(open) = self.open.last_mut() {
                    open.paragraph.end_link();
                }
            }
            "instrText" => {
                let piece = self.field.take().unwrap_or_default();
                if self.instruction.len() <= MAX_TARGET {
                    self.instruction.push_str(&piece);
                }
                let url = hyperlink(&self.instruction);
                if let (Some(open), Some(url)) = (self.open.last_mut(), url) {
                    open.paragraph.link(&url);
                    self.instruction.clear();
                }
            }
            _ => {}
        }
    }

    /// What comes has none of the properties of the run of text before it.
    fn begin_run(&mut self) {
        self.hidden = false;
        if let Some(open) = self.open.last_mut() {
            open.paragraph.script(None);
        }
    }

    fn end_paragraph(&mut self) {
        let Some(open) = self.open.pop() else { return };
        let kind = self.kind(&open);
        self.sink.paragraph(open.paragraph, kind);
    }

    /// Writes the mark of a note into the text; marks within notes are left out.
    fn mark(&mut self, part: Part, element: &Element<'_>) {
        let id = element.attribute("id").and_then(|id| id.parse().ok());
        let Some(id) = id.filter(|_| self.part == Part::Main && self.sink.has_room()) else {
            return;
        };
        let Some(open) = self.open.last_mut() else {
            return;
        };
        let next = u32::try_from(self.marks.len() + 1).unwrap_or(u32::MAX);
        let number = *self.marks.entry((part, id)).or_insert(next);
        open.paragraph.note(number);
    }

    /// Reads the notes of a part to which the text refers, beside so many bytes of HTML.
    fn notes(&mut self, part: Part, xml: &str, written: usize) {
        self.part = part;
        self.before_notes = written;
        self.skipped = 0;
        self.in_text = false;
        self.hidden = false;
        self.field = None;
        self.open.clear();
        read(xml, |event| self.event(event));
        self.end_note();
    }

    fn start_note(&mut self, element: &Element<'_>) {
        self.end_note();
        let id = element.attribute("id").and_then(|id| id.parse().ok());
        self.note = id.and_then(|id| self.marks.get(&(self.part, id)).copied());
        if self.note.is_some() {
            self.sink = Sink::beside(self.before_notes.saturating_add(self.notes.bytes()));
        } else {
            // The lines between text and notes are written as notes, too.
            self.skipped = 1;
        }
    }

    fn end_note(&mut self) {
        let Some(number) = self.note.take() else {
            return;
        };
        while !self.open.is_empty() {
            self.end_paragraph();
        }
        self.notes.add(number, std::mem::take(&mut self.sink));
    }

    /// What the paragraph is, by itself or by its style and those that this is based on.
    fn kind(&mut self, open: &Open) -> Kind {
        let mut heading = open.heading.filter(|level| *level <= 9);
        let mut list = open.list.map(|list| (list, open.level));
        let mut name = open.style.as_str();
        for _ in 0..MAX_INHERITANCE {
            let Some(style) = self.styles.get(name) else {
                break;
            };
            heading = heading.or(style.heading);
            list = list.or(style.list);
            match &style.based_on {
                Some(next) => name = next,
                None => break,
            }
        }
        let list = list.filter(|(list, _)| *list != 0 && !open.is_gone());
        // Headings are counted with the items of their list.
        let item = list.map(|(list, level)| (level, self.numbering.count(list, level)));
        match (heading, item) {
            (Some(level), _) => Kind::Heading(level),
            (None, Some((level, (ordered, number)))) => Kind::Item {
                level,
                ordered,
                number,
            },
            (None, None) => Kind::Plain,
        }
    }
}

/// Whether a property is switched off.
fn is_off(value: &str) -> bool {
    matches!(value, "0" | "false" | "off")
}

/// The URL of a field's instruction, if it is a link.
fn hyperlink(instruction: &str) -> Option<String> {
    let rest = instruction.trim().strip_prefix("HYPERLINK")?.trim_start();
    let (url, _) = rest.strip_prefix('"')?.split_once('"')?;
    Some(url.to_owned())
}
