//! DOCX: the main part with its styles, lists and links.

use std::collections::{BTreeMap, HashMap};

use orbweaver_sdk::Error;

use super::archive::Archive;
use super::sink::{Kind, Paragraph, Sink};
use crate::Converted;
use crate::html::Head;
use crate::xml::{Element, Xml, local, read};

/// Styles that are followed from one to the next.
const MAX_INHERITANCE: usize = 20;

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
        numbering: numbering(&part("numbering.xml")?.unwrap_or_default()),
        targets: targets(&part(&format!("_rels/{file}.rels"))?.unwrap_or_default()),
        ..Reader::default()
    };
    let end = read(&text, |event| reader.event(event));
    reader.end_paragraph();
    let (body, whole) = reader.sink.finish();
    if body.is_empty() && !end {
        return Err(Error::failed(
            "the DOCX is damaged: its text cannot be read",
        ));
    }
    let mut notice = "converted from a DOCX document".to_owned();
    if !end {
        notice.push_str("; it is damaged after what was read");
    } else if !whole {
        notice.push_str("; the text beyond 8 MiB was left out");
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
    list: Option<(String, usize)>,
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
            "numId" => style.list = Some((value(), level)),
            _ => {}
        }
    });
    styles
}

/// Whether the items are numbered, by the number of the list and the level.
fn numbering(xml: &str) -> BTreeMap<(String, usize), bool> {
    let mut formats: BTreeMap<(String, usize), bool> = BTreeMap::new();
    let mut lists: Vec<(String, String)> = Vec::new();
    let (mut current, mut number, mut level) = (String::new(), String::new(), 0);
    read(xml, |event| {
        let Xml::Start(element) = event else { return };
        let value = || element.attribute("val").unwrap_or_default();
        match element.local() {
            "abstractNum" => current = element.attribute("abstractNumId").unwrap_or_default(),
            "lvl" => {
                level = element
                    .attribute("ilvl")
                    .and_then(|l| l.parse().ok())
                    .unwrap_or(0)
            }
            "numFmt" => {
                let ordered = !matches!(value().as_str(), "bullet" | "none");
                formats.insert((current.clone(), level), ordered);
            }
            "num" => number = element.attribute("numId").unwrap_or_default(),
            "abstractNumId" => lists.push((number.clone(), value())),
            _ => {}
        }
    });
    let of_lists = lists.iter().flat_map(|(number, list)| {
        (0..9).filter_map(|level| {
            let ordered = formats.get(&(list.clone(), level))?;
            Some(((number.clone(), level), *ordered))
        })
    });
    of_lists.collect()
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
            targets.insert(id, target);
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
    list: Option<String>,
    level: usize,
}

#[derive(Default)]
struct Reader {
    styles: HashMap<String, Style>,
    numbering: BTreeMap<(String, usize), bool>,
    targets: HashMap<String, String>,
    sink: Sink,
    /// Paragraphs within paragraphs are those of text boxes.
    open: Vec<Open>,
    /// Whether text is that of the document: within `t`.
    in_text: bool,
    /// Elements open within what is not read: the other form of something that was read already.
    skipped: usize,
    /// The instruction of a field: `HYPERLINK "https://…"`.
    field: Option<String>,
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
            "p" if element.name() != "a:p" => self.open.push(Open::default()),
            "Fallback" | "del" | "moveFrom" => self.skipped = 1,
            "t" => self.in_text = true,
            "tbl" => self.sink.tag("<table>\n"),
            "tr" => self.sink.tag("<tr>"),
            "tc" => self.sink.tag("<td>"),
            "instrText" => self.field = Some(String::new()),
            name => {
                let Some(open) = self.open.last_mut() else {
                    return;
                };
                match name {
                    "pStyle" => open.style = value(),
                    "outlineLvl" => {
                        open.heading = value().parse().ok().map(|level: usize| level + 1)
                    }
                    "ilvl" => open.level = value().parse().unwrap_or(0),
                    "numId" => open.list = Some(value()),
                    "tab" => open.paragraph.text(" "),
                    "br" | "cr" => open.paragraph.line_break(),
                    "noBreakHyphen" => open.paragraph.text("-"),
                    "hyperlink" => {
                        let target = element
                            .attribute("id")
                            .and_then(|id| self.targets.get(&id).cloned());
                        open.paragraph.link(&target.unwrap_or_default());
                    }
                    "fldSimple" => {
                        let url = element
                            .attribute("instr")
                            .and_then(|instr| hyperlink(&instr));
                        open.paragraph.link(&url.unwrap_or_default());
                    }
                    "fldChar" if element.attribute("fldCharType").as_deref() == Some("end") => {
                        open.paragraph.end_link();
                    }
                    _ => {}
                }
            }
        }
    }

    fn end(&mut self, name: &str) {
        match name {
            "p" => self.end_paragraph(),
            "t" => self.in_text = false,
            "tbl" => self.sink.tag("</table>\n"),
            "tr" => self.sink.tag("</tr>\n"),
            "tc" => self.sink.tag("</td>"),
            "hyperlink" | "fldSimple" => {
                if let Some(open) = self.open.last_mut() {
                    open.paragraph.end_link();
                }
            }
            "instrText" => {
                let url = self.field.take().and_then(|field| hyperlink(&field));
                if let (Some(open), Some(url)) = (self.open.last_mut(), url) {
                    open.paragraph.link(&url);
                }
            }
            _ => {}
        }
    }

    fn end_paragraph(&mut self) {
        let Some(open) = self.open.pop() else { return };
        let kind = self.kind(&open);
        self.sink.paragraph(open.paragraph, kind);
    }

    /// What the paragraph is, by itself or by its style and those that this is based on.
    fn kind(&self, open: &Open) -> Kind {
        let mut heading = open.heading.filter(|level| *level <= 9);
        let mut list = open.list.clone().map(|list| (list, open.level));
        let mut name = open.style.clone();
        for _ in 0..MAX_INHERITANCE {
            let Some(style) = self.styles.get(&name) else {
                break;
            };
            heading = heading.or(style.heading);
            if list.is_none() {
                list.clone_from(&style.list);
            }
            match &style.based_on {
                Some(next) => name.clone_from(next),
                None => break,
            }
        }
        if let Some(level) = heading {
            return Kind::Heading(level);
        }
        match list.filter(|(list, _)| list != "0") {
            Some((list, level)) => {
                let ordered = self.numbering.get(&(list, level)).copied().unwrap_or(false);
                Kind::Item(level, ordered)
            }
            None => Kind::Plain,
        }
    }
}

/// The URL of a field's instruction, if it is a link.
fn hyperlink(instruction: &str) -> Option<String> {
    let rest = instruction.trim().strip_prefix("HYPERLINK")?.trim_start();
    let url = rest.strip_prefix('"')?.split('"').next()?;
    Some(url.to_owned())
}
