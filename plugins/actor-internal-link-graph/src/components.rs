//! Connected components, and clusters that are not reachable.

use crate::graph::Graph;

/// Disjoint sets (union by size, path halving).
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

/// Clusters of nodes.
#[derive(Debug, Default)]
pub struct Clusters {
    /// Nodes of each cluster, ascending.
    groups: Vec<Vec<u32>>,
}

impl Clusters {
    /// The clusters, largest first, then by their first node.
    pub fn by_size(&self) -> impl Iterator<Item = &[u32]> {
        self.groups.iter().map(Vec::as_slice)
    }
}

/// The nodes that are not reachable from `seed`, in clusters connected by edges in any direction.
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

/// Which nodes are reachable from `seed`; without a seed, which have an incoming edge.
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
