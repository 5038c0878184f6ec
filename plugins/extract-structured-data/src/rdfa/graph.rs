//! The triples of a page, by subject.

use std::collections::{BTreeMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::rc::Rc;

use crate::Part;

/// What a triple says of its subject.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Object {
    Resource(Rc<str>),
    Literal {
        value: Rc<str>,
        datatype: Option<Rc<str>>,
        language: Option<Rc<str>>,
    },
    /// From `inlist`.
    List(Vec<Object>),
}

/// Triples by subject and property, each in the order in which they first appeared.
#[derive(Default)]
pub struct Graph {
    subjects: Vec<Subject>,
    places: BTreeMap<Rc<str>, usize>,
    blanks: u32,
    /// Hashes of the triples that are there: a graph is a set.
    seen: HashSet<u64>,
    hasher: RandomState,
}

struct Subject {
    id: Rc<str>,
    types: Vec<Rc<str>>,
    properties: Vec<(Rc<str>, Vec<Object>)>,
    places: BTreeMap<Rc<str>, usize>,
}

impl Graph {
    /// A new blank node.
    pub fn blank(&mut self) -> Rc<str> {
        self.blanks += 1;
        // Not a name that a page gives: those keep theirs.
        format!("_:gen{}", self.blanks).into()
    }

    pub fn add_type(&mut self, subject: &Rc<str>, name: &Rc<str>) {
        const MAX_TYPES: usize = 64;
        let Some(subject) = self.subject(subject) else {
            return;
        };
        if subject.types.len() < MAX_TYPES && !subject.types.contains(name) {
            subject.types.push(Rc::clone(name));
        }
    }

    pub fn add(&mut self, subject: &Rc<str>, property: &Rc<str>, object: Object) {
        if !self
            .seen
            .insert(self.hasher.hash_one((subject, property, &object)))
        {
            return;
        }
        let Some(subject) = self.subject(subject) else {
            return;
        };
        let place = *subject
            .places
            .entry(Rc::clone(property))
            .or_insert_with(|| {
                subject.properties.push((Rc::clone(property), Vec::new()));
                subject.properties.len() - 1
            });
        if let Some((_, objects)) = subject.properties.get_mut(place) {
            objects.push(object);
        }
    }

    /// Adds to the list that is a property's value, which begins with its first; without an
    /// object the list is only made. A subject has one list for a property, wherever its
    /// members stand in the document.
    pub fn add_listed(&mut self, subject: &Rc<str>, property: &Rc<str>, object: Option<Object>) {
        let members = |objects: &[Object]| {
            let list = |object: &Object| matches!(object, Object::List(_));
            objects.iter().position(list)
        };
        let there = self.subject(subject).and_then(|subject| {
            let (_, objects) = subject.properties.get(*subject.places.get(property)?)?;
            members(objects)
        });
        if there.is_none() {
            self.add(subject, property, Object::List(Vec::new()));
        }
        let Some(object) = object else { return };
        let Some(subject) = self.subject(subject) else {
            return;
        };
        let Some(place) = subject.places.get(property) else {
            return;
        };
        if let Some((_, objects)) = subject.properties.get_mut(*place)
            && let Some(at) = members(objects)
            && let Some(Object::List(list)) = objects.get_mut(at)
        {
            list.push(object);
        }
    }

    fn subject(&mut self, id: &Rc<str>) -> Option<&mut Subject> {
        let place = *self.places.entry(Rc::clone(id)).or_insert_with(|| {
            self.subjects.push(Subject {
                id: Rc::clone(id),
                types: Vec::new(),
                properties: Vec::new(),
                places: BTreeMap::new(),
            });
            self.subjects.len() - 1
        });
        self.subjects.get_mut(place)
    }

    /// Writes one object per subject: expanded JSON-LD.
    pub fn write(&self, part: &mut Part) {
        for subject in &self.subjects {
            part.item(|w| {
                w.object(|w| {
                    w.key("@id").string(&subject.id);
                    if !subject.types.is_empty() {
                        w.key("@type").array(|w| {
                            subject.types.iter().for_each(|t| {
                                w.string(t);
                            })
                        });
                    }
                    for (property, objects) in &subject.properties {
                        w.key(property)
                            .array(|w| objects.iter().for_each(|o| write_object(o, w)));
                    }
                });
            });
        }
    }
}

fn write_object(object: &Object, w: &mut orbweaver_sdk::json::Writer) {
    w.object(|w| match object {
        Object::Resource(id) => {
            w.key("@id").string(id);
        }
        // A list holds no lists.
        Object::List(members) => {
            w.key("@list")
                .array(|w| members.iter().for_each(|member| write_object(member, w)));
        }
        Object::Literal {
            value,
            datatype,
            language,
        } => {
            w.key("@value").string(value);
            if let Some(datatype) = datatype {
                w.key("@type").string(datatype);
            } else if let Some(language) = language {
                w.key("@language").string(language);
            }
        }
    });
}
