//! Operations on the values that a plugin keeps, as JSON: for actors and hooks alike.

use serde_json::{Value, json};

use crate::host::state;

/// A text of JSON; empty if it is none.
pub fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Does one operation on the plugin's values: `get`, `put`, `delete`, `increase` or `keys`.
pub fn on_state(op: &Value) -> Value {
    let (key, expected) = (text(&op["key"]), op["expected"].as_u64());
    let result = match op["op"].as_str().unwrap_or_default() {
        "get" => state::get(&key)
            .map_err(state::Failure::Error)
            .map(|entry| {
                entry.map_or(Value::Null, |entry| {
                    json!({
                        "value": String::from_utf8_lossy(&entry.value), "version": entry.version,
                    })
                })
            }),
        "put" => {
            let value = match op["bytes"].as_u64() {
                Some(bytes) => vec![b'x'; bytes as usize],
                None => text(&op["value"]).into_bytes(),
            };
            state::put(&key, &value, expected, op["ttl"].as_u64()).map(Value::from)
        }
        "delete" => state::delete(&key, expected).map(|()| Value::from("deleted")),
        "increase" => increase(&key).map(Value::from),
        _ => {
            let limit = op["limit"].as_u64().unwrap_or(100) as u32;
            let after = op["after"].as_str();
            let keys = state::keys(&text(&op["prefix"]), after, limit);
            keys.map_err(state::Failure::Error).map(Value::from)
        }
    };
    result.unwrap_or_else(|failure| match failure {
        state::Failure::Conflict(version) => json!({ "conflict": version }),
        state::Failure::Error(error) => json!({ error.code: error.message }),
    })
}

/// Increases a number, again if another call has written it meanwhile, 16 times at most, as the SDK does.
fn increase(key: &str) -> Result<u64, state::Failure> {
    let mut conflict = 0;
    for _ in 0..16 {
        let entry = state::get(key).map_err(state::Failure::Error)?;
        let number = entry.as_ref().map_or(0, |entry| {
            String::from_utf8_lossy(&entry.value).parse().unwrap_or(0)
        }) + 1;
        let expected = entry.map_or(0, |entry| entry.version);
        match state::put(key, number.to_string().as_bytes(), Some(expected), None) {
            Ok(_) => return Ok(number),
            Err(state::Failure::Conflict(version)) => conflict = version,
            Err(failure) => return Err(failure),
        }
    }
    Err(state::Failure::Conflict(conflict))
}
