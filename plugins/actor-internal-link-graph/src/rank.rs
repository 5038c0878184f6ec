//! PageRank.

use crate::graph::Graph;

/// The share of a page's rank that its links pass on.
pub const DAMPING: f64 = 0.85;
/// Iteration ends when the sum of all changes is below this. What is left of the error is
/// at most 0.85 / 0.15 times as much, over all pages together.
pub const TOLERANCE: f64 = 1e-8;
/// Iterations, at most: 0.85 to their power is far below the tolerance.
pub const MAX_ITERATIONS: u64 = 200;

/// The ranks of all nodes.
#[derive(Debug, Default)]
pub struct Rank {
    /// By node; their sum is 1.
    pub scores: Vec<f64>,
    /// Iterations made.
    pub iterations: u64,
    /// Whether they came below the tolerance.
    pub converged: bool,
}

/// Computes PageRank by power iteration from equal ranks. Rank of nodes without edges out
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
    // What a node gives to each of its targets.
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
