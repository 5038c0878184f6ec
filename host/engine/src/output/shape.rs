//! Shapes of the built-in roles' answers: what the readers of these answers rely on, whichever plugin serves
//! the role. Members that are not named here are passed on as they are.
//!
//! The text was checked to be JSON before. Most roles need its first byte alone, the others one pass that copies
//! nothing, and takes less than a millisecond for a megabyte of links.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// Roles whose answers have a shape.
const ROLES: [&str; 8] = [
    "article",
    "document-html",
    "links",
    "markdown",
    "metadata",
    "selectors",
    "signals",
    "structured-data",
];

/// Whether a role is built in.
pub(crate) fn is_built_in(role: &str) -> bool {
    ROLES.contains(&role)
}

/// Checks the answer of a role. Those of a plugin's own roles may be any JSON.
///
/// # Errors
/// What is wrong, such as `links[3].to must be a string, not a number`.
pub(super) fn check(role: &str, json: &str) -> Result<(), String> {
    match role {
        // Of these the host asks what it cannot do without.
        "document-html" => document(json),
        "selectors" => selectors(json),
        // The page has none: no article, no text.
        _ if Kind::of(json) == Kind::Null => Ok(()),
        "markdown" => expect(role, Kind::of(json), &[Kind::String]),
        "metadata" | "signals" => expect(role, Kind::of(json), &[Kind::Object]),
        "article" => article(json),
        "links" => links(json),
        "structured-data" => structured_data(json),
        _ => Ok(()),
    }
}

const TEXT: &[Kind] = &[Kind::String];
const TEXT_OR_NULL: &[Kind] = &[Kind::String, Kind::Null];
/// Of a member that may be left out.
const ANY_TEXT: &[Kind] = &[Kind::String, Kind::Null, Kind::Missing];

#[derive(Default, serde::Deserialize)]
#[serde(default)]
struct Article {
    text: Kind,
    html: Kind,
    title: Kind,
    byline: Kind,
    published: Kind,
    lang: Kind,
    excerpt: Kind,
}

fn article(json: &str) -> Result<(), String> {
    let role = "article";
    let article: Article = object(role, json)?;
    member(role, "text", article.text, TEXT_OR_NULL)?;
    member(role, "html", article.html, TEXT_OR_NULL)?;
    let others = [
        ("title", article.title),
        ("byline", article.byline),
        ("published", article.published),
        ("lang", article.lang),
        ("excerpt", article.excerpt),
    ];
    let mut others = others.into_iter();
    others.try_for_each(|(name, kind)| member(role, name, kind, ANY_TEXT))
}

#[derive(Default, serde::Deserialize)]
#[serde(default)]
struct Link {
    to: Kind,
    anchor: Kind,
    rel: Kind,
    nofollow: Kind,
}

fn links(json: &str) -> Result<(), String> {
    let role = "links";
    expect(role, Kind::of(json), &[Kind::Array])?;
    items(role, json, |index, link: &Link| {
        let path = || format!("{role}[{index}]");
        member(path, "to", link.to, TEXT)?;
        member(path, "anchor", link.anchor, &[Kind::String, Kind::Missing])?;
        member(path, "rel", link.rel, ANY_TEXT)?;
        member(
            path,
            "nofollow",
            link.nofollow,
            &[Kind::Boolean, Kind::Missing],
        )
    })
}

#[derive(Default, serde::Deserialize)]
#[serde(default)]
struct Document {
    html: Kind,
    notice: Kind,
}

fn document(json: &str) -> Result<(), String> {
    let role = "document-html";
    let document: Document = object(role, json)?;
    member(role, "html", document.html, TEXT)?;
    member(role, "notice", document.notice, TEXT)
}

#[derive(Default, serde::Deserialize)]
#[serde(default)]
struct StructuredData {
    counts: Kind,
    data: Kind,
}

fn structured_data(json: &str) -> Result<(), String> {
    let role = "structured-data";
    let found: StructuredData = object(role, json)?;
    member(role, "counts", found.counts, &[Kind::Object])?;
    member(role, "data", found.data, &[Kind::Object])
}

#[derive(Default, serde::Deserialize)]
#[serde(default)]
struct Selected<'a> {
    data: Kind,
    #[serde(borrow)]
    errors: Option<&'a RawValue>,
}

#[derive(Default, serde::Deserialize)]
#[serde(default)]
struct FieldError {
    field: Kind,
    message: Kind,
}

fn selectors(json: &str) -> Result<(), String> {
    let role = "selectors";
    let selected: Selected<'_> = object(role, json)?;
    member(role, "data", selected.data, &[Kind::Object])?;
    let errors = selected.errors.map_or("null", RawValue::get);
    member(role, "errors", Kind::of(errors), &[Kind::Array])?;
    let place = "selectors.errors";
    items(place, errors, |index, error: &FieldError| {
        let path = || format!("{place}[{index}]");
        member(path, "field", error.field, TEXT)?;
        member(path, "message", error.message, TEXT)
    })
}

/// Kind of a JSON value, or that there is none.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Kind {
    #[default]
    Missing,
    Null,
    Boolean,
    Number,
    String,
    Array,
    Object,
}

impl Kind {
    /// The kind of a value without white space before it.
    fn of(json: &str) -> Self {
        match json.as_bytes().first() {
            Some(b'"') => Self::String,
            Some(b'{') => Self::Object,
            Some(b'[') => Self::Array,
            Some(b't' | b'f') => Self::Boolean,
            Some(b'n') => Self::Null,
            _ => Self::Number,
        }
    }

    fn with_article(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Null => "null",
            Self::Boolean => "a boolean",
            Self::Number => "a number",
            Self::String => "a string",
            Self::Array => "an array",
            Self::Object => "an object",
        }
    }
}

/// Skips the value.
impl<'de> Deserialize<'de> for Kind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = <&RawValue>::deserialize(deserializer)?;
        Ok(Self::of(value.get()))
    }
}

/// Where a value is; made to text only for an error.
trait Place: Copy {
    fn shown(self) -> String;
}

impl Place for &str {
    fn shown(self) -> String {
        self.to_owned()
    }
}

impl<F: Fn() -> String + Copy> Place for F {
    fn shown(self) -> String {
        self()
    }
}

fn expect(place: impl Place, kind: Kind, wanted: &[Kind]) -> Result<(), String> {
    if wanted.contains(&kind) {
        return Ok(());
    }
    let place = place.shown();
    let named = wanted.iter().filter(|kind| **kind != Kind::Missing);
    let named: Vec<&str> = named.map(|kind| kind.with_article()).collect();
    let named = named.join(" or ");
    Err(match kind {
        Kind::Missing => format!("{place} is missing; it must be {named}"),
        kind => format!("{place} must be {named}, not {}", kind.with_article()),
    })
}

fn member(place: impl Place, name: &str, kind: Kind, wanted: &[Kind]) -> Result<(), String> {
    expect(|| format!("{}.{name}", place.shown()), kind, wanted)
}

/// Reads members of an object; fails where one is there twice. A sequence, which serde takes for a struct, is
/// none.
fn object<'a, T: Deserialize<'a>>(place: &str, json: &'a str) -> Result<T, String> {
    expect(place, Kind::of(json), &[Kind::Object])?;
    serde_json::from_str(json).map_err(|error| format!("{place}: {error}"))
}

/// Checks each item of an array by its index; an item must be an object.
fn items<'a, T: Deserialize<'a>>(
    place: &str,
    json: &'a str,
    check: impl Fn(usize, &T) -> Result<(), String>,
) -> Result<(), String> {
    let items = Items {
        place,
        check,
        item: PhantomData,
    };
    let read = serde_json::Deserializer::from_str(json).deserialize_seq(items);
    read.map_err(|error| format!("{place}: {error}"))?
}

/// Checks items; says what is wrong with the first bad one.
struct Items<'p, T, F> {
    place: &'p str,
    check: F,
    item: PhantomData<T>,
}

impl<'de, T, F> Visitor<'de> for Items<'_, T, F>
where
    T: Deserialize<'de>,
    F: Fn(usize, &T) -> Result<(), String>,
{
    type Value = Result<(), String>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut index = 0;
        while let Some(item) = items.next_element()? {
            let checked = match &item {
                Item::Object(item) => (self.check)(index, item),
                Item::Other(kind) => {
                    let path = || format!("{}[{index}]", self.place);
                    expect(path, *kind, &[Kind::Object])
                }
            };
            if checked.is_err() {
                // To the end, which the reader looks for.
                while let Some(IgnoredAny) = items.next_element()? {}
                return Ok(checked);
            }
            index += 1;
        }
        Ok(Ok(()))
    }
}

/// An object with the members of `T`, or a value of another kind.
enum Item<T> {
    Object(T),
    Other(Kind),
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Item<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ItemVisitor(PhantomData))
    }
}

struct ItemVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ItemVisitor<T> {
    type Value = Item<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Item<T>, A::Error> {
        T::deserialize(MapAccessDeserializer::new(members)).map(Item::Object)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Item<T>, A::Error> {
        while let Some(IgnoredAny) = items.next_element()? {}
        Ok(Item::Other(Kind::Array))
    }

    fn visit_unit<E: Error>(self) -> Result<Item<T>, E> {
        Ok(Item::Other(Kind::Null))
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Item<T>, E> {
        Ok(Item::Other(Kind::Boolean))
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Item<T>, E> {
        Ok(Item::Other(Kind::Number))
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Item<T>, E> {
        Ok(Item::Other(Kind::Number))
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Item<T>, E> {
        Ok(Item::Other(Kind::Number))
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<Item<T>, E> {
        Ok(Item::Other(Kind::String))
    }
}

#[cfg(test)]
mod tests;
