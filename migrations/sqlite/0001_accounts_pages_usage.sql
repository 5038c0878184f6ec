-- Projects, their keys, stored pages, the request log and what is billed.

CREATE TABLE projects (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    name          TEXT NOT NULL UNIQUE,
    tier          TEXT NOT NULL,
    -- 1: may manage plugins. The first project of a database is.
    administrator BIGINT NOT NULL DEFAULT 0,
    -- Defaults of the project's requests.
    proxy_url     TEXT,
    cloud_mode    TEXT NOT NULL DEFAULT 'none',
    created_at    BIGINT NOT NULL
);

CREATE TABLE api_keys (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    project_id   BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    -- SHA-256 of the key; the key itself is never stored.
    hash         BLOB NOT NULL UNIQUE,
    prefix       TEXT NOT NULL,
    label        TEXT,
    created_at   BIGINT NOT NULL,
    last_used_at BIGINT,
    revoked_at   BIGINT,
    expires_at   BIGINT
);
CREATE INDEX api_keys_project ON api_keys (project_id, prefix);

CREATE TABLE blobs (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    -- SHA-256 of the decoded body.
    hash       BLOB NOT NULL,
    -- Length of the decoded body.
    size       BIGINT NOT NULL,
    -- identity, gzip, br or zstd: what `bytes` is encoded with.
    encoding   TEXT NOT NULL,
    bytes      BLOB NOT NULL,
    -- Pages that point here; the row goes with the last of them.
    refs       BIGINT NOT NULL,
    UNIQUE (project_id, hash)
);

CREATE TABLE pages (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    project_id   BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    -- Null for a scan.
    run_id       BIGINT,
    -- As it was asked for.
    url          TEXT NOT NULL,
    -- Normalised: the key of de-duplication and of the scan cache.
    url_key      TEXT NOT NULL,
    final_url    TEXT NOT NULL,
    status       BIGINT NOT NULL,
    bytes        BIGINT NOT NULL,
    fetched_at   BIGINT NOT NULL,
    content_hash TEXT,
    -- html, text or other.
    kind         TEXT NOT NULL,
    -- As it was asked for; empty when the service chose one.
    user_agent   TEXT NOT NULL,
    cloud_mode   TEXT NOT NULL,
    -- Response headers: a JSON array of [name, value].
    headers      TEXT NOT NULL,
    -- Extracted metadata, kept for pages without a stored body.
    metadata     TEXT,
    blob_id      BIGINT REFERENCES blobs (id)
);
CREATE INDEX pages_cache ON pages (project_id, url_key, fetched_at);
CREATE INDEX pages_run ON pages (run_id, id);
CREATE INDEX pages_blob ON pages (blob_id);
CREATE INDEX pages_age ON pages (fetched_at);

CREATE TABLE request_log (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    project_id  BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    ts          BIGINT NOT NULL,
    method      TEXT NOT NULL,
    path        TEXT NOT NULL,
    status      BIGINT NOT NULL,
    duration_ms BIGINT NOT NULL,
    client_ip   TEXT NOT NULL,
    request_id  TEXT NOT NULL,
    key_prefix  TEXT NOT NULL
);
CREATE INDEX request_log_project ON request_log (project_id, id);

-- Append-only: one row per chargeable call.
CREATE TABLE usage_events (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    project_id   BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    -- The same call, retried, has the same token and is billed once.
    token        TEXT NOT NULL,
    call         TEXT NOT NULL,
    pages        BIGINT NOT NULL,
    cloud_pages  BIGINT NOT NULL,
    cost_micros  BIGINT NOT NULL,
    ts           BIGINT NOT NULL,
    UNIQUE (project_id, token)
);

-- Sums of usage_events per UTC day, written in the same transaction.
CREATE TABLE usage_days (
    project_id  BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    -- YYYY-MM-DD.
    day         TEXT NOT NULL,
    pages       BIGINT NOT NULL,
    cloud_pages BIGINT NOT NULL,
    cost_micros BIGINT NOT NULL,
    PRIMARY KEY (project_id, day)
);

-- Answers kept for 24 hours under the caller's Idempotency-Key.
CREATE TABLE idempotency (
    project_id   BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    path         TEXT NOT NULL,
    idem_key     TEXT NOT NULL,
    -- SHA-256 of the request's body.
    body_hash    BLOB NOT NULL,
    -- Null while the first request is still being worked on.
    status       BIGINT,
    content_type TEXT,
    body         BLOB,
    created_at   BIGINT NOT NULL,
    PRIMARY KEY (project_id, path, idem_key)
);
CREATE INDEX idempotency_age ON idempotency (created_at);

-- What the instance remembers about itself.
CREATE TABLE settings (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
);

CREATE TABLE project_secrets (
    project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    name       TEXT NOT NULL,
    value      BLOB NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (project_id, name)
);
