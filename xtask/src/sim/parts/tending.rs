//! When the run asks for help, and how its concurrency is divided
//! (`host/crawl/src/run/lending/dividing.rs`).

use super::Simulation;
use super::event::Kind;
use super::lending::HERE;

/// Most parts of a run (`crawl.parts`), and hosts that it opens one for (`crawl.part_hosts`).
pub const PARTS: usize = 15;
const PART_HOSTS: usize = 16;
/// How often the run's worker looks at its parts, in seconds: soon after it opened one, and else.
const POLL_INTERVAL: f64 = 0.25;
const PART_CHECK_INTERVAL: f64 = 1.0;
/// How long nodes may go by an old share of the run's concurrency, in seconds (`crawl.lease_ms`).
const LEASE: f64 = 10.0;
/// How long a part waits for a node where its share of the run's concurrency is not used meanwhile, and how
/// long no help is asked for then, at first and at most, in seconds.
const PART_TIMEOUT: f64 = 3.0;
const IN_VAIN: f64 = 30.0;
const MAX_IN_VAIN: f64 = 300.0;

/// A part that no node takes.
#[derive(Debug, Default)]
pub(super) struct Untaken {
    since: Option<f64>,
    /// How often in a row there was one, and when help is asked for again.
    times: i32,
    ask_again: f64,
}

impl Simulation<'_> {
    /// Sees whether a node has taken the last part, and opens the next.
    pub(super) fn tend(&mut self) {
        let now = self.now;
        if self.parts > self.taken {
            let helps = self.run.busy < self.cluster.runs.div_ceil(2);
            if helps && self.taken + 1 < self.nodes.len() {
                self.taken += 1;
                self.untaken.times = 0;
                self.lending.join(self.taken);
                self.wake(HERE, now);
            } else if self.run.asked.is_none() {
                // It stays open, and no further one is opened.
                return;
            } else if now - *self.untaken.since.get_or_insert(now) < PART_TIMEOUT {
                return self.plan(now + POLL_INTERVAL, Kind::Tend);
            } else {
                self.close_untaken(now);
            }
        }
        let many = self.parts;
        self.lending.refill();
        let hosts = self.lending.turn.len();
        let limit = self.nodes.first().map_or(0, |own| own.limiter.limit());
        let wants = now >= self.untaken.ask_again
            && many < PARTS
            && hosts >= PART_HOSTS
            && hosts > many + 1
            && self.lending.len() > limit;
        let each = self.run.asked.map(|all| all / (many as u64 + 2));
        if !wants || each == Some(0) {
            if self.shrunk.take().is_some() {
                self.divide(many);
            }
            // Without anything else to come, looking again would not end.
            if !self.events.is_empty() {
                self.plan(now + PART_CHECK_INTERVAL, Kind::Tend);
            }
            return;
        }
        if each.is_some() {
            let open = self.nodes.first().map_or(0, |own| own.open);
            match self.shrunk {
                None => {
                    self.divide(many + 1);
                    self.shrunk = Some(if many > 0 { now + LEASE } else { now });
                    return self.plan(now + POLL_INTERVAL, Kind::Tend);
                }
                Some(ready) if now < ready || open > limit => {
                    return self.plan(now + POLL_INTERVAL, Kind::Tend);
                }
                Some(_) => self.shrunk = None,
            }
        }
        self.parts += 1;
        self.lending.has_parts = true;
        self.plan(now + POLL_INTERVAL, Kind::Tend);
    }

    fn close_untaken(&mut self, now: f64) {
        let pause = IN_VAIN * f64::from(self.untaken.times).exp2();
        self.untaken = Untaken {
            since: None,
            times: self.untaken.times + 1,
            ask_again: now + pause.min(MAX_IN_VAIN),
        };
        self.parts = self.taken;
        self.divide(self.parts);
        self.wake(HERE, now);
    }

    /// Divides the requests at once that the client asked for among the own node and so many parts.
    pub(super) fn divide(&mut self, parts: usize) {
        let Some(all) = self.run.asked else {
            return;
        };
        let each = (all / (parts as u64 + 1)).max(1);
        for (number, node) in self.nodes.iter_mut().enumerate() {
            node.limiter.fix(if number == HERE {
                all.saturating_sub(each * parts as u64)
            } else {
                each
            });
        }
    }
}
