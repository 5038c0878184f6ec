//! Which pages hang together, and which hang in the air.

use crate::graph::Graph;

/// Sets that are joined (union by size, paths halved).
struct Sets {
    parent: Vec<u32>,
    size: Vec<u32>,
}

impl Sets {
    fn new(nodes: u32) -> Self {
        Self {
            parent: (0..nodes).collect(),
            size: vec![1; nodes as usize],
        }
    }

    fn parent(&self, node: u32) -> u32 {
        self.parent.get(node as usize).copied().unwrap_or(node)
    }

    fn root(&mut self, mut node: u32) -> u32 {
        while self.parent(node) != node {
            let grandparent = self.parent(self.parent(node));
            if let Some(slot) = self.parent.get_mut(node as usize) {
                *slot = grandparent;
            }
            node = grandparent;
        }
        node
    }

    fn join(&mut self, one: u32, other: u32) {
        let (one, other) = (self.root(one), self.root(other));
        if one == other {
            return;
        }
        let size = |node: u32| self.size.get(node as usize).copied().unwrap_or(0);
        let (large, small) = if size(one) < size(other) {
            (other, one)
        } else {
            (one, other)
        };
        let sum = size(large) + size(small);
        if let Some(slot) = self.parent.get_mut(small as usize) {
            *slot = large;
        }
        if let Some(slot) = self.size.get_mut(large as usize) {
            *slot = sum;
        }
    }
}

/// Number of weakly connected components.
pub fn count(graph: &Graph) -> u32 {
    let mut sets = Sets::new(graph.nodes());
    for (from, to) in graph.iter() {
        sets.join(from, to);
    }
    (0..graph.nodes())
        .filter(|node| sets.parent(*node) == *node)
        .count() as u32
}

/// Groups of nodes.
#[derive(Debug, Default)]
pub struct Clusters {
    /// Each group's nodes, ascending.
    groups: Vec<Vec<u32>>,
}

impl Clusters {
    /// The groups, largest first, then by their first node.
    pub fn by_size(&self) -> impl Iterator<Item = &[u32]> {
        self.groups.iter().map(Vec::as_slice)
    }
}

/// The nodes that no path of edges reaches from `seed`, in groups of those that edges
/// between them connect, whichever way these go.
pub fn clusters(graph: &Graph, seed: Option<u32>) -> Clusters {
    let reached = reached(graph, seed);
    let lost = |node: u32| !reached.get(node as usize).copied().unwrap_or(true);
    let mut sets = Sets::new(graph.nodes());
    for (from, to) in graph.iter() {
        if lost(from) && lost(to) {
            sets.join(from, to);
        }
    }
    let mut members: Vec<(u32, u32)> = (0..graph.nodes())
        .filter(|node| lost(*node))
        .map(|node| (sets.root(node), node))
        .collect();
    members.sort_unstable();
    let mut groups: Vec<Vec<u32>> = members
        .chunk_by(|a, b| a.0 == b.0)
        .map(|group| group.iter().map(|(_, node)| *node).collect())
        .collect();
    groups.sort_by_key(|group| (std::cmp::Reverse(group.len()), group.first().copied()));
    Clusters { groups }
}

/// Which nodes paths of edges reach from `seed`; without one, which have an edge to them.
fn reached(graph: &Graph, seed: Option<u32>) -> Vec<bool> {
    let Some(seed) = seed else {
        return (0..graph.nodes())
            .map(|node| graph.in_degree(node) > 0)
            .collect();
    };
    let (starts, targets) = graph.targets();
    let mut reached = vec![false; graph.nodes() as usize];
    let mut waiting = vec![seed];
    if let Some(slot) = reached.get_mut(seed as usize) {
        *slot = true;
    }
    while let Some(node) = waiting.pop() {
        let start = starts.get(node as usize).copied().unwrap_or(0) as usize;
        let end = starts.get(node as usize + 1).copied().unwrap_or(0) as usize;
        for target in targets.get(start..end).unwrap_or_default() {
            if let Some(slot) = reached.get_mut(*target as usize).filter(|slot| !**slot) {
                *slot = true;
                waiting.push(*target);
            }
        }
    }
    reached
}
