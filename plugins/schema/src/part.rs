//! A schema inside a document, for readers that want to know what it asks for.

use serde_json::Value;

use crate::document::{TYPES, resolve};

/// Longest chain of references that is followed.
const MAX_REFERENCES: usize = 16;

/// A schema of a document, with its references resolved.
#[derive(Clone, Copy, Debug)]
pub struct Part<'s> {
    root: &'s Value,
    schema: &'s Value,
}

impl<'s> Part<'s> {
    /// A schema of `root`; a reference is followed.
    pub(crate) fn new(root: &'s Value, schema: &'s Value) -> Self {
        let mut schema = schema;
        for _ in 0..MAX_REFERENCES {
            let reference = schema.get("$ref").and_then(Value::as_str);
            match reference.and_then(|reference| resolve(root, reference)) {
                Some(target) => schema = target,
                None => break,
            }
        }
        Self { root, schema }
    }

    /// The schema of a member, if the schema has one of this name.
    pub fn member(&self, name: &str) -> Option<Part<'s>> {
        self.find("properties")
            .and_then(|members| members.get(name))
            .map(|schema| Self::new(self.root, schema))
    }

    /// The schema of the items of a list.
    pub fn items(&self) -> Option<Part<'s>> {
        let items = self.find("items")?;
        Some(Self::new(self.root, items))
    }

    /// The value of `format`.
    pub fn format(&self) -> Option<&'s str> {
        self.find("format").and_then(Value::as_str)
    }

    /// The types that it allows; all where it names none.
    pub fn types(&self) -> Types {
        let mut types = Types::default();
        for one in self.alternatives() {
            let nullable = one.schema.get("nullable").and_then(Value::as_bool);
            types.add(nullable.unwrap_or(false).then_some("null"));
            match one.schema.get("type") {
                Some(Value::Array(list)) => types.add(list.iter().filter_map(Value::as_str)),
                Some(Value::String(name)) => types.add([name.as_str()]),
                _ if one.schema.get("properties").is_some() => types.add(["object"]),
                _ if one.schema.get("items").is_some() => types.add(["array"]),
                _ => return Types::all(),
            }
        }
        types
    }

    /// A keyword of the schema, or of one of its alternatives.
    fn find(&self, keyword: &str) -> Option<&'s Value> {
        self.alternatives().find_map(|one| one.schema.get(keyword))
    }

    /// The alternatives of `anyOf` or `oneOf`, such as Pydantic's of an optional field; else the
    /// schema itself.
    fn alternatives(self) -> impl Iterator<Item = Part<'s>> {
        let list = ["anyOf", "oneOf"]
            .iter()
            .find_map(|keyword| self.schema.get(*keyword)?.as_array());
        let own = list.is_none().then_some(self);
        let root = self.root;
        list.into_iter()
            .flatten()
            .map(move |schema| Part::new(root, schema))
            .chain(own)
    }
}

/// A set of the types of JSON Schema.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Types(u8);

impl Types {
    /// Every type.
    pub fn all() -> Self {
        Self(u8::MAX)
    }

    /// Whether every type is allowed.
    pub fn is_all(self) -> bool {
        self == Self::all()
    }

    /// Whether a type is allowed. `number` does not mean that `integer` is named.
    pub fn has(self, name: &str) -> bool {
        self.0 & bit(name) != 0
    }

    /// Whether null is allowed.
    pub fn allows_null(self) -> bool {
        self.has("null")
    }

    fn add<'n>(&mut self, names: impl IntoIterator<Item = &'n str>) {
        for name in names {
            self.0 |= bit(name);
        }
    }
}

fn bit(name: &str) -> u8 {
    let place = TYPES.iter().position(|known| *known == name);
    place.map_or(0, |place| 1 << place)
}
