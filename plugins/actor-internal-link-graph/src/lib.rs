//! The `internal-link-graph` actor: the link graph of a finished crawl's pages.
//!
//! The graph has a node for every page of the run, and an edge from one page to another if at least
//! one followed link leads there. Links of a page to itself and nofollow links do not count,
//! because they pass no rank. PageRank is computed with a damping factor of 0.85 by power
//! iteration until the sum of all changes is below 1e-8; the rank of pages without links is spread
//! over all pages, as in networkx.

mod anchors;
mod collect;
mod components;
mod graph;
mod rank;

use orbweaver_sdk::Error;
use serde::{Deserialize, Serialize};

pub use anchors::Anchors;
pub use collect::{Collected, collect};
pub use components::{Clusters, clusters, count as count_components};
pub use graph::Graph;
pub use rank::{DAMPING, MAX_ITERATIONS, Rank, TOLERANCE, pagerank};

orbweaver_sdk::actor! { run: run }

/// Most pages of a graph.
pub const MAX_PAGES: usize = 100_000;
/// Default length of each list.
pub const DEFAULT_TOP: u64 = 50;
/// Greatest length of each list; a greater number counts as this one.
pub const MAX_TOP: u64 = 1_000;
/// Most anchor texts listed per target.
const MAX_ANCHORS: usize = 20;
/// Most orphan clusters listed, and most URLs of each.
const MAX_CLUSTERS: usize = 1_000;
const MAX_CLUSTER_URLS: usize = 50;

/// The actor's input.
#[derive(Debug, Deserialize)]
pub struct Input {
    /// Id of a finished crawl.
    pub crawl_id: i64,
    /// Length of each list.
    #[serde(default)]
    pub top_n: Option<u64>,
}

/// Figures of the graph.
#[derive(Debug, Serialize)]
pub struct Output {
    /// The pages with the highest rank; the ranks of all pages sum to 1.
    pub pagerank: Vec<Score>,
    /// The pages that link to the most other pages.
    pub top_donors: Vec<Degree>,
    /// The pages that the most other pages link to.
    pub top_recipients: Vec<Degree>,
    /// Anchor texts of links to the top recipients.
    pub anchor_text_by_target: Vec<Target>,
    /// Pages that are not reachable from the seed, in clusters of linked pages.
    pub orphan_clusters: Vec<Cluster>,
    /// Figures of the whole graph.
    pub stats: Stats,
}

/// A page and its rank.
#[derive(Debug, PartialEq, Serialize)]
pub struct Score {
    /// The page.
    pub url: String,
    /// Its PageRank.
    pub score: f64,
}

/// A page and its number of linked or linking pages.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Degree {
    /// The page.
    pub url: String,
    /// Number of distinct pages at the other ends.
    pub edges: u64,
}

/// A page and the texts of the links to it.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Target {
    /// The page.
    pub url: String,
    /// Anchor texts, most frequent first.
    pub anchors: Vec<Anchor>,
}

/// An anchor text.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Anchor {
    /// The text; empty for links without one.
    pub text: String,
    /// Number of links with it, including repeats on one page.
    pub count: u64,
}

/// Pages that are linked with each other, but not from the rest.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Cluster {
    /// Number of pages.
    pub size: u64,
    /// URLs of the first pages.
    pub urls: Vec<String>,
}

/// Figures of the whole graph.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// Number of nodes.
    pub pages: u64,
    /// Number of distinct followed links between different pages.
    pub edges: u64,
    /// Number of weakly connected components.
    pub components: u64,
    /// Number of iterations of PageRank.
    pub iterations: u64,
    /// Whether the change fell below the tolerance.
    pub converged: bool,
}

/// Reads the run and computes its graph.
pub async fn run(input: Input) -> Result<Output, Error> {
    let top = input.top_n.unwrap_or(DEFAULT_TOP).min(MAX_TOP) as usize;
    Ok(measure(&collect(input.crawl_id)?, top))
}

/// Computes all figures of a run's graph; lists have at most `top` entries.
pub fn measure(run: &Collected, top: usize) -> Output {
    let graph = Graph::new(run.urls.len(), &run.from, &run.to);
    let rank = pagerank(&graph);
    let url = |node: u32| run.urls.get(node as usize).cloned().unwrap_or_default();
    let degrees = |degree: &dyn Fn(u32) -> u32| -> Vec<(u32, u32)> {
        let all = (0..graph.nodes()).map(|node| (node, degree(node)));
        best(all.filter(|(_, degree)| *degree > 0), top, |a, b| a.cmp(&b))
    };
    let listed = |list: &[(u32, u32)]| -> Vec<Degree> {
        let entry = |(node, edges): &(u32, u32)| Degree {
            url: url(*node),
            edges: u64::from(*edges),
        };
        list.iter().map(entry).collect()
    };
    let donors = degrees(&|node| graph.out_degree(node));
    let recipients = degrees(&|node| graph.in_degree(node));
    let targets: Vec<u32> = recipients.iter().map(|(node, _)| *node).collect();
    let ranked = rank
        .scores
        .iter()
        .enumerate()
        .map(|(node, score)| (node as u32, *score));
    let clusters = match run.nofollow.0.is_empty() {
        true => clusters(&graph, run.seed),
        false => clusters(&run.walkable(), run.seed),
    };
    Output {
        pagerank: best(ranked, top, |a, b| a.total_cmp(&b))
            .into_iter()
            .map(|(node, score)| Score {
                url: url(node),
                score,
            })
            .collect(),
        top_donors: listed(&donors),
        top_recipients: listed(&recipients),
        anchor_text_by_target: run
            .anchor_counts(&targets, MAX_ANCHORS)
            .into_iter()
            .zip(&targets)
            .map(|(anchors, target)| Target {
                url: url(*target),
                anchors: anchors
                    .into_iter()
                    .map(|(text, count)| Anchor { text, count })
                    .collect(),
            })
            .collect(),
        orphan_clusters: clusters
            .by_size()
            .take(MAX_CLUSTERS)
            .map(|members| Cluster {
                size: members.len() as u64,
                urls: members
                    .iter()
                    .take(MAX_CLUSTER_URLS)
                    .map(|node| url(*node))
                    .collect(),
            })
            .collect(),
        stats: Stats {
            pages: u64::from(graph.nodes()),
            edges: graph.edges(),
            components: u64::from(count_components(&graph)),
            iterations: rank.iterations,
            converged: rank.converged,
        },
    }
}

/// The `top` highest; of equals the first.
fn best<T: Copy>(
    all: impl Iterator<Item = (u32, T)>,
    top: usize,
    compare: impl Fn(T, T) -> std::cmp::Ordering,
) -> Vec<(u32, T)> {
    let mut all: Vec<(u32, T)> = all.collect();
    let order = |a: &(u32, T), b: &(u32, T)| compare(b.1, a.1).then(a.0.cmp(&b.0));
    if top < all.len() {
        all.select_nth_unstable_by(top, order);
        all.truncate(top);
    }
    all.sort_unstable_by(order);
    all
}
