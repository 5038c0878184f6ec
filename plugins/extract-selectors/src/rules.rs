//! The rules of a request: checked and compiled.

use orbweaver_schema::{Part, Types};
use orbweaver_sdk::Error;
use orbweaver_sdk::dom::Selector;
use regex_lite::{Regex, RegexBuilder};
use serde_json::{Map, Value};

/// Most rules of one request, those of nested fields included.
const MAX_RULES: usize = 200;
/// Deepest nesting of fields.
const MAX_DEPTH: usize = 8;
/// Most selectors of one rule.
const MAX_SELECTORS: usize = 16;
/// Longest regular expression, in bytes.
const MAX_REGEX: usize = 1_000;
/// Largest compiled regular expression, in bytes.
const MAX_REGEX_BYTES: usize = 256 << 10;
/// Most elements of a list, and how many where the rule does not say.
const MAX_ITEMS: usize = 10_000;
const DEFAULT_ITEMS: usize = 1_000;

/// The rules of an object's fields, in the order of their names.
#[derive(Debug)]
pub(crate) struct Rules {
    pub(crate) fields: Vec<(String, Rule)>,
}

/// How one field is read.
#[derive(Debug)]
pub(crate) struct Rule {
    /// Selectors in order of preference; empty: the element that the fields are relative to.
    pub(crate) selectors: Vec<Selector>,
    pub(crate) take: Take,
    pub(crate) regex: Option<Regex>,
    pub(crate) kind: Kind,
    /// The sign before the fraction of numbers, if the request names one.
    pub(crate) decimal: Option<char>,
    /// Most elements, for a list of values.
    pub(crate) list: Option<usize>,
    /// The rules of an object's fields.
    pub(crate) fields: Option<Rules>,
    /// What the field is where nothing matches.
    pub(crate) default: Option<Value>,
    /// Whether the field is left out, and not null, where nothing matches.
    pub(crate) is_left_out: bool,
}

/// What is read of an element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Take {
    /// What the type asks for: the text, or the attribute that has an element's value.
    Value,
    /// The visible text on one line.
    Text,
    /// The visible text, a line for each block.
    Lines,
    /// The HTML inside it.
    Html,
    /// Whether there is one.
    Exists,
    /// An attribute.
    Attribute(String),
}

/// The type of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    String,
    Integer,
    Number,
    Boolean,
    Url,
    /// ISO 8601; with `day`, without a time.
    Date {
        day: bool,
    },
}

const KEYS: [&str; 10] = [
    "selector",
    "attribute",
    "take",
    "regex",
    "type",
    "decimal",
    "list",
    "limit",
    "fields",
    "default",
];

impl Rules {
    /// Reads the rules; `schema` gives types to fields whose rule names none.
    pub(crate) fn parse(given: Option<&Value>, schema: Option<Part<'_>>) -> Result<Self, Error> {
        let mut left = MAX_RULES;
        let given = given.ok_or_else(|| fault("selectors", "is required"))?;
        Self::fields(given, schema, "selectors", MAX_DEPTH, &mut left)
    }

    fn fields(
        given: &Value,
        schema: Option<Part<'_>>,
        path: &str,
        depth: usize,
        left: &mut usize,
    ) -> Result<Self, Error> {
        let rule = "must be an object of at least one field";
        let members = given.as_object().filter(|members| !members.is_empty());
        let members = members.ok_or_else(|| fault(path, rule))?;
        let Some(depth) = depth.checked_sub(1) else {
            return Err(fault(path, format!("is nested more than {MAX_DEPTH} deep")));
        };
        let mut fields = Vec::with_capacity(members.len());
        for (name, given) in members {
            let too_many = || fault("selectors", format!("has more than {MAX_RULES} fields"));
            *left = left.checked_sub(1).ok_or_else(too_many)?;
            let shown: String = name.chars().filter(|c| !c.is_control()).take(64).collect();
            let path = format!("{path}.{shown}");
            let schema = schema.and_then(|schema| schema.member(name));
            fields.push((
                name.clone(),
                Rule::parse(given, schema, &path, depth, left)?,
            ));
        }
        Ok(Self { fields })
    }
}

impl Rule {
    fn parse(
        given: &Value,
        schema: Option<Part<'_>>,
        path: &str,
        depth: usize,
        left: &mut usize,
    ) -> Result<Self, Error> {
        let shorthand;
        let members = match given {
            Value::Object(members) => members,
            Value::String(_) => {
                shorthand = Map::from_iter([("selector".to_owned(), given.clone())]);
                &shorthand
            }
            _ => return Err(fault(path, "must be a CSS selector or an object")),
        };
        if let Some(unknown) = members.keys().find(|key| !KEYS.contains(&key.as_str())) {
            let shown: String = unknown
                .chars()
                .filter(|c| !c.is_control())
                .take(64)
                .collect();
            let rule = format!("is not known; known are {}", KEYS.join(", "));
            return Err(fault(&format!("{path}.{shown}"), rule));
        }
        let read = Members { members, path };
        let is_list_by_schema = || schema.is_some_and(|schema| is_list(schema.types()));
        let is_list = read.flag("list")?.unwrap_or_else(is_list_by_schema);
        let value_schema = match is_list {
            true => schema.and_then(|schema| schema.items()),
            false => schema,
        };
        let mut take = read.take()?;
        let selectors = read.selectors(&mut take)?;
        let fields = match members.get("fields") {
            Some(given) => {
                if let Some(other) = ["attribute", "take", "regex", "type", "decimal"]
                    .iter()
                    .find(|key| members.contains_key(**key))
                {
                    return Err(read.fault(other, "cannot be combined with fields"));
                }
                let path = format!("{path}.fields");
                Some(Rules::fields(given, value_schema, &path, depth, left)?)
            }
            None => None,
        };
        if selectors.is_empty() && fields.is_none() && matches!(take, Take::Exists) {
            return Err(read.fault("selector", "is required"));
        }
        Ok(Self {
            selectors,
            kind: read.kind(&take, value_schema)?,
            take,
            regex: read.regex()?,
            decimal: read.decimal()?,
            list: is_list.then(|| read.limit()).transpose()?,
            fields,
            default: members.get("default").cloned(),
            is_left_out: schema.is_some_and(|schema| !schema.types().allows_null()),
        })
    }
}

/// The members of a rule.
struct Members<'g> {
    members: &'g Map<String, Value>,
    path: &'g str,
}

impl Members<'_> {
    fn fault(&self, key: &str, rule: impl std::fmt::Display) -> Error {
        fault(&format!("{}.{key}", self.path), rule)
    }

    fn text(&self, key: &str) -> Result<Option<&str>, Error> {
        match self.members.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(self.fault(key, "must be a string")),
        }
    }

    fn flag(&self, key: &str) -> Result<Option<bool>, Error> {
        match self.members.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(_) => Err(self.fault(key, "must be true or false")),
        }
    }

    fn take(&self) -> Result<Take, Error> {
        let attribute = self.text("attribute")?;
        let take = self.text("take")?;
        if attribute.is_some() && take.is_some() {
            return Err(self.fault("take", "cannot be combined with attribute"));
        }
        if let Some(name) = attribute {
            return attribute_of(name).ok_or_else(|| self.fault("attribute", BAD_ATTRIBUTE));
        }
        Ok(match take {
            None => Take::Value,
            Some("text") => Take::Text,
            Some("lines") => Take::Lines,
            Some("html") => Take::Html,
            Some("exists") => Take::Exists,
            Some(_) => return Err(self.fault("take", "must be text, lines, html or exists")),
        })
    }

    /// The compiled selectors. A selector may end in `::attr(name)` or `::text`, as in Scrapy.
    fn selectors(&self, take: &mut Take) -> Result<Vec<Selector>, Error> {
        let texts: Vec<&str> = match self.members.get("selector") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::String(text)) => vec![text],
            Some(Value::Array(list)) if (1..=MAX_SELECTORS).contains(&list.len()) => {
                let texts: Option<Vec<&str>> = list.iter().map(Value::as_str).collect();
                texts.ok_or_else(|| self.fault("selector", "must be a list of strings"))?
            }
            Some(_) => {
                let rule = format!("must be a string or a list of 1 to {MAX_SELECTORS} strings");
                return Err(self.fault("selector", rule));
            }
        };
        let mut selectors = Vec::with_capacity(texts.len());
        for text in texts {
            let (css, suffix) = split_suffix(text);
            let has_suffix = suffix.is_some();
            if let Some(suffix) = suffix {
                let suffix = suffix.ok_or_else(|| self.fault("selector", BAD_SUFFIX))?;
                if !matches!(take, Take::Value) && *take != suffix {
                    let rule = "must not have different suffixes, or one beside attribute or take";
                    return Err(self.fault("selector", rule));
                }
                *take = suffix;
            }
            if css.is_empty() && has_suffix && is_one_text(self.members) {
                continue;
            }
            let selector = Selector::parse(css);
            selectors.push(selector.map_err(|error| self.fault("selector", error))?);
        }
        Ok(selectors)
    }

    fn regex(&self) -> Result<Option<Regex>, Error> {
        let Some(pattern) = self.text("regex")? else {
            return Ok(None);
        };
        if pattern.len() > MAX_REGEX {
            let rule = format!("must be at most {MAX_REGEX} bytes");
            return Err(self.fault("regex", rule));
        }
        let regex = RegexBuilder::new(pattern)
            .size_limit(MAX_REGEX_BYTES)
            .build();
        let regex = regex.map_err(|error| {
            self.fault(
                "regex",
                format!("is not a regular expression that is supported: {error}"),
            )
        })?;
        Ok(Some(regex))
    }

    fn kind(&self, take: &Take, schema: Option<Part<'_>>) -> Result<Kind, Error> {
        let format = schema.and_then(|schema| schema.format());
        let day = format == Some("date");
        let Some(name) = self.text("type")? else {
            return Ok(match schema {
                _ if *take == Take::Exists => Kind::Boolean,
                Some(schema) => kind_of(schema.types(), format),
                None => Kind::String,
            });
        };
        Ok(match name {
            "string" => Kind::String,
            "integer" => Kind::Integer,
            "number" => Kind::Number,
            "boolean" => Kind::Boolean,
            "url" => Kind::Url,
            "date" => Kind::Date { day },
            _ => {
                let rule = "must be string, integer, number, boolean, url or date";
                return Err(self.fault("type", rule));
            }
        })
    }

    fn decimal(&self) -> Result<Option<char>, Error> {
        match self.text("decimal")? {
            None => Ok(None),
            Some(".") => Ok(Some('.')),
            Some(",") => Ok(Some(',')),
            Some(_) => Err(self.fault("decimal", "must be `.` or `,`")),
        }
    }

    fn limit(&self) -> Result<usize, Error> {
        let Some(given) = self.members.get("limit").filter(|given| !given.is_null()) else {
            return Ok(DEFAULT_ITEMS);
        };
        let limit = given.as_u64().and_then(|limit| usize::try_from(limit).ok());
        limit
            .filter(|limit| (1..=MAX_ITEMS).contains(limit))
            .ok_or_else(|| self.fault("limit", format!("must be between 1 and {MAX_ITEMS}")))
    }
}

const BAD_ATTRIBUTE: &str = "must be the name of an attribute";
const BAD_SUFFIX: &str = "must end in ::attr(name), ::text or no pseudo-element";

/// Whether the rule has one selector: an empty one then means the element itself.
fn is_one_text(members: &Map<String, Value>) -> bool {
    members.get("selector").is_some_and(Value::is_string)
}

/// A selector without the suffix that says what is read, and that: `None` inside where it is not
/// understood.
fn split_suffix(text: &str) -> (&str, Option<Option<Take>>) {
    let text = text.trim();
    let Some((css, suffix)) = text.rsplit_once("::") else {
        return (text, None);
    };
    let name = suffix
        .strip_prefix("attr(")
        .and_then(|rest| rest.strip_suffix(')'));
    let take = match (suffix, name) {
        ("text", _) => Some(Take::Text),
        (_, Some(name)) => attribute_of(name),
        // `::` inside of a string, such as `[href*="::"]`, is no suffix.
        _ if suffix.contains(['"', '\'', ']']) => return (text, None),
        _ => None,
    };
    (css.trim(), Some(take))
}

fn attribute_of(name: &str) -> Option<Take> {
    let name = name.trim();
    let is_name = !name.is_empty()
        && name.len() <= 100
        && !name.contains(|c: char| c.is_whitespace() || c.is_control() || "\"'>/=".contains(c));
    is_name.then(|| Take::Attribute(name.to_ascii_lowercase()))
}

fn is_list(types: Types) -> bool {
    !types.is_all() && types.has("array")
}

/// The type that a schema asks for.
fn kind_of(types: Types, format: Option<&str>) -> Kind {
    if types.is_all() || types.has("string") {
        return match format {
            Some("uri" | "url" | "uri-reference") => Kind::Url,
            Some("date") => Kind::Date { day: true },
            Some("date-time") => Kind::Date { day: false },
            _ => Kind::String,
        };
    }
    if types.has("number") {
        Kind::Number
    } else if types.has("integer") {
        Kind::Integer
    } else if types.has("boolean") {
        Kind::Boolean
    } else {
        Kind::String
    }
}

fn fault(path: &str, rule: impl std::fmt::Display) -> Error {
    Error::invalid(format!("{path}: {rule}"))
}
