//! PageRank and components agree with networkx on the committed graph.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use orbweaver_actor_internal_link_graph::{Graph, count_components, pagerank};
use serde::Deserialize;

#[derive(Deserialize)]
struct Expected {
    nodes: usize,
    edges: Vec<(u32, u32)>,
    pagerank: Vec<f64>,
    components: u32,
}

fn expected() -> (Graph, Expected) {
    let expected: Expected =
        serde_json::from_str(include_str!("../fixtures/networkx.json")).expect("JSON");
    let (from, to): (Vec<u32>, Vec<u32>) = expected.edges.iter().copied().unzip();
    (Graph::new(expected.nodes, &from, &to), expected)
}

#[test]
fn pagerank_is_that_of_networkx() {
    let (graph, expected) = expected();
    assert_eq!(graph.edges(), expected.edges.len() as u64);
    let rank = pagerank(&graph);
    assert!(rank.converged);
    assert_eq!(rank.scores.len(), expected.pagerank.len());
    for (node, (ours, theirs)) in rank.scores.iter().zip(&expected.pagerank).enumerate() {
        assert!((ours - theirs).abs() < 1e-6, "node {node}: {ours} {theirs}");
    }
    let sum: f64 = rank.scores.iter().sum();
    assert!((sum - 1.0).abs() < 1e-9, "{sum}");
}

#[test]
fn components_are_those_of_networkx() {
    let (graph, expected) = expected();
    assert_eq!(count_components(&graph), expected.components);
}
