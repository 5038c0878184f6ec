//! The arguments of a call: read, checked, and made a request.

use http::Method;
use orbweaver_core::json_number::write_integers;
use rmcp::model::JsonObject;
use serde_json::Value;

use crate::bounds::{DEFAULT_CHARS, MAX_CHARS, MIN_CHARS};
use crate::error::ApiError;
use crate::inside::{Call, Failure, segment};
use crate::mcp::follow;
use crate::mcp::tools::{CHARS_ARGUMENT, Endpoint};

/// The arguments that were given, as bodies of requests are read: null is an optional one that is not
/// given, and `7.0` a whole number.
pub(super) fn given(mut arguments: JsonObject) -> JsonObject {
    arguments.retain(|_, value| !value.is_null());
    integral(arguments)
}

/// The arguments with whole numbers written as such.
pub(super) fn integral(mut arguments: JsonObject) -> JsonObject {
    arguments.values_mut().for_each(write_integers);
    arguments
}

/// The request that these arguments make: to the path's parameters, then to query or body.
pub(super) fn request(endpoint: &Endpoint, mut arguments: JsonObject) -> Result<Call, Failure> {
    let mut path = String::new();
    for part in endpoint.path.split('/').skip(1) {
        path.push('/');
        match part
            .strip_prefix('{')
            .and_then(|part| part.strip_suffix('}'))
        {
            Some(name) => {
                path.push_str(&segment(&argument(&arguments, name)?));
                arguments.remove(name);
            }
            None => path.push_str(part),
        }
    }
    match endpoint.method {
        "get" => {
            let mut call = Call::get(path);
            for (name, value) in &arguments {
                call = call.with(name, &scalar(name, value)?);
            }
            Ok(call)
        }
        "delete" => Ok(Call::new(Method::DELETE, path)),
        _ => Ok(Call::post(path, Value::Object(arguments))),
    }
}

/// An argument that stands in a path.
pub(super) fn argument(arguments: &JsonObject, name: &str) -> Result<String, Failure> {
    match arguments.get(name) {
        None | Some(Value::Null) => Err(invalid(name, "is required")),
        Some(value) => match scalar(name, value)? {
            // Would be another path.
            text if text.is_empty() => Err(invalid(name, "must not be empty")),
            text => Ok(text),
        },
    }
}

fn scalar(name: &str, value: &Value) -> Result<String, Failure> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(number) => Ok(number.to_string()),
        Value::Bool(flag) => Ok(flag.to_string()),
        _ => Err(invalid(name, "must be a string, a number or a boolean")),
    }
}

/// Takes out how long the result may be.
pub(super) fn chars(arguments: &mut JsonObject) -> Result<usize, Failure> {
    let chars = whole(
        arguments,
        CHARS_ARGUMENT,
        MIN_CHARS as u64,
        MAX_CHARS as u64,
    )?;
    arguments.remove(CHARS_ARGUMENT);
    Ok(chars.map_or(DEFAULT_CHARS, |chars| {
        usize::try_from(chars).unwrap_or(DEFAULT_CHARS)
    }))
}

/// Takes out how long to wait.
pub(super) fn wait(arguments: &mut JsonObject, default: u64) -> Result<u64, Failure> {
    let seconds = whole(arguments, "wait_seconds", 0, follow::MAX_WAIT)?;
    arguments.remove("wait_seconds");
    Ok(seconds.unwrap_or(default))
}

/// Where a list begins. The endpoint reads it from a query, so a text is a number, too; it
/// refuses what is none.
pub(super) fn offset(arguments: &JsonObject) -> u64 {
    let offset = arguments.get("offset").and_then(|value| match value {
        Value::String(text) => text.parse().ok(),
        value => value.as_u64(),
    });
    offset.unwrap_or(0)
}

pub(super) fn whole(
    arguments: &JsonObject,
    name: &str,
    min: u64,
    max: u64,
) -> Result<Option<u64>, Failure> {
    let number = match arguments.get(name) {
        None | Some(Value::Null) => return Ok(None),
        Some(value) => value.as_u64(),
    };
    match number {
        Some(number) if (min..=max).contains(&number) => Ok(Some(number)),
        _ => Err(invalid(
            name,
            format!("must be a whole number between {min} and {max}"),
        )),
    }
}

pub(super) fn invalid(field: &str, rule: impl std::fmt::Display) -> Failure {
    ApiError::invalid(field, rule).into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::mcp::tools::ENDPOINTS;

    fn call(name: &str, arguments: Value) -> Result<String, String> {
        let endpoint = ENDPOINTS.iter().find(|one| one.name == name).unwrap();
        let Value::Object(arguments) = arguments else {
            panic!("an object");
        };
        request(endpoint, arguments)
            .map(|call| format!("{call:?}"))
            .map_err(|failure| failure.message().to_owned())
    }

    #[test]
    fn arguments_cannot_leave_their_place_in_a_path() {
        let made = call("page", json!({"id": "../../v1/keys?x#y", "format": "a&b"})).unwrap();
        assert!(
            made.contains("/v1/pages/%2E%2E%2F%2E%2E%2Fv1%2Fkeys%3Fx%23y\"")
                && made.contains("format=a%26b"),
            "{made}"
        );
        for (arguments, message) in [
            (json!({}), "id: is required"),
            (json!({"id": ""}), "id: must not be empty"),
            (
                json!({"id": [1]}),
                "id: must be a string, a number or a boolean",
            ),
        ] {
            assert_eq!(call("page", arguments), Err(message.to_owned()));
        }
    }

    #[test]
    fn whole_numbers_in_any_notation_are_whole_and_null_is_not_given() {
        let Value::Object(arguments) = json!({"id": 7.0, "offset": 40.0, "format": null, "n": 0.5})
        else {
            panic!("an object");
        };
        let arguments = given(arguments);
        let expected = json!({"id": 7, "offset": 40, "n": 0.5});
        assert_eq!(Value::Object(arguments.clone()), expected);
        assert_eq!(argument(&arguments, "id"), Ok("7".to_owned()));
        assert_eq!(offset(&arguments), 40);
        assert_eq!(whole(&arguments, "offset", 0, 50), Ok(Some(40)));
        assert!(whole(&arguments, "n", 0, 50).is_err());
    }

    #[test]
    fn numbers_out_of_bounds_name_the_field_and_the_rule() {
        for (value, is_good) in [
            (json!(0), true),
            (json!(241), false),
            (json!("9"), false),
            (json!(-1), false),
        ] {
            let mut arguments = JsonObject::from_iter([("wait_seconds".to_owned(), value)]);
            let seconds = wait(&mut arguments, 7);
            assert_eq!(seconds.is_ok(), is_good, "{seconds:?}");
        }
        assert_eq!(wait(&mut JsonObject::new(), 7), Ok(7));
    }
}
