//! The DevTools protocol over a pair of pipes: JSON messages, each ended by a NUL.
//!
//! Pipes are used instead of a port: every user of the machine could reach a port on loopback,
//! and so could pages if an operator allows loopback. Also, a browser exits when its pipe is
//! closed, however its owner died.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::pipe;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

/// A larger message is dropped, and the command that it answers fails.
const MAX_MESSAGE: usize = 96 << 20;
/// Bytes of a dropped message that are kept to read its id.
const MESSAGE_HEAD: usize = 64;
const CHUNK: usize = 64 << 10;

/// Why a command failed.
#[derive(Clone, Debug, thiserror::Error)]
pub(super) enum CdpError {
    /// The browser has ended.
    #[error("the browser ended")]
    Closed,
    /// The browser rejected the command.
    #[error("the browser rejects {method}: {message}")]
    Refused {
        method: &'static str,
        message: String,
    },
    /// The answer is too large.
    #[error("the browser's answer to {0} is too large")]
    TooLarge(&'static str),
    /// The answer does not match the protocol.
    #[error("the browser's answer to {0} is malformed: {1}")]
    Malformed(&'static str, String),
}

/// Receives a session's events one after the other, called from the task that reads the
/// pipe, so it must not block. It may return a command to send.
pub(super) trait Listener: Send + Sync {
    fn event(&self, method: &str, params: &RawValue) -> Option<(&'static str, Value)>;
    /// The browser has ended.
    fn closed(&self);
}

/// A browser's pipe. Cheap to clone.
#[derive(Clone)]
pub(super) struct Connection(Arc<Inner>);

struct Inner {
    commands: mpsc::UnboundedSender<Vec<u8>>,
    shared: Arc<Shared>,
    tasks: [JoinHandle<()>; 2],
}

struct Shared {
    next: AtomicU64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    closed: bool,
    pending: HashMap<u64, oneshot::Sender<Reply>>,
    sessions: HashMap<String, Arc<dyn Listener>>,
}

enum Reply {
    Result(Box<RawValue>),
    Error(String),
    TooLarge,
}

#[derive(Deserialize)]
struct Incoming<'a> {
    id: Option<u64>,
    method: Option<String>,
    #[serde(rename = "sessionId")]
    session: Option<String>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    error: Option<RemoteError>,
}

#[derive(Deserialize)]
struct RemoteError {
    message: String,
}

impl Connection {
    /// Starts the tasks that read and write these pipes.
    pub fn start(input: pipe::Sender, output: pipe::Receiver) -> Self {
        let (commands, queue) = mpsc::unbounded_channel();
        let shared = Arc::new(Shared {
            next: AtomicU64::new(1),
            state: Mutex::default(),
        });
        let writer = tokio::spawn(write(input, queue));
        let reader = tokio::spawn(read(output, Arc::clone(&shared), commands.clone()));
        Self(Arc::new(Inner {
            commands,
            shared,
            tasks: [writer, reader],
        }))
    }

    /// Whether the browser has ended.
    pub fn is_closed(&self) -> bool {
        self.0.shared.state.lock().closed
    }

    /// Sends a command and waits for its answer; the caller sets the deadline.
    pub async fn call<T: DeserializeOwned>(
        &self,
        session: Option<&str>,
        method: &'static str,
        params: Value,
    ) -> Result<T, CdpError> {
        self.begin(session, method, params).finish().await
    }

    /// Sends a command whose answer is awaited later, so that several commands can be sent at once.
    pub fn begin(&self, session: Option<&str>, method: &'static str, params: Value) -> Pending {
        let id = self.0.shared.next.fetch_add(1, Ordering::Relaxed);
        let (reply, answer) = oneshot::channel();
        let open = {
            let mut state = self.0.shared.state.lock();
            if !state.closed {
                state.pending.insert(id, reply);
            }
            !state.closed
        };
        if open {
            let _ = self.0.commands.send(message(id, session, method, &params));
        }
        Pending {
            id,
            method,
            answer: Some(answer),
            shared: Arc::clone(&self.0.shared),
        }
    }

    /// Sends a command and ignores its answer.
    pub fn tell(&self, session: Option<&str>, method: &'static str, params: &Value) {
        let id = self.0.shared.next.fetch_add(1, Ordering::Relaxed);
        let _ = self.0.commands.send(message(id, session, method, params));
    }

    /// Passes a session's events to `listener` until [`forget`](Self::forget).
    pub fn listen(&self, session: &str, listener: Arc<dyn Listener>) {
        let mut state = self.0.shared.state.lock();
        if state.closed {
            drop(state);
            listener.closed();
        } else {
            state.sessions.insert(session.to_owned(), listener);
        }
    }

    /// Ends [`listen`](Self::listen).
    pub fn forget(&self, session: &str) {
        self.0.shared.state.lock().sessions.remove(session);
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

/// A command that was sent.
pub(super) struct Pending {
    id: u64,
    method: &'static str,
    answer: Option<oneshot::Receiver<Reply>>,
    shared: Arc<Shared>,
}

impl Pending {
    /// Waits for the answer.
    pub async fn finish<T: DeserializeOwned>(mut self) -> Result<T, CdpError> {
        let method = self.method;
        let answer = self.answer.take().ok_or(CdpError::Closed)?;
        match answer.await.map_err(|_| CdpError::Closed)? {
            Reply::Result(json) => serde_json::from_str(json.get())
                .map_err(|error| CdpError::Malformed(method, error.to_string())),
            Reply::Error(message) => Err(CdpError::Refused { method, message }),
            Reply::TooLarge => Err(CdpError::TooLarge(method)),
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.shared.state.lock().pending.remove(&self.id);
    }
}

fn message(id: u64, session: Option<&str>, method: &str, params: &Value) -> Vec<u8> {
    let mut message = json!({"id": id, "method": method, "params": params});
    if let (Some(session), Value::Object(object)) = (session, &mut message) {
        object.insert("sessionId".to_owned(), Value::from(session));
    }
    let mut bytes = message.to_string().into_bytes();
    bytes.push(0);
    bytes
}

async fn write(mut input: pipe::Sender, mut queue: mpsc::UnboundedReceiver<Vec<u8>>) {
    while let Some(message) = queue.recv().await {
        if input.write_all(&message).await.is_err() {
            return;
        }
    }
}

async fn read(
    mut output: pipe::Receiver,
    shared: Arc<Shared>,
    commands: mpsc::UnboundedSender<Vec<u8>>,
) {
    let mut chunk = vec![0; CHUNK];
    let mut message = Vec::new();
    let mut dropped = false;
    while let Ok(count @ 1..) = output.read(&mut chunk).await {
        let mut rest = chunk.get(..count).unwrap_or_default();
        while let Some(end) = rest.iter().position(|&byte| byte == 0) {
            let (part, next) = rest.split_at(end);
            add(&mut message, part, &mut dropped);
            if dropped {
                shared.too_large(&message);
            } else {
                shared.dispatch(&message, &commands);
            }
            // The buffer held a page's HTML; the next message is probably a small event.
            if message.capacity() > (1 << 20) {
                message = Vec::new();
            }
            message.clear();
            dropped = false;
            rest = next.get(1..).unwrap_or_default();
        }
        add(&mut message, rest, &mut dropped);
    }
    shared.close();
}

fn add(message: &mut Vec<u8>, part: &[u8], dropped: &mut bool) {
    if *dropped {
        return;
    }
    if message.len() + part.len() > MAX_MESSAGE {
        *dropped = true;
        message.truncate(MESSAGE_HEAD);
        message.shrink_to_fit();
    } else {
        message.extend_from_slice(part);
    }
}

impl Shared {
    fn dispatch(&self, message: &[u8], commands: &mpsc::UnboundedSender<Vec<u8>>) {
        let Ok(incoming) = serde_json::from_slice::<Incoming<'_>>(message) else {
            tracing::debug!(bytes = message.len(), "a message of the browser is no JSON");
            return;
        };
        if let Some(id) = incoming.id {
            let reply = match (incoming.error, incoming.result) {
                (Some(error), _) => Reply::Error(error.message),
                (None, Some(result)) => Reply::Result(result.to_owned()),
                (None, None) => Reply::Error("no result".to_owned()),
            };
            self.reply(id, reply);
        } else if let (Some(method), Some(session), Some(params)) =
            (incoming.method, incoming.session, incoming.params)
        {
            let listener = self.state.lock().sessions.get(&session).cloned();
            let answer = listener.and_then(|listener| listener.event(&method, params));
            if let Some((method, params)) = answer {
                let id = self.next.fetch_add(1, Ordering::Relaxed);
                let _ = commands.send(message_of(id, &session, method, &params));
            }
        }
    }

    /// Fails the command whose answer was too large. Its id comes first in the answer.
    fn too_large(&self, head: &[u8]) {
        let digits = head
            .strip_prefix(b"{\"id\":")
            .map(|rest| rest.iter().take_while(|byte| byte.is_ascii_digit()));
        let id = digits.and_then(|digits| {
            let text: String = digits.map(|&digit| char::from(digit)).collect();
            text.parse().ok()
        });
        if let Some(id) = id {
            self.reply(id, Reply::TooLarge);
        }
    }

    fn reply(&self, id: u64, reply: Reply) {
        let waiting = self.state.lock().pending.remove(&id);
        if let Some(waiting) = waiting {
            let _ = waiting.send(reply);
        }
    }

    fn close(&self) {
        let sessions = {
            let mut state = self.state.lock();
            state.closed = true;
            state.pending.clear();
            std::mem::take(&mut state.sessions)
        };
        for listener in sessions.into_values() {
            listener.closed();
        }
    }
}

fn message_of(id: u64, session: &str, method: &str, params: &Value) -> Vec<u8> {
    message(id, Some(session), method, params)
}
