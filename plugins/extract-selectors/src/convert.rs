//! Makes a text a value of the field's type.

use std::cell::OnceCell;

use orbweaver_facts::dates::{self, Manner};
use orbweaver_sdk::Page;
use orbweaver_sdk::head::Head;
use serde_json::Value;

use crate::numbers;
use crate::rules::{Kind, Rule, Take};

/// Converts texts of one page.
pub(crate) struct Converter<'p> {
    page: &'p Page<'p>,
    /// The page's language, which says how its dates are written.
    language: OnceCell<String>,
}

impl<'p> Converter<'p> {
    pub(crate) fn new(page: &'p Page<'p>) -> Self {
        Self {
            page,
            language: OnceCell::new(),
        }
    }

    /// The value; `None` where the text is empty.
    ///
    /// # Errors
    /// What the text should be and is not.
    pub(crate) fn convert(&self, rule: &Rule, text: String) -> Result<Option<Value>, String> {
        let is_verbatim = matches!(rule.take, Take::Html | Take::Lines);
        if is_verbatim && rule.kind == Kind::String {
            return Ok((!text.is_empty()).then_some(Value::String(text)));
        }
        let trimmed = text.trim();
        if rule.kind == Kind::Boolean {
            // The value of an attribute such as `disabled` or `checked` is often empty.
            if let Take::Attribute(name) = &rule.take
                && (trimmed.is_empty() || trimmed.eq_ignore_ascii_case(name))
            {
                return Ok(Some(Value::Bool(true)));
            }
        }
        if trimmed.is_empty() {
            return Ok(None);
        }
        let value = match rule.kind {
            Kind::String => Some(Value::from(trimmed)),
            Kind::Number => numbers::number(trimmed, rule.decimal).map(Value::Number),
            Kind::Integer => numbers::integer(trimmed, rule.decimal).map(Value::Number),
            Kind::Boolean => boolean(trimmed).map(Value::Bool),
            Kind::Url => self
                .page
                .base()
                .and_then(|base| base.join(trimmed))
                .map(|url| Value::from(url.into_string())),
            Kind::Date { day } => self.date(trimmed, day).map(Value::from),
        };
        match value {
            Some(value) => Ok(Some(value)),
            None => Err(format!(
                "must be {}, and is {}",
                wanted(rule.kind),
                shown(trimmed)
            )),
        }
    }

    fn date(&self, text: &str, day: bool) -> Option<String> {
        let language = self.language.get_or_init(|| {
            let head = Head::of(self.page).ok();
            let declared = head.as_ref().and_then(|head| head.language(self.page));
            declared.unwrap_or_default().to_owned()
        });
        let mut date = dates::read(text, Manner::of(language))?;
        if day {
            date.truncate(date.find('T').unwrap_or(date.len()));
        }
        Some(date)
    }
}

fn boolean(text: &str) -> Option<bool> {
    let is = |words: &[&str]| words.iter().any(|word| word.eq_ignore_ascii_case(text));
    if is(&["true", "yes", "on", "1", "y"]) {
        return Some(true);
    }
    is(&["false", "no", "off", "0", "n"]).then_some(false)
}

fn wanted(kind: Kind) -> &'static str {
    match kind {
        Kind::String => "a text",
        Kind::Integer => "a whole number",
        Kind::Number => "a number",
        Kind::Boolean => "true or false",
        Kind::Url => "an http or https URL",
        Kind::Date { .. } => "a date",
    }
}

/// A text for a message.
fn shown(text: &str) -> String {
    const MAX_CHARS: usize = 60;
    let mut start: String = text.chars().take(MAX_CHARS).collect();
    if start.len() < text.len() {
        start.push('…');
    }
    format!("{start:?}")
}
