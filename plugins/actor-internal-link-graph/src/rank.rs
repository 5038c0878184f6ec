//! PageRank.

use crate::graph::Graph;

/// Share of a page's rank that its links pass on.
pub const DAMPING: f64 = 0.85;
/// Iteration ends when the sum of all changes is below this. The remaining error, summed over all
/// pages, is at most 0.85 / 0.15 times as large.
pub const TOLERANCE: f64 = 1e-8;
/// Most iterations: 0.85 to this power is far below the tolerance.
pub const MAX_ITERATIONS: u64 = 200;

/// The ranks of all nodes.
#[derive(Debug, Default)]
pub struct Rank {
    /// Rank by node; their sum is 1.
    pub scores: Vec<f64>,
    /// Number of iterations.
    pub iterations: u64,
    /// Whether the change fell below the tolerance.
    pub converged: bool,
}

/// Computes PageRank by power iteration from equal ranks. The rank of nodes without outgoing edges
/// is spread over all nodes.
pub fn pagerank(graph: &Graph) -> Rank {
    let nodes = graph.nodes();
    if nodes == 0 {
        return Rank {
            converged: true,
            ..Rank::default()
        };
    }
    let share = 1.0 / f64::from(nodes);
    let mut scores = vec![share; nodes as usize];
    let mut next = scores.clone();
    // The rank that a node passes to each of its targets.
    let mut gifts = vec![0.0; nodes as usize];
    for iteration in 1..=MAX_ITERATIONS {
        let mut dangling = 0.0;
        for ((gift, score), node) in gifts.iter_mut().zip(&scores).zip(0..nodes) {
            match graph.out_degree(node) {
                0 => dangling += score,
                degree => *gift = score / f64::from(degree),
            }
        }
        let base = (1.0 - DAMPING) * share + DAMPING * dangling * share;
        let mut change = 0.0;
        for ((new, old), node) in next.iter_mut().zip(&scores).zip(0..nodes) {
            let given: f64 = graph
                .sources(node)
                .iter()
                .map(|source| gifts.get(*source as usize).copied().unwrap_or(0.0))
                .sum();
            *new = base + DAMPING * given;
            change += (*new - old).abs();
        }
        std::mem::swap(&mut scores, &mut next);
        if change < TOLERANCE {
            return Rank {
                scores,
                iterations: iteration,
                converged: true,
            };
        }
    }
    Rank {
        scores,
        iterations: MAX_ITERATIONS,
        converged: false,
    }
}
