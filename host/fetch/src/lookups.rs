//! Threads for name lookups: their own, few, and shared fairly.
//!
//! The system's resolver blocks its thread until it gives up, which takes up to a minute where a name's
//! servers never answer; nothing can end it earlier. So lookups have threads that no other work uses, and
//! a lookup that nobody waits for any more keeps its place until its thread is free.
//!
//! Projects share the threads as they share other work: a free one goes to the waiting project that has
//! the fewest, and a project may have three times as many as are free. So one that asks for nothing but
//! dead names leaves a quarter to the next. Requests without a project (the instance's own) count as one
//! more. What waits too long for a thread fails as busy, and may be tried again.
//!
//! Whoever asks for a name that is being looked up gets that answer. A name that waits stands in the line
//! of each project that asks for it: nobody waits in another's line.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use moka::Expiry;
use moka::sync::Cache;
use orbweaver_core::ids::ProjectId;
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::resolve::{ResolveError, Resolver};

/// Lookups at once.
const THREADS: usize = 128;
/// A project may have up to this many times the threads that are free.
const SHARE: usize = 3;
/// Names of one project that may wait.
const MAX_WAITING: usize = 4_096;
/// Longest wait for a thread: half of the time that a connection has by default.
const MAX_WAIT: Duration = Duration::from_secs(5);
/// Enough for `getaddrinfo` with the modules that it loads, in bytes.
const STACK: usize = 512 << 10;

/// Answers that are kept for a moment.
const MAX_KEPT: u64 = 4_096;
/// How long an answer is kept that came when nobody waited any more: a name that resolves slowly is
/// there when its request is tried again.
const LATE_LIFE: Duration = Duration::from_secs(10);
/// A failure that took so long is kept, for as long as it took. So one dead name, asked for again and
/// again, has a thread for half of the time at most.
const SLOW: Duration = Duration::from_secs(1);
const MAX_SLOW_LIFE: Duration = Duration::from_secs(30);

/// Whose lookups: a project's, or the instance's own.
type Asker = Option<ProjectId>;
type Answer = Result<Vec<IpAddr>, ResolveError>;

tokio::task_local! {
    /// Of the running task. The HTTP client gives its resolver nothing but a name.
    static ASKER: Asker;
}

/// Work whose lookups are a project's.
pub(crate) fn asked_by<F: Future>(
    project: Option<ProjectId>,
    work: F,
) -> impl Future<Output = F::Output> {
    ASKER.scope(project, work)
}

/// A resolver that calls a blocking function on threads of its own, of which each project has a
/// share. Clones share the threads.
#[derive(Clone)]
pub struct Lookups(Arc<Inner>);

struct Inner {
    ask: Box<dyn Fn(&str) -> Answer + Send + Sync>,
    /// Of a name for its thread.
    max_wait: Duration,
    state: Mutex<State>,
    kept: Cache<Arc<str>, Kept>,
}

#[derive(Clone)]
struct Kept {
    answer: Answer,
    life: Duration,
}

struct Life;

impl Expiry<Arc<str>, Kept> for Life {
    fn expire_after_create(&self, _: &Arc<str>, kept: &Kept, _: Instant) -> Option<Duration> {
        Some(kept.life)
    }

    fn expire_after_update(
        &self,
        name: &Arc<str>,
        kept: &Kept,
        now: Instant,
        _: Option<Duration>,
    ) -> Option<Duration> {
        self.expire_after_create(name, kept, now)
    }
}

/// How far a lookup has got.
#[derive(Clone)]
enum Step {
    Waiting,
    Running,
    Done(Answer),
}

/// A name that waits or is being looked up.
struct Name {
    step: watch::Sender<Step>,
    /// In whose lines it stands.
    askers: Vec<Asker>,
}

#[derive(Default)]
struct Line {
    running: usize,
    /// When it last got a thread, or began to wait.
    turn: u64,
    waiting: VecDeque<Arc<str>>,
}

/// Sort key of a line with names that wait: threads it has, its last turn, whose it is.
type Turn = (usize, u64, Asker);

struct State {
    free: usize,
    names: HashMap<Arc<str>, Name>,
    /// Those that have threads or wait for one.
    lines: HashMap<Asker, Line>,
    /// Lines that wait, the next one first.
    turns: BTreeSet<Turn>,
    clock: u64,
}

impl Lookups {
    /// Looks names up by `ask`, which may block: all addresses of a name, at least one.
    pub fn new(
        ask: impl Fn(&str) -> Result<Vec<IpAddr>, ResolveError> + Send + Sync + 'static,
    ) -> Self {
        Self::with(MAX_WAIT, ask)
    }

    fn with(max_wait: Duration, ask: impl Fn(&str) -> Answer + Send + Sync + 'static) -> Self {
        Self(Arc::new(Inner {
            ask: Box::new(ask),
            max_wait,
            state: Mutex::new(State::new(THREADS)),
            kept: Cache::builder()
                .max_capacity(MAX_KEPT)
                .expire_after(Life)
                .build(),
        }))
    }

    /// Gives free threads to names that wait.
    fn grant(&self) -> Vec<Place> {
        self.0.state.lock().grant(self)
    }

    fn begin(granted: Vec<Place>) {
        for place in granted {
            let builder = thread::Builder::new().name("lookup".to_owned());
            if let Err(error) = builder.stack_size(STACK).spawn(move || place.run()) {
                tracing::warn!(%error, "there is no thread for a name lookup");
            }
        }
    }

    /// What a name's lookup comes to, from a line or from one that is under way.
    fn join(&self, asker: Asker, name: &str) -> Result<watch::Receiver<Step>, ResolveError> {
        let step = self.0.state.lock().join(asker, name)?;
        Self::begin(self.grant());
        Ok(step)
    }
}

#[async_trait]
impl Resolver for Lookups {
    async fn resolve(&self, name: &str) -> Result<Vec<IpAddr>, ResolveError> {
        if let Some(kept) = self.0.kept.get(name) {
            return kept.answer;
        }
        let asker = ASKER.try_with(|asker| *asker).ok().flatten();
        let mut step = self.join(asker, name)?;
        let lost = || ResolveError::Other("the lookup ended without an answer".to_owned());
        let begun = async {
            let begun = step.wait_for(|step| !matches!(step, Step::Waiting)).await;
            begun.is_ok()
        };
        match tokio::time::timeout(self.0.max_wait, begun).await {
            Ok(true) => {}
            Ok(false) => return Err(lost()),
            Err(_) => return Err(ResolveError::Busy),
        }
        match step.wait_for(|step| matches!(step, Step::Done(_))).await {
            Ok(done) => match &*done {
                Step::Done(answer) => answer.clone(),
                Step::Waiting | Step::Running => Err(lost()),
            },
            Err(_) => Err(lost()),
        }
    }
}

/// Whether a project that has `running` lookups may begin another one.
const fn may_begin(running: usize, free: usize) -> bool {
    running < free.saturating_mul(SHARE)
}

/// How long an answer is kept that took so long; `None`: the next one asks again.
fn life(answer: &Answer, took: Duration, is_awaited: bool) -> Option<Duration> {
    match answer {
        Ok(_) | Err(ResolveError::NxDomain) => (!is_awaited).then_some(LATE_LIFE),
        Err(_) => (took >= SLOW).then(|| took.min(MAX_SLOW_LIFE)),
    }
}

impl State {
    fn new(threads: usize) -> Self {
        Self {
            free: threads,
            names: HashMap::new(),
            lines: HashMap::new(),
            turns: BTreeSet::new(),
            clock: 0,
        }
    }

    /// Joins the lookup of a name that is under way, or puts the name into a line.
    fn join(&mut self, asker: Asker, name: &str) -> Result<watch::Receiver<Step>, ResolveError> {
        let known = self.names.get(name);
        if let Some(known) = known
            && (known.askers.contains(&asker) || !matches!(*known.step.borrow(), Step::Waiting))
        {
            return Ok(known.step.subscribe());
        }
        self.clock += 1;
        let line = self.lines.entry(asker).or_default();
        if line.waiting.is_empty() {
            if line.running == 0 {
                line.turn = self.clock;
            }
            self.turns.insert((line.running, line.turn, asker));
        } else if line.waiting.len() >= MAX_WAITING {
            // Those that nobody waits for any more.
            line.waiting.retain(|name| {
                let known = self.names.get(name);
                let is_live = known.is_some_and(|known| known.stands_for(asker));
                if !is_live && known.is_some_and(Name::is_forgotten) {
                    self.names.remove(name);
                }
                is_live
            });
            if line.waiting.len() >= MAX_WAITING {
                return Err(ResolveError::Busy);
            }
        }
        let name: Arc<str> = Arc::from(name);
        line.waiting.push_back(Arc::clone(&name));
        let known = self.names.entry(name).or_insert_with(|| Name {
            step: watch::Sender::new(Step::Waiting),
            askers: Vec::new(),
        });
        known.askers.push(asker);
        Ok(known.step.subscribe())
    }

    /// Gives free threads to those whose turn it is. The first in line has the fewest: if it may
    /// have no other one, nobody may.
    fn grant(&mut self, lookups: &Lookups) -> Vec<Place> {
        let mut granted = Vec::new();
        while let Some(&(running, _, asker)) = self.turns.first()
            && may_begin(running, self.free)
        {
            self.turns.pop_first();
            let Some(line) = self.lines.get_mut(&asker) else {
                continue;
            };
            while let Some(name) = line.waiting.pop_front() {
                let Some(known) = self.names.get(&name) else {
                    continue;
                };
                if known.is_forgotten() {
                    self.names.remove(&name);
                } else if known.stands_for(asker) {
                    known.step.send_replace(Step::Running);
                    self.clock += 1;
                    line.turn = self.clock;
                    line.running += 1;
                    self.free -= 1;
                    granted.push(Place {
                        lookups: lookups.clone(),
                        asker,
                        name,
                        since: Instant::now(),
                        answer: None,
                    });
                    break;
                }
            }
            if !line.waiting.is_empty() {
                self.turns.insert((line.running, line.turn, asker));
            } else if line.running == 0 {
                self.lines.remove(&asker);
            }
        }
        granted
    }

    /// Frees the thread of a lookup, and tells all that wait for it. Says whether there are any.
    fn end(&mut self, asker: Asker, name: &str, answer: Answer) -> bool {
        self.free += 1;
        if let Some(line) = self.lines.get_mut(&asker) {
            let waits = self.turns.remove(&(line.running, line.turn, asker));
            line.running = line.running.saturating_sub(1);
            if waits {
                self.turns.insert((line.running, line.turn, asker));
            } else if line.running == 0 {
                self.lines.remove(&asker);
            }
        }
        let Some(known) = self.names.remove(name) else {
            return false;
        };
        let is_awaited = known.step.receiver_count() > 0;
        known.step.send_replace(Step::Done(answer));
        is_awaited
    }
}

impl Name {
    /// Whether it waits, and nobody waits for it any more.
    fn is_forgotten(&self) -> bool {
        self.step.receiver_count() == 0 && matches!(*self.step.borrow(), Step::Waiting)
    }

    /// Whether it waits in this line, for somebody. Else it was looked up from another's line.
    fn stands_for(&self, asker: Asker) -> bool {
        self.askers.contains(&asker)
            && self.step.receiver_count() > 0
            && matches!(*self.step.borrow(), Step::Waiting)
    }
}

/// A lookup that has a thread. When dropped, it gives back the thread and answers, with a failure if the
/// lookup was not made.
struct Place {
    lookups: Lookups,
    asker: Asker,
    name: Arc<str>,
    since: Instant,
    answer: Option<Answer>,
}

impl Place {
    /// Makes the lookup, and those whose turn comes when it ends.
    fn run(self) {
        let lookups = self.lookups.clone();
        let mut next = Some(self);
        while let Some(mut place) = next {
            let ask = || (lookups.0.ask)(&place.name);
            // A panic is an answer that was lost; those that wait still get this thread.
            place.answer = catch_unwind(AssertUnwindSafe(ask)).ok();
            drop(place);
            let mut granted = lookups.grant();
            next = granted.pop();
            Lookups::begin(granted);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let lost = || ResolveError::Other("the lookup could not be made".to_owned());
        let answer = self.answer.take().unwrap_or_else(|| Err(lost()));
        let took = self.since.elapsed();
        let inner = &self.lookups.0;
        let mut state = inner.state.lock();
        let is_awaited = state.end(self.asker, &self.name, answer.clone());
        // Under the lock, so that nobody asks again in between.
        if let Some(life) = life(&answer, took, is_awaited) {
            inner
                .kept
                .insert(Arc::clone(&self.name), Kept { answer, life });
        }
    }
}

#[cfg(test)]
mod tests;
