//! What authors see of their plugins' calls: lines that a plugin logs, failed calls with their inputs,
//! without credentials, and events of quarantines for the project's receiver. They are queued in memory,
//! written in batches beside the requests, and dropped (and counted) when the queue is full.
//!
//! A project sees the calls of its own plugins. Of the instance's plugins only the calls for the
//! administrator's own project are kept: the pages and inputs of other projects are theirs.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use orbweaver_accounts::clock::Clock;
use orbweaver_core::ids::ProjectId;
use orbweaver_core::redact;
use orbweaver_engine::{
    CallInput, CallNote, FailedCall, Journal, LogLevel, Page, PluginError, QuarantineTurn, RunRef,
};
use orbweaver_store::{
    PluginCall, PluginLine, PluginRecord, RecordBounds, RecordOrigin, StateOwner, Store,
};
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

use super::kept_input::KeptInput;
use super::quarantine;

/// Records that wait at most.
const QUEUE: usize = 2_048;
/// Bytes that wait at most.
const QUEUE_BYTES: usize = 16 << 20;
/// Bytes of one permit of the queue.
const UNIT: usize = 1 << 10;
/// Records that wait of one project at most, so that none takes the queue of others.
const QUEUE_PER_PROJECT: usize = 512;
/// Records of one transaction.
const BATCH: usize = 200;
/// Least time between two batches, in which further records gather.
const PAUSE: Duration = Duration::from_millis(200);
/// Projects whose rights are remembered.
const KNOWN_PROJECTS: usize = 1_024;

/// Bounds of what is kept of one plugin.
pub(crate) const BOUNDS: RecordBounds = RecordBounds {
    lines: 1_000,
    line_bytes: 1 << 20,
    calls: 50,
    call_bytes: 4 << 20,
};

enum Noted {
    Line(CallNote, PluginLine),
    Call(CallNote, DateTime<Utc>, Box<FailedCall>),
    Turn(CallNote, DateTime<Utc>, QuarantineTurn),
    Barrier(oneshot::Sender<()>),
}

struct Queued {
    noted: Noted,
    _room: Option<OwnedSemaphorePermit>,
    _place: Option<Place>,
}

/// A record's place among those of its project.
struct Place(Arc<Mutex<HashMap<ProjectId, usize>>>, ProjectId);

impl Drop for Place {
    fn drop(&mut self) {
        let mut waiting = self.0.lock();
        if let Some(count) = waiting.get_mut(&self.1) {
            *count -= 1;
            if *count == 0 {
                waiting.remove(&self.1);
            }
        }
    }
}

/// The queue of records.
#[derive(Clone)]
pub struct PluginJournal {
    clock: Clock,
    queue: mpsc::Sender<Queued>,
    room: Arc<Semaphore>,
    waiting: Arc<Mutex<HashMap<ProjectId, usize>>>,
}

impl std::fmt::Debug for PluginJournal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PluginJournal")
    }
}

impl PluginJournal {
    /// Starts the task that writes. It ends when the journal and its copies are dropped. `pause` is the least
    /// time between two quarantines of a plugin that a project is told of.
    pub fn start(store: Store, clock: Clock, pause: Duration) -> Self {
        let (queue, records) = mpsc::channel(QUEUE);
        tokio::spawn(write(store, records, pause));
        Self {
            clock,
            queue,
            room: Arc::new(Semaphore::new(QUEUE_BYTES / UNIT)),
            waiting: Arc::default(),
        }
    }

    /// Waits until everything that was noted before is written.
    #[crate::boxed]
    pub async fn written(&self) {
        let (done, written) = oneshot::channel();
        let barrier = Queued {
            noted: Noted::Barrier(done),
            _room: None,
            _place: None,
        };
        if self.queue.send(barrier).await.is_ok() {
            // The task is gone only when the process stops.
            let _ = written.await;
        }
    }

    fn offer(&self, kind: &'static str, bytes: usize, noted: Noted, project: ProjectId) {
        let units = u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX);
        let room = Arc::clone(&self.room).try_acquire_many_owned(units);
        let queued = room.ok().and_then(|room| {
            let place = self.place(project)?;
            Some(Queued {
                noted,
                _room: Some(room),
                _place: Some(place),
            })
        });
        let is_queued = queued.is_some_and(|queued| self.queue.try_send(queued).is_ok());
        if !is_queued {
            metrics::counter!("orbweaver_plugin_records_dropped_total", "kind" => kind)
                .increment(1);
        }
    }

    fn place(&self, project: ProjectId) -> Option<Place> {
        let mut waiting = self.waiting.lock();
        let count = waiting.entry(project).or_default();
        if *count >= QUEUE_PER_PROJECT {
            return None;
        }
        *count += 1;
        Some(Place(Arc::clone(&self.waiting), project))
    }
}

impl Journal for PluginJournal {
    fn line(&self, call: &CallNote, level: LogLevel, message: &str) {
        let line = PluginLine {
            at: self.clock.now(),
            origin: origin(call),
            level: word(level).to_owned(),
            message: message.to_owned(),
        };
        let (bytes, project) = (message.len() + 256, call.origin.project);
        self.offer("log", bytes, Noted::Line(call.clone(), line), project);
    }

    fn failed(&self, call: &CallNote, failure: FailedCall) {
        let bytes = held_bytes(&failure.input);
        let project = call.origin.project;
        let noted = Noted::Call(call.clone(), self.clock.now(), Box::new(failure));
        self.offer("call", bytes, noted, project);
    }

    fn quarantine(&self, call: &CallNote, turn: QuarantineTurn) {
        let project = call.origin.project;
        let noted = Noted::Turn(call.clone(), self.clock.now(), turn);
        self.offer("quarantine", UNIT, noted, project);
    }
}

/// Bytes that an input holds while it waits.
fn held_bytes(input: &CallInput) -> usize {
    let own = match input {
        CallInput::Role { page, options, .. } => page_bytes(page) + options.len(),
        CallInput::Actor { input } => input.len(),
        CallInput::Fetcher { params, .. } => params.len(),
        CallInput::Hook { page, config, .. } => {
            page.as_ref().map_or(0, |page| page_bytes(page)) + config.len()
        }
    };
    own + 1_024
}

fn page_bytes(page: &Page) -> usize {
    page.parts().html.len() + page.parts().body.len()
}

const fn word(level: LogLevel) -> &'static str {
    match level {
        LogLevel::Trace => "trace",
        LogLevel::Debug => "debug",
        LogLevel::Info => "info",
        LogLevel::Warn => "warn",
        LogLevel::Error => "error",
    }
}

fn origin(call: &CallNote) -> RecordOrigin {
    let (run_kind, run_id) = match call.origin.run {
        None => ("", None),
        Some(RunRef::Crawl(id)) => ("crawl", Some(id)),
        Some(RunRef::Actor(id)) => ("actor", Some(id)),
    };
    RecordOrigin {
        version: call.plugin.version.clone(),
        request_id: call.origin.request_id.as_ref().to_owned(),
        run_kind: run_kind.to_owned(),
        run_id,
    }
}

fn owner(call: &CallNote) -> StateOwner {
    let plugin = &call.plugin.id;
    StateOwner {
        project: call.origin.project,
        own: plugin.own,
        kind: plugin.kind.as_str().to_owned(),
        name: plugin.name.clone(),
    }
}

/// Writes what is queued, until the queue is closed.
async fn write(store: Store, mut queue: mpsc::Receiver<Queued>, pause: Duration) {
    let mut administrators: HashMap<ProjectId, bool> = HashMap::new();
    let mut batch = Vec::with_capacity(BATCH);
    while queue.recv_many(&mut batch, BATCH).await > 0 {
        let (mut records, mut barriers) = (Vec::new(), Vec::new());
        for Queued { noted, .. } in batch.drain(..) {
            match noted {
                Noted::Barrier(done) => barriers.push(done),
                Noted::Line(call, line) => {
                    if is_kept(&store, &mut administrators, &call).await {
                        let message = redact::text(&line.message);
                        let line = PluginLine { message, ..line };
                        records.push(PluginRecord::Line(owner(&call), line));
                    }
                }
                Noted::Call(call, at, failure) => {
                    if is_kept(&store, &mut administrators, &call).await {
                        records.extend(recorded(&call, at, *failure));
                    }
                }
                Noted::Turn(call, at, turn) => {
                    quarantine::tell(&store, &owner(&call), &call.plugin, (at, turn), pause).await;
                }
            }
        }
        if !records.is_empty() {
            save(&store, &records).await;
        }
        let is_awaited = !barriers.is_empty();
        for done in barriers {
            // Whoever waited may be gone.
            let _ = done.send(());
        }
        if !is_awaited && queue.is_empty() {
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// Writes records; if that fails one by one, so that a bad one costs itself only.
async fn save(store: &Store, records: &[PluginRecord]) {
    if store.save_plugin_records(records, BOUNDS).await.is_ok() {
        return;
    }
    for record in records {
        let alone = std::slice::from_ref(record);
        if let Err(error) = store.save_plugin_records(alone, BOUNDS).await {
            tracing::warn!(%error, "cannot write what a plugin logged");
            let kind = match record {
                PluginRecord::Line(..) => "log",
                PluginRecord::Call(..) => "call",
            };
            metrics::counter!("orbweaver_plugin_records_dropped_total", "kind" => kind)
                .increment(1);
        }
    }
}

/// Whether the records of a call are kept: see the module.
async fn is_kept(
    store: &Store,
    administrators: &mut HashMap<ProjectId, bool>,
    call: &CallNote,
) -> bool {
    if call.plugin.id.own {
        return true;
    }
    let project = call.origin.project;
    if let Some(known) = administrators.get(&project) {
        return *known;
    }
    let Ok(Some(found)) = store.project(project).await else {
        return false;
    };
    if administrators.len() >= KNOWN_PROJECTS {
        administrators.clear();
    }
    administrators.insert(project, found.administrator);
    found.administrator
}

/// The records of a failed call: a line with its error, and the call with its input.
fn recorded(call: &CallNote, at: DateTime<Utc>, failure: FailedCall) -> [PluginRecord; 2] {
    let FailedCall {
        input,
        error,
        cpu,
        wall,
        memory,
    } = failure;
    let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    let code = error.kind().to_owned();
    // Texts of PostgreSQL have no NUL.
    let message = redact::text(&error.to_string()).replace('\0', "");
    let level = match error {
        PluginError::Reported(_) => LogLevel::Warn,
        _ => LogLevel::Error,
    };
    let line = PluginLine {
        at,
        origin: origin(call),
        level: word(level).to_owned(),
        message: format!("{code}: {message}"),
    };
    let input = KeptInput::new(&input);
    let kept = PluginCall {
        at,
        origin: origin(call),
        digest: call.plugin.digest.clone(),
        input: input.json.to_string(),
        input_digest: input.digest,
        body: input.body,
        not_replayable: input.not_replayable.to_owned(),
        code,
        message,
        cpu_us: micros(cpu),
        wall_us: micros(wall),
        memory,
    };
    [
        PluginRecord::Line(owner(call), line),
        PluginRecord::Call(owner(call), Box::new(kept)),
    ]
}
