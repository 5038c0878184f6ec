use super::super::costs::tests::costs;
use super::outcome::Limit;
use super::tending::PARTS;
use super::*;

fn cluster(nodes: usize) -> Cluster {
    Cluster {
        nodes,
        cores: 1,
        one_machine: false,
        runs: 4,
        concurrency: 10,
        delay: 0.0,
        latency: 0.1,
        spread: 0.0,
    }
}

fn hosts(many: usize, pages: f64) -> OneRun {
    OneRun {
        pages: vec![pages; many],
        asked: None,
        busy: 0,
    }
}

fn seconds(cluster: &Cluster, run: &OneRun) -> f64 {
    simulate(cluster, &costs(), run, 1).seconds
}

#[test]
fn each_node_that_helps_brings_its_own_requests() {
    let run = hosts(400, 50.0);
    let one = simulate(&cluster(1), &costs(), &run, 1);
    // Ten requests of a tenth of a second: about 100 pages a second.
    assert!((one.seconds - 202.0).abs() < 5.0, "{one:?}");
    assert_eq!((one.nodes, one.bound()), (1, Limit::Requests));
    assert!(one.requests > 0.95, "{one:?}");
    let four = simulate(&cluster(4), &costs(), &run, 1);
    let ratio = one.seconds / four.seconds;
    assert!((3.6..=4.0).contains(&ratio), "{ratio}");
    assert_eq!(four.nodes, 4);
}

#[test]
fn a_run_over_few_hosts_stays_on_its_node() {
    let one = seconds(&cluster(1), &hosts(15, 200.0));
    assert_eq!(seconds(&cluster(4), &hosts(15, 200.0)), one);
    assert!(seconds(&cluster(4), &hosts(16, 200.0)) < one / 2.0);
}

#[test]
fn a_node_helps_only_while_half_of_its_slots_are_free() {
    let busy = |busy| OneRun {
        busy,
        ..hosts(100, 20.0)
    };
    let helped = |run: &OneRun| simulate(&cluster(4), &costs(), run, 1).nodes;
    assert_eq!((helped(&busy(1)), helped(&busy(2))), (4, 1));
}

#[test]
fn a_run_has_no_more_parts_than_it_may() {
    let outcome = simulate(&cluster(20), &costs(), &hosts(1_000, 50.0), 1);
    assert_eq!(outcome.nodes, PARTS + 1);
}

#[test]
fn more_nodes_send_no_more_than_the_client_asked_for() {
    let asked = OneRun {
        asked: Some(12),
        ..hosts(200, 100.0)
    };
    for nodes in [1, 2, 4] {
        let outcome = simulate(&cluster(nodes), &costs(), &asked, 1);
        assert!(outcome.seconds > 20_000.0 / 120.0, "{nodes}: {outcome:?}");
    }
}

#[test]
fn the_delay_between_two_requests_to_a_host_holds_on_all_nodes() {
    let polite = Cluster {
        delay: 1.0,
        ..cluster(4)
    };
    let outcome = simulate(&polite, &costs(), &hosts(20, 50.0), 1);
    assert!((49.0..55.0).contains(&outcome.seconds), "{outcome:?}");
    assert_eq!(outcome.bound(), Limit::Hosts);
}

#[test]
fn what_is_done_for_the_run_in_order_binds_many_nodes() {
    let run = hosts(400, 50.0);
    let commits = Costs {
        ordered: 0.004,
        ..costs()
    };
    let outcome = simulate(&cluster(8), &commits, &run, 1);
    assert!((80.0..90.0).contains(&outcome.seconds), "{outcome:?}");
    assert_eq!(outcome.bound(), Limit::Commits);
    let worker = Costs {
        cpu: 0.006,
        worker: 0.004,
        ..costs()
    };
    let outcome = simulate(&cluster(8), &worker, &run, 1);
    // The own node's core has the worker's work and that of some pages.
    assert!(outcome.seconds > 80.0, "{outcome:?}");
    assert!(
        matches!(outcome.bound(), Limit::Worker | Limit::Cpu),
        "{outcome:?}"
    );
    let free = simulate(&cluster(8), &costs(), &run, 1);
    assert!(free.seconds < 35.0, "{free:?}");
}

#[test]
fn answers_of_different_speed_cut_the_requests_at_once_only_at_first() {
    let uneven = Cluster {
        spread: 0.8,
        concurrency: 64,
        ..cluster(1)
    };
    let requests = |pages| simulate(&uneven, &costs(), &hosts(1_000, pages), 1).requests;
    assert!(requests(400.0) > 0.85, "{}", requests(400.0));
}

#[test]
fn a_part_that_no_node_takes_does_not_keep_its_share() {
    let run = OneRun {
        asked: Some(10),
        ..hosts(400, 100.0)
    };
    let outcome = simulate(&cluster(1), &costs(), &run, 1);
    // 40,000 pages at ten requests of a tenth of a second.
    assert!((400.0..430.0).contains(&outcome.seconds), "{outcome:?}");
}

#[test]
fn pages_that_stand_for_several_make_the_run_longer() {
    let many = hosts(1_000, 1_000.0);
    let outcome = simulate(&cluster(4), &costs(), &many, 1);
    // A million pages at forty requests of a tenth of a second.
    assert!(
        (outcome.seconds / 2_500.0 - 1.0).abs() < 0.06,
        "{outcome:?}"
    );
}
