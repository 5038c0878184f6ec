//! Validates a value.

use std::collections::{BTreeMap, BTreeSet};

use regex_lite::Regex;
use serde_json::{Map, Value};

use crate::document::{compile, resolve};
use crate::formats;
use crate::{Violation, push_index, push_member};

/// Most steps of one validation: a step is one schema applied to one value.
pub const MAX_STEPS: u64 = 1_000_000;
/// Most violations that are reported.
pub const MAX_VIOLATIONS: usize = 50;
/// Deepest nesting of schemas that are applied, references included.
const MAX_DEPTH: usize = 128;

pub(crate) fn validate(root: &Value, value: &Value) -> Vec<Violation> {
    let mut run = Run {
        root,
        steps: MAX_STEPS,
        patterns: BTreeMap::new(),
        path: String::new(),
        violations: Vec::new(),
    };
    if !run.visit(root, value, MAX_DEPTH) {
        run.path.clear();
        run.fail("takes too long to validate: its schema has too many references or alternatives");
    }
    run.violations
}

struct Run<'s> {
    root: &'s Value,
    steps: u64,
    patterns: BTreeMap<&'s str, Option<Regex>>,
    path: String,
    violations: Vec<Violation>,
}

impl<'s> Run<'s> {
    fn fail(&mut self, rule: impl std::fmt::Display) {
        if self.violations.len() < MAX_VIOLATIONS {
            self.violations.push(Violation::new(&self.path, rule));
        }
    }

    /// Applies a schema to a value. False where the work is too much.
    fn visit(&mut self, schema: &'s Value, value: &Value, depth: usize) -> bool {
        let (Some(steps), Some(depth)) = (self.steps.checked_sub(1), depth.checked_sub(1)) else {
            return false;
        };
        self.steps = steps;
        let keywords = match schema {
            Value::Bool(true) => return true,
            Value::Object(keywords) => keywords,
            _ => {
                self.fail("must not be given");
                return true;
            }
        };
        if value.is_null() && keywords.get("nullable") == Some(&Value::Bool(true)) {
            return true;
        }
        if let Some(rule) = wrong_type(keywords, value) {
            // Other keywords would say the same once more.
            self.fail(rule);
            return true;
        }
        self.constants(keywords, value);
        let within = match value {
            Value::String(text) => {
                self.text(keywords, text);
                true
            }
            Value::Number(number) => {
                self.number(keywords, number.as_f64().unwrap_or(f64::NAN));
                true
            }
            Value::Array(items) => self.list(keywords, items, depth),
            Value::Object(members) => self.object(keywords, members, depth),
            Value::Null | Value::Bool(_) => true,
        };
        within && self.combined(keywords, value, depth)
    }

    fn constants(&mut self, keywords: &Map<String, Value>, value: &Value) {
        if let Some(wanted) = keywords.get("const")
            && !is_same(wanted, value)
        {
            self.fail(format!("must be {}", short(wanted)));
        }
        if let Some(list) = keywords.get("enum").and_then(Value::as_array)
            && !list.iter().any(|wanted| is_same(wanted, value))
        {
            let shown: Vec<String> = list.iter().take(10).map(short).collect();
            self.fail(format!("must be one of {}", shown.join(", ")));
        }
    }

    fn text(&mut self, keywords: &'s Map<String, Value>, text: &str) {
        let count = |name: &str| keywords.get(name).and_then(Value::as_u64);
        let (least, most) = (count("minLength"), count("maxLength"));
        if least.is_some() || most.is_some() {
            let length = text.chars().count() as u64;
            if let Some(least) = least.filter(|least| length < *least) {
                self.fail(format!("must have at least {least} characters"));
            }
            if let Some(most) = most.filter(|most| length > *most) {
                self.fail(format!("must have at most {most} characters"));
            }
        }
        if let Some(pattern) = keywords.get("pattern").and_then(Value::as_str) {
            let regex = self
                .patterns
                .entry(pattern)
                .or_insert_with(|| compile(pattern).ok());
            if !regex.as_ref().is_some_and(|regex| regex.is_match(text)) {
                self.fail(format!("must match the pattern {pattern}"));
            }
        }
        let format = keywords.get("format").and_then(Value::as_str);
        if let Some(rule) = format.and_then(|format| formats::broken(format, text)) {
            self.fail(rule);
        }
    }

    fn number(&mut self, keywords: &Map<String, Value>, number: f64) {
        let limit = |name: &str| keywords.get(name).and_then(Value::as_f64);
        if let Some(least) = limit("minimum").filter(|least| number < *least) {
            self.fail(format!("must be at least {least}"));
        }
        if let Some(most) = limit("maximum").filter(|most| number > *most) {
            self.fail(format!("must be at most {most}"));
        }
        if let Some(least) = limit("exclusiveMinimum").filter(|least| number <= *least) {
            self.fail(format!("must be more than {least}"));
        }
        if let Some(most) = limit("exclusiveMaximum").filter(|most| number >= *most) {
            self.fail(format!("must be less than {most}"));
        }
        if let Some(step) = limit("multipleOf").filter(|step| *step > 0.0) {
            let times = number / step;
            if (times - times.round()).abs() > 1e-9 * times.abs().max(1.0) {
                self.fail(format!("must be a multiple of {step}"));
            }
        }
    }

    fn list(&mut self, keywords: &'s Map<String, Value>, items: &[Value], depth: usize) -> bool {
        let count = |name: &str| keywords.get(name).and_then(Value::as_u64);
        let length = items.len() as u64;
        if let Some(least) = count("minItems").filter(|least| length < *least) {
            self.fail(format!("must have at least {least} items"));
        }
        if let Some(most) = count("maxItems").filter(|most| length > *most) {
            self.fail(format!("must have at most {most} items"));
        }
        if keywords.get("uniqueItems") == Some(&Value::Bool(true)) {
            let mut seen = BTreeSet::new();
            if !items.iter().all(|item| seen.insert(item.to_string())) {
                self.fail("must not have an item twice");
            }
        }
        let Some(schema) = keywords.get("items") else {
            return true;
        };
        items.iter().enumerate().all(|(index, item)| {
            let before = push_index(&mut self.path, index);
            let within = self.visit(schema, item, depth);
            self.path.truncate(before);
            within
        })
    }

    fn object(
        &mut self,
        keywords: &'s Map<String, Value>,
        members: &Map<String, Value>,
        depth: usize,
    ) -> bool {
        let count = |name: &str| keywords.get(name).and_then(Value::as_u64);
        let length = members.len() as u64;
        if let Some(least) = count("minProperties").filter(|least| length < *least) {
            self.fail(format!("must have at least {least} members"));
        }
        if let Some(most) = count("maxProperties").filter(|most| length > *most) {
            self.fail(format!("must have at most {most} members"));
        }
        let required = keywords.get("required").and_then(Value::as_array);
        for name in required.into_iter().flatten().filter_map(Value::as_str) {
            if !members.contains_key(name) {
                let before = push_member(&mut self.path, name);
                self.fail("is required");
                self.path.truncate(before);
            }
        }
        let known = keywords.get("properties").and_then(Value::as_object);
        let others = keywords.get("additionalProperties");
        members.iter().all(|(name, value)| {
            let schema = known.and_then(|known| known.get(name)).or(others);
            let Some(schema) = schema else { return true };
            let before = push_member(&mut self.path, name);
            let within = self.visit(schema, value, depth);
            self.path.truncate(before);
            within
        })
    }

    /// References and combinations of schemas.
    fn combined(&mut self, keywords: &'s Map<String, Value>, value: &Value, depth: usize) -> bool {
        if let Some(reference) = keywords.get("$ref").and_then(Value::as_str)
            && let Some(target) = resolve(self.root, reference)
            && !self.visit(target, value, depth)
        {
            return false;
        }
        let list = |name: &str| {
            let list = keywords.get(name).and_then(Value::as_array);
            list.map(Vec::as_slice).unwrap_or_default()
        };
        for schema in list("allOf") {
            if !self.visit(schema, value, depth) {
                return false;
            }
        }
        for (name, only_one) in [("anyOf", false), ("oneOf", true)] {
            let alternatives = list(name);
            if alternatives.is_empty() {
                continue;
            }
            let Some((matches, closest)) = self.try_each(alternatives, value, depth) else {
                return false;
            };
            if matches == 0 {
                self.report(closest, value, alternatives.len());
            } else if only_one && matches > 1 {
                self.fail("must match exactly one of the schema's alternatives");
            }
        }
        if let Some(schema) = keywords.get("not") {
            let Some((matches, _)) = self.try_each(std::slice::from_ref(schema), value, depth)
            else {
                return false;
            };
            if matches == 1 {
                self.fail("must not match the schema's `not`");
            }
        }
        true
    }

    /// Tries alternatives: how many match, and the violations of the one that comes closest.
    /// `None` where the work is too much.
    fn try_each(
        &mut self,
        schemas: &'s [Value],
        value: &Value,
        depth: usize,
    ) -> Option<(usize, Vec<Violation>)> {
        let outer = std::mem::take(&mut self.violations);
        let mut matches = 0;
        let mut closest: Option<Vec<Violation>> = None;
        let mut within = true;
        for schema in schemas {
            within = self.visit(schema, value, depth);
            let found = std::mem::take(&mut self.violations);
            if !within {
                break;
            }
            if found.is_empty() {
                matches += 1;
            } else if is_closer(&found, closest.as_deref(), &self.path) {
                closest = Some(found);
            }
        }
        self.violations = outer;
        within.then(|| (matches, closest.unwrap_or_default()))
    }

    /// Reports the alternative that came closest, or all of them where none came close.
    fn report(&mut self, closest: Vec<Violation>, value: &Value, alternatives: usize) {
        let inside = closest.iter().any(|violation| violation.path != self.path);
        if alternatives == 1 || inside || !value.is_null() && closest.len() == 1 {
            let room = MAX_VIOLATIONS - self.violations.len().min(MAX_VIOLATIONS);
            self.violations.extend(closest.into_iter().take(room));
        } else {
            self.fail("matches none of the schema's alternatives");
        }
    }
}

/// Whether these violations are of an alternative that fits better: one whose type is right.
fn is_closer(found: &[Violation], best: Option<&[Violation]>, path: &str) -> bool {
    let rank = |list: &[Violation]| {
        let of_type = list
            .iter()
            .any(|one| one.path == path && one.rule.starts_with("must be of type"));
        (of_type, list.len())
    };
    best.is_none_or(|best| rank(found) < rank(best))
}

fn wrong_type(keywords: &Map<String, Value>, value: &Value) -> Option<String> {
    let wanted = keywords.get("type")?;
    let names: Vec<&str> = match wanted {
        Value::Array(list) => list.iter().filter_map(Value::as_str).collect(),
        one => one.as_str().into_iter().collect(),
    };
    let fits = names.iter().any(|name| match (*name, value) {
        ("null", Value::Null)
        | ("boolean", Value::Bool(_))
        | ("number", Value::Number(_))
        | ("string", Value::String(_))
        | ("array", Value::Array(_))
        | ("object", Value::Object(_)) => true,
        ("integer", Value::Number(number)) => {
            number.is_i64()
                || number.is_u64()
                || number.as_f64().is_some_and(|number| number.fract() == 0.0)
        }
        _ => false,
    });
    (!fits).then(|| format!("must be of type {}", names.join(" or ")))
}

fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (a, b) => a == b,
    }
}

/// A value for a message.
fn short(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= 60 {
        return text;
    }
    let start: String = text.chars().take(60).collect();
    format!("{start}…")
}
