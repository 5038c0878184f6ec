//! Delays between requests to a host.
//!
//! A Crawl-delay or Retry-After of the host applies to all runs: one [`Gate`] per host,
//! shared by the process. A run's own delay applies to that run: one [`Turn`] per host and
//! run, which also passes the gate. What a caller can make an answer say applies to the caller's
//! run alone ([`Reach`]): else one client could close any host for all others.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::render::RenderMode;
use crate::spec::CrawlSpec;

/// Remembered hosts; beyond that, those not in use are forgotten.
const MAX_HOSTS: usize = 10_000;
/// How much longer than a Crawl-delay a node waits that has had its turn, so that one that waits
/// for its own is first, although clocks differ a little; at most a sixteenth of the delay.
const AFTER_OTHERS: Duration = Duration::from_millis(50);

/// Which runs the answers to a run's requests apply to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// A Crawl-delay and a Retry-After apply to all runs of the host.
    All,
    /// A Retry-After applies to this run: its requests differ from those of others by what the
    /// caller chose, or come from another address.
    OwnRetryAfter,
    /// A Crawl-delay does so, too: the caller's proxy may answer in the host's place.
    Own,
}

impl Reach {
    /// That of a run.
    pub fn of(spec: &CrawlSpec) -> Self {
        let is_plain = spec.headers.is_empty()
            && spec.cookies.is_none()
            && spec.user_agent.is_none()
            && spec.proxy_pool.is_none()
            && spec.hooks.is_empty()
            && spec.render == RenderMode::default();
        match (&spec.proxy_url, is_plain) {
            (Some(_), _) => Self::Own,
            (None, false) => Self::OwnRetryAfter,
            (None, true) => Self::All,
        }
    }
}

/// All gates.
#[derive(Debug)]
pub struct Politeness {
    started: Instant,
    gates: Mutex<Gates>,
}

#[derive(Debug, Default)]
struct Gates {
    by_host: HashMap<String, Arc<Gate>>,
    /// Number of gates at which unused ones are looked for.
    room: usize,
}

impl Default for Politeness {
    fn default() -> Self {
        Self {
            started: Instant::now(),
            gates: Mutex::default(),
        }
    }
}

impl Politeness {
    /// The gate of a host (with its port).
    pub fn gate(&self, host: &str) -> Arc<Gate> {
        let mut gates = self.gates.lock();
        if let Some(gate) = gates.by_host.get(host) {
            return Arc::clone(gate);
        }
        if gates.by_host.len() >= gates.room.max(MAX_HOSTS) {
            let now = self.started.elapsed();
            gates
                .by_host
                .retain(|_, gate| Arc::strong_count(gate) > 1 || gate.next() > now);
            // If most gates are in use, do not search all of them for every new host.
            gates.room = gates.by_host.len().saturating_mul(2);
        }
        let gate = self.own_gate();
        gates.by_host.insert(host.to_owned(), Arc::clone(&gate));
        gate
    }

    /// A gate that nobody else passes.
    fn own_gate(&self) -> Arc<Gate> {
        Arc::new(Gate {
            started: self.started,
            turn: AtomicU64::new(0),
            closed: AtomicU64::new(0),
        })
    }
}

/// When a host may be requested next by any run. Times are microseconds after `started`.
#[derive(Debug)]
pub struct Gate {
    started: Instant,
    /// The time of the next request of runs that keep a Crawl-delay.
    turn: AtomicU64,
    /// The end of a Retry-After, which applies to all runs.
    closed: AtomicU64,
}

impl Gate {
    /// Takes the right to one request now. `delay` is the host's Crawl-delay: the next request
    /// comes that much later. A run without a delay waits only for the end of a Retry-After.
    ///
    /// # Errors
    /// The time at which the gate opens.
    pub fn take(&self, now: Instant, delay: Duration) -> Result<(), Instant> {
        let at = self.micros(now);
        let closed = self.closed.load(Ordering::Acquire);
        if closed > at {
            return Err(self.instant(closed));
        }
        if delay.is_zero() {
            return Ok(());
        }
        let until = at.saturating_add(micros(delay));
        let taken = self
            .turn
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |next| {
                (next <= at).then_some(until)
            });
        taken.map(|_| ()).map_err(|next| self.instant(next))
    }

    /// Closes the gate for all that pass it until the time that the server requested.
    fn close_until(&self, until: Instant) {
        self.closed.fetch_max(self.micros(until), Ordering::AcqRel);
    }

    /// Counts a request that was made just now.
    fn space(&self, now: Instant, delay: Duration) {
        let until = self.micros(now).saturating_add(micros(delay));
        if !delay.is_zero() {
            self.turn.fetch_max(until, Ordering::AcqRel);
        }
    }

    /// Counts further requests, such as followed redirects.
    fn charge(&self, now: Instant, delay: Duration) {
        let (at, delay) = (self.micros(now), micros(delay));
        if delay > 0 {
            let _ = self
                .turn
                .fetch_update(Ordering::AcqRel, Ordering::Acquire, |next| {
                    Some(next.max(at).saturating_add(delay))
                });
        }
    }

    fn next(&self) -> Duration {
        let turn = self.turn.load(Ordering::Acquire);
        Duration::from_micros(turn.max(self.closed.load(Ordering::Acquire)))
    }

    fn micros(&self, instant: Instant) -> u64 {
        micros(instant.saturating_duration_since(self.started))
    }

    fn instant(&self, at: u64) -> Instant {
        self.started + Duration::from_micros(at)
    }
}

/// When one run may send the next request to one host.
#[derive(Debug)]
pub struct Turn {
    gate: Arc<Gate>,
    reach: Reach,
    /// The run's delay.
    own: Duration,
    state: Mutex<TurnState>,
}

#[derive(Debug)]
struct TurnState {
    /// The time of the run's next request.
    next: Instant,
    /// The host's Crawl-delay, if the run keeps it.
    asked: Duration,
}

impl Turn {
    /// The turn of a run whose own delay is `own`.
    fn new(gate: Arc<Gate>, reach: Reach, own: Duration) -> Self {
        let next = gate.started;
        Self {
            gate,
            reach,
            own,
            state: Mutex::new(TurnState {
                next,
                asked: Duration::ZERO,
            }),
        }
    }

    /// Takes the right to one request now.
    ///
    /// # Errors
    /// The time at which to try again.
    pub fn take(&self, now: Instant) -> Result<(), Instant> {
        let mut state = self.state.lock();
        if state.next > now {
            return Err(state.next);
        }
        self.gate.take(now, state.asked)?;
        state.next = now + self.own;
        Ok(())
    }

    /// Sets the Crawl-delay of the host's robots.txt.
    pub fn set_delay(&self, delay: Duration) {
        self.state.lock().asked = delay;
    }

    /// Sets the Crawl-delay of the host's robots.txt, and counts the request for that file as one of
    /// the run's. The Crawl-delay, which may be minutes, is between pages: the first one does not wait for it.
    pub fn ask(&self, delay: Duration, now: Instant) {
        let mut state = self.state.lock();
        state.asked = delay;
        state.next = state.next.max(now + self.own);
    }

    /// The host's Crawl-delay if the run keeps it, else zero.
    pub fn asked(&self) -> Duration {
        self.state.lock().asked
    }

    /// Counts further requests.
    pub fn charge(&self, now: Instant, requests: u32) {
        let mut state = self.state.lock();
        state.next = state.next.max(now) + self.own.saturating_mul(requests);
        self.gate.charge(now, state.asked.saturating_mul(requests));
    }

    /// Counts a request that was made just now, with a slot that all nodes share.
    pub fn shared_slot(&self, now: Instant) {
        let asked = self.asked();
        self.gate.space(now, asked + AFTER_OTHERS.min(asked / 16));
    }

    /// Records that other nodes reserved the host until `open`. Requests of this process, of any run,
    /// then wait until that time, too.
    pub fn taken_elsewhere(&self, open: Instant) {
        let asked = self.asked();
        if asked.is_zero() {
            self.gate.close_until(open);
        } else {
            self.gate.space(open, asked);
        }
    }

    /// Closes the host until the time that the server requested: for all runs, or for this one.
    pub fn close_until(&self, until: Instant) {
        match self.reach {
            Reach::All | Reach::Own => self.gate.close_until(until),
            Reach::OwnRetryAfter => {
                let mut state = self.state.lock();
                state.next = state.next.max(until);
            }
        }
    }
}

/// The turns of one run, by host.
#[derive(Debug)]
pub struct Turns {
    reach: Reach,
    own: Duration,
    by_host: Mutex<HashMap<String, Arc<Turn>>>,
}

impl Turns {
    /// The turns of a run whose own delay is `own`.
    pub fn new(reach: Reach, own: Duration) -> Self {
        Self {
            reach,
            own,
            by_host: Mutex::default(),
        }
    }

    /// Which runs the answers to this run's requests apply to.
    pub fn reach(&self) -> Reach {
        self.reach
    }

    /// The run's turn at a host (with its port).
    pub fn turn(&self, politeness: &Politeness, host: &str) -> Arc<Turn> {
        let mut turns = self.by_host.lock();
        if let Some(turn) = turns.get(host) {
            return Arc::clone(turn);
        }
        let gate = match self.reach {
            Reach::All | Reach::OwnRetryAfter => politeness.gate(host),
            Reach::Own => politeness.own_gate(),
        };
        let turn = Arc::new(Turn::new(gate, self.reach, self.own));
        turns.insert(host.to_owned(), Arc::clone(&turn));
        turn
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DELAY: Duration = Duration::from_millis(250);
    const HOUR: Duration = Duration::from_secs(3_600);

    fn turn(politeness: &Politeness, own: Duration) -> Arc<Turn> {
        turn_of(politeness, Reach::All, own)
    }

    fn turn_of(politeness: &Politeness, reach: Reach, own: Duration) -> Arc<Turn> {
        Turns::new(reach, own).turn(politeness, "e.org")
    }

    #[test]
    fn a_runs_own_delay_applies_to_that_run_only() {
        let politeness = Politeness::default();
        let (slow, quick) = (turn(&politeness, HOUR), turn(&politeness, DELAY));
        let now = politeness.started;
        assert_eq!(slow.take(now), Ok(()));
        slow.charge(now, 5);
        assert_eq!(slow.take(now + HOUR), Err(now + HOUR * 6));
        assert_eq!(quick.take(now), Ok(()));
        assert_eq!(quick.take(now), Err(now + DELAY));
        assert_eq!(quick.take(now + DELAY), Ok(()));
    }

    #[test]
    fn all_tasks_of_a_run_share_one_turn() {
        let (politeness, turns) = (Politeness::default(), Turns::new(Reach::All, DELAY));
        let now = politeness.started;
        assert_eq!(turns.turn(&politeness, "e.org").take(now), Ok(()));
        let again = turns.turn(&politeness, "e.org").take(now);
        assert_eq!(again, Err(now + DELAY));
        assert_eq!(turns.turn(&politeness, "f.org").take(now), Ok(()));
    }

    #[test]
    fn a_crawl_delay_is_shared_by_the_runs_that_keep_it() {
        let politeness = Politeness::default();
        let now = politeness.started;
        let turn = || turn(&politeness, Duration::ZERO);
        let (one, other, careless) = (turn(), turn(), turn());
        // The request for robots.txt does not make the first page wait.
        one.ask(DELAY, now);
        other.ask(DELAY, now);
        assert_eq!(one.take(now), Ok(()));
        for waits in [&one, &other] {
            assert_eq!(waits.take(now), Err(now + DELAY));
        }
        // Neither repeated attempts nor a new look at robots.txt extend the delay.
        one.ask(DELAY, now);
        let later = now + DELAY;
        assert_eq!(other.take(later), Ok(()));
        assert_eq!(one.take(later), Err(later + DELAY));
        assert_eq!(careless.take(later), Ok(()));
        assert_eq!(one.take(later + DELAY), Ok(()));
    }

    #[test]
    fn one_request_at_a_time_waits_for_the_turn_of_other_nodes() {
        let politeness = Politeness::default();
        let now = politeness.started;
        let turn = || turn(&politeness, Duration::ZERO);
        let (waits, other, careless) = (turn(), turn(), turn());
        for turn in [&waits, &other] {
            turn.ask(DELAY, now);
        }
        let first = now + DELAY;
        assert_eq!(waits.take(first), Ok(()));
        // Another node was first, and then again.
        for open in [first + DELAY, first + DELAY * 2] {
            waits.taken_elsewhere(open);
            assert_eq!(other.take(open), Err(open + DELAY));
        }
        assert_eq!(careless.take(first), Ok(()));
        // Then it has its turn, and lets others go first.
        let third = first + DELAY * 2;
        waits.shared_slot(third);
        let next = other.take(third + DELAY).expect_err("another node's turn");
        assert!(next > third + DELAY && next < third + DELAY * 2);
        // A Retry-After of which another node knows binds runs without a Crawl-delay, too.
        careless.taken_elsewhere(third + HOUR);
        assert_eq!(careless.take(third), Err(third + HOUR));
    }

    #[test]
    fn what_a_caller_may_have_caused_closes_its_own_run_alone() {
        let politeness = Politeness::default();
        let now = politeness.started;
        let plain = || turn(&politeness, Duration::ZERO);
        let shaped = turn_of(&politeness, Reach::OwnRetryAfter, Duration::ZERO);
        let proxied = turn_of(&politeness, Reach::Own, Duration::ZERO);
        for own in [&shaped, &proxied] {
            own.close_until(now + HOUR);
            assert_eq!(own.take(now), Err(now + HOUR));
            assert_eq!(plain().take(now), Ok(()));
        }
        // A proxy may answer with any Crawl-delay.
        proxied.ask(HOUR, now);
        let careful = plain();
        careful.ask(DELAY, now);
        assert_eq!(careful.take(now + DELAY), Ok(()));
        // A pause that the host asks of everybody binds a run with headers of its own, too.
        careful.close_until(now + HOUR * 2);
        assert_eq!(shaped.take(now + HOUR), Err(now + HOUR * 2));
    }

    #[test]
    fn only_a_run_that_is_like_any_other_speaks_for_its_host() {
        let reach = |change: fn(&mut CrawlSpec)| {
            let mut spec = CrawlSpec::new("https://e.org/");
            change(&mut spec);
            Reach::of(&spec)
        };
        assert_eq!(reach(|_| ()), Reach::All);
        assert_eq!(reach(|spec| spec.delay_ms = 0), Reach::All);
        let shaped: [fn(&mut CrawlSpec); 3] = [
            |spec| spec.headers = vec![("x-asked-for".to_owned(), "429".to_owned())],
            |spec| spec.cookies = Some("busy=1".to_owned()),
            |spec| spec.user_agent = Some("Unwanted/1".to_owned()),
        ];
        for change in shaped {
            assert_eq!(reach(change), Reach::OwnRetryAfter);
        }
        let proxied = reach(|spec| spec.proxy_url = Some("http://proxy.example/".to_owned()));
        assert_eq!(proxied, Reach::Own);
    }

    #[test]
    fn a_retry_after_closes_the_host_for_all_runs() {
        let politeness = Politeness::default();
        let now = politeness.started;
        let (one, other) = (turn(&politeness, DELAY), turn(&politeness, Duration::ZERO));
        assert_eq!(one.take(now), Ok(()));
        one.close_until(now + DELAY * 4);
        one.close_until(now);
        assert_eq!(other.take(now + DELAY), Err(now + DELAY * 4));
        assert_eq!(one.take(now + DELAY), Err(now + DELAY * 4));
        assert_eq!(other.take(now + DELAY * 4), Ok(()));
    }
}
