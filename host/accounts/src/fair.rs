//! Fair shares: a bounded number of slots for one kind of work, given to projects in turn.
//!
//! Three rules make it impossible for one project to hold up the others:
//!
//! 1. **Turns.** A free slot goes to the waiting project that holds the fewest slots; among
//!    equals to the one whose last turn is longest ago. A project with one request waits
//!    for at most one turn of each other project, however many requests those have queued.
//! 2. **Headroom.** A project may take a slot only while it holds less than three times as
//!    many as are free (the "dynamic threshold" of shared switch buffers, Choudhury and
//!    Hahne 1998). Alone it gets three quarters of all slots; `n` greedy projects leave one
//!    slot in `3n + 1` free, so that the next project need not wait for any of them to end.
//! 3. **Bounded queues.** Each project has a limited number of waiting requests; further ones
//!    are refused with [`Busy`].
//!
//! Every step costs `O(log n)` for `n` waiting projects. Nothing polls.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use orbweaver_core::ids::ProjectId;
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::time::Instant;

/// A project may hold up to this many times the slots that are free.
const SHARE: usize = 3;
/// Bounds of [`Busy::retry_after`].
const WAITS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// The bounds of one kind of work.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Number of slots.
    pub concurrent: NonZeroUsize,
    /// Requests of one project that may wait for a slot.
    pub queue_per_project: usize,
}

impl Limits {
    /// `concurrent` slots, at least 1.
    pub fn new(concurrent: usize, queue_per_project: usize) -> Self {
        Self {
            concurrent: NonZeroUsize::new(concurrent).unwrap_or(NonZeroUsize::MIN),
            queue_per_project,
        }
    }
}

/// A project's queue is full: answered 429 with `Retry-After`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{queued} {work} of this project already wait, the maximum (setting {setting})")]
pub struct Busy {
    /// Name of the work in the plural, such as `scans`.
    pub work: &'static str,
    /// The setting that bounds the queue.
    pub setting: &'static str,
    /// Number of waiting requests.
    pub queued: usize,
    /// Estimated time until the queue has a free place: 1 to 60 seconds.
    pub retry_after: Duration,
}

impl Busy {
    /// [`retry_after`](Self::retry_after) in whole seconds, rounded up.
    pub fn retry_after_seconds(&self) -> u64 {
        self.retry_after.as_secs() + u64::from(self.retry_after.subsec_nanos() > 0)
    }
}

/// Slots for one kind of work. Cheap to clone.
#[derive(Clone)]
pub struct Slots(Arc<Inner>);

struct Inner {
    work: &'static str,
    setting: &'static str,
    limits: Limits,
    state: Mutex<State>,
}

impl fmt::Debug for Slots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let free = self.0.state.lock().free;
        write!(f, "Slots({}, {free} free)", self.0.work)
    }
}

#[derive(Default)]
struct State {
    free: usize,
    /// Projects that hold slots or wait for one.
    projects: HashMap<ProjectId, Project>,
    /// Projects that wait, the next one first.
    turns: BTreeSet<Turn>,
    /// Counter of turns and requests.
    clock: u64,
    /// Moving average of how long a slot is held.
    usual: Duration,
}

/// Sort key of a waiting project: slots held, time of its last turn, id.
type Turn = (usize, u64, ProjectId);

#[derive(Default)]
struct Project {
    held: usize,
    /// When it last got a slot, or started to wait after being idle.
    turn: u64,
    waiting: BTreeMap<u64, oneshot::Sender<Slot>>,
}

impl Slots {
    /// Creates slots for `work` (a plural, for messages); `setting` bounds a project's queue.
    pub fn new(work: &'static str, setting: &'static str, limits: Limits) -> Self {
        Self(Arc::new(Inner {
            work,
            setting,
            limits,
            state: Mutex::new(State {
                free: limits.concurrent.get(),
                ..State::default()
            }),
        }))
    }

    /// Waits for a slot. Dropping the future gives up the place in the queue; dropping the
    /// slot frees it.
    ///
    /// # Errors
    /// [`Busy`] at once when the project's queue is full.
    #[crate::boxed]
    pub async fn acquire(&self, project: ProjectId) -> Result<Slot, Busy> {
        let (_waiting, granted) = self.enqueue(project)?;
        // The sender stays in the queue until `_waiting` is dropped or the slot is sent.
        granted.await.map_err(|_| self.busy(0, Duration::ZERO))
    }

    /// Number of free slots.
    pub fn free(&self) -> usize {
        self.0.state.lock().free
    }

    fn busy(&self, queued: usize, wait: Duration) -> Busy {
        Busy {
            work: self.0.work,
            setting: self.0.setting,
            queued,
            retry_after: wait.clamp(WAITS.0, WAITS.1),
        }
    }

    /// Queues a request and grants free slots. The receiver gets the slot.
    fn enqueue(&self, project: ProjectId) -> Result<(Waiting, oneshot::Receiver<Slot>), Busy> {
        let (grant, granted) = oneshot::channel();
        let mut state = self.0.state.lock();
        let request = state.count();
        let free = state.free;
        let known = state.projects.entry(project).or_default();
        if known.is_idle() {
            known.turn = request;
        }
        let (queued, held, turn) = (known.waiting.len(), known.held, known.turn);
        // A request that gets its slot at once does not count as waiting.
        let at_once = queued == 0 && may_take(held, free);
        if !at_once && queued >= self.0.limits.queue_per_project {
            if known.is_idle() {
                state.projects.remove(&project);
            }
            let before = u32::try_from(queued / held.max(1)).unwrap_or(u32::MAX);
            return Err(self.busy(queued, state.usual.saturating_mul(before)));
        }
        known.waiting.insert(request, grant);
        if queued == 0 {
            state.turns.insert((held, turn, project));
        }
        let grants = state.grant(self);
        drop(state);
        deliver(grants);
        let waiting = Waiting {
            slots: self.clone(),
            project,
            request,
        };
        Ok((waiting, granted))
    }

    /// Removes a request from the queue, unless it has already got its slot.
    fn forget(&self, project: ProjectId, request: u64) {
        let mut state = self.0.state.lock();
        let Some(known) = state.projects.get_mut(&project) else {
            return;
        };
        if known.waiting.remove(&request).is_some() && known.waiting.is_empty() {
            let turn = (known.held, known.turn, project);
            if known.is_idle() {
                state.projects.remove(&project);
            }
            state.turns.remove(&turn);
        }
    }

    /// Frees a slot that was held for `held_for`, and grants it to the next project.
    fn release(&self, project: ProjectId, held_for: Duration) {
        let mut state = self.0.state.lock();
        state.free += 1;
        state.usual = (state.usual * 7 + held_for) / 8;
        if let Some(known) = state.projects.get_mut(&project) {
            let old = (known.held, known.turn, project);
            known.held = known.held.saturating_sub(1);
            let new = (known.held, known.turn, project);
            if known.is_idle() {
                state.projects.remove(&project);
            } else if state.turns.remove(&old) {
                state.turns.insert(new);
            }
        }
        let grants = state.grant(self);
        drop(state);
        deliver(grants);
    }
}

/// Whether a project that holds `held` slots may take one of `free` (rule 2). Public for work
/// whose queue is in the database.
pub fn may_take(held: usize, free: usize) -> bool {
    held < free.saturating_mul(SHARE)
}

/// Granted slots with their receivers.
type Grants = Vec<(oneshot::Sender<Slot>, Slot)>;

/// Sends granted slots; called without the lock. A slot with no receiver left is freed here.
fn deliver(grants: Grants) {
    for (grant, slot) in grants {
        drop(grant.send(slot));
    }
}

impl State {
    fn count(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    /// Grants free slots in order of turns. The first project in line holds the fewest
    /// slots: if it may not take one, no project may.
    fn grant(&mut self, slots: &Slots) -> Grants {
        let mut grants = Grants::new();
        while let Some((held, _, project)) = self.turns.first().copied()
            && may_take(held, self.free)
        {
            self.turns.pop_first();
            let turn = self.count();
            let Some(known) = self.projects.get_mut(&project) else {
                continue;
            };
            let Some((_, grant)) = known.waiting.pop_first() else {
                continue;
            };
            known.held += 1;
            known.turn = turn;
            if !known.waiting.is_empty() {
                self.turns.insert((known.held, turn, project));
            }
            self.free -= 1;
            let slot = Slot {
                slots: slots.clone(),
                project,
                since: Instant::now(),
            };
            grants.push((grant, slot));
        }
        grants
    }
}

impl Project {
    /// Whether it holds nothing and waits for nothing.
    fn is_idle(&self) -> bool {
        self.held == 0 && self.waiting.is_empty()
    }
}

/// A place in the queue, given up when dropped.
struct Waiting {
    slots: Slots,
    project: ProjectId,
    request: u64,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.slots.forget(self.project, self.request);
    }
}

/// The right to do one piece of work. Dropped, it is granted to the next request in line.
#[must_use = "a dropped slot is free again"]
pub struct Slot {
    slots: Slots,
    project: ProjectId,
    since: Instant,
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Slot({}, project {})", self.slots.0.work, self.project)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.slots.release(self.project, self.since.elapsed());
    }
}

#[cfg(test)]
mod tests {
    use std::pin::{Pin, pin};

    use futures::stream::FuturesUnordered;
    use futures::{FutureExt as _, StreamExt as _, poll};

    use super::*;

    const A: ProjectId = ProjectId(1);
    const B: ProjectId = ProjectId(2);

    fn slots(concurrent: usize, queue: usize) -> Slots {
        Slots::new(
            "scans",
            "scan.queue_per_project",
            Limits::new(concurrent, queue),
        )
    }

    fn now(slots: &Slots, project: ProjectId) -> Slot {
        slots.acquire(project).now_or_never().unwrap().unwrap()
    }

    fn is_empty(slots: &Slots) -> bool {
        let state = slots.0.state.lock();
        state.projects.is_empty() && state.turns.is_empty()
    }

    #[tokio::test]
    async fn a_slot_that_is_dropped_goes_to_the_next_in_line() {
        let slots = slots(1, 10);
        let first = now(&slots, A);
        let mut second = pin!(slots.acquire(A));
        let mut other = pin!(slots.acquire(B));
        assert!(poll!(&mut second).is_pending() && poll!(&mut other).is_pending());
        drop(first);
        let second = second.now_or_never().unwrap().unwrap();
        assert!(poll!(&mut other).is_pending());
        drop(second);
        drop(other.now_or_never().unwrap().unwrap());
        assert!(slots.free() == 1 && is_empty(&slots));
    }

    #[tokio::test]
    async fn the_project_with_fewer_slots_goes_first_even_if_another_waits_longer() {
        let slots = slots(2, 10);
        let (first, second) = (now(&slots, A), now(&slots, A));
        let mut more = pin!(slots.acquire(A));
        let mut other = pin!(slots.acquire(B));
        assert!(poll!(&mut more).is_pending() && poll!(&mut other).is_pending());
        drop(first);
        assert!(poll!(&mut more).is_pending());
        let other = other.now_or_never().unwrap().unwrap();
        drop((second, other));
        drop(more.now_or_never().unwrap().unwrap());
        assert!(slots.free() == 2 && is_empty(&slots));
    }

    #[test]
    fn a_full_queue_is_busy_and_gives_a_retry_time() {
        let slots = slots(1, 2);
        let held = now(&slots, A);
        let (mut one, mut two) = (Box::pin(slots.acquire(A)), Box::pin(slots.acquire(A)));
        assert!((&mut one).now_or_never().is_none() && (&mut two).now_or_never().is_none());
        let busy = slots.acquire(A).now_or_never().unwrap().unwrap_err();
        assert_eq!((busy.queued, busy.retry_after_seconds()), (2, 1));
        assert!(busy.to_string().contains("scan.queue_per_project"));
        // Each project has its own queue.
        let mut other = Box::pin(slots.acquire(B));
        assert!((&mut other).now_or_never().is_none());
        // A place that was given up can be taken again.
        drop(one);
        let mut three = Box::pin(slots.acquire(A));
        assert!((&mut three).now_or_never().is_none());
        drop((two, three, other, held));
        assert!(slots.free() == 1 && is_empty(&slots));
        let none = super::tests::slots(1, 0);
        let held = now(&none, A);
        assert!(none.acquire(B).now_or_never().unwrap().is_err());
        drop(held);
        assert!(is_empty(&none));
    }

    #[test]
    fn a_future_dropped_at_any_point_gives_everything_back() {
        let slots = slots(1, 10);
        let held = now(&slots, A);
        let mut waits = Box::pin(slots.acquire(B));
        assert!((&mut waits).now_or_never().is_none());
        // The slot was already sent when the future is dropped.
        drop(held);
        assert_eq!(slots.free(), 0);
        drop(waits);
        assert!(slots.free() == 1 && is_empty(&slots));
        // Never polled.
        drop(slots.acquire(A));
        assert!(slots.free() == 1 && is_empty(&slots));
    }

    #[test]
    fn greedy_projects_leave_room_for_the_next_one() {
        for (greedy, held) in [(1, 48), (2, 55), (10, 62)] {
            let slots = slots(64, 1_000);
            let mut all = Vec::new();
            for _ in 0..64 {
                for project in 0..greedy {
                    let mut one = Box::pin(slots.acquire(ProjectId(100 + project)));
                    all.push(match (&mut one).now_or_never() {
                        Some(slot) => Ok(slot.unwrap()),
                        None => Err(one),
                    });
                }
            }
            assert_eq!(
                all.iter().filter(|one| one.is_ok()).count(),
                held,
                "{greedy}"
            );
            drop(now(&slots, A));
            drop(all);
            assert!(slots.free() == 64 && is_empty(&slots));
        }
    }

    /// Ten projects ask for 60 slots each at once and hold each for a second, while a victim
    /// asks for one at a time; the clock is simulated. Between the victim's request and its
    /// turn, no other project gets two turns.
    #[test]
    fn a_victim_waits_for_at_most_one_turn_of_each_greedy_project() {
        for concurrent in [1, 2, 3, 8, 64] {
            let slots = slots(concurrent, 1_000);
            let mut waiting = FuturesUnordered::new();
            for project in (0..10).map(|n| ProjectId(100 + n)) {
                for _ in 0..60 {
                    waiting.push(slots.acquire(project));
                }
            }
            // Held slots by the millisecond at which they end.
            let mut held: BTreeMap<u64, Vec<Slot>> = BTreeMap::new();
            let mut victim: Option<(Pin<Box<dyn Future<Output = _>>>, u64)> = None;
            let mut turns: HashMap<ProjectId, usize> = HashMap::new();
            let (mut served, mut rounds, mut at) = (0, 0, 0);
            while served < 600 {
                let ended = held.remove(&at).unwrap_or_default();
                // One by one, because each freed slot decides who is next.
                for slot in ended.into_iter().map(Some).chain([None]) {
                    drop(slot);
                    while let Some(Some(slot)) = waiting.next().now_or_never() {
                        let slot = slot.unwrap();
                        *turns.entry(slot.project).or_default() += 1;
                        served += 1;
                        held.entry(at + 1_000).or_default().push(slot);
                    }
                    if victim.is_none() && at % 337 == 0 {
                        turns.clear();
                        let slots = slots.clone();
                        victim = Some((Box::pin(async move { slots.acquire(A).await }), at));
                    }
                    if let Some((asks, since)) = &mut victim
                        && let Some(slot) = asks.now_or_never()
                    {
                        assert!(
                            turns.values().all(|turns| *turns <= 1),
                            "{concurrent}: {turns:?}"
                        );
                        // Sixty-four slots leave some free, once those that were taken
                        // before the others came have ended.
                        assert!(concurrent < 64 || *since == at || at < 2_000);
                        let slot: Slot = slot.unwrap();
                        held.entry(at + 10).or_default().push(slot);
                        (victim, rounds) = (None, rounds + 1);
                    }
                }
                at += 1;
            }
            assert!(rounds >= 20, "{concurrent}: {rounds}");
            drop((victim, held, waiting));
            assert!(slots.free() == concurrent && is_empty(&slots));
        }
    }
}
