//! The rules by which the pages of two runs are compared, in SQL: see [`diff`](super::diff).

/// Every page of either run with its class: $1 old run, $2 new run, $3 project, $4 the
/// monitor of both or 0, $5 and $6 whether the old and the new run ended early (1 or 0), $7
/// how many links from the seed the new run goes.
macro_rules! classes {
    () => {
        concat!(
            "SELECT n.id, n.url, ",
            "CASE WHEN o.id IS NOT NULL AND ",
            unreliable!("o.status"),
            " THEN ",
            before!("n.url_key"),
            " ELSE o.content_hash END AS old_hash, ",
            "n.content_hash AS new_hash, o.status AS old_status, n.status AS new_status,
             o.id AS old_page, n.id AS new_page,
             CASE
                 WHEN ",
            unreliable!("n.status"),
            " THEN 'unavailable'
                 WHEN o.id IS NULL THEN
                     CASE WHEN $4 <> 0 AND ($5 = 1 OR n.key_hash IN (",
            failed!("$1", "$2"),
            ")) THEN 'unknown' ELSE 'added' END
                 WHEN ",
            unreliable!("o.status"),
            " THEN
                     CASE WHEN $4 = 0 THEN 'unavailable'
                          WHEN ",
            before!("n.url_key"),
            " IS NULL THEN 'added'
                          WHEN ",
            before!("n.url_key"),
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
            before!("o.url_key"),
            " ELSE o.content_hash END AS old_hash, NULL AS new_hash,
             o.status AS old_status, NULL AS new_status, o.id AS old_page, NULL AS new_page,
             CASE
                 WHEN $6 = 1 OR o.depth > $7 OR o.key_hash IN (",
            failed!("$2", "$1"),
            ") THEN 'unvisited'
                 WHEN ",
            unreliable!("o.status"),
            " AND ",
            before!("o.url_key"),
            " IS NULL THEN 'unavailable'
                 ELSE 'removed'
             END AS class
             FROM pages o
             WHERE o.run_id = $1 AND o.project_id = $3
               AND NOT EXISTS (SELECT 1 FROM pages n
                   WHERE n.project_id = $3 AND n.run_id = $2 AND n.url_key = o.url_key)"
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

/// The last content hash in the monitor's runs before the old one.
macro_rules! before {
    ($key:literal) => {
        concat!(
            "(SELECT b.content_hash FROM runs r
              JOIN pages b ON b.project_id = $3 AND b.run_id = r.id AND b.url_key = ",
            $key,
            " WHERE r.monitor_id = $4 AND r.id < $1 AND NOT ",
            unreliable!("b.status"),
            " ORDER BY r.id DESC LIMIT 1)"
        )
    };
}
pub(super) use before;
