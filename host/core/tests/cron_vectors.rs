//! Checks every row of `vectors/cron.jsonl`: its next three times, or its refusal.

use chrono::{DateTime, Utc};
use orbweaver_core::cron::Schedule;
use serde::Deserialize;

#[derive(Deserialize)]
struct VectorRow {
    expr: String,
    after: DateTime<Utc>,
    #[serde(default)]
    next: Vec<DateTime<Utc>>,
    error: Option<String>,
    why: String,
}

#[test]
fn every_vector_fires_at_its_times() {
    let mut wrong = Vec::new();
    let mut rows = 0;
    for line in include_str!("vectors/cron.jsonl").lines() {
        let row: VectorRow = serde_json::from_str(line).unwrap();
        rows += 1;
        let schedule = Schedule::parse(&row.expr);
        let right = match (&schedule, &row.error) {
            (Err(_), Some(_)) => true,
            (Ok(schedule), None) => {
                let mut time = row.after;
                row.next.len() == 3
                    && row.next.iter().all(|next| {
                        let found = schedule.next_after(time);
                        time = *next;
                        found == Some(*next)
                    })
            }
            _ => false,
        };
        if !right {
            wrong.push(format!("{:?}: {} {schedule:?}", row.expr, row.why));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {rows} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert_eq!(rows, 61);
}
