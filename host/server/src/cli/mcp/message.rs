//! Messages of the Model Context Protocol (JSON-RPC 2.0), as far as a bridge reads them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// Where a request says which version of the protocol it is of, from 2026-07-28 on.
const VERSION_IN_META: &str = "/params/_meta/io.modelcontextprotocol~1protocolVersion";
/// Before the name of an actor's tool.
const ACTOR: &str = "actor_";

/// JSON-RPC 2.0, "Error object": the line is not JSON.
const PARSE_ERROR: i64 = -32_700;
/// JSON-RPC 2.0, "Error object": the JSON is not a message.
const INVALID_REQUEST: i64 = -32_600;
/// JSON-RPC 2.0, "Error object": the first of the codes for servers' own errors.
const SERVER_ERROR: i64 = -32_000;

/// A message of the client.
#[derive(Clone, Debug)]
pub(super) struct Message(Value);

/// What a lost connection means for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repeat {
    /// It is sent again.
    Plain,
    /// It is sent again with the same `Idempotency-Key`, so that it is done and billed once.
    Keyed,
    /// It is not sent again: its work ends with the connection.
    Never,
}

impl Message {
    /// Reads a line.
    ///
    /// # Errors
    /// The answer to a line that is no message.
    pub(super) fn read(line: &[u8]) -> Result<Self, Value> {
        let refused = |code: i64, message: &str| {
            let error = json!({"code": code, "message": message});
            json!({"jsonrpc": "2.0", "id": null, "error": error})
        };
        let value: Value = serde_json::from_slice(line)
            .map_err(|error| refused(PARSE_ERROR, &format!("the message is not JSON: {error}")))?;
        if value.get("jsonrpc") != Some(&json!("2.0")) {
            let rule = "a message is one JSON object with \"jsonrpc\": \"2.0\"";
            return Err(refused(INVALID_REQUEST, rule));
        }
        Ok(Self(value))
    }

    /// Its JSON.
    pub(super) fn to_body(&self) -> Vec<u8> {
        self.0.to_string().into_bytes()
    }

    fn text(&self, pointer: &str) -> Option<&str> {
        self.0.pointer(pointer).and_then(Value::as_str)
    }

    /// Its method; none of an answer.
    pub(super) fn method(&self) -> Option<&str> {
        self.text("/method")
    }

    /// The id of a request; none of a notification.
    pub(super) fn id(&self) -> Option<&Value> {
        self.method()?;
        self.0.get("id").filter(|id| !id.is_null())
    }

    /// The request that this notification ends, by its id.
    pub(super) fn cancels(&self) -> Option<&Value> {
        (self.method() == Some("notifications/cancelled"))
            .then(|| self.0.pointer("/params/requestId"))
            .flatten()
    }

    fn is_call(&self) -> bool {
        self.method() == Some("tools/call")
    }

    /// What a lost connection means for it.
    pub(super) fn repeat(&self) -> Repeat {
        if !self.is_call() {
            return Repeat::Plain;
        }
        // With an Idempotency-Key the service would end an actor's work although its call is
        // cancelled, and that work may take minutes.
        let is_actor = self
            .text("/params/name")
            .is_some_and(|name| name.starts_with(ACTOR));
        if is_actor {
            Repeat::Never
        } else {
            Repeat::Keyed
        }
    }

    /// The headers that repeat what the message says (MCP 2026-07-28, "Streamable HTTP", headers);
    /// `agreed` is the version that both sides agreed on in the handshake of earlier versions.
    pub(super) fn headers(&self, agreed: Option<&str>) -> Vec<(String, String)> {
        let mut headers = Vec::new();
        let mut push = |name: &str, value: &str| headers.push((name.to_owned(), in_header(value)));
        if self.method() == Some("initialize") {
            return headers;
        }
        if let Some(version) = self.text(VERSION_IN_META).or(agreed) {
            push("mcp-protocol-version", version);
        }
        let Some(method) = self.method() else {
            return headers;
        };
        push("mcp-method", method);
        let named = match method {
            "tools/call" | "prompts/get" => self.text("/params/name"),
            "resources/read" | "resources/subscribe" | "resources/unsubscribe" => {
                self.text("/params/uri")
            }
            "tasks/get" | "tasks/update" | "tasks/cancel" => self.text("/params/taskId"),
            _ => None,
        };
        if let Some(name) = named {
            push("mcp-name", name);
        }
        headers
    }

    /// The answer to a request that failed on the way: a call's result, which the model reads, or
    /// an error of the protocol. `error` has `code` and `message`, as an error of the API.
    pub(super) fn failed(&self, error: &Value) -> Option<Value> {
        let id = self.id()?;
        if self.is_call() {
            let body = json!({"error": error});
            let result = json!({
                "content": [{"type": "text", "text": body.to_string()}],
                "structuredContent": body,
                "isError": true,
            });
            return Some(json!({"jsonrpc": "2.0", "id": id, "result": result}));
        }
        let error = json!({"code": SERVER_ERROR, "message": error["message"], "data": error});
        Some(json!({"jsonrpc": "2.0", "id": id, "error": error}))
    }
}

/// A value as a header has it: in base64 if it is not plain text (MCP 2026-07-28, "Streamable
/// HTTP", encoding of values).
fn in_header(value: &str) -> String {
    let is_plain = value.bytes().all(|byte| matches!(byte, b' '..=b'~'))
        && value.trim() == value
        && !value.starts_with("=?base64?");
    match is_plain {
        true => value.to_owned(),
        false => format!("=?base64?{}?=", STANDARD.encode(value)),
    }
}

/// How far a progress notification says that its work is.
pub(super) fn progress(message: &Value) -> Option<f64> {
    (message.get("method")? == "notifications/progress")
        .then(|| message.pointer("/params/progress")?.as_f64())
        .flatten()
}

/// Whether a result says that the first request with its `Idempotency-Key` is still being worked
/// on.
pub(super) fn is_still_worked_on(answer: &Value) -> bool {
    let error = answer.pointer("/result/structuredContent/error");
    let text = |name: &str| error.and_then(|error| error.get(name)?.as_str());
    text("code") == Some("CONFLICT")
        && text("message").is_some_and(|message| message.starts_with("Idempotency-Key: the first"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(value: &Value) -> Message {
        Message::read(value.to_string().as_bytes()).unwrap()
    }

    #[test]
    fn a_line_that_is_no_message_is_answered() {
        for (line, code) in [
            ("{", PARSE_ERROR),
            ("[]", INVALID_REQUEST),
            ("{\"jsonrpc\": \"1.0\"}", INVALID_REQUEST),
        ] {
            let answer = Message::read(line.as_bytes()).unwrap_err();
            assert_eq!(answer["error"]["code"], code, "{line}");
            assert!(answer["id"].is_null(), "{line}");
        }
    }

    #[test]
    fn headers_say_what_the_message_says() {
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "näme", "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"},
        }});
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            message(&call).headers(Some("2025-06-18")),
            [
                header("mcp-protocol-version", "2026-07-28"),
                header("mcp-method", "tools/call"),
                header("mcp-name", "=?base64?bsOkbWU=?="),
            ]
        );
        let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
        assert_eq!(
            message(&list).headers(Some("2025-06-18")),
            [
                header("mcp-protocol-version", "2025-06-18"),
                header("mcp-method", "tools/list"),
            ]
        );
        let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize"});
        assert!(message(&hello).headers(None).is_empty());
        assert_eq!(in_header(" a"), "=?base64?IGE=?=");
        assert_eq!(in_header("a\r\nb: c"), "=?base64?YQ0KYjogYw==?=");
    }

    #[test]
    fn only_what_may_be_done_twice_is_sent_twice() {
        let call = |name: &str| {
            let params = json!({"name": name, "arguments": {}});
            message(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}))
        };
        assert_eq!(call("scan").repeat(), Repeat::Keyed);
        assert_eq!(call("actor_check-links").repeat(), Repeat::Never);
        let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
        assert_eq!(message(&list).repeat(), Repeat::Plain);
    }

    #[test]
    fn a_failure_is_a_result_of_a_call_and_an_error_of_others() {
        let error = json!({"code": "UNAVAILABLE", "message": "it is gone"});
        let call = json!({"jsonrpc": "2.0", "id": "a", "method": "tools/call"});
        let answer = message(&call).failed(&error).unwrap();
        assert_eq!(answer["id"], "a");
        assert_eq!(answer["result"]["isError"], true);
        assert_eq!(answer["result"]["structuredContent"]["error"], error);
        let list = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/list"});
        let answer = message(&list).failed(&error).unwrap();
        assert_eq!(answer["error"]["code"], SERVER_ERROR);
        assert_eq!(answer["error"]["data"], error);
        let told = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert!(message(&told).failed(&error).is_none());
    }
}
