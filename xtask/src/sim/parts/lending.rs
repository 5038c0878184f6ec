//! The hosts of a run, and which node crawls each (`host/crawl/src/run/lending`).

use std::collections::VecDeque;

/// From so many waiting URLs of the run's worker on, it reads no more from the database, and how
/// many it reads at once.
const ENOUGH: u64 = 2_048;
const REFILL: u64 = 512;
/// URLs lent to one part at a time.
const MAX_LENT: u64 = 512;
/// The same of one host, at least.
const LEAST_OF_HOST: u64 = 8;

/// The node of the run's worker.
pub const HERE: usize = 0;

/// A host of the run.
#[derive(Clone, Debug, Default)]
pub struct Host {
    /// URLs that had no request yet.
    pub unsent: u64,
    /// URLs that only the database has, that wait at the run's worker, and that wait at a part.
    pub unread: u64,
    pub window: u64,
    pub lent: u64,
    /// URLs that are being fetched, or are lent.
    pub under_way: u64,
    /// The node that crawls it.
    pub place: Option<usize>,
    /// No request before this time.
    pub gate: f64,
}

/// What a node has of the run.
#[derive(Clone, Debug, Default)]
struct Node {
    /// Whether it works on the run.
    works: bool,
    /// Hosts placed there, and URLs lent to it.
    hosts: usize,
    lent: u64,
}

/// Where a host's next URL is fetched.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Turn {
    Here,
    Lend(usize),
    /// Not before this time, because the host moves to another node.
    At(f64),
    Waits,
}

/// All hosts and nodes.
pub struct Lending {
    pub hosts: Vec<Host>,
    nodes: Vec<Node>,
    /// Hosts with URLs that only the database has, in the order in which these are read. Links to
    /// different hosts are found in turn, and lists of many hosts are assumed to be mixed.
    unread: VecDeque<usize>,
    /// Hosts with URLs at the run's worker; the front one is fetched from next.
    pub turn: VecDeque<usize>,
    window: u64,
    /// Whether the run has a part, even one that no node has taken.
    pub has_parts: bool,
}

impl Lending {
    pub fn new(nodes: usize, pages: &[u64]) -> Self {
        let hosts = pages.iter().map(|&unread| Host {
            unsent: unread,
            unread,
            ..Host::default()
        });
        let mut nodes = vec![Node::default(); nodes.max(1)];
        if let Some(own) = nodes.get_mut(HERE) {
            own.works = true;
        }
        Self {
            hosts: hosts.collect(),
            nodes,
            unread: (0..pages.len()).collect(),
            turn: VecDeque::new(),
            window: 0,
            has_parts: false,
        }
    }

    /// Reads URLs from the database while there is room.
    pub fn refill(&mut self) {
        while self.window <= ENOUGH && !self.unread.is_empty() {
            for _ in 0..REFILL {
                let Some(next) = self.unread.pop_front() else {
                    break;
                };
                let Some(host) = self.hosts.get_mut(next) else {
                    continue;
                };
                host.unread -= 1;
                host.window += 1;
                self.window += 1;
                if host.window == 1 {
                    self.turn.push_back(next);
                }
                if host.unread > 0 {
                    self.unread.push_back(next);
                }
            }
        }
    }

    /// URLs at the run's worker.
    pub const fn len(&self) -> u64 {
        self.window
    }

    /// A node takes a part.
    pub fn join(&mut self, node: usize) {
        if let Some(node) = self.nodes.get_mut(node) {
            node.works = true;
        }
    }

    /// Whether a part can take another URL.
    pub fn has_room(&self) -> bool {
        let mut parts = self.nodes.iter().skip(HERE + 1);
        parts.any(|part| part.works && part.lent < MAX_LENT)
    }

    fn hosts_at(&self, node: usize) -> usize {
        self.nodes.get(node).map_or(usize::MAX, |node| node.hosts)
    }

    fn emptiest(&self) -> usize {
        let working = self.nodes.iter().enumerate().filter(|(_, node)| node.works);
        // The run's own node comes first among those with as many.
        let best = working.min_by_key(|(_, node)| node.hosts);
        best.map_or(HERE, |(node, _)| node)
    }

    /// Where a host's next URL is fetched. Places the host, or moves it.
    pub fn whose_turn(&mut self, host: usize, now: f64) -> Turn {
        if !self.has_parts {
            return Turn::Here;
        }
        let best = self.emptiest();
        let Some(known) = self.hosts.get(host) else {
            return Turn::Waits;
        };
        let (under_way, gate) = (known.under_way, known.gate);
        let mut place = known.place;
        if place.is_none() && under_way > 0 {
            // From before there were parts.
            self.place(host, HERE);
            place = Some(HERE);
        }
        let is_better = self.hosts_at(best) + 1 < self.hosts_at(place.unwrap_or(HERE));
        if is_better && under_way > 0 {
            return Turn::Waits;
        }
        if place.is_none() || is_better {
            if best != HERE && gate > now {
                return Turn::At(gate);
            }
            self.place(host, best);
            place = Some(best);
        }
        match place {
            Some(node) if node != HERE => {
                let lent = self.nodes.get(node).map_or(u64::MAX, |node| node.lent);
                let of_host = (MAX_LENT / self.hosts_at(node).max(1) as u64).max(LEAST_OF_HOST);
                if lent < MAX_LENT && under_way < of_host {
                    Turn::Lend(node)
                } else {
                    Turn::Waits
                }
            }
            _ => Turn::Here,
        }
    }

    fn place(&mut self, host: usize, to: usize) {
        let Some(known) = self.hosts.get_mut(host) else {
            return;
        };
        if let Some(from) = known
            .place
            .replace(to)
            .and_then(|from| self.nodes.get_mut(from))
        {
            from.hosts -= 1;
        }
        if let Some(to) = self.nodes.get_mut(to) {
            to.hosts += 1;
        }
    }

    /// Takes a host's next URL from the run's worker, for this node.
    pub fn take(&mut self, host: usize, node: usize) {
        let Some(known) = self.hosts.get_mut(host) else {
            return;
        };
        known.window -= 1;
        known.under_way += 1;
        self.window -= 1;
        if node != HERE
            && let Some(part) = self.nodes.get_mut(node)
        {
            part.lent += 1;
        }
    }

    /// Notes that what became of a URL is known. A host with nothing left has no place.
    pub fn came_back(&mut self, host: usize, node: usize) {
        if node != HERE
            && let Some(part) = self.nodes.get_mut(node)
        {
            part.lent -= 1;
        }
        let Some(known) = self.hosts.get_mut(host) else {
            return;
        };
        known.under_way -= 1;
        if known.under_way == 0
            && known.window == 0
            && let Some(from) = known.place.take().and_then(|from| self.nodes.get_mut(from))
        {
            from.hosts -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives every waiting host its turn once.
    fn turns(lending: &mut Lending, now: f64) -> Vec<Turn> {
        let hosts: Vec<usize> = lending.turn.iter().copied().collect();
        hosts
            .into_iter()
            .map(|host| lending.whose_turn(host, now))
            .collect()
    }

    fn lending(nodes: usize, pages: &[u64]) -> Lending {
        let mut lending = Lending::new(nodes, pages);
        lending.refill();
        lending
    }

    #[test]
    fn hosts_go_to_the_emptiest_node_that_works() {
        let mut lending = lending(3, &[5; 6]);
        assert_eq!(turns(&mut lending, 0.0), [Turn::Here; 6]);
        lending.has_parts = true;
        lending.join(1);
        // Nothing is lent to a node that has taken no part.
        let (here, lend) = (Turn::Here, Turn::Lend(1));
        assert_eq!(
            turns(&mut lending, 0.0),
            [here, lend, here, lend, here, lend]
        );
        lending.join(2);
        let moved = turns(&mut lending, 0.0);
        for place in [Turn::Here, Turn::Lend(1), Turn::Lend(2)] {
            assert_eq!(moved.iter().filter(|&&turn| turn == place).count(), 2);
        }
    }

    #[test]
    fn a_host_moves_when_nothing_of_it_is_under_way_and_its_turn_has_come() {
        let mut lending = lending(2, &[5, 5]);
        lending.take(0, HERE);
        lending.take(1, HERE);
        lending.has_parts = true;
        lending.join(1);
        assert_eq!(lending.whose_turn(0, 0.0), Turn::Here);
        assert_eq!(lending.whose_turn(1, 0.0), Turn::Waits);
        lending.came_back(1, HERE);
        lending.hosts[1].gate = 2.0;
        assert_eq!(lending.whose_turn(1, 1.0), Turn::At(2.0));
        assert_eq!(lending.whose_turn(1, 2.0), Turn::Lend(1));
    }

    #[test]
    fn a_part_holds_no_more_than_it_may() {
        let mut lending = lending(2, &[2_000, 2_000]);
        lending.has_parts = true;
        lending.join(1);
        assert_eq!(turns(&mut lending, 0.0), [Turn::Here, Turn::Lend(1)]);
        for _ in 0..MAX_LENT {
            assert_eq!(lending.whose_turn(1, 0.0), Turn::Lend(1));
            lending.take(1, 1);
        }
        assert_eq!(lending.whose_turn(1, 0.0), Turn::Waits);
        assert!(!lending.has_room());
        lending.came_back(1, 1);
        assert_eq!(lending.whose_turn(1, 0.0), Turn::Lend(1));
    }
}
