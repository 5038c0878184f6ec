//! The `signals` role: signals of a page for search engines and AI robots.

mod directives;
mod links;
mod refresh;

use std::collections::{BTreeMap, BTreeSet};

use orbweaver_content::{raw, visible};
use orbweaver_facts::heading_text;
use orbweaver_sdk::dom::{Namespace, Node, View, attr, tag};
use orbweaver_sdk::head::{Head, header_links, hreflang};
use orbweaver_sdk::json::Writer;
use orbweaver_sdk::language::tag as language_tag;
use orbweaver_sdk::text::{Collapse, Counter, Piece};
use orbweaver_sdk::urls::Base;
use orbweaver_sdk::{Budget, Error, Page, jsonld, robots};

/// The page's signals as one JSON object; its fields are described in `plugin.toml`. Headings, words
/// and links are those of the page, and of a `noscript` that has nearly all of its text.
pub fn extract(page: &Page<'_>, _options: &str) -> Result<String, Error> {
    let view = page.view()?;
    let snapshot = raw::without_scripts(view);
    let other = snapshot.as_ref().and_then(|snapshot| snapshot.view().ok());
    let views: Vec<&View<'_>> = std::iter::once(view).chain(&other).collect();
    let head = Head::of(page)?;
    let directives = robots::directives(page)?;
    let objects: Vec<_> = page
        .json_ld()?
        .iter()
        .flat_map(jsonld::Block::objects)
        .collect();

    let mut w = Writer::with_capacity(4096);
    w.begin_object();
    w.key("title").string_or_null(head.title.as_deref());
    w.key("description")
        .string_or_null(head.meta_text(&["description"]).as_deref());
    w.key("canonical")
        .string_or_null(head.canonical(page).as_deref());
    let lang = head.language(page).map(language_tag);
    w.key("lang").string_or_null(lang.as_deref());
    headings(&views, &mut w);
    w.key("robots_meta").array(|w| {
        let all = directives.iter().filter(|d| d.agent.is_none() && !d.header);
        directives::write(all, w);
    });
    w.key("jsonld_types").array(|w| {
        let mut seen = BTreeSet::new();
        for name in objects.iter().flat_map(jsonld::Object::types) {
            if !name.is_empty() && seen.insert(name.clone()) {
                w.string(&name);
            }
        }
    });
    w.key("jsonld")
        .array(|w| objects.iter().for_each(|object| object.write(w)));
    w.key("hreflang").object(|w| languages(page, &head, w));
    w.key("ai_directives")
        .object(|w| directives::ai(page, view, &head, &directives, w));
    w.key("refresh");
    refresh::write(page, view, &mut w);
    let counts = count(&views);
    w.key("word_count").int(counts.words());
    w.key("char_count").int(counts.chars());
    w.key("links")
        .object(|w| links::count(page, &views, robots::forbid_following(&directives), w));
    w.end_object();
    Ok(w.finish())
}

/// Writes `h1`, `h2`, `h3` and `headings`, each in document order, without empty ones. Each
/// heading's text is extracted once and copied. Nested headings can repeat a page's text many
/// times: those beyond the [`Budget`] are left out.
fn headings(views: &[&View<'_>], w: &mut Writer) {
    let mut found: Vec<(u8, String)> = Vec::new();
    for view in views {
        collect_headings(view, &mut found);
    }
    for (key, wanted) in [("h1", 1), ("h2", 2), ("h3", 3)] {
        w.key(key).array(|w| {
            for (_, text) in found.iter().filter(|(level, _)| *level == wanted) {
                w.string(text);
            }
        });
    }
    w.key("headings").array(|w| {
        for (level, text) in &found {
            w.object(|w| {
                w.key("level").int(*level);
                w.key("text").string(text);
            });
        }
    });
}

/// Adds the levels and texts of a document's headings.
fn collect_headings(view: &View<'_>, found: &mut Vec<(u8, String)>) {
    let mut budget = Budget::of(view);
    for node in view.tagged_outside_templates(|id| matches!(id, tag::H1..=tag::H6)) {
        let level = match node.tag() {
            tag::H1 => 1,
            tag::H2 => 2,
            tag::H3 => 3,
            tag::H4 => 4,
            tag::H5 => 5,
            tag::H6 => 6,
            _ => continue,
        };
        if !budget.spend(node.end() - node.id()) {
            break;
        }
        // A text is written twice: in the list of its level and in `headings`.
        let text = budget.text(heading(node), 2);
        if !text.is_empty() {
            found.push((level, text));
        }
    }
}

/// A heading's text, or that of its images, such as a logo.
fn heading(node: Node<'_>) -> String {
    let mut text = heading_text(node);
    if text.is_empty() {
        let mut alts = Collapse::default();
        for image in node.descendants().filter(|n| n.tag() == tag::IMG) {
            alts.push(image.attr(attr::ALT).unwrap_or(""), &mut text);
            alts.gap();
        }
    }
    text
}

/// Writes the alternate languages: the first URL of each, of the page, else of its header `Link`.
fn languages(page: &Page<'_>, head: &Head<'_>, w: &mut Writer) {
    let Some(base) = page.base() else { return };
    let mut found = BTreeMap::new();
    for link in head.links.iter().filter(|link| link.is("alternate")) {
        let language = hreflang(link.node).unwrap_or("");
        if language.is_empty() || found.contains_key(language) {
            continue;
        }
        if let Some(url) = link.target(base) {
            found.insert(language, url);
        }
    }
    // URLs in the header are relative to the page's URL, not to `<base>`.
    let own = Base::new(page.final_url());
    let headers = page.header_values("link").flat_map(header_links);
    for link in headers.filter(|link| link.is("alternate")) {
        let language = link.hreflang().unwrap_or("");
        let url = own.as_ref().and_then(|base| base.join(link.target));
        if !language.is_empty()
            && let Some(url) = url
        {
            found.entry(language).or_insert(url);
        }
    }
    for (language, url) in found {
        w.key(language).string(url.as_str());
    }
}

/// Counts words and characters of the visible text.
fn count(views: &[&View<'_>]) -> Counter {
    let mut counter = Counter::default();
    let bodies = views.iter().filter_map(|view| view.body());
    for body in bodies.filter(|body| body.namespace() == Namespace::Html) {
        for piece in visible::pieces(body) {
            match piece {
                Piece::Text(text) => counter.push(text),
                Piece::Break => counter.gap(),
            }
        }
    }
    counter
}
