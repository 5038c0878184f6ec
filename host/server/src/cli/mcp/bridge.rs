//! The tools of a service, for a client that starts this program: messages of standard input go to
//! the service's `/mcp`, its answers to standard output.
//!
//! The service has no sessions, so the bridge has no state but the version that both sides agreed
//! on: a service that restarts is asked again, and the client notices nothing but the wait.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use orbweaver_accounts::random;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::{AbortHandle, JoinSet};

use super::exchange::{self, Arriving, Lost, Remedy};
use super::message::{self, Message, Repeat};
use crate::cli::remote::Service;
use crate::serve::StopSignals;

/// Longest line of the client, in bytes; a service accepts no more.
const LONGEST_LINE: u64 = 64 << 20;
/// Requests that are under way at once; others wait.
const AT_ONCE: usize = 64;
/// Messages that wait for standard output.
const WAITING: usize = 64;
/// First and longest pause before a message is sent again.
const PAUSE: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(2));
/// How long a service that has answered before may be gone: as long as a restart takes.
const RESTART: Duration = Duration::from_secs(30);
/// The same of a service that has not answered yet.
const START: Duration = Duration::from_secs(3);
/// How long a call may go on at the service after its connection was lost.
const WORK: Duration = Duration::from_secs(240);
/// How long requests may go on after the end of standard input.
const END: Duration = Duration::from_secs(5);
/// First and longest pause before the service is asked for changes of the list again.
const WATCH_PAUSE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));
/// Changes of the list of tools within this time are told as one: a start of a service changes it
/// many times.
const TOGETHER: Duration = Duration::from_millis(500);
/// The version of the protocol that has subscriptions.
const WITH_SUBSCRIPTIONS: &str = "2026-07-28";

struct Bridge {
    service: Service,
    output: mpsc::Sender<Value>,
    slots: Semaphore,
    /// Requests under way, by their id.
    running: Mutex<HashMap<String, AbortHandle>>,
    /// The version of the protocol, of clients that shake hands.
    agreed: Mutex<Option<String>>,
    /// Whether the service has answered.
    is_known: AtomicBool,
    /// Whether it was told that the service does not answer.
    is_gone: AtomicBool,
}

/// Passes messages on until standard input or output ends, or the program is stopped.
///
/// # Errors
/// If standard input cannot be read.
pub(super) async fn run(service: Service, mut stop: StopSignals) -> anyhow::Result<()> {
    let (output, written) = mpsc::channel(WAITING);
    let bridge = Arc::new(Bridge {
        service,
        output,
        slots: Semaphore::new(AT_ONCE),
        running: Mutex::default(),
        agreed: Mutex::default(),
        is_known: AtomicBool::new(false),
        is_gone: AtomicBool::new(false),
    });
    let mut writer = tokio::spawn(write(written));
    let mut tasks = JoinSet::new();
    let watching = AtomicBool::new(false);
    let mut watcher = JoinSet::new();
    let mut input = tokio::io::BufReader::new(tokio::io::stdin());
    loop {
        while tasks.try_join_next().is_some() {}
        let line = tokio::select! {
            line = line(&mut input) => line?,
            () = stop.next() => return Ok(()),
            // Nobody reads the answers.
            _ = &mut writer => return Ok(()),
        };
        let Some(line) = line else { break };
        let message = match line.map_or_else(|| Err(too_long()), |line| Message::read(&line)) {
            Ok(message) => message,
            Err(answer) => {
                bridge.tell(answer).await;
                continue;
            }
        };
        if let Some(id) = message.cancels() {
            bridge.cancel(id);
        } else if message.id().is_some() {
            bridge.begin(&mut tasks, message);
        } else {
            if message.method() == Some("notifications/initialized")
                && !watching.swap(true, Ordering::Relaxed)
            {
                let bridge = Arc::clone(&bridge);
                watcher.spawn(async move { bridge.watch().await });
            }
            let bridge = Arc::clone(&bridge);
            tasks.spawn(async move { bridge.pass_on(&message).await });
        }
    }
    // A client that closes standard input is done; what it just asked may still be answered.
    let ended = tokio::time::timeout(END, async { while tasks.join_next().await.is_some() {} });
    tokio::select! {
        _ = ended => {}
        () = stop.next() => {}
    }
    tasks.shutdown().await;
    watcher.shutdown().await;
    drop(bridge);
    let _ = writer.await;
    Ok(())
}

/// The next line that is not empty: `None` at the end of input, `Some(None)` of a line that is too
/// long, which is skipped.
async fn line(input: &mut (impl AsyncBufRead + Unpin)) -> std::io::Result<Option<Option<Vec<u8>>>> {
    loop {
        let mut line = Vec::new();
        (&mut *input)
            .take(LONGEST_LINE)
            .read_until(b'\n', &mut line)
            .await?;
        if line.is_empty() {
            return Ok(None);
        }
        if line.ends_with(b"\n") || (line.len() as u64) < LONGEST_LINE {
            if line.trim_ascii().is_empty() {
                continue;
            }
            return Ok(Some(Some(line)));
        }
        while !line.is_empty() && !line.ends_with(b"\n") {
            line.clear();
            (&mut *input)
                .take(LONGEST_LINE)
                .read_until(b'\n', &mut line)
                .await?;
        }
        return Ok(Some(None));
    }
}

fn too_long() -> Value {
    let message = format!("the message is longer than {LONGEST_LINE} bytes");
    json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32_600, "message": message}})
}

/// Writes messages to standard output until nobody reads them.
async fn write(mut messages: mpsc::Receiver<Value>) {
    let mut output = tokio::io::stdout();
    while let Some(message) = messages.recv().await {
        let mut line = message.to_string();
        line.push('\n');
        let written = async {
            output.write_all(line.as_bytes()).await?;
            output.flush().await
        };
        if written.await.is_err() {
            return;
        }
    }
}

impl Bridge {
    async fn tell(&self, message: Value) {
        // The loop ends with the writer.
        let _ = self.output.send(message).await;
    }

    fn begin(self: &Arc<Self>, tasks: &mut JoinSet<()>, message: Message) {
        let Some(id) = message.id().map(Value::to_string) else {
            return;
        };
        let bridge = Arc::clone(self);
        let own = id.clone();
        // Held while the task starts, so that it cannot end before it is known.
        let mut running = self.running.lock();
        let task = tasks.spawn(async move {
            bridge.answer(&message).await;
            bridge.running.lock().remove(&own);
        });
        running.insert(id, task);
    }

    /// Ends a request; its connection closes, and with it the work at the service.
    fn cancel(&self, id: &Value) {
        if let Some(task) = self.running.lock().remove(&id.to_string()) {
            task.abort();
        }
    }

    /// Sends what has no answer.
    async fn pass_on(&self, message: &Message) {
        let headers = message.headers(self.agreed.lock().as_deref());
        if let Err(lost) = exchange::send(&self.service, message, headers).await {
            self.complain(&lost);
        }
    }

    /// Answers a request, after a lost connection if it must be.
    async fn answer(&self, request: &Message) {
        let Ok(_slot) = self.slots.acquire().await else {
            return;
        };
        let repeat = request.repeat();
        let key = (repeat == Repeat::Keyed).then(key).flatten();
        let mut told = f64::NEG_INFINITY;
        let mut pause = PAUSE.0;
        let mut lost_since = None;
        loop {
            let before = told;
            let lost = match self.once(request, key.as_deref(), &mut told).await {
                Ok(()) => return,
                Err(lost) => lost,
            };
            if told > before {
                // The connection lived in between.
                (pause, lost_since) = (PAUSE.0, None);
            }
            let is_known = self.is_known.load(Ordering::Relaxed);
            let patience = match lost.remedy {
                Remedy::Wait => WORK,
                _ if is_known => RESTART,
                _ => START,
            };
            let since = *lost_since.get_or_insert_with(Instant::now);
            let (again, wait) = match lost.remedy {
                Remedy::None => (false, pause),
                Remedy::Again | Remedy::Wait => (true, pause),
                Remedy::After(seconds) => (true, pause.max(Duration::from_secs(seconds))),
                Remedy::Maybe => (repeat == Repeat::Plain || key.is_some(), pause),
            };
            if !again || since.elapsed() + wait > patience {
                let mut error = lost.error;
                if lost.remedy == Remedy::Maybe && request.repeat() != Repeat::Plain {
                    let message = error["message"].as_str().unwrap_or_default();
                    error["message"] = json!(format!("{message}; the call may have been done"));
                }
                if let Some(answer) = request.failed(&error) {
                    self.tell(answer).await;
                }
                return;
            }
            self.complain(&lost);
            tokio::time::sleep(wait).await;
            pause = (pause * 2).min(PAUSE.1);
        }
    }

    /// Sends a request once and passes its answer on, and what comes before it. `told` is how far
    /// the client knows that the work is: of a request that is sent again, progress begins anew.
    async fn once(&self, request: &Message, key: Option<&str>, told: &mut f64) -> Result<(), Lost> {
        let mut headers = request.headers(self.agreed.lock().as_deref());
        if let Some(key) = key {
            headers.push(("idempotency-key".to_owned(), key.to_owned()));
        }
        let mut arriving = exchange::send(&self.service, request, headers).await?;
        self.welcome();
        while let Some(mut message) = arriving.next().await? {
            if message.get("method").is_none() {
                if message::is_still_worked_on(&message) {
                    return Err(still_worked_on());
                }
                if request.method() == Some("initialize") {
                    self.shake_hands(&mut message);
                }
                self.tell(message).await;
                return Ok(());
            }
            match message::progress(&message) {
                // The protocol wants numbers that rise.
                Some(progress) if progress <= *told => continue,
                Some(progress) => *told = progress,
                None => {}
            }
            self.tell(message).await;
        }
        let message = format!("{} ended its answer early", self.service.address());
        Err(Lost {
            error: json!({"code": "UNAVAILABLE", "message": message}),
            remedy: Remedy::Maybe,
        })
    }

    /// Remembers the agreed version. The service cannot tell clients of versions with a handshake
    /// that the list of tools changed; the bridge can.
    fn shake_hands(&self, answer: &mut Value) {
        let version = answer.pointer("/result/protocolVersion");
        if let Some(version) = version.and_then(Value::as_str) {
            *self.agreed.lock() = Some(version.to_owned());
        }
        if let Some(Value::Object(tools)) = answer.pointer_mut("/result/capabilities/tools") {
            tools.insert("listChanged".to_owned(), json!(true));
        }
    }

    /// Tells the client whenever the list of tools changes.
    async fn watch(&self) {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": WITH_SUBSCRIPTIONS,
            "io.modelcontextprotocol/clientInfo":
                {"name": "orbweaver", "version": env!("CARGO_PKG_VERSION")},
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let params = json!({"notifications": {"toolsListChanged": true}, "_meta": meta});
        let listen = json!({
            "jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params,
        });
        let Ok(listen) = Message::read(listen.to_string().as_bytes()) else {
            return;
        };
        let mut was_there = false;
        let mut pause = WATCH_PAUSE.0;
        loop {
            match exchange::send(&self.service, &listen, listen.headers(None)).await {
                Ok(mut arriving) => {
                    if was_there {
                        // Changes may have been missed while nobody listened.
                        self.tell_of_change().await;
                    }
                    (was_there, pause) = (true, WATCH_PAUSE.0);
                    if !self.pass_on_changes(&mut arriving).await {
                        return;
                    }
                }
                Err(lost) if lost.remedy == Remedy::None => return,
                Err(_) => {}
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(WATCH_PAUSE.1);
        }
    }

    /// Passes on what a subscription tells, until it ends; false if the service has none.
    async fn pass_on_changes(&self, arriving: &mut Arriving) -> bool {
        let mut due: Option<Instant> = None;
        loop {
            let wait = match due {
                Some(due) => due.saturating_duration_since(Instant::now()),
                None => Duration::MAX,
            };
            let Ok(next) = tokio::time::timeout(wait, arriving.next()).await else {
                due = None;
                self.tell_of_change().await;
                continue;
            };
            let Ok(Some(message)) = next else { break };
            match message.get("method").and_then(Value::as_str) {
                Some("notifications/tools/list_changed") => {
                    due.get_or_insert_with(|| Instant::now() + TOGETHER);
                }
                Some(_) => {}
                None if message.get("error").is_some() => return false,
                None => break,
            }
        }
        if due.is_some() {
            self.tell_of_change().await;
        }
        true
    }

    async fn tell_of_change(&self) {
        let method = "notifications/tools/list_changed";
        self.tell(json!({"jsonrpc": "2.0", "method": method})).await;
    }

    /// Says on standard error that the service is lost, once.
    fn complain(&self, lost: &Lost) {
        if !self.is_gone.swap(true, Ordering::Relaxed) {
            let message = lost.error["message"].as_str().unwrap_or_default();
            eprintln!("orbweaver: {message}; trying again");
        }
    }

    fn welcome(&self) {
        self.is_known.store(true, Ordering::Relaxed);
        if self.is_gone.swap(false, Ordering::Relaxed) {
            eprintln!("orbweaver: {} answers again", self.service.address());
        }
    }
}

/// The first try of a request goes on at the service, although its connection was lost.
fn still_worked_on() -> Lost {
    Lost {
        error: json!({"code": "CONFLICT", "message": "the call is still being worked on"}),
        remedy: Remedy::Wait,
    }
}

/// An `Idempotency-Key`: a random UUID. `None` if the system has no random source; then the call is
/// not sent twice.
fn key() -> Option<String> {
    let bytes = random::bytes().ok()?;
    let id = uuid::Builder::from_random_bytes(bytes).into_uuid();
    Some(id.to_string())
}
