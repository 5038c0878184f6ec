//! ODT: the text of `content.xml`, and the properties of `meta.xml`.

use orbweaver_sdk::Error;

use super::archive::Archive;
use super::sink::{Kind, Paragraph, Sink};
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
    while !reader.open.is_empty() {
        reader.end_paragraph();
    }
    let (body, whole) = reader.sink.finish();
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

#[derive(Default)]
struct Reader {
    sink: Sink,
    /// Whether it is a text document.
    is_text: bool,
    /// Paragraphs within paragraphs are those of notes and frames.
    open: Vec<(Paragraph, Kind)>,
    /// Names of the styles of the lists that are open.
    lists: Vec<bool>,
    /// Styles of lists whose items are numbered.
    numbered: Vec<String>,
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
                self.numbered.push(self.style.clone());
            }
            "text:h" => {
                let level = element
                    .attribute("outline-level")
                    .and_then(|level| level.parse().ok());
                self.open
                    .push((Paragraph::default(), Kind::Heading(level.unwrap_or(1))));
            }
            "text:p" => {
                let kind = match self.lists.last() {
                    Some(ordered) => Kind::Item(self.lists.len() - 1, *ordered),
                    None => Kind::Plain,
                };
                self.open.push((Paragraph::default(), kind));
            }
            "text:list" => {
                let style = element.attribute("style-name");
                let ordered = match style {
                    Some(style) => self.numbered.contains(&style),
                    None => self.lists.last().copied().unwrap_or(false),
                };
                self.lists.push(ordered);
            }
            "table:table" => self.sink.tag("<table>\n"),
            "table:table-row" => self.sink.tag("<tr>"),
            "table:table-cell" => self.sink.tag("<td>"),
            // Comments, deleted text, and the numbers of notes.
            "office:annotation" | "text:tracked-changes" | "text:note-citation" => self.skipped = 1,
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
            "table:table" => self.sink.tag("</table>\n"),
            "table:table-row" => self.sink.tag("</tr>\n"),
            "table:table-cell" => self.sink.tag("</td>"),
            _ => {}
        }
    }

    fn end_paragraph(&mut self) {
        if let Some((paragraph, kind)) = self.open.pop() {
            self.sink.paragraph(paragraph, kind);
        }
    }
}
