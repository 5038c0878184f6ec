//! The plans of all statements that tests run: PostgreSQL's `auto_explain` writes them to its log.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use serde_json::Value;

/// Settings that make a server write the plan of every statement to its log.
pub const SETTINGS: [&str; 6] = [
    "session_preload_libraries=auto_explain",
    "auto_explain.log_min_duration=0",
    "auto_explain.log_format=json",
    "auto_explain.log_nested_statements=off",
    "log_line_prefix=@@ ",
    "lc_messages=C",
];

/// What one statement's plans ask.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// Numbers of hash partitions, of the plan that has most.
    pub partitions: BTreeSet<String>,
    /// Tables, partitions by their parents' names.
    pub tables: BTreeSet<String>,
}

/// Statements with what their plans ask. White space is collapsed.
pub type Statements = BTreeMap<String, Asked>;

/// Reads a log line by line.
#[derive(Debug, Default)]
pub struct Reader {
    entry: String,
    pub statements: Arc<Mutex<Statements>>,
}

impl Reader {
    pub fn line(&mut self, line: &str) {
        if line.starts_with("@@ ") {
            self.end();
        }
        self.entry.push_str(line);
        self.entry.push('\n');
    }

    /// Takes up the entry that is complete.
    fn end(&mut self) {
        let entry = std::mem::take(&mut self.entry);
        let Some((_, json)) = entry.split_once("plan:\n") else {
            return;
        };
        let explained: Value = serde_json::from_str(json).unwrap();
        let text = explained["Query Text"].as_str().unwrap();
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut asked = Asked::default();
        walk(&explained["Plan"], &mut asked);
        let mut statements = self.statements.lock().unwrap();
        let known = statements.entry(text).or_default();
        known.tables.append(&mut asked.tables);
        if known.partitions.len() < asked.partitions.len() {
            known.partitions = asked.partitions;
        }
    }
}

/// A table's name, and the number of the partition.
fn parent(relation: &str) -> (&str, Option<&str>) {
    match relation.rsplit_once('_') {
        Some((parent, number))
            if number.len() == 2 && number.bytes().all(|b| b.is_ascii_digit()) =>
        {
            (parent, Some(number))
        }
        Some(("request_log", _)) => ("request_log", None),
        _ => (relation, None),
    }
}

fn walk(node: &Value, asked: &mut Asked) {
    if let Some(relation) = node["Relation Name"].as_str() {
        let (table, number) = parent(relation);
        asked.tables.insert(table.to_owned());
        asked.partitions.extend(number.map(str::to_owned));
    }
    // What a statement that changes rows could change ("Target Tables") is what its scans find.
    for child in node["Plans"].as_array().into_iter().flatten() {
        walk(child, asked);
    }
}
