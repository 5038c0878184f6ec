//! Checks every row of `vectors/ssrf.jsonl` against its stated verdict.

use std::net::IpAddr;

use orbweaver_core::guard::{Host, HostList, Policy, Refusal, Target, join_strict};
use serde::Deserialize;

#[derive(Deserialize)]
struct VectorRow {
    url: String,
    expect: String,
    why: String,
    #[serde(default)]
    resolves: Vec<IpAddr>,
    #[serde(default)]
    hops: Vec<Hop>,
}

#[derive(Deserialize)]
struct Hop {
    url: String,
    #[serde(default)]
    resolves: Vec<IpAddr>,
}

/// Checks one request as the fetcher does: the URL, then the addresses of its name.
fn judge(policy: &Policy, target: Target, resolves: &[IpAddr]) -> Result<Target, Refusal> {
    if let (Host::Name(name), false) = (&target.host, resolves.is_empty()) {
        policy.judge_answers(name, resolves, &HostList::default())?;
    }
    Ok(target)
}

fn verdict(policy: &Policy, row: &VectorRow) -> Result<(), Refusal> {
    let mut at = judge(policy, policy.judge_url(&row.url)?, &row.resolves)?;
    for hop in &row.hops {
        let next = policy.judge(join_strict(&at.url, &hop.url)?)?;
        at = judge(policy, next, &hop.resolves)?;
    }
    Ok(())
}

#[test]
fn every_vector_gets_its_verdict() {
    let policy = Policy::public();
    let mut wrong = Vec::new();
    let mut rows = 0;
    for line in include_str!("vectors/ssrf.jsonl").lines() {
        let row: VectorRow = serde_json::from_str(line).unwrap();
        rows += 1;
        let verdict = verdict(&policy, &row);
        if verdict.is_ok() != (row.expect == "allow") {
            wrong.push(format!("{:?} ({}): {verdict:?}", row.url, row.why));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {rows} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert_eq!(rows, 142);
}
