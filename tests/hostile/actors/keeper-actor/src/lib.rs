//! An actor that does the operations of its input, a list `ops`, and returns one result for each: on
//! state (`get`, `put`, `delete`, `keys`), requests with a secret (`send`), and `log` and `fail` with
//! everything that it has seen so far.

use hostile_support::Error;
use hostile_support::host::types::Header;
use hostile_support::host::{log, secret_http, state};
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
            "fail" => return Err(Error::Failed(Value::from(seen).to_string())),
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
        "get" => state::get(&key).map(|entry| {
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
            state::keys(&text(&op["prefix"]), &text(&op["after"]), limit).map(Value::from)
        }
    };
    result.unwrap_or_else(|failure| match failure {
        state::Failure::InvalidInput(why) => json!({ "invalid": why }),
        state::Failure::Denied(why) => json!({ "denied": why }),
        state::Failure::Conflict(version) => json!({ "conflict": version }),
        state::Failure::Full(why) => json!({ "full": why }),
        state::Failure::Failed(why) => json!({ "failed": why }),
    })
}

fn send(op: &Value) -> Value {
    let secret = |name: &str| secret_http::SecretHeader {
        name: op["header"].as_str().unwrap_or("authorization").to_owned(),
        prefix: op["prefix"].as_str().unwrap_or("Bearer ").to_owned(),
        secret: name.to_owned(),
    };
    let request = secret_http::SecretRequest {
        method: "GET".to_owned(),
        url: text(&op["url"]),
        headers: vec![Header {
            name: "x-plain".to_owned(),
            value: "1".to_owned(),
        }],
        body: None,
        follow_redirects: op["follow"].as_bool().unwrap_or(true),
        respect_robots: false,
        timeout_ms: None,
        secrets: vec![secret(op["secret"].as_str().unwrap_or("token"))],
    };
    match secret_http::send_many(&[request], 0).pop() {
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
