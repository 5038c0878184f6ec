//! The result of a simulated run.

/// What may bind the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    Hosts,
    Database,
    Commits,
    Worker,
    Cpu,
    Requests,
}

impl Limit {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hosts => "the hosts, each at its pace",
            Self::Database => "CPU of the database",
            Self::Commits => "the order of the run's commits",
            Self::Worker => "the run's worker",
            Self::Cpu => "CPU of a node",
            Self::Requests => "requests of a node at once",
        }
    }
}

/// The result.
#[derive(Debug)]
pub struct Outcome {
    /// Time until the last page is stored and counted.
    pub seconds: f64,
    /// Nodes that work on the run.
    pub nodes: usize,
    /// Shares that were in use while hosts were not what was missing: requests at once, cores of
    /// the busiest node, database, commits, the run's worker, and what all hosts' delays allow.
    pub requests: f64,
    pub cpu: f64,
    pub database: f64,
    pub commits: f64,
    pub worker: f64,
    pub hosts: f64,
    /// Share of the time in which too few hosts were left to keep the pace.
    pub tail: f64,
}

impl Outcome {
    /// What binds: the last queue that is full.
    pub fn bound(&self) -> Limit {
        if self.tail > 0.5 || self.hosts > 0.9 {
            return Limit::Hosts;
        }
        let shares = [
            (Limit::Database, self.database),
            (Limit::Commits, self.commits),
            (Limit::Worker, self.worker),
            (Limit::Cpu, self.cpu),
        ];
        let full = shares.into_iter().find(|&(_, share)| share > 0.9);
        full.map_or(Limit::Requests, |(limit, _)| limit)
    }
}
