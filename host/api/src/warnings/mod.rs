//! What a request names that its operation does not know: fields of the JSON body and query
//! parameters. Handlers warn of more by [`Scope::warn`](crate::scope::Scope::warn).
//!
//! Such a name fails no request, since the interface may grow; its answer says so, in the
//! header [`WARNINGS`] and, where the body is a JSON object that is sent as a whole and no error,
//! in the member `warnings`. The names are those of the OpenAPI document, so every operation has
//! this without a line of its own.

mod described;
mod nearest;
mod operations;
mod schema;

use std::fmt::Write as _;

use axum::body::{Body, HttpBody as _};
use axum::response::Response;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, header};

pub(crate) use described::Described;
pub(crate) use operations::Operations;
pub(crate) use schema::unknown_members;

/// The header with the warnings: a list of strings (RFC 9651, sections 3.1 and 3.3.3).
pub(crate) const WARNINGS: HeaderName = HeaderName::from_static("orbweaver-warnings");

/// Names that are told of; further ones are counted only.
const MAX_NAMES: usize = 10;
/// Longest name that is told, in characters.
const MAX_NAME_CHARS: usize = 100;

/// Names that a request has and its operation has not.
#[derive(Clone, Debug, Default)]
pub(crate) struct UnknownNames {
    names: Vec<UnknownName>,
    /// How many there are besides.
    more: usize,
}

/// A field that no operation knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UnknownName {
    /// Names and indexes from the body's root to the field.
    path: Vec<Step>,
    /// What the object that holds it may have instead, where that is known already.
    known: Option<Vec<String>>,
}

/// A step into a JSON value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Into an object.
    Member(String),
    /// Into an array.
    Index(usize),
}

impl UnknownNames {
    /// Notes a field by its path, and what its object may have where that is known.
    pub(crate) fn push(&mut self, path: Vec<Step>, known: Option<Vec<String>>) {
        if self.names.len() < MAX_NAMES {
            self.names.push(UnknownName { path, known });
        } else {
            self.more += 1;
        }
    }

    /// Whether another field would only be counted.
    pub(crate) fn is_full(&self) -> bool {
        self.names.len() >= MAX_NAMES
    }

    /// Counts a field that is not told of.
    pub(crate) fn count(&mut self) {
        self.more += 1;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

/// What to say of a request's unknown names; `query` is its query string, as sent.
pub(crate) fn messages(
    operations: &Operations,
    method: &http::Method,
    path: &str,
    query: Option<&str>,
    fields: &UnknownNames,
) -> Vec<String> {
    let query = query.unwrap_or_default();
    if query.is_empty() && fields.is_empty() {
        return Vec::new();
    }
    let Some(operation) = operations.find(method, path) else {
        return Vec::new();
    };
    let mut messages = Vec::new();
    let mut more = fields.more;
    for field in &fields.names {
        let names = match &field.known {
            Some(known) => known.clone(),
            None => operations.members_beside(operation, &field.path),
        };
        messages.push(message(
            &shown_path(&field.path),
            "field",
            &field.path,
            &names,
        ));
    }
    let mut told: Vec<String> = Vec::new();
    for (name, _) in form_urlencoded::parse(query.as_bytes()) {
        if operation.has_parameter(&name) || told.iter().any(|told| *told == name) {
            continue;
        }
        if told.len() == MAX_NAMES {
            more += 1;
            continue;
        }
        let path = [Step::Member(name.clone().into_owned())];
        messages.push(message(
            &shown_path(&path),
            "query parameter",
            &path,
            operation.parameters(),
        ));
        told.push(name.into_owned());
    }
    if more > 0 {
        messages.push(format!("{more} further names are unknown"));
    }
    messages
}

fn message(shown: &str, what: &str, path: &[Step], known: &[String]) -> String {
    let name = path.iter().rev().find_map(|step| match step {
        Step::Member(name) => Some(name.as_str()),
        Step::Index(_) => None,
    });
    match name.and_then(|name| nearest::nearest(name, known)) {
        Some(meant) => format!("{shown} is not a {what}; did you mean {meant}?"),
        None => format!("{shown} is not a {what}"),
    }
}

/// `actions[0].selector`: short, and without what would break a line.
fn shown_path(path: &[Step]) -> String {
    let mut shown = String::new();
    for step in path {
        match step {
            Step::Member(name) if shown.is_empty() => shown.push_str(name),
            Step::Member(name) => {
                shown.push('.');
                shown.push_str(name);
            }
            Step::Index(index) => {
                // Writing to a string does not fail.
                let _ = write!(shown, "[{index}]");
            }
        }
    }
    let mut short: String = shown
        .chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .take(MAX_NAME_CHARS)
        .collect();
    if shown.chars().nth(MAX_NAME_CHARS).is_some() {
        short.push('…');
    }
    if short.is_empty() {
        "\"\"".to_owned()
    } else {
        short
    }
}

/// Writes the warnings into an answer: always its header, and the member `warnings` of a JSON
/// object that is not streamed and no error: an error's body has the member `error` alone.
pub(crate) async fn attach(response: Response, messages: &[String]) -> Response {
    let (mut parts, body) = response.into_parts();
    if let Ok(value) = HeaderValue::from_str(&header_value(messages)) {
        parts.headers.insert(WARNINGS, value);
    }
    // A body without a known size is streamed, and must not be gathered here.
    let plain = parts.status.is_client_error() || parts.status.is_server_error();
    if plain || !is_json(&parts.headers) || body.size_hint().exact().is_none() {
        return Response::from_parts(parts, body);
    }
    match axum::body::to_bytes(body, usize::MAX).await {
        Ok(whole) => {
            parts.headers.remove(header::CONTENT_LENGTH);
            Response::from_parts(parts, Body::from(with_member(whole, messages)))
        }
        Err(error) => {
            // A body of known size is in memory already.
            tracing::error!(%error, "cannot read an answer to add its warnings");
            Response::from_parts(parts, Body::empty())
        }
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    headers
        .get(header::CONTENT_TYPE)
        .is_some_and(|value| value.as_bytes().starts_with(b"application/json"))
}

/// The object with the member `warnings` at its end; anything else as it is.
fn with_member(whole: Bytes, messages: &[String]) -> Bytes {
    let Ok(member) = serde_json::to_string(messages) else {
        return whole;
    };
    let object = whole.trim_ascii();
    let Some(inside) = object
        .strip_prefix(b"{")
        .and_then(|rest| rest.strip_suffix(b"}"))
    else {
        return whole;
    };
    let comma: &[u8] = if inside.trim_ascii().is_empty() {
        b""
    } else {
        b","
    };
    [
        b"{",
        inside,
        comma,
        b"\"warnings\":",
        member.as_bytes(),
        b"}",
    ]
    .concat()
    .into()
}

/// The messages as a list of strings (RFC 9651, section 4.1.6). A string there is ASCII;
/// other characters become question marks.
fn header_value(messages: &[String]) -> String {
    let mut list = String::new();
    for message in messages {
        list.push_str(if list.is_empty() { "\"" } else { ", \"" });
        for c in message.chars() {
            match c {
                '"' | '\\' => {
                    list.push('\\');
                    list.push(c);
                }
                ' '..='~' => list.push(c),
                _ => list.push('?'),
            }
        }
        list.push('"');
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_gets_the_member_at_its_end() {
        let said = ["a is not a field".to_owned()];
        let added = |body: &'static str| {
            String::from_utf8(with_member(body.into(), &said).to_vec()).unwrap()
        };
        assert_eq!(
            added(r#"{"id":1}"#),
            r#"{"id":1,"warnings":["a is not a field"]}"#
        );
        assert_eq!(added(" {} \n"), r#"{"warnings":["a is not a field"]}"#);
        for other in ["[{}]", "null", "", "3"] {
            assert_eq!(added(other), other);
        }
    }

    #[test]
    fn a_header_holds_any_name() {
        let said = ["say \"a\\b\" é is not a field".to_owned(), "c".to_owned()];
        let value = header_value(&said);
        assert_eq!(value, r#""say \"a\\b\" ? is not a field", "c""#);
        assert!(HeaderValue::from_str(&value).is_ok());
    }

    #[test]
    fn a_path_is_short_and_on_one_line() {
        let path = [
            Step::Member("actions".to_owned()),
            Step::Index(2),
            Step::Member("a\nb".to_owned()),
        ];
        assert_eq!(shown_path(&path), "actions[2].a\u{fffd}b");
        let long = shown_path(&[Step::Member("é".repeat(5_000))]);
        assert_eq!(long.chars().count(), MAX_NAME_CHARS + 1);
        assert_eq!(shown_path(&[Step::Member(String::new())]), "\"\"");
    }
}
