//! Open Graph and Dublin Core: plain metas.

use std::collections::BTreeMap;

use orbweaver_sdk::head::Head;

use crate::Part;

/// Prefixes of the Open Graph protocol and of the vocabularies that come with it.
const OPEN_GRAPH: &[&str] = &[
    "og", "article", "book", "profile", "video", "music", "product", "business", "place", "fb",
    "al", "twitter",
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

/// Whether a `property` is Open Graph's, not RDFa's.
pub fn is_open_graph(property: &str) -> bool {
    let prefix = property.trim_ascii().split(':').next().unwrap_or("");
    OPEN_GRAPH
        .iter()
        .any(|known| known.eq_ignore_ascii_case(prefix))
}

/// One object for the page, if it has any `og:` property: every property in document
/// order, repeats included.
pub fn open_graph(head: &Head<'_>) -> Part {
    let mut part = Part::default();
    let own = |name: &str| name.get(..3).is_some_and(|p| p.eq_ignore_ascii_case("og:"));
    if !head.metas.iter().any(|meta| own(meta.name)) {
        return part;
    }
    part.item(|w| {
        w.object(|w| {
            w.key("namespace").object(|w| {
                w.key("og").string("http://ogp.me/ns#");
            });
            w.key("properties").array(|w| {
                for meta in head.metas.iter().filter(|meta| {
                    is_open_graph(meta.name)
                        && meta.name.contains(':')
                        && !meta.name.starts_with("twitter:")
                }) {
                    w.array(|w| {
                        w.string(meta.name).string(meta.content.trim());
                    });
                }
            });
        });
    });
    part
}

/// One object for the page, if it has any Dublin Core.
pub fn dublin_core(head: &Head<'_>) -> Part {
    const ELEMENTS_URI: &str = "http://purl.org/dc/elements/1.1/";
    const TERMS_URI: &str = "http://purl.org/dc/terms/";
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
    for meta in &head.metas {
        let Some((prefix, name)) = meta.name.split_once(['.', ':']) else {
            continue;
        };
        let terms = prefix.eq_ignore_ascii_case("dcterms");
        if name.is_empty() || !(terms || prefix.eq_ignore_ascii_case("dc")) {
            continue;
        }
        let local = name.split('.').next().unwrap_or(name);
        let element = ELEMENTS
            .iter()
            .any(|known| known.eq_ignore_ascii_case(local));
        let namespace = if terms || !element {
            TERMS_URI
        } else {
            ELEMENTS_URI
        };
        let [elements, others] = &mut entries;
        let list = if element && !terms { elements } else { others };
        // Names are camel case with a small first letter; pages write `DC.Title`.
        let mut uri = namespace.to_owned();
        let mut letters = local.chars();
        uri.extend(letters.next().map(|c| c.to_ascii_lowercase()));
        uri.push_str(letters.as_str());
        list.push((meta, uri));
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
                    for (meta, uri) in list {
                        w.object(|w| {
                            w.key("name").string(meta.name);
                            w.key("content").string(meta.content.trim());
                            w.key("URI").string(uri);
                        });
                    }
                });
            }
        });
    });
    part
}
