//! Section and tags.

use orbweaver_sdk::jsonld::{self, decode_entities};
use orbweaver_sdk::text::collapse;

use crate::Sources;
use crate::marks::Marks;
use crate::text::plain;
use crate::things::{self, Thing};

/// The signs between the words of a list, of all scripts.
pub const LIST_SIGNS: [char; 7] = [',', ';', '，', '；', '、', '،', '؛'];

/// Tags that are told.
const MAX_TAGS: usize = 50;
/// Longest tag, in bytes.
const MAX_TAG_BYTES: usize = 100;

/// The section: `article:section`, else JSON-LD's `articleSection`, else a link of the text to its
/// category.
pub fn section(sources: &Sources<'_>, things: &[Thing<'_>], marks: &Marks) -> Option<String> {
    let stated = || {
        let mut found = things.iter();
        found.find_map(|thing| things::text(jsonld::elements(thing.section?).next()?))
    };
    sources
        .head
        .meta_text(&["article:section", "parsely-section", "og:article:section"])
        .map(|name| plain(&name))
        .or_else(stated)
        .or_else(|| {
            let mut of_items = marks.items.metas(sources.head, &["articlesection"]);
            of_items.next().map(plain)
        })
        .filter(|name| !name.is_empty())
        .or_else(|| marks.linked_topics().0.first().cloned())
}

/// Tags of the content: `article:tag`, JSON-LD's `keywords`, else the `keywords` metas, else links of
/// the text to its tags.
pub fn tags(sources: &Sources<'_>, things: &[Thing<'_>], marks: &Marks) -> Vec<String> {
    let mut tags: Vec<String> = Vec::new();
    let mut add = |list: &str| {
        // Before it is cut at its semicolons.
        let list = decode_entities(list);
        for tag in list.split(LIST_SIGNS).map(collapse) {
            if !tag.is_empty()
                && tag.len() <= MAX_TAG_BYTES
                && tags.len() < MAX_TAGS
                && !tags.contains(&tag)
            {
                tags.push(tag);
            }
        }
        tags.len()
    };
    let mut found = 0;
    for tag in sources
        .head
        .all(&["article:tag", "og:article:tag"])
        .take(MAX_TAGS)
    {
        found = add(tag);
    }
    if found == 0 {
        for json in things.iter().filter_map(|thing| thing.keywords).take(4) {
            for list in jsonld::strings(json).take(MAX_TAGS) {
                found = add(&list);
            }
        }
    }
    if found == 0 {
        let names = &["news_keywords", "parsely-tags", "sailthru.tags", "keywords"];
        for list in marks.items.metas(sources.head, names).take(1) {
            found = add(list);
        }
    }
    if found == 0 {
        tags = marks.linked_topics().1;
    }
    tags
}
