//! One message to the service's `/mcp`, and what it answers: JSON, or server-sent events.

use orbweaver_fetch::{Download, FetchError, Kind};
use serde_json::{Value, json};

use super::message::Message;
use crate::cli::remote::Service;

/// Largest answer, and largest event of an answer, in bytes.
const MAX_ANSWER_BYTES: usize = 64 << 20;
/// Largest answer that says why a request was refused, in bytes.
const MAX_OF_ERROR: usize = 64 << 10;

/// Why a message has no answer.
#[derive(Debug)]
pub(super) struct Lost {
    /// `code` and `message`, as an error of the API.
    pub(super) error: Value,
    /// What may help.
    pub(super) remedy: Remedy,
}

/// What may help against a lost answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Remedy {
    /// Nothing: the service refuses it.
    None,
    /// To send it again. The service did not begin with it.
    Again,
    /// To send it again after this many seconds. The service did not begin with it.
    After(u64),
    /// To ask for its answer again: the service still works on it.
    Wait,
    /// To send it again, if it may be done twice: the service may have begun with it.
    Maybe,
}

/// An answer that arrives.
pub(super) struct Arriving {
    service: String,
    download: Download,
    form: Form,
    held: Vec<u8>,
    events: Events,
}

enum Form {
    Json,
    Events,
    /// Nothing follows.
    Empty,
}

/// Sends a message. `headers` are those that repeat what it says.
///
/// # Errors
/// If the service does not answer, or refuses the request.
pub(super) async fn send(
    service: &Service,
    message: &Message,
    headers: Vec<(String, String)>,
) -> Result<Arriving, Lost> {
    let opened = service.open_mcp(headers, message.to_body()).await;
    let download = opened.map_err(|error| lost(service.address(), &error))?;
    let address = service.address().to_owned();
    let kind = download.headers.get("content-type").unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    let form = match (download.status, kind) {
        (200, "text/event-stream") => Form::Events,
        // 400 may be an error of the protocol.
        (200 | 400, "application/json") => Form::Json,
        (202 | 204, _) => Form::Empty,
        _ => return Err(refused(address, download).await),
    };
    Ok(Arriving {
        service: address,
        download,
        form,
        held: Vec::new(),
        events: Events::default(),
    })
}

impl Arriving {
    /// The next message; `None` after the last one.
    ///
    /// # Errors
    /// If the connection breaks, or the answer is not of the protocol.
    pub(super) async fn next(&mut self) -> Result<Option<Value>, Lost> {
        match self.form {
            Form::Empty => Ok(None),
            Form::Json => {
                self.form = Form::Empty;
                while self.more().await? {}
                let answer: Value = serde_json::from_slice(&self.held)
                    .map_err(|_| self.foreign("its answer is not JSON"))?;
                if answer.get("jsonrpc").is_some() {
                    return Ok(Some(answer));
                }
                Err(refusal(&self.service, self.download.status, None, &answer))
            }
            Form::Events => loop {
                while let Some(event) = self.events.next(&mut self.held) {
                    if event.is_empty() {
                        // A comment that keeps the connection open, or the hint how to reconnect.
                        continue;
                    }
                    let message = serde_json::from_slice(&event);
                    return message.map_err(|_| self.foreign("its events are not JSON"));
                }
                if !self.more().await? {
                    return Ok(None);
                }
            },
        }
    }

    async fn more(&mut self) -> Result<bool, Lost> {
        let piece = self.download.next().await;
        let piece = piece.map_err(|error| Lost {
            remedy: Remedy::Maybe,
            ..lost(&self.service, &error)
        })?;
        let Some(piece) = piece else {
            return Ok(false);
        };
        self.held.extend_from_slice(&piece);
        if self.held.len() + self.events.data.len() > MAX_ANSWER_BYTES {
            return Err(self.foreign("its answer is larger than 64 MiB"));
        }
        Ok(true)
    }

    fn foreign(&self, why: &str) -> Lost {
        let message = format!("{} does not speak the protocol: {why}", self.service);
        Lost {
            error: json!({"code": "INTERNAL", "message": message}),
            remedy: Remedy::None,
        }
    }
}

/// Reads the events of a stream (HTML standard, "Parsing an event stream").
#[derive(Default)]
struct Events {
    /// Bytes of the next line that have no end of line.
    looked_at: usize,
    /// Data of the event whose lines arrive.
    data: Vec<u8>,
}

impl Events {
    /// Takes the lines of the first whole event out of what is held; returns its data, which is
    /// empty of a comment.
    fn next(&mut self, held: &mut Vec<u8>) -> Option<Vec<u8>> {
        loop {
            let rest = held.get(self.looked_at..)?;
            let Some(length) = rest.iter().position(|byte| *byte == b'\n') else {
                self.looked_at = held.len();
                return None;
            };
            let line: Vec<u8> = held.drain(..=self.looked_at + length).collect();
            self.looked_at = 0;
            let line = line.strip_suffix(b"\n").unwrap_or(&line);
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if line.is_empty() {
                return Some(std::mem::take(&mut self.data));
            }
            if let Some(value) = line.strip_prefix(b"data:") {
                if !self.data.is_empty() {
                    self.data.push(b'\n');
                }
                let value = value.strip_prefix(b" ").unwrap_or(value);
                self.data.extend_from_slice(value);
            }
        }
    }
}

fn lost(service: &str, error: &FetchError) -> Lost {
    let remedy = match error.kind {
        // Before the first byte was sent.
        Kind::Dns | Kind::Connect => Remedy::Again,
        _ if error.retryable => Remedy::Maybe,
        _ => Remedy::None,
    };
    Lost {
        error: json!({
            "code": "UNAVAILABLE",
            "message": format!("{service} does not answer: {error}"),
        }),
        remedy,
    }
}

/// Why the service, or a proxy before it, refuses a request.
async fn refused(service: String, mut download: Download) -> Lost {
    let mut body = Vec::new();
    while let Ok(Some(piece)) = download.next().await {
        body.extend_from_slice(&piece);
        if body.len() > MAX_OF_ERROR {
            break;
        }
    }
    let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
    let after = download.headers.get("retry-after");
    let after = after.and_then(|seconds| seconds.trim().parse().ok());
    refusal(&service, download.status, after, &answer)
}

fn refusal(service: &str, status: u16, after: Option<u64>, answer: &Value) -> Lost {
    let remedy = match (status, after) {
        (429 | 503, Some(seconds)) => Remedy::After(seconds),
        (429 | 503, None) => Remedy::Again,
        (502 | 504, _) => Remedy::Maybe,
        _ => Remedy::None,
    };
    let is_another = matches!(status, 404 | 405);
    let mut error = match answer.get("error") {
        Some(error) if !is_another && error.get("code").is_some_and(Value::is_string) => {
            error.clone()
        }
        _ if status >= 500 => json!({
            "code": "UNAVAILABLE",
            "message": format!("{service} answers {status}"),
        }),
        _ => json!({
            "code": "UNAVAILABLE",
            "message": format!("{service}/mcp answers {status}: is it an Orbweaver service?"),
        }),
    };
    if status == 401 {
        error["message"] = json!(format!(
            "{service} does not know the key; `orbweaver login {service}` takes another one"
        ));
    }
    Lost { error, remedy }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_from_pieces_of_any_length() {
        let stream = b": keep\n\nid: 1\r\nevent: message\r\ndata: {\"a\":\r\ndata: 1}\r\n\r\n\
            data:x\n\ndata: half";
        let (mut reader, mut held) = (Events::default(), Vec::new());
        let mut events = Vec::new();
        for byte in stream {
            held.push(*byte);
            while let Some(event) = reader.next(&mut held) {
                events.push(String::from_utf8(event).unwrap());
            }
        }
        assert_eq!(events, ["", "{\"a\":\n1}", "x"]);
        assert_eq!(held, b"data: half");
    }

    #[test]
    fn a_refusal_is_the_services_own_error() {
        let error = json!({"code": "RATE_LIMITED", "message": "too many"});
        let answer = json!({"error": error});
        let lost = refusal("http://a", 429, Some(3), &answer);
        assert_eq!((lost.error, lost.remedy), (error, Remedy::After(3)));
        let lost = refusal("http://a", 404, None, &Value::Null);
        assert!(lost.error["message"].as_str().unwrap().contains("404"));
        assert_eq!(lost.remedy, Remedy::None);
        let lost = refusal("http://a", 401, None, &answer);
        assert!(lost.error["message"].as_str().unwrap().contains("login"));
        assert_eq!(
            refusal("http://a", 502, None, &answer).remedy,
            Remedy::Maybe
        );
    }
}
