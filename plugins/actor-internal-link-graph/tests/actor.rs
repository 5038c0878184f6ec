//! A small crawl with every case.

use orbweaver_actor_internal_link_graph::{Anchors, Graph, Input, clusters, pagerank, run};
use orbweaver_sdk::Error;
use orbweaver_sdk::crawl_data::{Links, PageRow, Run, RunStatus};
use orbweaver_sdk::testing::{Site, block_on, install};
use serde_json::{Value, json};

fn row(id: i64, path: &str) -> PageRow {
    PageRow {
        id,
        url: format!("https://site.example{path}"),
        status: 200,
        bytes: 100,
    }
}

/// Links as (from, to, text, nofollow).
fn batch(links: &[(i64, i64, &str, bool)], next: Option<i64>) -> Links {
    let mut columns = Links {
        next,
        ..Links::default()
    };
    for (from, to, text, nofollow) in links {
        let at = columns
            .anchors
            .iter()
            .position(|known| known == text)
            .unwrap_or_else(|| {
                columns.anchors.push((*text).to_owned());
                columns.anchors.len() - 1
            });
        columns.from_page.push(*from);
        columns.to_page.push(*to);
        columns.anchor.push(at as u32);
        columns.nofollow.push(*nofollow);
    }
    columns
}

/// Home links to tea and coffee, these to home, tea to coffee; a login page with nofollow links
/// only; a page from a sitemap that links to home; two pages that only link to each other.
fn crawl() -> Site {
    let pages = vec![
        row(11, "/tea"),
        row(14, "/"),
        row(15, "/coffee"),
        row(20, "/login"),
        row(21, "/forgotten"),
        row(30, "/island/a"),
        row(31, "/island/b"),
        row(40, "/alone"),
    ];
    let links = vec![
        batch(
            &[
                (11, 14, "Home", false),
                (11, 15, "our coffee", false),
                (11, 11, "Tea", false),
                (11, 20, "Log in", true),
                (14, 11, "Tea", false),
                (14, 11, "tea in bags", false),
                (14, 11, "Tea", false),
                (14, 15, "Coffee", false),
                (14, -1, "Elsewhere", false),
                (14, 20, "Log in", true),
            ],
            Some(14),
        ),
        batch(
            &[
                (15, 14, "Home", false),
                (21, 14, "", false),
                (30, 31, "b", false),
                (31, 30, "a", false),
                (31, 999, "no page of the run", false),
            ],
            None,
        ),
    ];
    let run = Run {
        id: 7,
        url: "https://SITE.example/#top".into(),
        status: RunStatus::Done,
        page_count: pages.len() as u64,
    };
    Site::default().crawl(run, pages, links)
}

fn measure(input: Value) -> Result<Value, Error> {
    let _web = install(crawl());
    let input: Input = serde_json::from_value(input)?;
    Ok(serde_json::to_value(block_on(run(input))?)?)
}

#[test]
fn a_crawl_with_every_case() {
    let mut found = measure(json!({"crawl_id": 7})).expect("an answer");
    // `networkx.rs` checks the exact ranks; here only their order.
    for entry in found["pagerank"].as_array_mut().expect("a list") {
        let score = entry["score"].as_f64().expect("a number");
        entry["score"] = json!((score * 1e4).round() / 1e4);
    }
    let expected: Value =
        serde_json::from_str(include_str!("../fixtures/crawl.json")).expect("JSON");
    assert_eq!(found, expected, "{found:#}");
}

#[test]
fn lists_have_the_requested_length() {
    let found = measure(json!({"crawl_id": 7, "top_n": 1})).expect("an answer");
    for list in [
        "pagerank",
        "top_donors",
        "top_recipients",
        "anchor_text_by_target",
    ] {
        assert_eq!(found[list].as_array().map(Vec::len), Some(1), "{list}");
    }
    assert_eq!(found["pagerank"][0]["url"], "https://site.example/");
}

#[test]
fn a_greater_length_than_the_most_counts_as_the_most() {
    let pages: Vec<PageRow> = (0..=1_000).map(|id| row(id, &format!("/{id}"))).collect();
    let run_ = Run {
        id: 7,
        url: "https://site.example/0".into(),
        status: RunStatus::Done,
        page_count: pages.len() as u64,
    };
    let _web = install(Site::default().crawl(run_, pages, vec![]));
    let found = block_on(run(Input {
        crawl_id: 7,
        top_n: Some(5_000_000_000),
    }))
    .expect("an answer");
    assert_eq!(found.pagerank.len(), 1_000);
}

#[test]
fn another_projects_run_is_invalid_input() {
    assert!(matches!(
        measure(json!({"crawl_id": 8})),
        Err(ref error) if error.is_invalid()
    ));
}

#[test]
fn a_run_without_pages_is_measured() {
    let run_ = Run {
        id: 7,
        url: "https://site.example/".into(),
        status: RunStatus::Failed,
        page_count: 0,
    };
    let _web = install(Site::default().crawl(run_, vec![], vec![]));
    let found = block_on(run(Input {
        crawl_id: 7,
        top_n: None,
    }))
    .expect("an answer");
    assert_eq!(
        (
            found.stats.pages,
            found.stats.components,
            found.stats.converged
        ),
        (0, 0, true)
    );
}

#[test]
fn a_run_of_too_many_pages_is_refused() {
    let run_ = Run {
        id: 7,
        url: "https://site.example/".into(),
        status: RunStatus::Done,
        page_count: 100_001,
    };
    let _web = install(Site::default().crawl(run_, vec![], vec![]));
    let error = block_on(run(Input {
        crawl_id: 7,
        top_n: None,
    }))
    .expect_err("an error");
    assert!(
        error.is_invalid() && error.message().starts_with("crawl_id: "),
        "{error}"
    );
}

#[test]
fn repeats_loops_and_unknown_nodes_are_not_edges() {
    let graph = Graph::new(3, &[0, 0, 0, 1, 2, 9], &[1, 1, 2, 1, 9, 0]);
    assert_eq!(graph.iter().collect::<Vec<_>>(), [(0, 1), (0, 2)]);
    assert_eq!(
        (graph.out_degree(0), graph.in_degree(1), graph.out_degree(2)),
        (2, 1, 0)
    );
    assert_eq!(graph.targets().1, [1, 2]);
}

#[test]
fn equal_pages_have_equal_ranks() {
    let rank = pagerank(&Graph::new(4, &[], &[]));
    assert!(rank.converged && rank.scores.iter().all(|score| (score - 0.25).abs() < 1e-12));
}

#[test]
fn a_long_chain_is_one_component_and_reached() {
    let nodes = 100_000_u32;
    let (from, to): (Vec<u32>, Vec<u32>) = (0..nodes - 1).map(|n| (n, n + 1)).unzip();
    let graph = Graph::new(nodes as usize, &from, &to);
    assert_eq!(clusters(&graph, Some(0)).by_size().count(), 0);
    let lost = clusters(&graph, Some(50_000));
    assert_eq!(
        lost.by_size().map(<[u32]>::len).collect::<Vec<_>>(),
        [50_000]
    );
}

#[test]
fn clusters_that_share_only_a_reachable_page_stay_separate() {
    // Nothing links from 0 to 2 and 3, or to 4; all of them link to 1, which is reachable from 0.
    let graph = Graph::new(5, &[0, 2, 3, 3, 4], &[1, 3, 2, 1, 1]);
    let lost = clusters(&graph, Some(0));
    let lost: Vec<&[u32]> = lost.by_size().collect();
    assert_eq!(lost, [&[2, 3][..], &[4]]);
}

#[test]
fn texts_are_stored_once_and_cut() {
    let mut anchors = Anchors::default();
    let numbers: Vec<u32> = (0..5_000)
        .map(|i| anchors.number(&format!("text {i}")))
        .collect();
    assert!(
        numbers
            .iter()
            .enumerate()
            .all(|(i, n)| anchors.get(*n) == format!("text {i}"))
    );
    assert_eq!(anchors.number("text 17"), numbers[17]);
    assert_eq!(anchors.number(""), 0);
    let long = anchors.number(&"é".repeat(500));
    assert_eq!(anchors.get(long).len(), 200);
}
