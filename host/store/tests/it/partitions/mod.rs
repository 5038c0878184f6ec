//! Which partitions of PostgreSQL's tables statements ask, and the partitions of the request log.

mod citus;
mod explained;
mod request_log;

use std::process::Command;
use std::sync::Arc;

use orbweaver_postgres::Postgres;

use crate::support::SERVER;

/// Statements over all projects, by the beginning of their text, each with the reason. Whatever else asks
/// a partitioned table names one project.
const OF_ALL_PROJECTS: [(&str, &str); 10] = [
    (
        "SELECT CAST(COALESCE(MAX(id), 0) AS BIGINT) FROM pages",
        "the newest page: where the search index ends",
    ),
    (
        "SELECT id FROM pages WHERE id > $1 AND id <= $2 ORDER BY id LIMIT $3",
        "the next pages to index, whoever owns them",
    ),
    (
        "SELECT p.id, p.project_id, p.url_key, p.final_url, p.headers, p.blob_id, p.kind FROM pages p",
        "the pages of a claim of the index",
    ),
    (
        "SELECT project_id, id FROM pages WHERE fetched_at < $1 AND run_id IS NULL",
        "expired scans",
    ),
    (
        "SELECT project_id, CAST(sum(COALESCE(length(bytes), segment_length)) AS BIGINT)",
        "projects above their bound of stored bytes",
    ),
    (
        "SELECT id FROM blobs WHERE segment_id IS NOT NULL LIMIT 1",
        "at the start: whether a blob store is needed",
    ),
    (
        "SELECT id, project_id, CAST(length(bytes) AS BIGINT) FROM blobs WHERE id > $1",
        "`orbweaver blobs move`",
    ),
    (
        "SELECT id, project_id, hash, segment_offset, segment_length FROM blobs WHERE segment_id",
        "what is left of a segment, which has bodies of several projects",
    ),
    (
        "SELECT DISTINCT segment_id FROM blobs WHERE segment_id IN",
        "whether segments may be deleted",
    ),
    ("SELECT COUNT(*) FROM pages", "a test's own"),
];

/// Tables with hash partitions.
const PARTITIONED: [&str; 10] = [
    "blobs",
    "pages",
    "page_links",
    "page_records",
    "frontier",
    "run_errors",
    "run_reports",
    "usage_events",
    "search_docs",
    "search_index",
];
/// Those of which the program deletes no row itself.
const KEPT: [&str; 2] = ["usage_events", "search_index"];

fn is_of_all_projects(text: &str) -> bool {
    OF_ALL_PROJECTS
        .iter()
        .any(|(begins, _)| text.starts_with(begins))
}

/// Runs this program's tests of PostgreSQL on a server that explains every statement.
fn explained() -> explained::Statements {
    let mut reader = explained::Reader::default();
    let statements = Arc::clone(&reader.statements);
    let server = Postgres::start(&explained::SETTINGS, move |line| reader.line(&line)).unwrap();
    let run = Command::new(std::env::current_exe().unwrap())
        .args([
            "--test-threads",
            "4",
            "--skip",
            "partitions::",
            "--skip",
            "sqlite::",
            "--skip",
            "replicas::",
        ])
        .env(SERVER, server.folder())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "{text}");
    server.stop().unwrap();
    let statements = statements.lock().unwrap();
    statements.clone()
}

#[tokio::test]
async fn a_statement_asks_one_hash_partition() {
    let statements = tokio::task::spawn_blocking(explained).await.unwrap();
    let asks_many = |text: &str| {
        let asked = statements.iter().filter(|(seen, _)| seen.starts_with(text));
        asked.map(|(_, asked)| asked.partitions.len()).max() > Some(1)
    };
    for (begins, reason) in OF_ALL_PROJECTS {
        assert!(
            asks_many(begins),
            "not seen, or one project's: {begins} ({reason})"
        );
    }
    let mut wrong = Vec::new();
    for (text, asked) in &statements {
        if asked.partitions.len() > 1 && !is_of_all_projects(text) {
            wrong.push(format!("{:?} {text}", asked.tables));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for table in PARTITIONED {
        for verb in ["SELECT ", "INSERT ", "DELETE "] {
            let seen = statements
                .iter()
                .any(|(text, asked)| text.starts_with(verb) && asked.tables.contains(table));
            let is_kept = verb == "DELETE " && KEPT.contains(&table);
            assert!(seen || is_kept, "no test has run {verb}on {table}");
        }
    }
    citus::check(&statements).await;
}
