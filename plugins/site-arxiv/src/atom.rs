//! Parses the Atom feed of the API.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use crate::Paper;

/// The papers of a feed. An error says what differs from the documentation.
pub fn papers(feed: &str) -> Result<Vec<Paper>, String> {
    let mut reader = Reader::from_str(feed);
    let mut papers = Vec::new();
    let mut entry: Option<Paper> = None;
    let mut is_feed = false;
    // Names of the open elements below the entry.
    let mut open: Vec<String> = Vec::new();
    let mut text = String::new();
    loop {
        let event = reader.read_event().map_err(|error| error.to_string())?;
        match event {
            Event::Start(start) => {
                let name = local(&start);
                is_feed |= name == "feed";
                if name == "entry" {
                    entry = Some(Paper::default());
                    open.clear();
                } else if let Some(paper) = &mut entry {
                    element(paper, &name, &start)?;
                    open.push(name);
                }
                text.clear();
            }
            Event::Empty(start) => {
                if let Some(paper) = &mut entry {
                    element(paper, &local(&start), &start)?;
                }
            }
            Event::Text(piece) => text.push_str(&piece),
            Event::CData(piece) => text.push_str(&piece),
            Event::GeneralRef(name) => {
                let named = match &*name {
                    "amp" => Some('&'),
                    "lt" => Some('<'),
                    "gt" => Some('>'),
                    "quot" => Some('"'),
                    "apos" => Some('\''),
                    _ => name.resolve_char_ref().ok().flatten(),
                };
                text.push(named.ok_or_else(|| format!("entity &{};", &*name))?);
            }
            Event::End(end) => {
                if end.local_name().into_inner() == "entry" {
                    papers.extend(entry.take().map(finished).transpose()?);
                } else if let (Some(paper), Some(name)) = (&mut entry, open.pop()) {
                    let parent = open.last().map(String::as_str);
                    content(paper, parent, &name, &squeezed(&text));
                }
                text.clear();
            }
            Event::Eof if is_feed => return Ok(papers),
            Event::Eof => return Err("not an Atom feed".to_owned()),
            _ => {}
        }
    }
}

fn local(start: &BytesStart<'_>) -> String {
    start.local_name().into_inner().to_owned()
}

/// Reads an element's attributes.
fn element(paper: &mut Paper, name: &str, start: &BytesStart<'_>) -> Result<(), String> {
    let attribute = |wanted: &str| -> Result<Option<String>, String> {
        let found = start
            .try_get_attribute(wanted)
            .map_err(|error| error.to_string())?;
        Ok(found.map(|found| found.value.replace("&amp;", "&")))
    };
    match name {
        "category" => paper.categories.extend(attribute("term")?),
        "primary_category" => paper.primary_category = attribute("term")?,
        "link" => {
            let href = attribute("href")?;
            if attribute("title")?.as_deref() == Some("pdf") {
                paper.pdf_url = href;
            } else if attribute("rel")?.as_deref() == Some("alternate") {
                paper.url = href.unwrap_or_default();
            }
        }
        _ => {}
    }
    Ok(())
}

/// Reads an element's text.
fn content(paper: &mut Paper, parent: Option<&str>, name: &str, text: &str) {
    let text = text.to_owned();
    match (parent, name) {
        (None, "id") => {
            let id = text.split_once("/abs/").map(|(_, id)| id.to_owned());
            paper.id = id.unwrap_or(text);
        }
        (None, "title") => paper.title = text,
        (None, "summary") => paper.summary = text,
        (None, "published") => paper.published_at = text,
        (None, "updated") => paper.updated_at = text,
        (None, "doi") => paper.doi = Some(text),
        (None, "journal_ref") => paper.journal = Some(text),
        (None, "comment") => paper.comment = Some(text),
        (Some("author"), "name") => paper.authors.push(text),
        _ => {}
    }
}

fn finished(paper: Paper) -> Result<Paper, String> {
    for (name, value) in [("id", &paper.id), ("title", &paper.title)] {
        if value.is_empty() {
            return Err(format!("an entry has no {name}"));
        }
    }
    Ok(paper)
}

/// Joins the lines of titles and abstracts.
fn squeezed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
