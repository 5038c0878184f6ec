//! Checks every row of `vectors/robots.jsonl` against its stated verdict.

use orbweaver_core::robots::Robots;
use serde::Deserialize;

#[derive(Deserialize)]
struct VectorRow {
    robots: Option<String>,
    status: Option<u16>,
    user_agent: String,
    url: String,
    allowed: bool,
    why: String,
}

#[test]
fn every_vector_gets_its_verdict() {
    let mut wrong = Vec::new();
    let mut rows = 0;
    for line in include_str!("vectors/robots.jsonl").lines() {
        let row: VectorRow = serde_json::from_str(line).unwrap();
        rows += 1;
        let robots = match &row.robots {
            Some(text) => Robots::parse(text.as_bytes()),
            None => Robots::from_answer(row.status, b""),
        };
        if robots.allows(&row.user_agent, &row.url) != row.allowed {
            wrong.push(format!(
                "{:?} {} {}: {}",
                row.robots, row.user_agent, row.url, row.why
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {rows} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert_eq!(rows, 84);
}
