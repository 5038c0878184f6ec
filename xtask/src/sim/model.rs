//! The model: nodes with runs and cores, sites with answer times and delays, one database.
//!
//! A site is crawled by one run, on one node. The run fetches its first page alone, for the links;
//! from then on as many at a time as its concurrency, and no faster than the delay allows. An
//! answer waits for a core of its node, and its rows wait for the database. Places of a node that
//! become free take the next site. Queues are first come, first served.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use super::costs::Costs;
use super::queue::{AHEAD, Servers};
use super::random::Random;
use super::sites::Sites;

/// The nodes, and how they crawl.
#[derive(Clone, Debug)]
pub struct Cluster {
    pub nodes: usize,
    /// Cores of a node; of all together on one machine.
    pub cores: usize,
    /// Whether nodes, database and sites share one machine's cores.
    pub one_machine: bool,
    /// Runs of a node at the same time.
    pub runs: usize,
    /// Requests of a run at the same time.
    pub concurrency: usize,
    /// Least time between two requests of a run, in seconds.
    pub delay: f64,
    /// Median answer time, in seconds, and its spread (log-normal).
    pub latency: f64,
    pub spread: f64,
}

/// What may bind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    Slots,
    Cpu,
    Database,
    Sites,
}

impl Resource {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Slots => "runs at once, each at its site's pace",
            Self::Cpu => "CPU of the nodes",
            Self::Database => "CPU of the database",
            Self::Sites => "the largest sites",
        }
    }
}

/// The result.
#[derive(Debug)]
pub struct Outcome {
    /// Time until the last page is stored.
    pub seconds: f64,
    /// Shares of the places, cores and database that were in use while sites waited.
    used: [f64; 3],
    /// Share of the time in which no site waited any more.
    tail: f64,
}

impl Outcome {
    pub const fn share(&self, resource: Resource) -> f64 {
        match resource {
            Resource::Slots => self.used[0],
            Resource::Cpu => self.used[1],
            Resource::Database => self.used[2],
            Resource::Sites => self.tail,
        }
    }

    /// What binds: the last queue that is full.
    pub fn bound(&self) -> Resource {
        if self.tail > 0.5 {
            return Resource::Sites;
        }
        let full = [Resource::Database, Resource::Cpu];
        let full = full.into_iter().find(|&full| self.share(full) > 0.9);
        full.unwrap_or(Resource::Slots)
    }
}

/// A crawl of one site, on one node.
struct Run {
    node: usize,
    /// Pages that have no request yet, and requests without an answer.
    waiting: u64,
    open: u64,
    /// No request before this time.
    gate: f64,
    since: f64,
}

/// An event: something becomes due for a run.
#[derive(PartialEq)]
struct Event {
    at: f64,
    run: usize,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The first request may be sent.
    Started,
    /// An answer is here.
    Answered,
    /// A page's work on its node is done.
    Worked,
    /// Its place among the requests is free.
    Freed,
}

impl Eq for Event {}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Event {
    fn cmp(&self, other: &Self) -> Ordering {
        self.at.total_cmp(&other.at).then(self.run.cmp(&other.run))
    }
}

struct Simulation<'a> {
    cluster: &'a Cluster,
    costs: &'a Costs,
    random: Random,
    events: BinaryHeap<Reverse<Event>>,
    runs: Vec<Run>,
    cores: Vec<Servers>,
    database: Servers,
    /// Time of runs in their places.
    placed: f64,
    end: f64,
}

/// Simulates a crawl of all sites.
pub fn simulate(cluster: &Cluster, costs: &Costs, sites: &Sites, seed: u64) -> Outcome {
    let pools = if cluster.one_machine {
        1
    } else {
        cluster.nodes
    };
    let mut simulation = Simulation {
        cluster,
        costs,
        random: Random::new(seed),
        events: BinaryHeap::new(),
        runs: Vec::new(),
        cores: (0..pools).map(|_| Servers::new(cluster.cores)).collect(),
        database: Servers::new(costs.database_cores),
        placed: 0.0,
        end: 0.0,
    };
    let mut queue = sites.pages.iter().map(|pages| pages.round() as u64);
    for place in 0..cluster.runs * cluster.nodes {
        if let Some(pages) = queue.next() {
            simulation.start(place % cluster.nodes, pages, 0.0);
        }
    }
    // When no site waits any more; what was in use until then.
    let mut dry = None;
    while let Some(Reverse(event)) = simulation.events.pop() {
        let Some(free) = simulation.step(&event) else {
            continue;
        };
        match queue.next() {
            Some(pages) => simulation.start(free, pages, event.at),
            None if dry.is_none() => dry = Some((event.at, simulation.used(event.at))),
            None => {}
        }
    }
    let end = simulation.end;
    let (dry, used) = dry.unwrap_or_else(|| (end, simulation.used(end)));
    // Sites that stand for several make the queue longer, not the last sites.
    let seconds = dry * sites.weight + (end - dry);
    Outcome {
        seconds,
        used,
        tail: (end - dry) / seconds,
    }
}

impl Simulation<'_> {
    /// A run takes a place of a node.
    fn start(&mut self, node: usize, pages: u64, now: f64) {
        let run = self.runs.len();
        self.runs.push(Run {
            node,
            waiting: pages.max(1),
            open: 0,
            gate: 0.0,
            since: now,
        });
        self.events.push(Reverse(Event {
            at: now + self.costs.run,
            run,
            kind: Kind::Started,
        }));
    }

    /// Handles an event; returns the node whose place became free.
    fn step(&mut self, event: &Event) -> Option<usize> {
        let Event { at, run, kind } = *event;
        let node = self.runs.get(run)?.node;
        match kind {
            Kind::Started => self.request(run, at, 1),
            Kind::Answered => {
                let (pool, work) = if self.cluster.one_machine {
                    (0, self.costs.cpu + self.costs.database + self.costs.beside)
                } else {
                    (node, self.costs.cpu)
                };
                let done = self.cores.get_mut(pool)?.take(at, work);
                self.events.push(Reverse(Event {
                    at: done,
                    run,
                    kind: Kind::Worked,
                }));
            }
            Kind::Worked => {
                let stored = if self.cluster.one_machine {
                    at
                } else {
                    self.database.take(at, self.costs.database)
                };
                self.end = self.end.max(stored);
                // A node does not wait for the database until too much waits to be written.
                if stored - AHEAD <= at {
                    return self.freed(run, at);
                }
                self.events.push(Reverse(Event {
                    at: stored - AHEAD,
                    run,
                    kind: Kind::Freed,
                }));
            }
            Kind::Freed => return self.freed(run, at),
        }
        None
    }

    /// A place among a run's requests is free; returns the node if it was the run's last.
    fn freed(&mut self, run: usize, now: f64) -> Option<usize> {
        let state = self.runs.get_mut(run)?;
        state.open -= 1;
        if state.waiting == 0 && state.open == 0 {
            self.placed += now - state.since;
            return Some(state.node);
        }
        self.request(run, now, self.cluster.concurrency as u64);
        None
    }

    /// Sends as many requests as may be open.
    fn request(&mut self, run: usize, now: f64, most: u64) {
        let Some(state) = self.runs.get_mut(run) else {
            return;
        };
        while state.waiting > 0 && state.open < most {
            state.waiting -= 1;
            state.open += 1;
            let sent = now.max(state.gate);
            state.gate = sent + self.cluster.delay;
            let latency = self
                .random
                .log_normal(self.cluster.latency, self.cluster.spread);
            self.events.push(Reverse(Event {
                at: sent + latency,
                run,
                kind: Kind::Answered,
            }));
        }
    }

    /// The shares of places, cores and database that were in use until now.
    fn used(&self, now: f64) -> [f64; 3] {
        let cores: f64 = self.cores.iter().map(|pool| pool.busy).sum();
        let open: f64 = self
            .runs
            .iter()
            .filter(|run| run.waiting > 0 || run.open > 0)
            .map(|run| now - run.since)
            .sum();
        let places = (self.cluster.nodes * self.cluster.runs) as f64;
        [
            (self.placed + open) / (now * places),
            cores / (now * (self.cores.len() * self.cluster.cores) as f64),
            self.database.busy / (now * self.costs.database_cores as f64),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::super::costs::tests::costs;
    use super::*;

    fn cluster(nodes: usize) -> Cluster {
        Cluster {
            nodes,
            cores: 1,
            one_machine: false,
            runs: 4,
            concurrency: 2,
            delay: 0.0,
            latency: 0.1,
            spread: 0.0,
        }
    }

    #[test]
    fn sites_that_answer_slowly_bind_until_nodes_are_added() {
        let sites = Sites::even(64.0, 6_400.0);
        let one = simulate(&cluster(1), &costs(), &sites, 1);
        // Four runs, two requests each, a tenth of a second each: about 80 pages a second.
        assert!((one.seconds - 80.0).abs() < 5.0, "{one:?}");
        assert_eq!(one.bound(), Resource::Slots);
        let four = simulate(&cluster(4), &costs(), &sites, 1);
        let ratio = one.seconds / four.seconds;
        assert!((3.8..=4.01).contains(&ratio), "{ratio}");
    }

    #[test]
    fn the_delay_between_two_requests_holds() {
        let polite = Cluster {
            delay: 0.5,
            ..cluster(1)
        };
        let outcome = simulate(&polite, &costs(), &Sites::even(1.0, 100.0), 1);
        assert!((outcome.seconds - 49.6).abs() < 0.5, "{outcome:?}");
    }

    #[test]
    fn a_full_core_or_database_binds() {
        let sites = Sites::even(64.0, 64_000.0);
        let quick = Cluster {
            latency: 0.001,
            runs: 16,
            ..cluster(1)
        };
        let outcome = simulate(&quick, &costs(), &sites, 1);
        assert_eq!(outcome.bound(), Resource::Cpu);
        assert!((outcome.seconds - 64.0).abs() < 2.0, "{outcome:?}");
        let slow_database = Costs {
            database: 0.01,
            ..costs()
        };
        let outcome = simulate(&quick, &slow_database, &sites, 1);
        assert!(outcome.seconds > 150.0, "{outcome:?}");
        assert_eq!(outcome.bound(), Resource::Database);
    }

    #[test]
    fn sites_that_stand_for_several_make_the_crawl_longer() {
        let one = Sites::even(400.0, 40_000.0);
        let ten = Sites {
            pages: one.pages.clone(),
            weight: 10.0,
        };
        let once = simulate(&cluster(1), &costs(), &one, 1).seconds;
        let often = simulate(&cluster(1), &costs(), &ten, 1).seconds;
        assert!((often / once / 10.0 - 1.0).abs() < 0.05, "{once} {often}");
    }
}
