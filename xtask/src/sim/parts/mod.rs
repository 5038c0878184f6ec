//! The model of one run over many hosts, which other nodes help with.
//!
//! The run's worker opens one part after another as long as other nodes take them, places hosts at
//! the node with the fewest, and lends URLs. The worker of a part fetches and commits, and reports;
//! the run's worker reads the reports, which frees room for more. Two things are done for the
//! whole run one after another: the commits of pages, and the work of the run's worker.

mod event;
mod lending;
mod limiter;
mod outcome;
mod tending;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::costs::Costs;
use super::model::Cluster;
use super::queue::{AHEAD, Servers};
use super::random::Random;
use event::{Event, Kind};
use lending::{HERE, Lending, Turn};
use limiter::Limiter;
pub use outcome::Outcome;
use tending::Untaken;

/// How often a worker looks for what another one wrote, at most, in seconds.
const MIN_POLL_INTERVAL: f64 = 0.02;
/// How long a commit waits for more to write, in seconds.
const LINGER: f64 = 0.04;
/// Hosts that the run's worker looks at before it does something else, and when it goes on.
const MAX_IDLE: usize = 512;
const GO_ON: f64 = 0.05;
/// Most pages that are simulated one by one; beyond it each stands for several of its host.
const MAX_PAGES: f64 = 500_000.0;

/// The run.
pub struct OneRun {
    /// Pages of each host.
    pub pages: Vec<f64>,
    /// Requests at once that the client asked for, which the nodes divide among themselves. Without
    /// it, each node adapts its own to the answers, up to the cluster's `concurrency`.
    pub asked: Option<u64>,
    /// Runs of its own that each other node has besides. They cost nothing here.
    pub busy: usize,
}

/// A worker of the run.
struct Node {
    limiter: Limiter,
    open: u64,
    /// Of a part: hosts with lent URLs; the front one is fetched from next.
    turn: VecDeque<usize>,
    /// When it wakes next by itself.
    wake: f64,
    /// Until then, nothing new can be sent unless something comes.
    idle_until: f64,
}

struct Simulation<'a> {
    cluster: &'a Cluster,
    costs: &'a Costs,
    run: &'a OneRun,
    random: Random,
    events: BinaryHeap<Reverse<Event>>,
    planned: u64,
    lending: Lending,
    nodes: Vec<Node>,
    cores: Vec<Servers>,
    database: Servers,
    commits: Servers,
    worker: Servers,
    /// Parts that are open, and those of them that a node has taken: the first nodes after the own.
    parts: usize,
    taken: usize,
    untaken: Untaken,
    /// From when on there is room for one more part in the concurrency that the client asked for, if
    /// it is being made.
    shrunk: Option<f64>,
    sent: u64,
    done: u64,
    /// Hosts with pages that have no request yet.
    hosts_left: usize,
    /// Requests open, all nodes and times.
    open_time: f64,
    now: f64,
    end: f64,
    /// Since when too few hosts are left, and the shares in use until then.
    dry: Option<Outcome>,
}

/// Simulates the run.
pub fn simulate(cluster: &Cluster, costs: &Costs, run: &OneRun, seed: u64) -> Outcome {
    let all: f64 = run.pages.iter().sum();
    let stands_for = (all / MAX_PAGES).max(1.0);
    let pages: Vec<u64> = run
        .pages
        .iter()
        .map(|pages| (pages / stands_for).round().max(1.0) as u64)
        .collect();
    let total: u64 = pages.iter().sum();
    let nodes = cluster.nodes.max(1);
    let pools = if cluster.one_machine { 1 } else { nodes };
    let most = cluster.concurrency as u64;
    let node = || Node {
        limiter: Limiter::adapting(most),
        open: 0,
        turn: VecDeque::new(),
        wake: f64::INFINITY,
        idle_until: 0.0,
    };
    let mut simulation = Simulation {
        cluster,
        costs,
        run,
        random: Random::new(seed),
        events: BinaryHeap::new(),
        planned: 0,
        lending: Lending::new(nodes, &pages),
        nodes: (0..nodes).map(|_| node()).collect(),
        cores: (0..pools).map(|_| Servers::new(cluster.cores)).collect(),
        database: Servers::new(costs.database_cores),
        commits: Servers::new(1),
        worker: Servers::new(1),
        parts: 0,
        taken: 0,
        untaken: Untaken::default(),
        shrunk: None,
        sent: 0,
        done: 0,
        hosts_left: pages.len(),
        open_time: 0.0,
        now: costs.run,
        end: 0.0,
        dry: None,
    };
    simulation.divide(0);
    simulation.plan(costs.run, Kind::Tend);
    simulation.wake(HERE, costs.run);
    while simulation.done < total {
        let Some(Reverse(event)) = simulation.events.pop() else {
            break;
        };
        simulation.step(event);
    }
    let end = simulation.end;
    let until = simulation.dry.take();
    let used = until.unwrap_or_else(|| simulation.used(end));
    Outcome {
        // Everything takes as much longer as a page stands for more.
        seconds: end * (all / total.max(1) as f64).max(1.0),
        tail: 1.0 - used.seconds / end,
        ..used
    }
}

impl Simulation<'_> {
    fn plan(&mut self, at: f64, kind: Kind) {
        self.planned += 1;
        let number = self.planned;
        self.events.push(Reverse(Event { at, number, kind }));
    }

    fn step(&mut self, Event { at, kind, .. }: Event) {
        let open: u64 = self.nodes.iter().map(|node| node.open).sum();
        self.open_time += open as f64 * (at - self.now);
        self.now = at;
        match kind {
            Kind::Tend => self.tend(),
            Kind::Wake(node) => {
                // One that was planned before an earlier one took its place does nothing, or each
                // would plan the next.
                let Some(state) = self.nodes.get_mut(node).filter(|node| node.wake == at) else {
                    return;
                };
                state.wake = f64::INFINITY;
                state.idle_until = 0.0;
                self.launch(node);
            }
            Kind::Lent(node, hosts) => self.arrive(node, hosts),
            Kind::Answered(node, host, latency) => self.answered(node, host, latency),
            Kind::Worked(HERE, host) => {
                let done = self.work_of_run();
                self.plan(done, Kind::Taken(host));
            }
            Kind::Worked(node, host) => {
                let stored = self.commit();
                self.free(node, stored);
                self.plan(stored + LINGER, Kind::Reported(node, host));
            }
            Kind::Taken(host) => {
                let stored = self.commit();
                self.lending.came_back(host, HERE);
                self.done += 1;
                self.free(HERE, stored);
            }
            Kind::Freed(node) => self.freed(node),
            Kind::Reported(node, host) => {
                let done = self.work_of_run();
                self.plan(done, Kind::Read(node, host));
            }
            Kind::Read(node, host) => {
                self.lending.came_back(host, node);
                self.done += 1;
                self.end = self.end.max(at);
                // Reports are read some at a time, and then the worker sees what it can send.
                self.wake(HERE, at + MIN_POLL_INTERVAL);
            }
        }
    }

    fn answered(&mut self, node: usize, host: usize, latency: f64) {
        let now = self.now;
        if let Some(state) = self.nodes.get_mut(node) {
            state.limiter.answered(latency, now);
        }
        let costs = self.costs;
        let (pool, work) = if self.cluster.one_machine {
            (0, costs.cpu + costs.database + costs.beside)
        } else {
            (node, costs.cpu - costs.worker)
        };
        let done = self.cores.get_mut(pool).map(|pool| pool.take(now, work));
        self.plan(done.unwrap_or(now), Kind::Worked(node, host));
    }

    /// The run's worker takes what became of a page; when it is done.
    fn work_of_run(&mut self) -> f64 {
        let (now, work) = (self.now, self.costs.worker);
        // On one machine, the page's whole CPU was counted before. It does not wait behind the pages
        // of its node: those have threads of their own.
        if !self.cluster.one_machine
            && let Some(own) = self.cores.get_mut(HERE)
        {
            own.take(now, work);
        }
        self.worker.take(now, work)
    }

    /// A page is written; when it is stored.
    fn commit(&mut self) -> f64 {
        let now = self.now;
        let mut stored = self.commits.take(now, self.costs.ordered);
        if !self.cluster.one_machine {
            stored = stored.max(self.database.take(now, self.costs.database));
        }
        self.end = self.end.max(stored);
        stored
    }

    /// Frees a place among a node's requests: at once, unless too much waits to be written.
    fn free(&mut self, node: usize, stored: f64) {
        if stored - AHEAD <= self.now {
            self.freed(node);
        } else {
            self.plan(stored - AHEAD, Kind::Freed(node));
        }
    }

    fn freed(&mut self, node: usize) {
        if let Some(state) = self.nodes.get_mut(node) {
            state.open -= 1;
        }
        self.launch(node);
    }

    fn arrive(&mut self, node: usize, lent: Vec<usize>) {
        let Some(state) = self.nodes.get_mut(node) else {
            return;
        };
        for next in lent {
            if let Some(host) = self.lending.hosts.get_mut(next) {
                host.lent += 1;
                if host.lent == 1 {
                    state.turn.push_back(next);
                }
            }
        }
        state.idle_until = 0.0;
        self.launch(node);
    }

    fn wake(&mut self, node: usize, at: f64) {
        if let Some(state) = self.nodes.get_mut(node)
            && at < state.wake
        {
            state.wake = at;
            self.plan(at, Kind::Wake(node));
        }
    }

    fn has_room(&self, node: usize) -> bool {
        let node = self.nodes.get(node);
        node.is_some_and(|node| node.open < node.limiter.limit())
    }

    /// Sends what a node may send.
    fn launch(&mut self, node: usize) {
        if self
            .nodes
            .get(node)
            .is_some_and(|node| self.now < node.idle_until)
        {
            return;
        }
        let (next, is_idle) = if node == HERE {
            self.launch_here()
        } else {
            self.launch_there(node)
        };
        if is_idle && next.is_finite() {
            if let Some(state) = self.nodes.get_mut(node) {
                state.idle_until = next;
            }
            self.wake(node, next);
        }
    }

    /// As the run's worker does: sends requests, and lends. When to look again, and whether nothing
    /// more could be sent before.
    fn launch_here(&mut self) -> (f64, bool) {
        let now = self.now;
        self.lending.refill();
        let mut next = f64::INFINITY;
        let mut idle = 0;
        let mut lent: Vec<Vec<usize>> = vec![Vec::new(); self.nodes.len()];
        while idle < self.lending.turn.len().min(MAX_IDLE)
            && (self.has_room(HERE) || self.lending.has_room())
        {
            let Some(host) = self.lending.turn.pop_front() else {
                break;
            };
            idle += 1;
            let gate = self.lending.hosts.get(host).map_or(0.0, |host| host.gate);
            match self.lending.whose_turn(host, now) {
                Turn::Here if !self.has_room(HERE) => {}
                Turn::Here if gate > now => next = next.min(gate),
                Turn::Here => {
                    self.lending.take(host, HERE);
                    self.request(HERE, host);
                    idle = 0;
                }
                Turn::Lend(node) => {
                    self.lending.take(host, node);
                    if let Some(lent) = lent.get_mut(node) {
                        lent.push(host);
                    }
                    idle = 0;
                }
                Turn::At(at) => next = next.min(at),
                Turn::Waits => {}
            }
            if self
                .lending
                .hosts
                .get(host)
                .is_some_and(|host| host.window > 0)
            {
                self.lending.turn.push_back(host);
            }
        }
        for (node, hosts) in lent.into_iter().enumerate() {
            if !hosts.is_empty() {
                // Written, then seen by the other node.
                self.plan(now + LINGER + MIN_POLL_INTERVAL, Kind::Lent(node, hosts));
            }
        }
        let is_idle = idle > 0 && idle >= self.lending.turn.len().min(MAX_IDLE);
        // More can be read after a commit; a host may be free to move after a report.
        (
            next.min(now + GO_ON),
            is_idle || self.lending.turn.is_empty(),
        )
    }

    /// As the worker of a part does.
    fn launch_there(&mut self, node: usize) -> (f64, bool) {
        let mut next = f64::INFINITY;
        let mut idle = 0;
        while self.has_room(node) {
            let turn = self.nodes.get_mut(node).map(|node| &mut node.turn);
            let Some(turn) = turn.filter(|turn| idle < turn.len()) else {
                return (next, true);
            };
            let Some(id) = turn.pop_front() else {
                return (next, true);
            };
            let Some(host) = self.lending.hosts.get_mut(id) else {
                continue;
            };
            if host.gate > self.now {
                next = next.min(host.gate);
                idle += 1;
                turn.push_back(id);
                continue;
            }
            host.lent -= 1;
            if host.lent > 0 {
                turn.push_back(id);
            }
            self.request(node, id);
            idle = 0;
        }
        (next, false)
    }

    fn request(&mut self, node: usize, host: usize) {
        let now = self.now;
        if let Some(state) = self.nodes.get_mut(node) {
            state.open += 1;
        }
        self.sent += 1;
        if let Some(host) = self.lending.hosts.get_mut(host) {
            host.gate = now + self.cluster.delay;
            host.unsent -= 1;
            if host.unsent == 0 {
                self.hosts_left -= 1;
                // What the hosts that are left allow, against the pace so far.
                let allowed = self.hosts_left as f64 / self.cluster.delay;
                if self.dry.is_none() && allowed < self.sent as f64 / now {
                    self.dry = Some(self.used(now));
                }
            }
        }
        let cluster = self.cluster;
        let latency = self.random.log_normal(cluster.latency, cluster.spread);
        self.plan(now + latency, Kind::Answered(node, host, latency));
    }

    /// The shares in use until now.
    fn used(&self, now: f64) -> Outcome {
        let most = self
            .run
            .asked
            .unwrap_or_else(|| self.cluster.concurrency as u64 * self.nodes.len() as u64);
        let busiest = self.cores.iter().map(|pool| pool.busy).fold(0.0, f64::max);
        Outcome {
            seconds: now,
            nodes: self.taken + 1,
            requests: self.open_time / (now * most as f64),
            cpu: busiest / (now * self.cluster.cores as f64),
            database: self.database.busy / (now * self.costs.database_cores as f64),
            commits: self.commits.busy / now,
            worker: self.worker.busy / now,
            hosts: self.sent as f64 / now * self.cluster.delay / self.run.pages.len() as f64,
            tail: 0.0,
        }
    }
}

#[cfg(test)]
mod tests;
