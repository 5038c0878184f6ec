//! The graph as flat arrays: 100,000 pages and 5 million edges are 40 MB.

/// Edges by target, and out-degrees (compressed sparse rows).
#[derive(Debug, Default)]
pub struct Graph {
    /// Start of each node's sources; one element more than nodes.
    starts: Vec<u32>,
    /// Sources of edges, by target, ascending.
    sources: Vec<u32>,
    /// Out-degree of each node.
    out: Vec<u32>,
}

impl Graph {
    /// Creates a graph with `nodes` nodes and the edges `from[i]` to `to[i]`. Repeated edges count
    /// once; edges from a node to itself or to an unknown node do not count.
    pub fn new(nodes: usize, from: &[u32], to: &[u32]) -> Self {
        let edges = || {
            let pairs = from.iter().copied().zip(to.iter().copied());
            pairs.filter(|(from, to)| {
                from != to && (*from as usize) < nodes && (*to as usize) < nodes
            })
        };
        let mut starts = counts(nodes, edges().map(|(_, to)| to));
        let mut next = starts.clone();
        let mut sources = vec![0_u32; starts.last().map_or(0, |end| *end as usize)];
        for (from, to) in edges() {
            if let Some(place) = next.get_mut(to as usize) {
                if let Some(slot) = sources.get_mut(*place as usize) {
                    *slot = from;
                }
                *place += 1;
            }
        }
        let mut out = vec![0_u32; nodes];
        // Sorted and deduplicated in place: the write position never passes the read position.
        let mut kept = 0;
        for node in 0..nodes {
            let (Some(&start), Some(&end)) = (starts.get(node), starts.get(node + 1)) else {
                break;
            };
            if let Some(row) = sources.get_mut(start as usize..end as usize) {
                row.sort_unstable();
            }
            if let Some(slot) = starts.get_mut(node) {
                *slot = kept;
            }
            let mut last = None;
            for place in start..end {
                let Some(&source) = sources.get(place as usize) else {
                    break;
                };
                if last == Some(source) {
                    continue;
                }
                last = Some(source);
                if let Some(slot) = sources.get_mut(kept as usize) {
                    *slot = source;
                }
                if let Some(degree) = out.get_mut(source as usize) {
                    *degree += 1;
                }
                kept += 1;
            }
        }
        if let Some(end) = starts.last_mut() {
            *end = kept;
        }
        sources.truncate(kept as usize);
        sources.shrink_to_fit();
        Self {
            starts,
            sources,
            out,
        }
    }

    /// Number of nodes; they are numbered from 0.
    pub fn nodes(&self) -> u32 {
        self.out.len() as u32
    }

    /// Number of edges.
    pub fn edges(&self) -> u64 {
        self.sources.len() as u64
    }

    /// The nodes with an edge to this one, ascending.
    pub fn sources(&self, node: u32) -> &[u32] {
        let node = node as usize;
        match (self.starts.get(node), self.starts.get(node + 1)) {
            (Some(&start), Some(&end)) => self
                .sources
                .get(start as usize..end as usize)
                .unwrap_or_default(),
            _ => &[],
        }
    }

    /// Number of edges to this node.
    pub fn in_degree(&self, node: u32) -> u32 {
        self.sources(node).len() as u32
    }

    /// Number of edges from this node.
    pub fn out_degree(&self, node: u32) -> u32 {
        self.out.get(node as usize).copied().unwrap_or(0)
    }

    /// Every edge as source and target.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32)> {
        (0..self.nodes()).flat_map(|node| self.sources(node).iter().map(move |from| (*from, node)))
    }

    /// The targets of every node in the same form: the start of each node's targets, and all
    /// targets.
    pub fn targets(&self) -> (Vec<u32>, Vec<u32>) {
        let starts = counts(self.out.len(), self.iter().map(|(from, _)| from));
        let mut next = starts.clone();
        let mut targets = vec![0_u32; self.sources.len()];
        for (from, to) in self.iter() {
            if let Some(place) = next.get_mut(from as usize) {
                if let Some(slot) = targets.get_mut(*place as usize) {
                    *slot = to;
                }
                *place += 1;
            }
        }
        (starts, targets)
    }
}

/// Start of each node's part, given the `keys` of all elements; one element more than nodes.
fn counts(nodes: usize, keys: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut starts = vec![0_u32; nodes + 1];
    for key in keys {
        if let Some(count) = starts.get_mut(key as usize + 1) {
            *count += 1;
        }
    }
    let mut sum = 0;
    for start in &mut starts {
        sum += *start;
        *start = sum;
    }
    starts
}
