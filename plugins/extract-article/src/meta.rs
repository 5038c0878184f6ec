//! Metadata of the content: title, author, date, language, summary.

use orbweaver_facts::{Facts, Sources, language, readable};
use orbweaver_sdk::Page;
use orbweaver_sdk::dom::View;
use orbweaver_sdk::head::Head;
use orbweaver_sdk::jsonld::Block;
use orbweaver_sdk::language::tag as language_tag;
use orbweaver_sdk::text::collapse;

/// Longest excerpt, in characters.
const MAX_EXCERPT: usize = 300;

/// Facts about the content; `None` where the page does not tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meta {
    /// The headline.
    pub title: Option<String>,
    /// Author or authors.
    pub byline: Option<String>,
    /// ISO 8601.
    pub published: Option<String>,
    /// BCP 47 tag: as declared, else detected from the text.
    pub lang: Option<String>,
    /// The page's description, or the start of its first paragraph.
    pub excerpt: Option<String>,
}

/// Collects the facts. `blocks` are the page's JSON-LD. `text` is the content: its first paragraph
/// serves as an excerpt where the page has no description, and its language where none is declared.
pub fn collect(page: &Page<'_>, view: &View<'_>, blocks: &[Block], text: &str) -> Meta {
    let head = Head::of_view(view);
    let objects: Vec<_> = blocks
        .iter()
        .flat_map(Block::objects)
        .filter(|object| object.has_type())
        .collect();
    let declared = head.lang.map(language_tag);
    let lang = declared.as_deref().or_else(|| language::of_text(text));
    let sources = Sources {
        view,
        url: page.final_url(),
        head: &head,
        objects: &objects,
        language: lang.unwrap_or(""),
        answered: page.header("date").unwrap_or(""),
    };
    let facts = Facts::shared(page, &sources);
    Meta {
        title: facts.headline.as_ref().or(facts.title.as_ref()).cloned(),
        byline: facts.author.clone(),
        published: facts.published.clone(),
        lang: lang.map(str::to_owned),
        excerpt: head
            .meta_text(&["description", "og:description"])
            .map(|text| readable(&text))
            .or_else(|| first_paragraph(text)),
    }
}

/// The first line of some length, cut between words.
pub fn first_paragraph(text: &str) -> Option<String> {
    let line = text
        .lines()
        .find(|l| l.len() >= 80)
        .or_else(|| text.lines().find(|l| !l.trim().is_empty()))?;
    let Some((cut, _)) = line.char_indices().nth(MAX_EXCERPT) else {
        return Some(collapse(line)).filter(|line| !line.is_empty());
    };
    let head = line.get(..cut).unwrap_or(line);
    let end = head.rfind(char::is_whitespace).unwrap_or(cut);
    Some(format!("{}…", head.get(..end).unwrap_or(head).trim_end()))
}
