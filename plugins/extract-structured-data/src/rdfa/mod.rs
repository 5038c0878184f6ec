//! RDFa 1.1 in HTML: the processing sequence of RDFa Core 1.1, section 7.5, with the
//! changes of HTML+RDFa 1.1. XML and HTML literals are the markup inside as HTML writes it.
//!
//! Two deviations, so that a page without RDFa has none: `rel` without a prefix
//! (`nofollow`, `stylesheet`) is HTML's, and so is `role`.

mod datetime;
mod element;
mod graph;
mod names;

use std::rc::Rc;

use orbweaver_sdk::Page;
use orbweaver_sdk::dom::{Node, View, attr, tag};

use crate::Part;
use crate::microformats::inner;
use crate::values::{line, resolve};
use orbweaver_sdk::Budget;

use graph::{Graph, Object};
use names::Names;

/// Writes every subject with its properties, in the order in which they first appear.
/// Unless `in_body`, metas are all that has any: nearly every page has those of Open Graph.
pub fn write(
    page: &Page<'_>,
    view: &View<'_>,
    in_body: bool,
    budget: &mut Budget,
    part: &mut Part,
) {
    let base: Rc<str> = page.base_url().into();
    let mut walk = Walk {
        page,
        base: Rc::clone(&base),
        graph: Graph::default(),
        budget,
    };
    let mut contexts = vec![Context {
        end: u32::MAX,
        subject: Rc::clone(&base),
        object: base,
        incomplete: Rc::default(),
        names: Names::default(),
        language: None,
    }];
    let bears = |node: &Node<'_>| {
        in_body || matches!(node.tag(), tag::HTML | tag::HEAD | tag::META | tag::LINK)
    };
    for node in view.nodes().filter(|node| node.is_element() && bears(node)) {
        while contexts.len() > 1 && contexts.last().is_some_and(|c| c.end <= node.id()) {
            contexts.pop();
        }
        let Some(context) = contexts.last() else {
            return;
        };
        if !walk.budget.spend(1) {
            break;
        }
        if let Some(inner) = walk.element(node, context) {
            contexts.push(inner);
        }
    }
    walk.graph.write(part);
}

/// Literals that keep their markup.
fn is_markup(datatype: &str) -> bool {
    matches!(
        datatype.strip_prefix("http://www.w3.org/1999/02/22-rdf-syntax-ns#"),
        Some("XMLLiteral" | "HTML")
    )
}

const USES_VOCABULARY: &str = "http://www.w3.org/ns/rdfa#usesVocabulary";

/// What an element passes to those inside it ("evaluation context").
struct Context {
    /// The id after the last node that it is for.
    end: u32,
    subject: Rc<str>,
    object: Rc<str>,
    /// Properties that wait for the next subject inside.
    incomplete: Rc<[Incomplete]>,
    names: Names,
    language: Option<Rc<str>>,
}

#[derive(Clone)]
struct Incomplete {
    property: Rc<str>,
    way: Way,
}

/// How an incomplete triple ends.
#[derive(Clone, Copy)]
enum Way {
    Forward,
    /// From `rev`: the triple runs the other way.
    Reverse,
    /// From `rel` with `inlist`: a member of the list.
    Listed,
}

/// The attributes of RDFa that an element has.
#[derive(Default)]
struct Attributes<'a> {
    any: bool,
    about: Option<&'a str>,
    content: Option<&'a str>,
    datatype: Option<&'a str>,
    datetime: Option<&'a str>,
    /// `resource`, else `href`, else `src`.
    target: Option<&'a str>,
    language: Option<&'a str>,
    prefix: Option<&'a str>,
    inlist: bool,
    property: Option<&'a str>,
    rel: Option<&'a str>,
    rev: Option<&'a str>,
    types: Option<&'a str>,
    vocab: Option<&'a str>,
    /// `xmlns:prefix`.
    namespaces: Vec<(&'a str, &'a str)>,
}

impl<'a> Attributes<'a> {
    fn of(node: Node<'a>) -> Self {
        let mut found = Self::default();
        let (mut resource, mut href, mut src) = (None, None, None);
        for attribute in node.attrs() {
            let slot = match attribute.id() {
                attr::ABOUT => &mut found.about,
                attr::CONTENT => &mut found.content,
                attr::DATATYPE => &mut found.datatype,
                attr::DATETIME => &mut found.datetime,
                attr::RESOURCE => &mut resource,
                attr::HREF => &mut href,
                attr::SRC => &mut src,
                attr::LANG | attr::XML_LANG => &mut found.language,
                attr::PREFIX => &mut found.prefix,
                attr::PROPERTY => &mut found.property,
                attr::INLIST => {
                    found.inlist = true;
                    continue;
                }
                attr::REL => &mut found.rel,
                attr::REV => &mut found.rev,
                attr::TYPEOF => &mut found.types,
                attr::VOCAB => &mut found.vocab,
                attr::UNKNOWN => {
                    // RDFa 1.0's way to declare a prefix, which 1.1 still reads.
                    if let Some(prefix) = attribute.name().strip_prefix("xmlns:") {
                        found.namespaces.push((prefix, attribute.value()));
                        found.any = true;
                    }
                    continue;
                }
                _ => continue,
            };
            *slot = Some(attribute.value());
            found.any = true;
        }
        found.target = resource.or(href).or(src);
        found
    }
}

struct Walk<'p> {
    page: &'p Page<'p>,
    base: Rc<str>,
    graph: Graph,
    budget: &'p mut Budget,
}

impl Walk<'_> {
    fn add(&mut self, a: &Attributes<'_>, subject: &Rc<str>, property: &Rc<str>, value: Object) {
        if a.inlist {
            self.graph.add_listed(subject, property, Some(value));
        } else {
            self.graph.add(subject, property, value);
        }
    }

    /// The value of a `property`: a literal, or the resource that the element is about.
    fn value(
        &mut self,
        node: Node<'_>,
        a: &Attributes<'_>,
        names: &Names,
        resource: Option<&Rc<str>>,
        language: Option<&Rc<str>>,
    ) -> Object {
        let is_time = node.tag() == tag::TIME;
        let literal = a
            .content
            .or_else(|| a.datetime.filter(|_| a.datatype.is_some() || is_time));
        let mut datatype = a.datatype.and_then(|datatype| names.term(datatype));
        if let (None, None, Some(resource)) = (a.datatype, literal, resource) {
            return Object::Resource(Rc::clone(resource));
        }
        let value = match literal {
            Some(literal) => literal.trim().to_owned(),
            None if datatype.as_deref().is_some_and(is_markup) => {
                let size = node.end() - node.id();
                if self.budget.spend(size) {
                    self.budget.text(inner(node), 1)
                } else {
                    String::new()
                }
            }
            None => line(node, self.budget),
        };
        // A time says by its form what it is, also in its text.
        if is_time && a.datatype.is_none() && a.content.is_none() {
            datatype = datetime::datatype(&value).map(Rc::from);
        }
        let language = if datatype.is_some() || literal.is_some() && a.content.is_none() {
            None
        } else {
            language.cloned()
        };
        Object::Literal {
            value: value.into(),
            datatype,
            language,
        }
    }

    /// A resource attribute: a blank node, a compact IRI (in brackets or bare), or a
    /// reference.
    fn resource(&self, value: &str, names: &Names) -> Option<Rc<str>> {
        let value = value.trim_ascii();
        if let Some(curie) = value.strip_prefix('[') {
            return names.compact(curie.strip_suffix(']')?);
        }
        if value.starts_with("_:") {
            return Some(value.into());
        }
        if let Some(iri) = names.compact(value) {
            return Some(iri);
        }
        if value.is_empty() {
            return Some(Rc::clone(&self.base));
        }
        Some(resolve(self.page, value).into())
    }
}
