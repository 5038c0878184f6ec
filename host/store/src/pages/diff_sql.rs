//! The rules by which the pages of two runs are compared, in SQL: see [`diff`](super::diff).
//!
//! A page is looked for in a monitor's runs by run and key. `CROSS JOIN` has SQLite take the runs first, one
//! after the other: left to choose, it reads all pages between the first and the last run, once for each
//! page. To PostgreSQL it is a join like others.

/// Every page of either run with its class: $1 old run, $2 new run, $3 project, $4 the
/// monitor of both or 0, $5 what absence from the old run means (see `Absence`), $6 whether the new run
/// ended early (1 or 0), $7 how many links from the seed the new run goes, $8 to $10 earlier runs whose
/// pages count as the old run's if none has had them since, or 0.
macro_rules! classes {
    () => {
        concat!(
            "SELECT n.id, n.url, ",
            "CASE WHEN o.id IS NULL OR ",
            unreliable!("o.status"),
            " THEN ",
            before!("content_hash", "n.url_key"),
            " ELSE o.content_hash END AS old_hash, ",
            "n.content_hash AS new_hash, o.status AS old_status, n.status AS new_status, ",
            "CASE WHEN o.id IS NULL OR ",
            unreliable!("o.status"),
            " THEN ",
            before!("id", "n.url_key"),
            " ELSE o.id END AS old_page, n.id AS new_page,
             CASE
                 WHEN ",
            unreliable!("n.status"),
            " THEN 'unavailable'
                 WHEN o.id IS NULL THEN
                     CASE WHEN $4 = 0 THEN 'added'
                          WHEN $5 = 0 AND (n.key_hash IS NULL OR n.key_hash NOT IN (",
            failed!("$1", "$2"),
            ")) THEN 'added'
                          WHEN ",
            before!("content_hash", "n.url_key"),
            " <> n.content_hash AND NOT (n.status >= 400 AND n.status = ",
            before!("status", "n.url_key"),
            ") THEN
                              CASE WHEN n.status IN (404, 410) AND ",
            before!("status", "n.url_key"),
            " BETWEEN 200 AND 299 THEN 'gone' ELSE 'changed' END
                          WHEN $5 = 2 AND ",
            before!("content_hash", "n.url_key"),
            " IS NULL THEN 'added'
                          ELSE 'unknown' END
                 WHEN ",
            unreliable!("o.status"),
            " THEN
                     CASE WHEN $4 = 0 THEN 'unavailable'
                          WHEN ",
            before!("content_hash", "n.url_key"),
            " IS NULL THEN 'added'
                          WHEN ",
            before!("content_hash", "n.url_key"),
            " = n.content_hash THEN 'unavailable'
                          WHEN n.status IN (404, 410) THEN 'gone'
                          ELSE 'changed' END
                 WHEN o.status BETWEEN 200 AND 299 AND n.status IN (404, 410) THEN 'gone'
                 WHEN o.status = n.status AND n.status >= 400 THEN 'unchanged'
                 WHEN o.content_hash = n.content_hash
                     OR (o.content_hash IS NULL AND n.content_hash IS NULL) THEN 'unchanged'
                 ELSE 'changed'
             END AS class
             FROM pages n
             LEFT JOIN pages o
                 ON o.project_id = $3 AND o.run_id = $1 AND o.url_key = n.url_key
             WHERE n.run_id = $2 AND n.project_id = $3
             UNION ALL
             SELECT o.id, o.url, CASE WHEN ",
            unreliable!("o.status"),
            " THEN ",
            before!("content_hash", "o.url_key"),
            " ELSE o.content_hash END AS old_hash, NULL AS new_hash,
             o.status AS old_status, NULL AS new_status, o.id AS old_page, NULL AS new_page,
             CASE
                 WHEN $6 = 1 OR o.depth > $7 OR o.key_hash IN (",
            failed!("$2", "$1"),
            ") THEN 'unvisited'
                 WHEN ",
            unreliable!("o.status"),
            " AND ",
            before!("content_hash", "o.url_key"),
            " IS NULL THEN 'unavailable'
                 ELSE 'removed'
             END AS class
             FROM pages o
             WHERE o.run_id = $1 AND o.project_id = $3
               AND NOT EXISTS (SELECT 1 FROM pages n
                   WHERE n.project_id = $3 AND n.run_id = $2 AND n.url_key = o.url_key)
             UNION ALL
             SELECT b.id, b.url, b.content_hash AS old_hash, NULL AS new_hash,
             b.status AS old_status, NULL AS new_status, b.id AS old_page, NULL AS new_page,
             CASE WHEN b.depth > $7 OR ",
            unreliable!("b.status"),
            " THEN 'unknown' ELSE 'removed' END AS class
             FROM pages b
             WHERE b.project_id = $3 AND b.run_id IN ($8, $9, $10)
               AND NOT EXISTS (SELECT 1 FROM runs r CROSS JOIN pages n
                   WHERE r.monitor_id = $4 AND r.id > b.run_id AND r.id <= $2
                     AND n.project_id = $3 AND n.run_id = r.id AND n.url_key = b.url_key)"
        )
    };
}
pub(super) use classes;

/// Keys of pages that a run may lack because a fetch failed there: of URLs that it could not fetch, or had
/// not come to, and of pages to which the other run was led by such a URL, or by one that failed
/// temporarily.
macro_rules! failed {
    ($run:literal, $other:literal) => {
        concat!(
            "SELECT key_hash FROM frontier
             WHERE project_id = $3 AND run_id = ",
            $run,
            " AND state IN (0, 2)
             UNION ALL
             SELECT redirect_to FROM frontier
             WHERE project_id = $3 AND run_id = ",
            $other,
            " AND redirect_to IS NOT NULL
               AND (key_hash IN (
                       SELECT key_hash FROM frontier
                       WHERE project_id = $3 AND run_id = ",
            $run,
            " AND state IN (0, 2))
                   OR key_hash IN (
                       SELECT key_hash FROM pages
                       WHERE project_id = $3 AND run_id = ",
            $run,
            " AND ",
            unreliable!("status"),
            "))"
        )
    };
}
pub(super) use failed;

/// A column of the page in the last of the monitor's runs before the old one that had its content.
macro_rules! before {
    ($column:literal, $key:literal) => {
        concat!(
            "(SELECT b.",
            $column,
            " FROM runs r CROSS JOIN pages b
              WHERE r.monitor_id = $4 AND r.id < $1
                AND b.project_id = $3 AND b.run_id = r.id AND b.url_key = ",
            $key,
            " AND NOT ",
            unreliable!("b.status"),
            " ORDER BY r.id DESC LIMIT 1)"
        )
    };
}
pub(super) use before;

/// Pages of run $2 of which run $1 may hide links: they have content in run $2, and run $1 could not fetch
/// them, failed temporarily on them, or was refused them. Project $3.
macro_rules! hidden {
    () => {
        concat!(
            "SELECT k.id FROM pages k
             LEFT JOIN pages t
                 ON t.project_id = $3 AND t.run_id = $1 AND t.url_key = k.url_key
             WHERE k.project_id = $3 AND k.run_id = $2 AND NOT ",
            unreliable!("k.status"),
            " AND (",
            unreliable!("t.status"),
            " OR (t.status IN (401, 403) AND k.status BETWEEN 200 AND 299)
             OR (t.id IS NULL AND k.key_hash IN (",
            failed!("$1", "$2"),
            "))
             OR (t.id IS NULL AND k.status BETWEEN 200 AND 299 AND k.key_hash IN (
                 SELECT redirect_to FROM frontier
                 WHERE project_id = $3 AND run_id = $2 AND redirect_to IS NOT NULL
                   AND key_hash IN (
                       SELECT key_hash FROM pages
                       WHERE project_id = $3 AND run_id = $1 AND status IN (401, 403)))))"
        )
    };
}
pub(super) use hidden;

/// Of [`hidden`], those that no run of monitor $4 before run $1 has shown, though one may have been led to
/// them; all, if there was no run before.
macro_rules! never_shown {
    () => {
        concat!(
            hidden!(),
            " AND NOT EXISTS (SELECT 1 FROM runs r CROSS JOIN pages b
                 WHERE r.monitor_id = $4 AND r.id < $1
                   AND b.project_id = $3 AND b.run_id = r.id AND b.url_key = k.url_key AND NOT ",
            unreliable!("b.status"),
            " AND (b.status NOT IN (401, 403) OR k.status IN (401, 403)))
             AND (EXISTS (SELECT 1 FROM runs r CROSS JOIN pages b
                     WHERE r.monitor_id = $4 AND r.id < $1
                       AND b.project_id = $3 AND b.run_id = r.id AND b.url_key = k.url_key)
                 OR k.key_hash IN (SELECT key_hash FROM frontier
                     WHERE project_id = $3 AND state IN (0, 2) AND run_id = (",
            last_before!(),
            "))
                 OR (",
            last_before!(),
            ") IS NULL)
             LIMIT 1"
        )
    };
}
pub(super) use never_shown;

/// The last run of monitor $4 before run $1 that has pages.
macro_rules! last_before {
    () => {
        "SELECT max(r.id) FROM runs r
         WHERE r.monitor_id = $4 AND r.id < $1 AND r.status = 'done' AND r.page_count > 0"
    };
}
pub(super) use last_before;

/// A page with content in run $2 of whose links no run of monitor $4 after it, up to run $1, tells: one of
/// them at least should have had it, and none has shown it. Project $3.
macro_rules! untold {
    () => {
        concat!(
            "SELECT k.id FROM pages k
             WHERE k.project_id = $3 AND k.run_id = $2 AND NOT ",
            unreliable!("k.status"),
            " AND NOT EXISTS (SELECT 1 FROM runs r CROSS JOIN pages t
                 WHERE r.monitor_id = $4 AND r.id > $2 AND r.id <= $1
                   AND t.project_id = $3 AND t.run_id = r.id AND t.url_key = k.url_key AND NOT ",
            unreliable!("t.status"),
            " AND (t.status NOT IN (401, 403) OR k.status NOT BETWEEN 200 AND 299))
             AND (EXISTS (SELECT 1 FROM runs r CROSS JOIN pages t
                     WHERE r.monitor_id = $4 AND r.id > $2 AND r.id <= $1
                       AND t.project_id = $3 AND t.run_id = r.id AND t.url_key = k.url_key)
                 OR k.key_hash IN (",
            failed_after!(),
            ")
                 OR k.key_hash IN (SELECT redirect_to FROM frontier
                     WHERE project_id = $3 AND run_id = $2 AND redirect_to IS NOT NULL
                       AND key_hash IN (",
            failed_after!(),
            ")))
             LIMIT 1"
        )
    };
}
pub(super) use untold;

/// Keys of URLs that a run of monitor $4 after run $2, up to run $1, could not fetch, or that failed
/// temporarily or were refused there. Project $3.
macro_rules! failed_after {
    () => {
        concat!(
            "SELECT key_hash FROM frontier
             WHERE project_id = $3 AND state IN (0, 2) AND run_id IN (
                 SELECT id FROM runs WHERE monitor_id = $4 AND id > $2 AND id <= $1)
             UNION ALL
             SELECT key_hash FROM pages
             WHERE project_id = $3 AND key_hash IS NOT NULL AND (",
            unreliable!("status"),
            " OR status IN (401, 403)) AND run_id IN (
                 SELECT id FROM runs WHERE monitor_id = $4 AND id > $2 AND id <= $1)"
        )
    };
}
pub(super) use failed_after;

#[cfg(test)]
mod tests {
    use super::super::unreliable;
    use crate::db::{Db, Options};
    use crate::store::Store;

    #[tokio::test]
    async fn pages_are_looked_for_in_one_run_after_the_other() {
        let folder = tempfile::tempdir().unwrap();
        let options = Options::sqlite(&folder.path().join("test.db"));
        let store = Store::open(&options).await.unwrap();
        let Db::Lite(lite) = store.db.clone() else {
            panic!("it is SQLite");
        };
        for sql in [
            concat!("EXPLAIN QUERY PLAN ", untold!()),
            concat!("EXPLAIN QUERY PLAN ", never_shown!()),
            concat!("EXPLAIN QUERY PLAN ", classes!()),
        ] {
            let steps: Vec<(i64, i64, i64, String)> =
                sqlx::query_as(sql).fetch_all(&lite.read).await.unwrap();
            assert!(steps.iter().any(|(.., step)| step.contains("url_key=?")));
            // A range of runs, the pages of all of which are read.
            let is_range = |step: &&str| step.contains("run_id>") || step.contains("run_id<");
            let each = steps.iter().map(|(.., step)| step.as_str());
            let ranges: Vec<&str> = each.filter(is_range).collect();
            assert!(ranges.is_empty(), "{ranges:?} of {sql}");
        }
        store.close().await;
    }
}
