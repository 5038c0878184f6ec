-- Crawl runs, their frontier, and the links of their pages.

CREATE TABLE runs (
    id                 INTEGER PRIMARY KEY AUTOINCREMENT,
    project_id         BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    -- The monitor that fired it; null for a one-shot run.
    monitor_id         BIGINT,
    -- The monitor's run before: the baseline of its diff and of conditional requests.
    previous_run_id    BIGINT,
    url                TEXT NOT NULL,
    url_key            TEXT NOT NULL,
    -- queued, running, done or failed.
    status             TEXT NOT NULL,
    -- The validated request as JSON. May carry credentials: never shown or logged.
    spec               TEXT NOT NULL,
    page_count         BIGINT NOT NULL DEFAULT 0,
    error_count        BIGINT NOT NULL DEFAULT 0,
    enqueued_at        BIGINT NOT NULL,
    started_at         BIGINT,
    finished_at        BIGINT,
    error_message      TEXT,
    -- As it may be shown: without credentials.
    proxy_url          TEXT,
    -- JSON object: bot to policy word.
    ai_bot_policy      TEXT,
    llms_txt           TEXT,
    llms_full_txt      TEXT,
    -- Null: no webhook. pending, delivered, dead, suppressed_no_change, suppressed_no_baseline.
    webhook_status     TEXT,
    webhook_attempts   BIGINT NOT NULL DEFAULT 0,
    webhook_last_error TEXT,
    -- The caller's Idempotency-Key; null again once it has expired.
    idem_key           TEXT,
    -- Who works on it, until when, and how often it has changed hands. A commit under an
    -- older epoch writes nothing.
    lease_owner        TEXT,
    lease_epoch        BIGINT NOT NULL DEFAULT 0,
    lease_until        BIGINT NOT NULL DEFAULT 0,
    -- Counts as of the last commit, and what the engine needs to resume: JSON objects.
    progress           TEXT NOT NULL DEFAULT '{}',
    engine_state       TEXT NOT NULL DEFAULT '{}',
    UNIQUE (project_id, idem_key)
);
CREATE INDEX runs_project ON runs (project_id, id);
CREATE INDEX runs_lease ON runs (status, lease_until);
CREATE INDEX runs_recent ON runs (project_id, url_key, finished_at);
CREATE INDEX runs_monitor ON runs (monitor_id, id);

-- What a run knows of, in the order of discovery. A page, what it links to, and its own
-- change of state commit together.
CREATE TABLE frontier (
    run_id      BIGINT NOT NULL,
    seq         BIGINT NOT NULL,
    -- The link as written, resolved.
    url         TEXT NOT NULL,
    -- 64-bit hash of its normalised URL.
    key_hash    BIGINT NOT NULL,
    depth       BIGINT NOT NULL,
    -- 0 queued, 1 done, 2 failed, 3 skipped.
    state       BIGINT NOT NULL,
    attempts    BIGINT NOT NULL DEFAULT 0,
    -- Not to be fetched before, milliseconds since 1970.
    next_at     BIGINT NOT NULL DEFAULT 0,
    -- Hash of the page that it redirects to within the run's scope.
    redirect_to BIGINT,
    PRIMARY KEY (run_id, seq)
) WITHOUT ROWID;

-- The links of a crawled page.
CREATE TABLE page_links (
    page_id    INTEGER PRIMARY KEY REFERENCES pages (id) ON DELETE CASCADE,
    run_id     BIGINT NOT NULL,
    project_id BIGINT NOT NULL,
    -- Hashes of the targets within the run's scope, in document order, repeats included:
    -- packed little-endian 64-bit words.
    targets    BLOB NOT NULL,
    -- zstd of a JSON array of [to_url, anchor, rel, nofollow as 0 or 1].
    links      BLOB NOT NULL
);
CREATE INDEX page_links_run ON page_links (run_id, page_id);

-- When a host may be asked next, for nodes that share it.
CREATE TABLE crawl_hosts (
    -- host:port.
    host    TEXT PRIMARY KEY,
    next_at BIGINT NOT NULL
);

-- Of crawled pages only.
ALTER TABLE pages ADD COLUMN seq BIGINT;
ALTER TABLE pages ADD COLUMN key_hash BIGINT;
ALTER TABLE pages ADD COLUMN depth BIGINT;
ALTER TABLE pages ADD COLUMN title TEXT;
ALTER TABLE pages ADD COLUMN canonical TEXT;
-- Robots directives of the page and its header, as words: noindex, nofollow …
ALTER TABLE pages ADD COLUMN robots TEXT;
-- JSON object: outputs of the extractors that the run names.
ALTER TABLE pages ADD COLUMN extensions TEXT;

CREATE UNIQUE INDEX pages_run_key ON pages (run_id, url_key) WHERE run_id IS NOT NULL;
-- Only scans are purged by their own age; a crawl's pages go with their run.
DROP INDEX pages_age;
CREATE INDEX pages_age ON pages (fetched_at) WHERE run_id IS NULL;
