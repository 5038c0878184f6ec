//! Open Graph and Dublin Core: plain metas.

use std::collections::BTreeMap;

use orbweaver_sdk::dom::{View, attr};
use orbweaver_sdk::head::Head;

use crate::Part;

/// The vocabularies of the Open Graph protocol, and one that it has not and shops use.
const OPEN_GRAPH: &[(&str, &str)] = &[
    ("og", "http://ogp.me/ns#"),
    ("article", "http://ogp.me/ns/article#"),
    ("book", "http://ogp.me/ns/book#"),
    ("music", "http://ogp.me/ns/music#"),
    ("product", "http://ogp.me/ns/product#"),
    ("profile", "http://ogp.me/ns/profile#"),
    ("video", "http://ogp.me/ns/video#"),
];

/// The fifteen elements of Dublin Core 1.1 (ISO 15836-1); every other name is a term.
const ELEMENTS: &[&str] = &[
    "contributor",
    "coverage",
    "creator",
    "date",
    "description",
    "format",
    "identifier",
    "language",
    "publisher",
    "relation",
    "rights",
    "source",
    "subject",
    "title",
    "type",
];

/// Terms that refine an element (DCMI Metadata Terms).
const REFINEMENTS: &[&str] = &[
    "abstract",
    "alternative",
    "available",
    "bibliographicCitation",
    "conformsTo",
    "created",
    "dateAccepted",
    "dateCopyrighted",
    "dateSubmitted",
    "educationLevel",
    "extent",
    "hasFormat",
    "hasPart",
    "hasVersion",
    "isFormatOf",
    "isPartOf",
    "isReferencedBy",
    "isReplacedBy",
    "isRequiredBy",
    "issued",
    "isVersionOf",
    "license",
    "mediator",
    "medium",
    "modified",
    "references",
    "replaces",
    "requires",
    "spatial",
    "tableOfContents",
    "temporal",
    "valid",
];

/// The prefixes that `<html>` and `<head>` declare, with their vocabularies.
fn declared<'v>(view: &'v View<'v>) -> Vec<(&'v str, &'v str)> {
    let elements = [view.html(), view.head()].into_iter().flatten();
    let mut found = Vec::new();
    for prefixes in elements.filter_map(|node| node.attr(attr::PREFIX)) {
        let mut words = prefixes.split_ascii_whitespace();
        while let Some(word) = words.next() {
            let Some(name) = word.strip_suffix(':') else {
                continue;
            };
            found.extend(words.next().map(|vocabulary| (name, vocabulary)));
        }
    }
    found
}

/// One object for the page, if it has any property of Open Graph: every property of the
/// protocol's vocabularies, and of those that the page declares, in document order,
/// repeats included.
pub fn open_graph(view: &View<'_>, head: &Head<'_>) -> Part {
    let mut part = Part::default();
    let known = |name: &str| {
        let prefix = name.split_once(':')?.0;
        let mut all = OPEN_GRAPH.iter();
        all.find(|(known, _)| known.eq_ignore_ascii_case(prefix))
    };
    if !head.metas.iter().any(|meta| known(meta.name).is_some()) {
        return part;
    }
    let declared = declared(view);
    let is_declared = |name: &str| {
        let prefix = name.split_once(':').map(|(prefix, _)| prefix);
        declared.iter().any(|(known, _)| Some(*known) == prefix)
    };
    let mut namespaces: BTreeMap<&str, &str> = declared.iter().copied().collect();
    for (name, vocabulary) in head.metas.iter().filter_map(|meta| known(meta.name)) {
        namespaces.insert(name, vocabulary);
    }
    part.item(|w| {
        w.object(|w| {
            w.key("namespace").object(|w| {
                for (name, vocabulary) in &namespaces {
                    w.key(name).string(vocabulary);
                }
            });
            w.key("properties").array(|w| {
                for meta in &head.metas {
                    if known(meta.name).is_some() || is_declared(meta.name) {
                        w.array(|w| {
                            w.string(meta.name).string(meta.content.trim());
                        });
                    }
                }
            });
        });
    });
    part
}

/// One object for the page, if it has any Dublin Core.
pub fn dublin_core(head: &Head<'_>) -> Part {
    /// What name and value of an entry are called, of a meta and of a link.
    const META: (&str, &str) = ("name", "content");
    const LINK: (&str, &str) = ("rel", "href");
    let mut namespaces = BTreeMap::new();
    for link in &head.links {
        let schema = link.rel.trim_ascii();
        if let Some((word, prefix)) = schema.split_once('.')
            && word.eq_ignore_ascii_case("schema")
        {
            namespaces.insert(prefix, link.href);
        }
    }
    let mut part = Part::default();
    let mut entries = [Vec::new(), Vec::new()];
    let metas = head
        .metas
        .iter()
        .map(|meta| (meta.name, meta.content.trim(), META));
    let links = head
        .links
        .iter()
        .filter(|link| !link.rel.contains(char::is_whitespace));
    let links = links.map(|link| (link.rel, link.href.trim(), LINK));
    for (name, content, keys) in metas.chain(links) {
        let Some((uri, element)) = dublin_core_uri(name) else {
            continue;
        };
        let [elements, terms] = &mut entries;
        let list = if element { elements } else { terms };
        list.push((keys, name, content, uri));
    }
    let [elements, terms] = entries;
    if elements.is_empty() && terms.is_empty() {
        return part;
    }
    part.item(|w| {
        w.object(|w| {
            w.key("namespaces").object(|w| {
                for (prefix, href) in &namespaces {
                    w.key(prefix).string(href);
                }
            });
            for (key, list) in [("elements", &elements), ("terms", &terms)] {
                w.key(key).array(|w| {
                    for ((key, value), name, content, uri) in list {
                        w.object(|w| {
                            w.key(key).string(name);
                            w.key(value).string(content);
                            w.key("URI").string(uri);
                        });
                    }
                });
            }
        });
    });
    part
}

/// The URI of a name such as `DC.title` or `dcterms:created`, and whether it is one of the
/// fifteen elements; `None` where it is not Dublin Core's.
fn dublin_core_uri(name: &str) -> Option<(String, bool)> {
    const ELEMENTS_URI: &str = "http://purl.org/dc/elements/1.1/";
    const TERMS_URI: &str = "http://purl.org/dc/terms/";
    let (prefix, name) = name.split_once(['.', ':'])?;
    let terms = prefix.eq_ignore_ascii_case("dcterms");
    if name.is_empty() || !(terms || prefix.eq_ignore_ascii_case("dc")) {
        return None;
    }
    // A refinement (`DC.date.modified`) is a term where it is one, else an element that
    // says more.
    let last = name.rsplit('.').next().unwrap_or(name);
    let refined = name.contains('.') && REFINEMENTS.iter().any(|r| r.eq_ignore_ascii_case(last));
    let local = if refined {
        last
    } else {
        name.split('.').next().unwrap_or(name)
    };
    let element = !refined
        && ELEMENTS
            .iter()
            .any(|known| known.eq_ignore_ascii_case(local));
    let namespace = if terms || !element {
        TERMS_URI
    } else {
        ELEMENTS_URI
    };
    // Names are camel case with a small first letter; pages write `DC.Title`.
    let mut uri = namespace.to_owned();
    let mut letters = local.chars();
    uri.extend(letters.next().map(|c| c.to_ascii_lowercase()));
    uri.push_str(letters.as_str());
    Some((uri, element && !terms))
}
