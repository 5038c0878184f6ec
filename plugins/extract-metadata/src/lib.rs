//! The `metadata` role: what a page says about itself.

mod stated;

use std::collections::BTreeSet;

use orbweaver_facts::{Facts, Items, LIST_SIGNS, Sources, language};
use orbweaver_sdk::dom::attr;
use orbweaver_sdk::head::{Head, Meta};
use orbweaver_sdk::json::Writer;
use orbweaver_sdk::language::tag as language_tag;
use orbweaver_sdk::text::collapse;
use orbweaver_sdk::{Error, Page, jsonld};

/// The page's metadata as one JSON object; its fields are described in `plugin.toml`. A
/// fact that the page does not state is null (or empty). Only the language is guessed, from
/// the text, where none is declared; `lang_source` then says `detected`.
pub fn extract(page: &Page<'_>, _options: &str) -> Result<String, Error> {
    let view = page.view()?;
    let head = Head::of(page)?;
    let objects: Vec<_> = page
        .json_ld()?
        .iter()
        .flat_map(jsonld::Block::objects)
        .filter(|object| object.has_type())
        .collect();
    let declared = head.language(page).map(language_tag);
    let detected = if declared.is_none() {
        language::detect(view)
    } else {
        None
    };
    let lang = declared.as_deref().or(detected);
    let sources = Sources {
        view,
        url: page.final_url(),
        head: &head,
        objects: &objects,
        language: lang.unwrap_or(""),
        answered: page.header("date").unwrap_or(""),
    };
    let facts = Facts::shared(page, &sources);
    let image = facts
        .image
        .as_deref()
        .and_then(|href| Some(page.base()?.join(href)?.into_string()));

    let mut w = Writer::with_capacity(4096);
    w.begin_object();
    for (key, value) in [
        ("title", facts.title.as_deref()),
        ("headline", facts.headline.as_deref()),
        ("description", stated::description(view, &head).as_deref()),
        ("canonical", head.canonical(page).as_deref()),
        ("lang", lang),
        (
            "lang_source",
            lang.map(|_| {
                if declared.is_some() {
                    "declared"
                } else {
                    "detected"
                }
            }),
        ),
        ("author", facts.author.as_deref()),
        ("published", facts.published.as_deref()),
        ("modified", facts.modified.as_deref()),
        ("site_name", facts.site_name.as_deref()),
        ("section", facts.section.as_deref()),
        ("image", image.as_deref()),
        ("favicon", stated::favicon(page, &head).as_deref()),
        ("viewport", head.meta_text(&["viewport"]).as_deref()),
        ("charset", stated::charset(page, &head).as_deref()),
        ("robots", stated::robots(&head).as_deref()),
        ("generator", head.meta_text(&["generator"]).as_deref()),
    ] {
        w.key(key).string_or_null(value);
    }
    w.key("tags").array(|w| {
        for tag in &facts.tags {
            w.string(tag);
        }
    });
    w.key("keywords").array(|w| {
        let items = Items::of(view);
        let lists = items.metas(&head, &["keywords", "news_keywords"]);
        let words = lists
            .take(1)
            .flat_map(|list| list.split(LIST_SIGNS))
            .map(collapse);
        for word in words.filter(|word| !word.is_empty()) {
            w.string(&word);
        }
    });
    w.key("feeds").array(|w| feeds(page, &head, w));
    w.key("og").object(|w| open_graph(&head, w));
    w.key("twitter").object(|w| {
        for Meta { name, content, .. } in head.prefixed("twitter:") {
            w.key(name).string(content);
        }
    });
    w.key("json_ld")
        .array(|w| objects.iter().for_each(|object| object.write(w)));
    w.end_object();
    Ok(w.finish())
}

/// Feeds that the page offers: `<link rel="alternate">` of a feed's type.
fn feeds(page: &Page<'_>, head: &Head<'_>, w: &mut Writer) {
    const TYPES: &[&str] = &[
        "application/rss+xml",
        "application/atom+xml",
        "application/feed+json",
        "application/rdf+xml",
    ];
    let Some(base) = page.base() else { return };
    for link in head.links.iter().filter(|link| link.is("alternate")) {
        let kind = link.node.attr(attr::TYPE).unwrap_or("").trim_ascii();
        let kind = kind.split(';').next().unwrap_or(kind).trim_ascii();
        let Some(kind) = TYPES.iter().find(|known| known.eq_ignore_ascii_case(kind)) else {
            continue;
        };
        let Some(url) = link.target(base) else {
            continue;
        };
        let title = link
            .node
            .attr(attr::TITLE)
            .map(collapse)
            .filter(|title| !title.is_empty());
        w.object(|w| {
            w.key("url").string(url.as_str());
            w.key("type").string(kind);
            w.key("title").string_or_null(title.as_deref());
        });
    }
}

/// Open Graph properties without their prefix, the first of each, and every image where there are
/// more than one. The protocol has two names for an image, and many pages write both.
fn open_graph(head: &Head<'_>, w: &mut Writer) {
    for Meta { name, content, .. } in head.prefixed("og:") {
        w.key(name).string(content);
    }
    let mut known = BTreeSet::new();
    let mut images: Vec<&str> = head.all(&["og:image", "og:image:url"]).collect();
    images.retain(|image| known.insert(*image));
    if images.len() > 1 {
        w.key("images").array(|w| {
            for image in images {
                w.string(image);
            }
        });
    }
}
