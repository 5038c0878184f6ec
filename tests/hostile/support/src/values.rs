//! Operations on the values that a plugin keeps, as JSON: for actors and hooks alike.

use serde_json::{Value, json};

use crate::host::state;

/// A text of JSON; empty if it is none.
pub fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Does one operation on the plugin's values: `get`, `put`, `delete` or `keys`.
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
