//! Checks a schema itself.

use regex_lite::{Regex, RegexBuilder};
use serde_json::{Map, Value};

use crate::{Violation, push_index, push_member};

/// Most schemas inside one document.
const MAX_SCHEMAS: usize = 5_000;
/// Deepest nesting of schemas.
const MAX_DEPTH: usize = 32;
/// Largest compiled pattern, in bytes.
const MAX_PATTERN_BYTES: usize = 256 << 10;
/// Longest pattern, in bytes.
const MAX_PATTERN: usize = 1_000;

/// Keywords that say nothing about which values are valid.
const ANNOTATIONS: [&str; 13] = [
    "title",
    "description",
    "default",
    "example",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "contentMediaType",
    "contentEncoding",
    "$comment",
    "$schema",
    "$id",
];

/// The types of JSON Schema.
pub(crate) const TYPES: [&str; 7] = [
    "null", "boolean", "integer", "number", "string", "array", "object",
];

/// What a keyword's value must be.
enum Form {
    /// A schema.
    Schema,
    /// A list of at least one schema.
    Schemas,
    /// An object of schemas.
    Members,
    /// A whole number of zero or more.
    Count,
    /// A number.
    Number,
    /// A text.
    Text,
    /// A regular expression.
    Pattern,
    /// A list of texts.
    Names,
    /// A list of any values.
    Values,
    /// A boolean.
    Flag,
    /// Any value.
    Any,
    /// A type or a list of types.
    Type,
    /// A reference inside the document.
    Reference,
}

fn form(keyword: &str) -> Option<Form> {
    Some(match keyword {
        "properties" | "$defs" | "definitions" => Form::Members,
        "items" | "additionalProperties" | "not" => Form::Schema,
        "anyOf" | "oneOf" | "allOf" => Form::Schemas,
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" => {
            Form::Count
        }
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => {
            Form::Number
        }
        "format" => Form::Text,
        "pattern" => Form::Pattern,
        "required" => Form::Names,
        "enum" => Form::Values,
        "uniqueItems" | "nullable" => Form::Flag,
        "const" => Form::Any,
        "type" => Form::Type,
        "$ref" => Form::Reference,
        _ => return None,
    })
}

/// Checks every schema of the document.
pub(crate) fn check(root: &Value) -> Result<(), Violation> {
    let mut checker = Checker {
        root,
        left: MAX_SCHEMAS,
        path: String::new(),
    };
    checker.schema(root, MAX_DEPTH)
}

struct Checker<'s> {
    root: &'s Value,
    left: usize,
    path: String,
}

impl<'s> Checker<'s> {
    fn fault(&self, rule: impl std::fmt::Display) -> Violation {
        Violation::new(&self.path, rule)
    }

    fn schema(&mut self, schema: &'s Value, depth: usize) -> Result<(), Violation> {
        let members = match schema {
            Value::Bool(_) => return Ok(()),
            Value::Object(members) => members,
            _ => return Err(self.fault("must be a JSON Schema: an object or a boolean")),
        };
        let too_many = || format!("has more than {MAX_SCHEMAS} schemas");
        self.left = self
            .left
            .checked_sub(1)
            .ok_or_else(|| self.fault(too_many()))?;
        let Some(depth) = depth.checked_sub(1) else {
            return Err(self.fault(format!("is nested more than {MAX_DEPTH} deep")));
        };
        for (keyword, value) in members {
            if ANNOTATIONS.contains(&keyword.as_str()) {
                continue;
            }
            let before = push_member(&mut self.path, keyword);
            match form(keyword) {
                Some(form) => self.keyword(&form, value, depth)?,
                None => return Err(self.fault("is not a keyword that is supported")),
            }
            self.path.truncate(before);
        }
        Ok(())
    }

    fn keyword(&mut self, form: &Form, value: &'s Value, depth: usize) -> Result<(), Violation> {
        let rule = match form {
            Form::Schema => return self.schema(value, depth),
            Form::Schemas => match value.as_array().filter(|list| !list.is_empty()) {
                Some(list) => return self.schemas(list, depth),
                None => "must be a list of schemas",
            },
            Form::Members => match value.as_object() {
                Some(members) => return self.members(members, depth),
                None => "must be an object of schemas",
            },
            Form::Count if value.as_u64().is_none() => "must be a whole number of zero or more",
            Form::Number if !value.is_number() => "must be a number",
            Form::Text if !value.is_string() => "must be a string",
            Form::Pattern => match value.as_str() {
                Some(pattern) => {
                    return compile(pattern)
                        .map(|_| ())
                        .map_err(|rule| self.fault(rule));
                }
                None => "must be a string",
            },
            Form::Names if !is_names(value) => "must be a list of strings",
            Form::Values if !value.is_array() => "must be a list",
            Form::Flag if !value.is_boolean() => "must be true or false",
            Form::Type if !is_type(value) => {
                "must be null, boolean, integer, number, string, array, object, or a list of these"
            }
            Form::Reference if self.target(value).is_none() => {
                "must refer to a schema of this document, such as #/$defs/name"
            }
            _ => return Ok(()),
        };
        Err(self.fault(rule))
    }

    fn schemas(&mut self, list: &'s [Value], depth: usize) -> Result<(), Violation> {
        for (index, schema) in list.iter().enumerate() {
            let before = push_index(&mut self.path, index);
            self.schema(schema, depth)?;
            self.path.truncate(before);
        }
        Ok(())
    }

    fn members(&mut self, members: &'s Map<String, Value>, depth: usize) -> Result<(), Violation> {
        for (name, schema) in members {
            let before = push_member(&mut self.path, name);
            self.schema(schema, depth)?;
            self.path.truncate(before);
        }
        Ok(())
    }

    fn target(&self, reference: &Value) -> Option<&'s Value> {
        resolve(self.root, reference.as_str()?)
    }
}

/// The schema that a reference means.
pub(crate) fn resolve<'s>(root: &'s Value, reference: &str) -> Option<&'s Value> {
    let target = root.pointer(reference.strip_prefix('#')?)?;
    (target.is_object() || target.is_boolean()).then_some(target)
}

/// Compiles a pattern that takes linear time.
pub(crate) fn compile(pattern: &str) -> Result<Regex, String> {
    if pattern.len() > MAX_PATTERN {
        return Err(format!("must be at most {MAX_PATTERN} bytes"));
    }
    RegexBuilder::new(pattern)
        .size_limit(MAX_PATTERN_BYTES)
        .build()
        .map_err(|error| format!("is not a regular expression that is supported: {error}"))
}

fn is_names(value: &Value) -> bool {
    let names = value.as_array();
    names.is_some_and(|names| names.iter().all(Value::is_string))
}

fn is_type(value: &Value) -> bool {
    let known = |value: &Value| value.as_str().is_some_and(|name| TYPES.contains(&name));
    match value.as_array() {
        Some(list) => !list.is_empty() && list.iter().all(known),
        None => known(value),
    }
}
