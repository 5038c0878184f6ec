//! A request as a caller writes it: with curl, and with the clients for Python and TypeScript.

use serde_json::{Map, Value, json};

/// Longest line of arguments, in characters; more stand one a line.
const LINE: usize = 76;
/// The page of a request that has none yet.
const EXAMPLE: &str = "https://example.com/";

/// Words that cannot name an argument in Python (its reference, section 2.3.1).
const PYTHON_WORDS: [&str; 35] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue",
    "def", "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import",
    "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while",
    "with", "yield",
];

/// The code of a POST: `curl`, `python` and `typescript`. A request without a body is shown with an
/// example.
pub(super) fn samples(base: &str, path: &str, body: &Value) -> Value {
    let body = match body {
        Value::Object(members) if !members.is_empty() => members.clone(),
        _ if path == "/v1/cloud/search" => Map::from_iter([("query".to_owned(), json!("words"))]),
        _ => Map::from_iter([("url".to_owned(), json!(EXAMPLE))]),
    };
    json!({
        "curl": curl(base, path, &body),
        "python": python(base, path, &body),
        "typescript": typescript(base, path, &body),
    })
}

fn curl(base: &str, path: &str, body: &Map<String, Value>) -> String {
    // In single quotes a shell reads everything but a single quote as it stands.
    let body = json!(body).to_string().replace('\'', "'\\''");
    format!(
        "curl -s {base}{path} \\\n  -H \"Authorization: Bearer $KEY\" \\\n  \
         -H 'Content-Type: application/json' \\\n  -d '{body}'"
    )
}

/// How a client calls the endpoint: its method, the arguments that have a place, and what the
/// answer is printed by.
struct Method<'a> {
    python: &'static str,
    typescript: &'static str,
    /// A name that is no member of the body: an actor's.
    name: Option<&'a str>,
    /// Members that stand first, without their names.
    places: &'static [&'static str],
    /// The member of the answer that is printed.
    shown: Option<&'static str>,
}

/// The method of the clients for an endpoint; `None` if they have none of their own.
fn method<'a>(path: &'a str, body: &Map<String, Value>) -> Option<Method<'a>> {
    let known = |python, typescript, places, shown| Method {
        python,
        typescript,
        name: None,
        places,
        shown,
    };
    Some(match path {
        "/v1/scan" => known("scan", "scan", &["url"], Some("markdown")),
        "/v1/cloud/search" => known("search", "search", &["query"], None),
        "/v1/crawls" if body.contains_key("cron") => {
            known("monitor", "monitor", &["url", "cron"], None)
        }
        "/v1/crawls" => known("crawl", "crawl", &["url"], None),
        _ => Method {
            name: Some(path.strip_prefix("/v1/actors/")?),
            ..known("actor", "actor", &[], Some("data"))
        },
    })
}

/// The arguments that have a place, as JSON, and the other members.
fn divided(method: &Method<'_>, body: &Map<String, Value>) -> (Vec<Value>, Map<String, Value>) {
    let mut rest = body.clone();
    let named = method.name.map(|name| json!(name));
    let places = method
        .places
        .iter()
        .map(|place| rest.remove(*place).unwrap_or_else(|| json!("")));
    let places: Vec<Value> = named.into_iter().chain(places).collect();
    (places, rest)
}

fn python(base: &str, path: &str, body: &Map<String, Value>) -> String {
    let (call, shown) = match method(path, body) {
        Some(method) => {
            let (places, rest) = divided(&method, body);
            let is_name = |name: &String| {
                let mut letters = name.chars();
                letters
                    .next()
                    .is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
                    && letters.all(|c| c.is_ascii_alphanumeric() || c == '_')
                    && !PYTHON_WORDS.contains(&name.as_str())
            };
            let mut arguments: Vec<String> = places.iter().map(python_value).collect();
            if rest.keys().all(is_name) {
                let named =
                    |(name, value): (&String, &Value)| format!("{name}={}", python_value(value));
                arguments.extend(rest.iter().map(named));
            } else {
                arguments.push(format!("**{}", python_value(&json!(rest))));
            }
            (called(method.python, &arguments), method.shown)
        }
        None => {
            let arguments = [
                python_value(&json!("POST")),
                python_value(&json!(path)),
                format!("body={}", python_value(&json!(body))),
            ];
            (called("request", &arguments), None)
        }
    };
    let member = shown.map(|shown| format!("[{}]", json!(shown)));
    format!(
        "from orbweaver import Orbweaver\n\nweb = Orbweaver({})  # the key: ORBWEAVER_KEY\n\
         print(web.{call}{})",
        json!(base),
        member.unwrap_or_default()
    )
}

fn typescript(base: &str, path: &str, body: &Map<String, Value>) -> String {
    let (call, shown) = match method(path, body) {
        Some(method) => {
            let (places, rest) = divided(&method, body);
            let mut arguments: Vec<String> = places.iter().map(Value::to_string).collect();
            if !rest.is_empty() {
                arguments.push(json!(rest).to_string());
            }
            (called(method.typescript, &arguments), method.shown)
        }
        None => {
            let body = json!({"body": body}).to_string();
            let arguments = [json!("POST").to_string(), json!(path).to_string(), body];
            (called("request", &arguments), None)
        }
    };
    let printed = match shown {
        Some(shown) => format!("(await web.{call}).{shown}"),
        None => format!("await web.{call}"),
    };
    format!(
        "import {{ Orbweaver }} from \"orbweaver-client\";\n\n\
         const web = new Orbweaver({{ baseUrl: {} }}); // the key: ORBWEAVER_KEY\n\
         console.log({printed});",
        json!(base)
    )
}

/// A call with its arguments: on one line if they are short.
fn called(method: &str, arguments: &[String]) -> String {
    let line = arguments.join(", ");
    if line.chars().count() <= LINE {
        return format!("{method}({line})");
    }
    format!("{method}(\n    {},\n)", arguments.join(",\n    "))
}

/// A JSON value as Python has it. A string of JSON is one of Python.
fn python_value(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(python_value).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| {
                format!("{}: {}", json!(name), python_value(value))
            };
            let members: Vec<String> = members.iter().map(member).collect();
            format!("{{{}}}", members.join(", "))
        }
        Value::Number(_) | Value::String(_) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(path: &str, body: Value) -> [String; 3] {
        let made = samples("http://x", path, &body);
        ["curl", "python", "typescript"].map(|name| made[name].as_str().unwrap().to_owned())
    }

    #[test]
    fn a_curl_line_is_one_argument_whatever_the_body_says() {
        let [line, ..] = of("/v1/scan", json!({"url": "'; rm -rf / #"}));
        assert!(
            line.ends_with(r#"-d '{"url":"'\''; rm -rf / #"}'"#),
            "{line}"
        );
    }

    #[test]
    fn the_clients_have_methods_for_what_is_called_often() {
        let body =
            json!({"url": "https://a.example/\"", "include_links": true, "headers": {"x-a": null}});
        let [_, python, typescript] = of("/v1/scan", body);
        assert!(
            python.ends_with(
                "print(web.scan(\"https://a.example/\\\"\", headers={\"x-a\": None}, \
                 include_links=True)[\"markdown\"])"
            ),
            "{python}"
        );
        assert!(
            typescript.ends_with(
                "(await web.scan(\"https://a.example/\\\"\", \
                 {\"headers\":{\"x-a\":null},\"include_links\":true})).markdown);"
            ),
            "{typescript}"
        );
        let [_, python, _] = of("/v1/crawls", json!({"url": "u", "cron": "0 6 * * *"}));
        assert!(
            python.contains("web.monitor(\"u\", \"0 6 * * *\")"),
            "{python}"
        );
        let [_, python, _] = of("/v1/actors/audit-onpage", json!({"url": "u", "a-b": 1}));
        assert!(
            python
                .contains("web.actor(\"audit-onpage\", **{\"a-b\": 1, \"url\": \"u\"})[\"data\"]"),
            "{python}"
        );
        let [_, python, _] = of("/v1/actors/copy", json!({"from": "u", "name": "n"}));
        assert!(
            python.contains("web.actor(\"copy\", **{\"from\": \"u\", \"name\": \"n\"})"),
            "{python}"
        );
        let [_, python, typescript] = of("/v1/cloud/render", Value::Null);
        assert!(
            python.contains("web.request(\"POST\", \"/v1/cloud/render\""),
            "{python}"
        );
        assert!(
            typescript.contains("{\"body\":{\"url\":\"https://example.com/\"}}"),
            "{typescript}"
        );
        let [_, python, _] = of("/v1/cloud/search", Value::Null);
        assert!(python.contains("web.search(\"words\")"), "{python}");
    }
}
