//! An actor that does the operations of its input, a list `ops`, and returns one result for each: on
//! state (`get`, `put`, `delete`, `keys`), requests with a secret (`send`), and `log` and `fail` with
//! everything that it has seen so far.

use hostile_support::host::types::Header;
use hostile_support::host::{batch, log, requests, state};
use hostile_support::{Error, error, get};
use serde_json::{Value, json};

hostile_support::actor!(run);

async fn run(input: String) -> Result<String, Error> {
    let input: Value = serde_json::from_str(&input).unwrap();
    let mut seen = Vec::new();
    for op in input["ops"].as_array().cloned().unwrap_or_default() {
        let result = match op["op"].as_str().unwrap_or_default() {
            "send" => send(&op),
            "log" => {
                log::log(log::Level::Warn, &Value::from(seen.clone()).to_string());
                Value::Null
            }
            "fail" => return Err(error("failed", Value::from(seen).to_string())),
            _ => on_state(&op),
        };
        seen.push(result);
    }
    Ok(json!({ "results": seen }).to_string())
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn on_state(op: &Value) -> Value {
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

fn send(op: &Value) -> Value {
    let secret = |name: &str| requests::SecretHeader {
        name: op["header"].as_str().unwrap_or("authorization").to_owned(),
        prefix: op["prefix"].as_str().unwrap_or("Bearer ").to_owned(),
        secret: name.to_owned(),
    };
    let request = requests::Request {
        headers: vec![Header {
            name: "x-plain".to_owned(),
            value: "1".to_owned(),
        }],
        follow_redirects: op["follow"].as_bool().unwrap_or(true),
        secrets: vec![secret(op["secret"].as_str().unwrap_or("token"))],
        ..get(&text(&op["url"]))
    };
    match batch::fetch_many(&[request], 0).pop() {
        Some(Ok(page)) => {
            let headers: Vec<Value> = page
                .headers()
                .into_iter()
                .map(|header| json!([header.name, header.value]))
                .collect();
            json!({
                "url": page.final_url(), "status": page.status(), "html": page.html(),
                "body": String::from_utf8_lossy(&page.body()), "headers": headers,
                "redirects": page.redirects().into_iter().map(|hop| hop.url).collect::<Vec<_>>(),
            })
        }
        Some(Err(error)) => json!({ "error": format!("{error:?}") }),
        None => Value::Null,
    }
}
