//! JSON-LD in pages, which is often not quite valid JSON.
//!
//! A block is parsed leniently and copied as strict JSON text in the same pass, without a value
//! tree. Repaired are comments and CDATA marks around it, trailing and missing commas, raw control
//! characters in strings, single quotes, unquoted keys, broken escapes and entity-escaped quotes.
//! A block that cannot be repaired is ignored.

mod clean;
mod cursor;

use std::borrow::Cow;
use std::ops::Range;

use orbweaver_dom::{Node, View, attr, tag};

pub use clean::decode_entities;
pub use cursor::{decode, elements, get, members, string, strings};

use crate::json::Writer;

/// The content of one `<script type="application/ld+json">`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The block's values as a strict JSON array (more than one value if blocks were
    /// concatenated).
    json: String,
    objects: Vec<Place>,
}

/// The place of an object in a block's text.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    json: Range<usize>,
    context: Option<Range<usize>>,
}

impl Place {
    /// The place of an object of this text.
    fn of(text: &str, object: &Object<'_>) -> Self {
        let range = |part: &str| {
            let start = part.as_ptr().addr() - text.as_ptr().addr();
            start..start + part.len()
        };
        Self {
            json: range(object.json),
            context: object.context.map(range),
        }
    }
}

/// One object of a block: the block itself, or a member of its arrays and `@graph`s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object<'b> {
    /// The object as strict JSON text.
    pub json: &'b str,
    /// If it is a member of a `@graph` and has no `@context` of its own: that of the graph's
    /// object, as JSON text.
    pub context: Option<&'b str>,
}

impl Block {
    /// Parses the text of a block; `None` if it cannot be repaired.
    pub fn parse(text: &str) -> Option<Self> {
        let json = clean::clean(text).or_else(|| {
            // Some systems escape the script's text like an attribute.
            let escaped = text.contains("&quot;") || text.contains("&#34;");
            escaped.then(|| clean::clean(&decode_entities(text)))?
        })?;
        let objects = flatten(&json).iter().map(|o| Place::of(&json, o)).collect();
        Some(Self { json, objects })
    }

    /// The block's objects in document order, with arrays and `@graph`s flattened.
    pub fn objects(&self) -> Vec<Object<'_>> {
        let part = |range: &Range<usize>| self.json.get(range.clone());
        let object = |place: &Place| {
            Some(Object {
                json: part(&place.json)?,
                context: place.context.as_ref().and_then(part),
            })
        };
        self.objects.iter().filter_map(object).collect()
    }
}

/// The objects of a JSON text in document order, with arrays and `@graph`s flattened.
fn flatten(text: &str) -> Vec<Object<'_>> {
    let mut found = Vec::new();
    // Depth first, with the next value on top; the parser bounds the nesting.
    let mut waiting = vec![Object {
        json: text,
        context: None,
    }];
    while let Some(value) = waiting.pop() {
        match value.json.as_bytes().first() {
            Some(b'[') => {
                let at = waiting.len();
                waiting.extend(elements(value.json).map(|json| Object { json, ..value }));
                waiting.get_mut(at..).unwrap_or_default().reverse();
            }
            Some(b'{') => {
                let own = get(value.json, "@context");
                let context = if own.is_some() { None } else { value.context };
                let object = Object { context, ..value };
                match get(value.json, "@graph") {
                    Some(graph) if object.types_json().is_none() => {
                        waiting.push(Object {
                            json: graph,
                            context: own.or(context),
                        });
                    }
                    _ => found.push(object),
                }
            }
            _ => {}
        }
    }
    found
}

impl<'b> Object<'b> {
    /// The value of one of its keys as JSON text.
    pub fn get(&self, key: &str) -> Option<&'b str> {
        get(self.json, key)
    }

    fn types_json(&self) -> Option<&'b str> {
        self.get("@type")
            .filter(|json| !matches!(*json, "null" | "[]" | "\"\""))
    }

    /// Whether it has an `@type`.
    pub fn has_type(&self) -> bool {
        self.types_json().is_some()
    }

    /// Its `@type`s.
    pub fn types(&self) -> Vec<Cow<'b, str>> {
        self.types_json()
            .map_or_else(Vec::new, |json| strings(json).collect())
    }

    /// Whether it has this type, as a name or as a schema.org URL.
    pub fn is(&self, wanted: &str) -> bool {
        self.types()
            .iter()
            .any(|t| t.rsplit(['/', '#', ':']).next() == Some(wanted))
    }

    /// Writes the object. A member of a `@graph` gets the graph's context if that is a short name,
    /// because without it the object would have no meaning.
    pub fn write(&self, w: &mut Writer) {
        const SHORT: usize = 200;
        let context = self
            .context
            .filter(|c| c.starts_with('"') && c.len() <= SHORT);
        match (context, self.json.strip_prefix('{')) {
            (Some(context), Some(rest)) => {
                let comma = if rest == "}" { "" } else { "," };
                w.raw_parts(&["{\"@context\":", context, comma, rest]);
            }
            _ => {
                w.raw(self.json);
            }
        }
    }
}

/// All parsable blocks of a document, in document order. Of a page, [`Page::json_ld`](crate::Page::json_ld)
/// has them, parsed once.
pub fn blocks(view: &View<'_>) -> Vec<Block> {
    view.tagged_outside_templates(|id| id == tag::SCRIPT)
        .filter(|n| is_block(*n))
        .filter_map(parse_node)
        .collect()
}

/// Whether this is a script element with JSON-LD.
#[inline]
pub fn is_block(node: Node<'_>) -> bool {
    node.tag() == tag::SCRIPT && node.attr(attr::TYPE).is_some_and(is_json_ld)
}

fn is_json_ld(mime: &str) -> bool {
    const TYPE: &str = "application/ld+json";
    let mime = mime.trim_ascii();
    mime.get(..TYPE.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(TYPE))
        && matches!(mime.as_bytes().get(TYPE.len()), None | Some(b';' | b' '))
}

/// Parses the block of a script element.
pub fn parse_node(node: Node<'_>) -> Option<Block> {
    let mut texts = node.descendants().filter(Node::is_text).map(|n| n.text());
    let first = texts.next()?;
    match texts.next() {
        None => Block::parse(first),
        Some(_) => Block::parse(&node.text_content()),
    }
}

#[cfg(test)]
mod tests;
