//! An actor that does the operations of its input, a list `ops`, and returns one result for each: on
//! state (`get`, `put`, `delete`, `increase`, `keys`), requests with a secret (`send`), and `log` and `fail` with
//! everything that it has seen so far.

use hostile_support::host::types::Header;
use hostile_support::host::{batch, log, requests};
use hostile_support::values::text;
use hostile_support::{Error, error, get, values};
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
            _ => values::on_state(&op),
        };
        seen.push(result);
    }
    Ok(json!({ "results": seen }).to_string())
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
