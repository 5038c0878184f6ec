//! Parameters of the query string.

use axum::extract::FromRequestParts;
use http::request::Parts;
use serde::de::DeserializeOwned;

use crate::app::App;
use crate::error::ApiError;
use crate::warnings::Described;

/// Parameters of the query string.
#[derive(Debug)]
pub struct Query<T>(pub T);

impl<T: DeserializeOwned> FromRequestParts<App> for Query<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, ApiError> {
        let query = parts.uri.query().unwrap_or_default();
        let deserializer =
            serde_urlencoded::Deserializer::new(form_urlencoded::parse(query.as_bytes()));
        serde_path_to_error::deserialize(deserializer)
            .map(Self)
            .map_err(|error| {
                let path = error.path().to_string();
                let described = Described::of(&parts.extensions, &parts.method, &parts.uri);
                let number = described.parameter_number(&path);
                wrong_parameter(&path, &error.into_inner().to_string(), number)
            })
    }
}

/// `number` is the document's rule for a whole number in this place.
fn wrong_parameter(path: &str, message: &str, number: Option<String>) -> ApiError {
    if let Some(name) = message
        .strip_prefix("missing field `")
        .and_then(|m| m.strip_suffix('`'))
    {
        return ApiError::invalid(name, "is required");
    }
    if let Some(name) = message
        .strip_prefix("duplicate field `")
        .and_then(|m| m.strip_suffix('`'))
    {
        return ApiError::invalid(name, "is given twice");
    }
    let rule = match message {
        "invalid digit found in string"
        | "cannot parse integer from empty string"
        | "number too large to fit in target type"
        | "number too small to fit in target type" => {
            let number = number.as_deref().unwrap_or("a whole number, 0 or more");
            return ApiError::invalid(path, format!("must be {number}"));
        }
        "provided string was not `true` or `false`" => "must be true or false",
        other => other,
    };
    // serde's "unknown variant `x`, expected one of `a`, `b`".
    let words = rule
        .strip_prefix("unknown variant ")
        .and_then(|rest| rest.rsplit_once(", expected "));
    let rule = match words {
        Some((given, words)) => format!("must be {words}, not {given}").replace('`', ""),
        None => rule.to_owned(),
    };
    ApiError::invalid(if path == "." { "query" } else { path }, rule)
}
