//! Applies rules to a page.

use orbweaver_schema::Violation;
use orbweaver_sdk::dom::{Node, Selector};
use orbweaver_sdk::{Budget, Error, Page};
use serde_json::{Map, Value};

use crate::convert::Converter;
use crate::element;
use crate::rules::{Rule, Rules, Take};

/// Most errors that are kept.
const MAX_ERRORS: usize = 50;
/// Node visits for each node of the page; a rule of the whole page visits each node once.
const VISITS: u64 = 250;

/// Reads fields of a page.
pub(crate) struct Reader<'p> {
    root: Node<'p>,
    converter: Converter<'p>,
    /// Node visits of selectors that are left: lists inside lists can match inside one another.
    visits: u64,
    /// What the values may be together.
    budget: Budget,
    path: String,
    errors: Vec<Violation>,
}

impl<'p> Reader<'p> {
    pub(crate) fn new(page: &'p Page<'p>) -> Result<Self, Error> {
        let view = page.view()?;
        Ok(Self {
            root: view.root(),
            converter: Converter::new(page),
            visits: 100_000 + VISITS * u64::from(view.len()),
            budget: Budget::of(view),
            path: String::new(),
            errors: Vec::new(),
        })
    }

    /// The fields of the whole page.
    pub(crate) fn read(&mut self, rules: &Rules) -> Value {
        Value::Object(self.object(rules, self.root))
    }

    /// What went wrong.
    pub(crate) fn into_errors(self) -> Vec<Violation> {
        self.errors
    }

    fn fail(&mut self, rule: impl std::fmt::Display) {
        if self.errors.len() < MAX_ERRORS && self.errors.iter().all(|known| known.path != self.path)
        {
            self.errors.push(Violation {
                path: self.path.clone(),
                rule: rule.to_string(),
            });
        }
    }

    fn object(&mut self, rules: &Rules, within: Node<'p>) -> Map<String, Value> {
        let mut object = Map::new();
        for (name, rule) in &rules.fields {
            let before = self.path.len();
            if before > 0 {
                self.path.push('.');
            }
            self.path.push_str(name);
            let value = self.field(rule, within).or_else(|| rule.default.clone());
            match value {
                Some(value) => {
                    object.insert(name.clone(), value);
                }
                None if rule.is_left_out => {}
                None => {
                    object.insert(name.clone(), Value::Null);
                }
            }
            self.path.truncate(before);
        }
        object
    }

    /// The value of a field; `None` where there is none.
    fn field(&mut self, rule: &Rule, within: Node<'p>) -> Option<Value> {
        if rule.take == Take::Exists && rule.list.is_none() {
            return Some(Value::Bool(!self.matches(rule, within, 1).is_empty()));
        }
        let Some(most) = rule.list else {
            let found = self.matches(rule, within, 1);
            return found.first().and_then(|node| self.value(rule, *node));
        };
        let found = self.matches(rule, within, most);
        if found.is_empty() && rule.default.is_some() {
            return None;
        }
        let mut list = Vec::with_capacity(found.len());
        for node in found {
            let before = self.path.len();
            self.path.push_str(&format!("[{}]", list.len()));
            list.extend(self.value(rule, node));
            self.path.truncate(before);
        }
        Some(Value::Array(list))
    }

    /// The elements of the first selector that matches any, at most so many.
    fn matches(&mut self, rule: &Rule, within: Node<'p>, most: usize) -> Vec<Node<'p>> {
        if rule.selectors.is_empty() {
            return vec![within];
        }
        for selector in &rule.selectors {
            let found = self.select(selector, within, most);
            if !found.is_empty() {
                return found;
            }
        }
        Vec::new()
    }

    fn select(&mut self, selector: &Selector, within: Node<'p>, most: usize) -> Vec<Node<'p>> {
        let before = u64::from(within.id());
        let mut last = u64::from(within.end());
        let Some(left) = self.visits.checked_sub(last - before) else {
            self.visits = 0;
            self.fail("is not read: the rules match inside one another too often");
            return Vec::new();
        };
        let found: Vec<Node<'p>> = within.select(selector).take(most).collect();
        if found.len() == most
            && let Some(end) = found.last()
        {
            last = u64::from(end.id());
        }
        self.visits = left + u64::from(within.end()) - last;
        found
    }

    /// The value of an element.
    fn value(&mut self, rule: &Rule, node: Node<'p>) -> Option<Value> {
        if let Some(fields) = &rule.fields {
            return Some(Value::Object(self.object(fields, node)));
        }
        if rule.take == Take::Exists {
            return Some(Value::Bool(true));
        }
        let is_within = match rule.take {
            Take::Attribute(_) => true,
            _ => self.budget.spend(node.end() - node.id()),
        };
        if !is_within {
            self.fail("is not read: the rules read the same elements too often");
            return None;
        }
        let mut text = element::value(node, &rule.take, rule.kind)?;
        if let Some(regex) = &rule.regex {
            text = element::matched(regex, &text)?;
        }
        if !self.budget.spend_text(text.len()) {
            self.fail("is not read: the values of the page are too large together");
            return None;
        }
        match self.converter.convert(rule, text) {
            Ok(value) => value,
            Err(rule) => {
                self.fail(rule);
                None
            }
        }
    }
}
