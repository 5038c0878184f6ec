//! The processing of one element: RDFa Core 1.1, section 7.5, with a function for each step that adds
//! triples.

use std::rc::Rc;

use orbweaver_sdk::dom::{Node, tag};

use super::graph::Object;
use super::names::Names;
use super::{Attributes, Context, Incomplete, USES_VOCABULARY, Walk, Way};
use crate::values::resolve;

/// An element's attributes, with their terms and resources resolved.
struct Element<'a> {
    a: Attributes<'a>,
    names: Names,
    language: Option<Rc<str>>,
    properties: Vec<Rc<str>>,
    rel: Vec<Rc<str>>,
    rev: Vec<Rc<str>>,
    about: Option<Rc<str>>,
    target: Option<Rc<str>>,
}

impl Element<'_> {
    /// Whether it has `rel` or `rev`.
    fn relates(&self) -> bool {
        !self.rel.is_empty() || !self.rev.is_empty()
    }
}

/// The resources that an element is about.
struct Resources {
    /// "New subject".
    subject: Rc<str>,
    /// "Current object resource".
    object: Option<Rc<str>>,
    /// "Typed resource".
    typed: Option<Rc<str>>,
    /// "Skip element": it says nothing of its own.
    skip: bool,
}

impl Walk<'_> {
    /// Processes one element; the context for its children, where that is another.
    pub(super) fn element(&mut self, node: Node<'_>, context: &Context) -> Option<Context> {
        let a = Attributes::of(node);
        if !a.any {
            return None;
        }
        let element = self.resolved(a, context);
        let mut resources = self.resources(node, &element, context)?;
        if let Some(typed) = &resources.typed {
            for name in element.names.terms_of(element.a.types) {
                self.graph.add_type(typed, &name);
            }
        }
        let mut incomplete = Vec::new();
        if let Some(object) = &resources.object {
            self.add_relations(&element, &resources.subject, object);
        } else if element.relates() {
            incomplete = self.begin_relations(&element, &resources.subject);
            resources.object = Some(self.graph.blank());
        }
        self.add_properties(node, &element, &resources);
        let Resources {
            subject,
            object,
            skip,
            ..
        } = resources;
        let (end, names, language) = (node.end(), element.names, element.language);
        if skip {
            return Some(Context {
                end,
                subject: Rc::clone(&context.subject),
                object: Rc::clone(&context.object),
                incomplete: Rc::clone(&context.incomplete),
                names,
                language,
            });
        }
        self.complete(context, &subject);
        Some(Context {
            end,
            object: object.unwrap_or_else(|| Rc::clone(&subject)),
            subject,
            incomplete: incomplete.into(),
            names,
            language,
        })
    }

    /// Steps 2 to 4: vocabulary, prefixes and language.
    fn resolved<'a>(&mut self, a: Attributes<'a>, context: &Context) -> Element<'a> {
        let names = context.names.with(a.vocab, a.prefix, &a.namespaces);
        if let Some(vocabulary) = a.vocab.map(str::trim_ascii).filter(|v| !v.is_empty()) {
            // The document says which it uses.
            let vocabulary = Object::Resource(resolve(self.page, vocabulary).into());
            let base = Rc::clone(&self.base);
            self.graph.add(&base, &USES_VOCABULARY.into(), vocabulary);
        }
        let language = match a.language {
            Some(language) => Some(language.trim_ascii())
                .filter(|l| !l.is_empty())
                .map(Rc::from),
            None => context.language.clone(),
        };
        Element {
            properties: names.terms_of(a.property),
            rel: names.prefixed_of(a.rel),
            rev: names.prefixed_of(a.rev),
            about: a.about.and_then(|about| self.resource(about, &names)),
            target: a.target.and_then(|target| self.resource(target, &names)),
            a,
            names,
            language,
        }
    }

    /// Steps 5 and 6: the resources that it is about. None if there is no subject.
    fn resources(
        &mut self,
        node: Node<'_>,
        element: &Element<'_>,
        context: &Context,
    ) -> Option<Resources> {
        let Element {
            a, about, target, ..
        } = element;
        // The root, and by HTML+RDFa head and body, speak of the document.
        let root = matches!(node.tag(), tag::HTML | tag::HEAD | tag::BODY).then(|| {
            if node.tag() == tag::HTML {
                &self.base
            } else {
                &context.object
            }
        });
        let root = root.cloned();
        let or_parent = |subject: Option<Rc<str>>| {
            subject.or_else(|| Some(root.clone().unwrap_or_else(|| Rc::clone(&context.object))))
        };
        let mut skip = false;
        let (mut subject, mut object, mut typed) = (about.clone(), None, None);
        if element.relates() {
            subject = or_parent(subject);
            object.clone_from(target);
            if a.types.is_some() {
                if about.is_none() && object.is_none() {
                    object = Some(self.graph.blank());
                }
                typed = about.clone().or_else(|| object.clone());
            }
        } else if a.property.is_some() && a.content.is_none() && a.datatype.is_none() {
            subject = or_parent(subject);
            if a.types.is_some() {
                typed = about
                    .clone()
                    .or_else(|| root.clone())
                    .or_else(|| target.clone())
                    .or_else(|| Some(self.graph.blank()));
                object.clone_from(&typed);
            }
        } else {
            subject = subject.or_else(|| target.clone()).or_else(|| root.clone());
            if subject.is_none() {
                if a.types.is_some() {
                    subject = Some(self.graph.blank());
                } else {
                    skip = a.property.is_none();
                    subject = Some(Rc::clone(&context.object));
                }
            }
            if a.types.is_some() {
                typed.clone_from(&subject);
            }
        }
        Some(Resources {
            subject: subject?,
            object,
            typed,
            skip,
        })
    }

    /// Step 9: the triples of `rel` and `rev` to its object.
    fn add_relations(&mut self, element: &Element<'_>, subject: &Rc<str>, object: &Rc<str>) {
        for property in &element.rel {
            let object = Object::Resource(Rc::clone(object));
            self.add(&element.a, subject, property, object);
        }
        for property in &element.rev {
            let subject = Object::Resource(Rc::clone(subject));
            self.graph.add(object, property, subject);
        }
    }

    /// Step 10: the triples of `rel` and `rev` whose objects are inside the element.
    fn begin_relations(&mut self, element: &Element<'_>, subject: &Rc<str>) -> Vec<Incomplete> {
        let is_listed = element.a.inlist;
        let forward = if is_listed { Way::Listed } else { Way::Forward };
        let waiting = |way: Way| {
            move |property: &Rc<str>| Incomplete {
                property: Rc::clone(property),
                way,
            }
        };
        if is_listed {
            for property in &element.rel {
                self.graph.add_listed(subject, property, None);
            }
        }
        let rev = element.rev.iter().map(waiting(Way::Reverse));
        element
            .rel
            .iter()
            .map(waiting(forward))
            .chain(rev)
            .collect()
    }

    /// Step 11: the values of `property`.
    fn add_properties(&mut self, node: Node<'_>, element: &Element<'_>, resources: &Resources) {
        let Element { a, properties, .. } = element;
        if properties.is_empty() {
            return;
        }
        let target = element.target.as_ref().filter(|_| !element.relates());
        let typed = resources.typed.as_ref().filter(|_| a.about.is_none());
        let language = element.language.as_ref();
        let value = self.value(node, a, &element.names, target.or(typed), language);
        if let Object::Literal { value, .. } = &value {
            // Written once for each.
            self.budget.text(value.to_string(), properties.len() - 1);
        }
        for property in properties {
            self.add(a, &resources.subject, property, value.clone());
        }
    }

    /// Step 12: the triples of elements around it that wait for this subject.
    fn complete(&mut self, context: &Context, subject: &Rc<str>) {
        for waiting in context.incomplete.iter() {
            let (from, to) = match waiting.way {
                Way::Reverse => (subject, &context.subject),
                Way::Forward | Way::Listed => (&context.subject, subject),
            };
            let object = Object::Resource(Rc::clone(to));
            match waiting.way {
                Way::Listed => {
                    self.graph.add_listed(from, &waiting.property, Some(object));
                }
                Way::Forward | Way::Reverse => self.graph.add(from, &waiting.property, object),
            }
        }
    }
}
