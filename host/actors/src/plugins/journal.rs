//! What authors see of their plugins' calls: lines that a plugin logs, failed calls with their inputs,
//! without credentials, and events of quarantines for the project's receiver. They are queued in memory,
//! cut to what is kept, written in batches beside the requests, and dropped (and counted) when the queue, or
//! its project's share of it, is full. Events of quarantines are few, and are never dropped.
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
    CallNote, FailedCall, Journal, LogLevel, PluginError, QuarantineTurn, RunRef,
};
use orbweaver_store::{
    PluginCall, PluginLine, PluginRecord, RecordBounds, RecordOrigin, StateOwner, Store,
};
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};

use super::kept_input::KeptInput;
use super::quarantine;
use super::queue_bounds::{Bounds, Place, QueueBounds};

/// What waits at most.
const QUEUE: Bounds = Bounds {
    records: 2_048,
    bytes: 16 << 20,
};
/// Bytes of a record beside its texts.
const RECORD: usize = 1 << 10;
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
    Call(CallNote, Box<[PluginRecord; 2]>),
    Turn(CallNote, DateTime<Utc>, QuarantineTurn),
    Barrier(oneshot::Sender<()>),
}

struct Queued {
    noted: Noted,
    /// Kept until it is written.
    place: Option<Place>,
}

/// Which projects are the administrator's own, as far as that is known.
type Administrators = Arc<Mutex<HashMap<ProjectId, bool>>>;

/// The queue of records.
#[derive(Clone)]
pub struct PluginJournal {
    clock: Clock,
    queue: mpsc::UnboundedSender<Queued>,
    room: QueueBounds,
    administrators: Administrators,
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
        let (journal, records) = Self::new(clock);
        let administrators = Arc::clone(&journal.administrators);
        tokio::spawn(write(store, records, administrators, pause));
        journal
    }

    fn new(clock: Clock) -> (Self, mpsc::UnboundedReceiver<Queued>) {
        // The room bounds it.
        let (queue, records) = mpsc::unbounded_channel();
        let journal = Self {
            clock,
            queue,
            room: QueueBounds::new(QUEUE),
            administrators: Administrators::default(),
        };
        (journal, records)
    }

    /// Waits until everything that was noted before is written.
    #[crate::boxed]
    pub async fn written(&self) {
        let (done, written) = oneshot::channel();
        let barrier = Queued {
            noted: Noted::Barrier(done),
            place: None,
        };
        if self.queue.send(barrier).is_ok() {
            // The task is gone only when the process stops.
            let _ = written.await;
        }
    }

    fn offer(&self, kind: &'static str, bytes: usize, noted: Noted, project: ProjectId) {
        let place = self.room.place(project, bytes.saturating_add(RECORD));
        let is_queued = place.is_some_and(|place| {
            let place = Some(place);
            self.queue.send(Queued { noted, place }).is_ok()
        });
        if !is_queued {
            dropped(kind);
        }
    }

    /// Whether it is known that the records of a call are not kept: see the module.
    fn is_ignored(&self, call: &CallNote) -> bool {
        !call.plugin.id.own && self.administrators.lock().get(&call.origin.project) == Some(&false)
    }
}

impl Journal for PluginJournal {
    fn line(&self, call: &CallNote, level: LogLevel, message: &str) {
        if self.is_ignored(call) {
            return;
        }
        let line = PluginLine {
            at: self.clock.now(),
            origin: origin(call),
            level: word(level).to_owned(),
            message: message.to_owned(),
        };
        let (bytes, project) = (message.len(), call.origin.project);
        self.offer("log", bytes, Noted::Line(call.clone(), line), project);
    }

    fn failed(&self, call: &CallNote, failure: FailedCall) {
        if self.is_ignored(call) {
            return;
        }
        // Cut here and not when it is written: the whole page would wait, and pages of a few calls would
        // take all the room.
        let records = Box::new(recorded(call, self.clock.now(), failure));
        let bytes = records.iter().map(held_bytes).sum();
        let project = call.origin.project;
        self.offer("call", bytes, Noted::Call(call.clone(), records), project);
    }

    fn quarantine(&self, call: &CallNote, turn: QuarantineTurn) {
        let noted = Noted::Turn(call.clone(), self.clock.now(), turn);
        // They are bounded by the pauses of quarantines.
        let place = None;
        if self.queue.send(Queued { noted, place }).is_err() {
            dropped("quarantine");
        }
    }
}

fn dropped(kind: &'static str) {
    metrics::counter!("orbweaver_plugin_records_dropped_total", "kind" => kind).increment(1);
}

/// Bytes of a record's texts.
fn held_bytes(record: &PluginRecord) -> usize {
    match record {
        PluginRecord::Line(_, line) => line.message.len(),
        PluginRecord::Call(_, call) => {
            let body = call.body.as_ref().map_or(0, String::len);
            call.input.len() + call.message.len() + body
        }
    }
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
async fn write(
    store: Store,
    mut queue: mpsc::UnboundedReceiver<Queued>,
    administrators: Administrators,
    pause: Duration,
) {
    let mut batch = Vec::with_capacity(BATCH);
    while queue.recv_many(&mut batch, BATCH).await > 0 {
        let (mut records, mut barriers) = (Vec::new(), Vec::new());
        let mut places = Vec::new();
        for Queued { noted, place } in batch.drain(..) {
            places.push(place);
            match noted {
                Noted::Barrier(done) => barriers.push(done),
                Noted::Line(call, line) => {
                    if is_kept(&store, &administrators, &call).await {
                        let message = redact::text(&line.message);
                        let line = PluginLine { message, ..line };
                        records.push(PluginRecord::Line(owner(&call), line));
                    }
                }
                Noted::Call(call, both) => {
                    if is_kept(&store, &administrators, &call).await {
                        records.extend(*both);
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
        drop((records, places));
        let is_awaited = !barriers.is_empty();
        for done in barriers {
            // The receiver may have stopped waiting.
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
            dropped(match record {
                PluginRecord::Line(..) => "log",
                PluginRecord::Call(..) => "call",
            });
        }
    }
}

/// Whether the records of a call are kept: see the module.
async fn is_kept(store: &Store, administrators: &Administrators, call: &CallNote) -> bool {
    if call.plugin.id.own {
        return true;
    }
    let project = call.origin.project;
    let known = administrators.lock().get(&project).copied();
    if let Some(known) = known {
        return known;
    }
    let Ok(Some(found)) = store.project(project).await else {
        return false;
    };
    let mut administrators = administrators.lock();
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
    let message = redact::text(&error.why()).replace('\0', "");
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

#[cfg(test)]
mod tests {
    use orbweaver_engine::{CallInput, CallOrigin, Kind, Page, PluginFacts, PluginId};

    use super::*;

    fn call(project: i64, own: bool) -> CallNote {
        let facts = PluginFacts {
            id: PluginId {
                kind: Kind::Extractor,
                name: "mine".to_owned(),
                own,
            },
            version: "1".to_owned(),
            digest: String::new(),
        };
        CallNote {
            plugin: Arc::new(facts),
            origin: Arc::new(CallOrigin::new(ProjectId(project))),
        }
    }

    /// A failed call with a page of this many bytes.
    fn failure(bytes: usize) -> FailedCall {
        FailedCall {
            input: CallInput::Role {
                page: Page::from_html("https://e.org/", &"x".repeat(bytes)),
                role: "special".to_owned(),
                options: String::new(),
            },
            error: PluginError::Trap("unreachable".to_owned()),
            cpu: Duration::ZERO,
            wall: Duration::ZERO,
            memory: 0,
        }
    }

    /// What is queued: a letter and the project of each record.
    fn queued(records: &mut mpsc::UnboundedReceiver<Queued>) -> Vec<(char, i64)> {
        std::iter::from_fn(|| records.try_recv().ok())
            .map(|queued| match queued.noted {
                Noted::Line(call, _) => ('l', call.origin.project.get()),
                Noted::Call(call, _) => ('c', call.origin.project.get()),
                Noted::Turn(call, ..) => ('t', call.origin.project.get()),
                Noted::Barrier(_) => ('b', 0),
            })
            .collect()
    }

    #[test]
    fn failed_calls_with_large_pages_leave_room_for_other_projects() {
        let (journal, mut records) = PluginJournal::new(Clock::system());
        for _ in 0..3 {
            journal.failed(&call(1, true), failure(3 << 20));
        }
        journal.failed(&call(1, true), failure(20 << 20));
        journal.failed(&call(2, true), failure(100));
        journal.line(&call(2, true), LogLevel::Info, "a line");
        journal.quarantine(&call(2, true), QuarantineTurn::Opened);
        let expected = [1, 1, 1, 1, 2].map(|project| ('c', project));
        assert_eq!(
            queued(&mut records),
            [&expected[..], &[('l', 2), ('t', 2)]].concat()
        );
    }

    #[test]
    fn a_page_that_is_too_large_to_be_kept_is_noted_by_its_digest() {
        let now = Clock::system().now();
        let [_, record] = recorded(&call(1, true), now, failure(20 << 20));
        assert!(held_bytes(&record) < 4_096);
        let PluginRecord::Call(_, kept) = record else {
            panic!("a call");
        };
        assert_eq!((kept.body, kept.input_digest.len()), (None, 64));
        assert!(!kept.not_replayable.is_empty());
    }

    #[test]
    fn one_project_does_not_fill_the_queue_and_a_turn_needs_no_room() {
        let (journal, mut records) = PluginJournal::new(Clock::system());
        let message = "x".repeat(64 << 10);
        for _ in 0..1_000 {
            journal.line(&call(1, true), LogLevel::Info, &message);
        }
        journal.quarantine(&call(1, true), QuarantineTurn::Opened);
        journal.failed(&call(2, true), failure(200 << 10));
        let queued = queued(&mut records);
        let lines = queued.iter().filter(|(kind, _)| *kind == 'l').count();
        assert!((10..=64).contains(&lines), "{lines} lines");
        assert_eq!(queued[lines..], [('t', 1), ('c', 2)]);
    }

    #[test]
    fn what_is_known_not_to_be_kept_takes_no_room() {
        let (journal, mut records) = PluginJournal::new(Clock::system());
        journal.administrators.lock().insert(ProjectId(1), false);
        journal.line(&call(1, false), LogLevel::Info, "a line");
        journal.failed(&call(1, false), failure(1));
        journal.line(&call(1, true), LogLevel::Info, "of its own plugin");
        journal.line(&call(2, false), LogLevel::Info, "perhaps");
        assert_eq!(queued(&mut records), [('l', 1), ('l', 2)]);
    }
}
