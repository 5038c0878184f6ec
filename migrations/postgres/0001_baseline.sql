-- The whole schema of the first release. README.md beside it has the rules.
--
-- Tables that grow with the pages of projects are partitioned by HASH (project_id); the request log, which is
-- deleted by age, by RANGE (ts). The partitions are created at the end of this file, which says why.

-- --- Projects, keys, pages, the request log and usage

CREATE TABLE projects (
    id            BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name          TEXT NOT NULL UNIQUE,
    tier          TEXT NOT NULL,
    -- 1: may manage plugins. The first project of a database is.
    administrator BIGINT NOT NULL DEFAULT 0,
    -- Defaults of the project's requests.
    proxy_url     TEXT,
    cloud_mode    TEXT NOT NULL DEFAULT 'none',
    -- Where its keys were mailed to, for projects that signed up.
    email         TEXT,
    created_at    BIGINT NOT NULL,
    -- Set while the project may do nothing.
    suspended_at  BIGINT
);

CREATE TABLE api_keys (
    id           BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project_id   BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    -- SHA-256 of the key; the key itself is never stored.
    hash         BYTEA NOT NULL UNIQUE,
    prefix       TEXT NOT NULL,
    label        TEXT,
    created_at   BIGINT NOT NULL,
    last_used_at BIGINT,
    revoked_at   BIGINT,
    expires_at   BIGINT
);
CREATE INDEX api_keys_project ON api_keys (project_id, prefix);

-- Objects of the blob store, each with many bodies. A segment never gets another body.
CREATE TABLE segments (
    id          BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- Of the object, below the store's prefix.
    name        TEXT NOT NULL UNIQUE,
    bytes       BIGINT NOT NULL,
    -- The records that rows of `blobs` refer to: their number and their bytes.
    live_bodies BIGINT NOT NULL,
    live_bytes  BIGINT NOT NULL,
    created_at  BIGINT NOT NULL,
    -- When it was seen without references.
    dead_at     BIGINT,
    -- When the object was deleted. The row stays for some days, so that no late commit gets the name.
    deleted_at  BIGINT,
    -- When the store was first found to lack the object. Bodies in it that are fetched again are stored anew.
    lost_at     BIGINT
);
CREATE INDEX segments_sparse ON segments (id) WHERE live_bytes * 2 < bytes;

CREATE TABLE blobs (
    id         BIGINT GENERATED ALWAYS AS IDENTITY,
    project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    -- SHA-256 of the decoded body.
    hash       BYTEA NOT NULL,
    -- Length of the decoded body.
    size       BIGINT NOT NULL,
    -- identity, gzip, br or zstd: what `bytes` is encoded with.
    encoding   TEXT NOT NULL,
    -- Null if the body is in a segment.
    bytes      BYTEA,
    -- Its record in a segment, which has the encoded body.
    segment_id     BIGINT REFERENCES segments (id),
    segment_offset BIGINT,
    segment_length BIGINT,
    -- Pages that point here; the row goes with the last of them.
    refs       BIGINT NOT NULL,
    PRIMARY KEY (id, project_id),
    UNIQUE (project_id, hash),
    CHECK ((bytes IS NULL) = (segment_id IS NOT NULL))
) PARTITION BY HASH (project_id);
CREATE INDEX blobs_segment ON blobs (segment_id) WHERE segment_id IS NOT NULL;

-- Bodies that wait in the database until they fill a segment.
CREATE TABLE staged_bodies (
    blob_id    BIGINT PRIMARY KEY,
    project_id BIGINT NOT NULL,
    staged_at  BIGINT NOT NULL
);

CREATE TABLE pages (
    -- Rises over all projects.
    id           BIGINT GENERATED ALWAYS AS IDENTITY,
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
    blob_id      BIGINT,
    -- Of crawled pages only, from here on. Place in the run's order of discovery.
    seq          BIGINT,
    -- 64-bit hash of the normalised URL.
    key_hash     BIGINT,
    -- Links from the seed.
    depth        BIGINT,
    title        TEXT,
    canonical    TEXT,
    -- Robots directives of the page and its header, as words: noindex, nofollow …
    robots       TEXT,
    -- JSON object: outputs of the extractors that the run names.
    extensions   TEXT,
    -- The Content-Type header as received.
    content_type TEXT,
    -- Milliseconds from the request to the end of the body, redirects included.
    elapsed_ms   BIGINT,
    -- JSON array of the redirects that led here, each {"url", "status"}; null without one.
    redirects    TEXT,
    -- The id comes first: search asks for the pages after one, of all projects.
    PRIMARY KEY (id, project_id)
) PARTITION BY HASH (project_id);
CREATE INDEX pages_cache ON pages (project_id, url_key, fetched_at);
CREATE INDEX pages_run ON pages (project_id, run_id, id);
CREATE INDEX pages_blob ON pages (blob_id);
CREATE UNIQUE INDEX pages_run_key ON pages (project_id, run_id, url_key) WHERE run_id IS NOT NULL;
-- Only scans are purged by their own age; a crawl's pages go with their run.
CREATE INDEX pages_age ON pages (fetched_at) WHERE run_id IS NULL;

CREATE TABLE request_log (
    id          BIGINT GENERATED ALWAYS AS IDENTITY,
    -- Without a foreign key, for which the drop of a partition would lock out every reader of `projects`.
    project_id  BIGINT NOT NULL,
    ts          BIGINT NOT NULL,
    method      TEXT NOT NULL,
    path        TEXT NOT NULL,
    status      BIGINT NOT NULL,
    duration_ms BIGINT NOT NULL,
    client_ip   TEXT NOT NULL,
    request_id  TEXT NOT NULL,
    key_prefix  TEXT NOT NULL,
    PRIMARY KEY (id, project_id, ts)
) PARTITION BY RANGE (ts);
CREATE INDEX request_log_project ON request_log (project_id, id);

-- Append-only: one row per chargeable call.
CREATE TABLE usage_events (
    id           BIGINT GENERATED ALWAYS AS IDENTITY,
    project_id   BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    -- The same call, retried, has the same token and is billed once.
    token        TEXT NOT NULL,
    call         TEXT NOT NULL,
    pages        BIGINT NOT NULL,
    cloud_pages  BIGINT NOT NULL,
    cost_micros  BIGINT NOT NULL,
    ts           BIGINT NOT NULL,
    PRIMARY KEY (id, project_id),
    UNIQUE (project_id, token)
) PARTITION BY HASH (project_id);
-- What the last hours cost in the cloud; most events cost nothing there.
CREATE INDEX usage_events_cloud ON usage_events (project_id, ts) WHERE cloud_pages > 0 OR cost_micros > 0;

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

-- The same sums per kind of call.
CREATE TABLE usage_calls (
    project_id  BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    -- YYYY-MM-DD.
    day         TEXT NOT NULL,
    call        TEXT NOT NULL,
    pages       BIGINT NOT NULL,
    cloud_pages BIGINT NOT NULL,
    cost_micros BIGINT NOT NULL,
    PRIMARY KEY (project_id, day, call)
);

-- Answers kept for 24 hours under the caller's Idempotency-Key.
CREATE TABLE idempotency (
    project_id   BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    path         TEXT NOT NULL,
    idem_key     TEXT NOT NULL,
    -- SHA-256 of the request's body.
    body_hash    BYTEA NOT NULL,
    -- Null while the first request is still being worked on.
    status       BIGINT,
    -- Until then nobody else works on it; renewed while the work goes on.
    leased_until BIGINT NOT NULL,
    -- Of the answer, a line each: name, colon, value.
    headers      TEXT,
    -- Packed with zstd.
    body         BYTEA,
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
    value      BYTEA NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (project_id, name)
);

-- --- Crawl runs

CREATE TABLE runs (
    id                 BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
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
    -- 1: what is fetched first is the seed; 0: a sitemap lists what is fetched.
    seed_is_page       BIGINT NOT NULL,
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
    -- Counts as of the last commit: URLs known and not yet fetched, fetched, given up, and
    -- left out, by reason.
    queued             BIGINT NOT NULL DEFAULT 0,
    fetched            BIGINT NOT NULL DEFAULT 0,
    failed             BIGINT NOT NULL DEFAULT 0,
    skipped_robots     BIGINT NOT NULL DEFAULT 0,
    skipped_scope      BIGINT NOT NULL DEFAULT 0,
    skipped_excluded   BIGINT NOT NULL DEFAULT 0,
    skipped_depth      BIGINT NOT NULL DEFAULT 0,
    skipped_budget     BIGINT NOT NULL DEFAULT 0,
    skipped_duplicate  BIGINT NOT NULL DEFAULT 0,
    skipped_hook       BIGINT NOT NULL DEFAULT 0,
    -- Failures of plugins on pages, and pages that hooks dropped.
    plugin_errors      BIGINT NOT NULL DEFAULT 0,
    dropped            BIGINT NOT NULL DEFAULT 0,
    -- What the engine needs to resume: a JSON object that only the engine reads.
    engine_state       TEXT NOT NULL DEFAULT '{}',
    UNIQUE (project_id, idem_key)
);
CREATE INDEX runs_project ON runs (project_id, id);
CREATE INDEX runs_lease ON runs (status, lease_until);
CREATE INDEX runs_recent ON runs (project_id, url_key, finished_at);
CREATE INDEX runs_monitor ON runs (monitor_id, id);

-- What a run's site tells language models. Each commit writes the run's row again, and these files may have
-- megabytes.
CREATE TABLE run_texts (
    run_id        BIGINT PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
    project_id    BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    llms_txt      TEXT,
    llms_full_txt TEXT
);
CREATE INDEX run_texts_project ON run_texts (project_id);

-- What a run knows of, in the order of discovery. A page, what it links to, and its own
-- change of state commit together.
CREATE TABLE frontier (
    project_id  BIGINT NOT NULL,
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
    -- Given by a hook: those of higher priority are fetched first.
    priority    BIGINT NOT NULL DEFAULT 0,
    -- The part of the run that it is lent to, and its place in what is lent to it.
    part        BIGINT,
    lent        BIGINT,
    PRIMARY KEY (project_id, run_id, seq)
) PARTITION BY HASH (project_id);
CREATE INDEX frontier_lent ON frontier (project_id, run_id, part, lent) WHERE part IS NOT NULL;

-- Parts of runs: hosts that a run's worker lends to another node, which leases the part.
CREATE TABLE run_parts (
    run_id      BIGINT NOT NULL,
    part        BIGINT NOT NULL,
    project_id  BIGINT NOT NULL,
    -- Its share of the run's concurrent requests; null: as many as the origin can handle.
    concurrency BIGINT,
    lease_owner TEXT,
    -- A commit of the part under an older epoch writes nothing.
    lease_epoch BIGINT NOT NULL DEFAULT 0,
    lease_until BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (run_id, part)
);
CREATE INDEX run_parts_lease ON run_parts (lease_until);

-- What became of lent URLs, until the run's worker has read it. Committed with their pages.
CREATE TABLE run_reports (
    id         BIGINT GENERATED ALWAYS AS IDENTITY,
    run_id     BIGINT NOT NULL,
    project_id BIGINT NOT NULL,
    part       BIGINT NOT NULL,
    -- As in the frontier.
    seq        BIGINT NOT NULL,
    -- 1: its page was stored in the same transaction.
    stored     BIGINT NOT NULL,
    -- A JSON object that only the engine reads.
    report     TEXT NOT NULL,
    PRIMARY KEY (id, project_id),
    UNIQUE (project_id, run_id, seq)
) PARTITION BY HASH (project_id);
CREATE INDEX run_reports_part ON run_reports (project_id, run_id, part, id);

-- URLs of a run that gave no answer.
CREATE TABLE run_errors (
    run_id     BIGINT NOT NULL,
    -- As in the frontier.
    seq        BIGINT NOT NULL,
    project_id BIGINT NOT NULL,
    url        TEXT NOT NULL,
    key_hash   BIGINT NOT NULL,
    -- One word: dns, connect, tls, timeout …
    kind       TEXT NOT NULL,
    message    TEXT NOT NULL,
    attempts   BIGINT NOT NULL,
    failed_at  BIGINT NOT NULL,
    PRIMARY KEY (project_id, run_id, seq)
) PARTITION BY HASH (project_id);

-- What plugins said of URLs of a run: links that hooks skipped, pages that they dropped or put off
-- (hook), and failures (plugin). Each URL once for each plugin; bounded in number.
CREATE TABLE run_notes (
    id         BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run_id     BIGINT NOT NULL,
    project_id BIGINT NOT NULL,
    -- hook or plugin.
    kind       TEXT NOT NULL,
    plugin     TEXT NOT NULL,
    url        TEXT NOT NULL,
    key_hash   BIGINT NOT NULL,
    message    TEXT NOT NULL,
    noted_at   BIGINT NOT NULL,
    UNIQUE (run_id, kind, plugin, key_hash)
);
CREATE INDEX run_notes_kind ON run_notes (run_id, kind, id);

-- The records that hooks made of a crawled page.
CREATE TABLE page_records (
    page_id    BIGINT NOT NULL,
    -- Place among the page's records, from 0.
    place      BIGINT NOT NULL,
    run_id     BIGINT NOT NULL,
    project_id BIGINT NOT NULL,
    -- The hook's name.
    hook       TEXT NOT NULL,
    -- JSON of any type.
    data       TEXT NOT NULL,
    PRIMARY KEY (page_id, place, project_id)
) PARTITION BY HASH (project_id);
CREATE INDEX page_records_run ON page_records (project_id, run_id, page_id, place);

-- The links of a crawled page.
CREATE TABLE page_links (
    page_id    BIGINT NOT NULL,
    run_id     BIGINT NOT NULL,
    project_id BIGINT NOT NULL,
    -- Hashes of the targets within the run's scope, in document order, repeats included:
    -- packed little-endian 64-bit words.
    targets    BYTEA NOT NULL,
    -- zstd of a JSON array of [to_url, anchor, rel, nofollow as 0 or 1].
    links      BYTEA NOT NULL,
    PRIMARY KEY (page_id, project_id)
) PARTITION BY HASH (project_id);
CREATE INDEX page_links_run ON page_links (project_id, run_id, page_id);

-- When a host may be asked next, for nodes that share it.
CREATE TABLE crawl_hosts (
    -- host:port.
    host    TEXT PRIMARY KEY,
    next_at BIGINT NOT NULL
);

-- Runs that were deleted and whose pages are still being removed, a piece at a time.

CREATE TABLE run_deletions (
    run_id       BIGINT PRIMARY KEY,
    project_id   BIGINT NOT NULL,
    requested_at BIGINT NOT NULL
);

-- --- Quota, key events, signup, mail

-- Pages set aside for work under way, so that parallel work cannot overshoot a cap. They
-- turn into usage events; what a dead process held ends by itself.
CREATE TABLE quota_reservations (
    id          BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project_id  BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    -- YYYY-MM-DD: the day that will be billed.
    day         TEXT NOT NULL,
    pages       BIGINT NOT NULL,
    cloud_pages BIGINT NOT NULL,
    expires_at  BIGINT NOT NULL
);
CREATE INDEX quota_reservations_project ON quota_reservations (project_id, day);
CREATE INDEX quota_reservations_age ON quota_reservations (expires_at);

-- Append-only: what happened to a key, and who did it.
CREATE TABLE key_events (
    id         BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    key_id     BIGINT NOT NULL REFERENCES api_keys (id) ON DELETE CASCADE,
    -- issued, grace (an end was set by a rotation) or revoked.
    action     TEXT NOT NULL,
    -- Prefix of the key that asked for it, or cli, signup, billing, start.
    actor      TEXT NOT NULL,
    ts         BIGINT NOT NULL
);
CREATE INDEX key_events_project ON key_events (project_id, id);

CREATE TABLE signup_attempts (
    id        BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    ip        TEXT NOT NULL,
    ts        BIGINT NOT NULL,
    -- 1: it made a project, or an intent.
    succeeded BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX signup_attempts_ip ON signup_attempts (ip, ts);
CREATE INDEX signup_attempts_age ON signup_attempts (ts);

-- Paid signups that wait for, or had, their payment.
CREATE TABLE signup_intents (
    -- 53 random bits: whoever has the number may pay, so it must not be guessed.
    id           BIGINT PRIMARY KEY,
    project_name TEXT NOT NULL,
    email        TEXT NOT NULL,
    tier         TEXT NOT NULL,
    created_at   BIGINT NOT NULL,
    -- The provider's checkout session, once there is one.
    session_id   TEXT,
    checkout_url TEXT,
    -- With the project that the payment made.
    completed_at BIGINT,
    project_id   BIGINT REFERENCES projects (id) ON DELETE SET NULL
);
CREATE INDEX signup_intents_name ON signup_intents (project_name);

CREATE TABLE mail_outbox (
    id              BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    recipient       TEXT NOT NULL,
    subject         TEXT NOT NULL,
    -- The text, sealed: it may carry a key.
    sealed          BYTEA NOT NULL,
    -- Tells which instance secret opens it.
    seal_id         TEXT NOT NULL,
    created_at      BIGINT NOT NULL,
    attempts        BIGINT NOT NULL DEFAULT 0,
    -- When to try (again); pushed ahead while a node is trying.
    next_attempt_at BIGINT NOT NULL,
    last_error      TEXT
);
CREATE INDEX mail_outbox_due ON mail_outbox (next_attempt_at);

-- --- Jobs: runs of actors in the background

CREATE TABLE jobs (
    id               BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project_id       BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    -- Name of the actor.
    actor            TEXT NOT NULL,
    -- queued, running, done, failed or cancelled.
    status           TEXT NOT NULL,
    -- The validated input as JSON. May carry credentials: never shown or logged.
    input            TEXT NOT NULL,
    -- X-Request-Id of the request that queued it.
    request_id       TEXT NOT NULL,
    -- Where its end is told; may carry credentials.
    webhook_url      TEXT,
    enqueued_at      BIGINT NOT NULL,
    started_at       BIGINT,
    finished_at      BIGINT,
    -- 1: it is to end as soon as it can.
    cancel_requested BIGINT NOT NULL DEFAULT 0,
    -- Attempts begun, without those that a worker handed back.
    attempts         BIGINT NOT NULL DEFAULT 0,
    -- What the actor says of its progress, and what it emitted: of the last attempt.
    progress_done    BIGINT NOT NULL DEFAULT 0,
    progress_total   BIGINT,
    progress_message TEXT,
    item_count       BIGINT NOT NULL DEFAULT 0,
    -- The actor's answer as JSON.
    result           TEXT,
    error_code       TEXT,
    error_message    TEXT,
    -- What was billed at its end.
    pages            BIGINT NOT NULL DEFAULT 0,
    cloud_pages      BIGINT NOT NULL DEFAULT 0,
    cost_micros      BIGINT NOT NULL DEFAULT 0,
    -- Rises with every change that clients see.
    revision         BIGINT NOT NULL DEFAULT 0,
    -- The caller's Idempotency-Key with the SHA-256 of the body; null again once it has expired.
    idem_key         TEXT,
    idem_digest      BYTEA,
    -- As in runs.
    lease_owner      TEXT,
    lease_epoch      BIGINT NOT NULL DEFAULT 0,
    lease_until      BIGINT NOT NULL DEFAULT 0,
    UNIQUE (project_id, actor, idem_key)
);
CREATE INDEX jobs_project ON jobs (project_id, actor, id);
CREATE INDEX jobs_lease ON jobs (status, lease_until);

-- What jobs emitted. Only those of the job's last lease are shown.
CREATE TABLE job_items (
    job_id     BIGINT NOT NULL,
    -- The lease under which it was written.
    epoch      BIGINT NOT NULL,
    -- From 0.
    position   BIGINT NOT NULL,
    project_id BIGINT NOT NULL,
    -- JSON of any type.
    data       TEXT NOT NULL,
    PRIMARY KEY (job_id, epoch, position)
);

-- Items that are still to be removed, a piece at a time: those of a deleted job, or of the earlier
-- attempts of another one.
CREATE TABLE job_removals (
    job_id       BIGINT PRIMARY KEY,
    project_id   BIGINT NOT NULL,
    -- Items of earlier leases than this.
    before_epoch BIGINT NOT NULL
);

-- --- Monitors and webhooks

CREATE TABLE monitors (
    id            BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project_id    BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    -- Five fields, UTC.
    schedule      TEXT NOT NULL,
    url           TEXT NOT NULL,
    url_key       TEXT NOT NULL,
    -- The validated crawl as JSON. May carry credentials: never shown or logged.
    spec          TEXT NOT NULL,
    -- As in its runs.
    seed_is_page  BIGINT NOT NULL,
    -- As it may be shown: without credentials.
    proxy_url     TEXT,
    -- 1: its runs have a webhook.
    has_webhook   BIGINT NOT NULL,
    -- When it fires next; in the past while a fire waits for a free run slot. Null: paused.
    next_fires_at BIGINT,
    last_fired_at BIGINT,
    last_run_id   BIGINT,
    created_at    BIGINT NOT NULL,
    -- The caller's Idempotency-Key; null again once it has expired.
    idem_key      TEXT,
    UNIQUE (project_id, idem_key)
);
CREATE INDEX monitors_project ON monitors (project_id, id);
CREATE INDEX monitors_due ON monitors (next_fires_at, project_id);
CREATE INDEX monitors_turn ON monitors (project_id, next_fires_at);

-- Exports of runs to buckets of their projects, which workers lease like jobs.
CREATE TABLE exports (
    id               BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project_id       BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    run_id           BIGINT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    -- queued, running, done, failed or cancelled.
    status           TEXT NOT NULL,
    -- What is written, and where: JSON with names of secrets, without values.
    request          TEXT NOT NULL,
    -- X-Request-Id of the request that queued it.
    request_id       TEXT NOT NULL,
    enqueued_at      BIGINT NOT NULL,
    started_at       BIGINT,
    finished_at      BIGINT,
    -- 1: it is to end as soon as it can.
    cancel_requested BIGINT NOT NULL DEFAULT 0,
    -- Attempts begun, without those that a worker handed back.
    attempts         BIGINT NOT NULL DEFAULT 0,
    -- What the last attempt has written.
    pages            BIGINT NOT NULL DEFAULT 0,
    bytes            BIGINT NOT NULL DEFAULT 0,
    -- The upload that the last attempt began: the next one gives it up.
    upload           TEXT,
    error_code       TEXT,
    error_message    TEXT,
    -- As in runs.
    lease_owner      TEXT,
    lease_epoch      BIGINT NOT NULL DEFAULT 0,
    lease_until      BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX exports_run ON exports (run_id, id);
CREATE INDEX exports_project ON exports (project_id);
CREATE INDEX exports_lease ON exports (status, lease_until);

-- One row per event of a run or job that ended, written in the transaction that ends it.
CREATE TABLE deliveries (
    id          BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project_id  BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    -- The run, or the job, that ended; neither: it is of an event that belongs to no run.
    run_id      BIGINT REFERENCES runs (id) ON DELETE CASCADE,
    job_id      BIGINT REFERENCES jobs (id) ON DELETE CASCADE,
    -- The body as it is sent, where it does not depend on the attempt; null: made of the run.
    payload     TEXT,
    -- The webhook-id that receivers see, the same for every attempt.
    message_id  TEXT NOT NULL UNIQUE,
    event       TEXT NOT NULL,
    url         TEXT NOT NULL,
    -- scheme://host:port of the URL: what is slow is slow as a whole.
    target      TEXT NOT NULL,
    -- Pages that differ from the previous run; null without a run to compare with.
    diff_added     BIGINT,
    diff_removed   BIGINT,
    diff_changed   BIGINT,
    diff_unchanged BIGINT,
    diff_gone      BIGINT,
    diff_unvisited BIGINT,
    -- JSON object: URLs of the first pages that differ.
    diff_urls      TEXT,
    -- Of crawl.page: the pages have ids above the first and up to the second one.
    pages_after    BIGINT,
    pages_through  BIGINT,
    -- pending, delivered or dead.
    state       TEXT NOT NULL DEFAULT 'pending',
    attempts    BIGINT NOT NULL DEFAULT 0,
    -- Attempts before it was last asked for by hand: the schedule of retries begins there.
    past        BIGINT NOT NULL DEFAULT 0,
    -- When to try (again); pushed ahead while a node is trying.
    next_at     BIGINT NOT NULL,
    -- The node that is trying, and how often the row was taken. What an older take brings
    -- home counts for nothing.
    taken_by    TEXT,
    takes       BIGINT NOT NULL DEFAULT 0,
    last_error  TEXT,
    created_at  BIGINT NOT NULL,
    finished_at BIGINT
);
CREATE INDEX deliveries_due ON deliveries (next_at, target) WHERE state = 'pending';
CREATE INDEX deliveries_run ON deliveries (run_id, id);
CREATE INDEX deliveries_job ON deliveries (job_id, id);
CREATE INDEX deliveries_project ON deliveries (project_id);
-- Those that belong to no run.
CREATE INDEX deliveries_receiver ON deliveries (project_id, id) WHERE run_id IS NULL AND job_id IS NULL;

-- How far the webhook of a run was told of its pages (crawl.page). The row goes when all pages of
-- an ended run are delivered.
CREATE TABLE page_feeds (
    run_id      BIGINT PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
    project_id  BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    url         TEXT NOT NULL,
    target      TEXT NOT NULL,
    -- The last page that a delivery has.
    told_to     BIGINT NOT NULL DEFAULT 0,
    -- When to look for pages; null while there are none, and while a delivery is under way.
    due_at      BIGINT,
    -- The delivery under way, or given up: there is one at a time.
    delivery_id BIGINT
);
CREATE INDEX page_feeds_due ON page_feeds (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX page_feeds_project ON page_feeds (project_id);

CREATE TABLE delivery_attempts (
    delivery_id BIGINT NOT NULL REFERENCES deliveries (id) ON DELETE CASCADE,
    -- From 1.
    number      BIGINT NOT NULL,
    at          BIGINT NOT NULL,
    -- Of the response; null without one.
    status      BIGINT,
    latency_ms  BIGINT NOT NULL,
    error       TEXT,
    PRIMARY KEY (delivery_id, number)
);

-- --- Search

-- Full-text search over stored pages: one document per project and URL, of its youngest page.

CREATE TABLE search_docs (
    page_id    BIGINT NOT NULL,
    project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    url_key    TEXT NOT NULL,
    PRIMARY KEY (page_id, project_id),
    UNIQUE (project_id, url_key)
) PARTITION BY HASH (project_id);

-- The words alone: the text is with the page. Words are made before they come here, in ASCII
-- (pairs of characters where a script has no spaces).
CREATE TABLE search_index (
    page_id    BIGINT NOT NULL,
    project_id BIGINT NOT NULL,
    words      TSVECTOR NOT NULL,
    PRIMARY KEY (page_id, project_id)
) PARTITION BY HASH (project_id);
CREATE INDEX search_index_words ON search_index USING gin (words);

-- Pages that a node is adding to the index: those with ids above `after`, up to `through`. The
-- setting `search.indexed_through` is the last page of the newest one; other nodes leave these
-- pages alone until the lease has ended.
CREATE TABLE search_claims (
    after       BIGINT PRIMARY KEY,
    through     BIGINT NOT NULL,
    lease_until BIGINT NOT NULL
);

-- Documents (PDF and the like) that must be converted before they are indexed. The lease is that of the
-- node that converts one; 0 is none.
CREATE TABLE search_documents (
    project_id  BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    page_id     BIGINT NOT NULL,
    lease_until BIGINT NOT NULL,
    PRIMARY KEY (project_id, page_id)
);

-- --- Plugins

-- Versions of uploaded plugins: an overlay over the plugin folder, the same on every node. The
-- setting `plugins_version` counts its changes.

CREATE TABLE plugins (
    -- The project that it belongs to; null: the instance.
    project_id  BIGINT REFERENCES projects (id) ON DELETE CASCADE,
    -- extractor, actor, fetcher or hook.
    kind        TEXT NOT NULL,
    name        TEXT NOT NULL,
    -- Counts the versions of a plugin, from 1.
    number      BIGINT NOT NULL,
    -- 1: this version serves; of each plugin one does.
    serving     BIGINT NOT NULL,
    -- Its manifest's version.
    version     TEXT NOT NULL,
    -- SHA-256 of the component, lower-case hex.
    digest      TEXT NOT NULL,
    size        BIGINT NOT NULL,
    -- JSON array of the grants named with the upload; null where the configuration decides.
    grants      TEXT,
    uploaded_at BIGINT NOT NULL,
    -- zstd of the component.
    component   BYTEA NOT NULL
);

CREATE UNIQUE INDEX plugins_number ON plugins (COALESCE(project_id, 0), kind, name, number);

-- Values that plugins keep between calls, for each project.

CREATE TABLE plugin_state (
    project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    -- 1: of the project's own plugin, not of the instance's of that name.
    own        BIGINT NOT NULL,
    kind       TEXT NOT NULL,
    name       TEXT NOT NULL,
    -- Ordered by bytes.
    key        TEXT COLLATE "C" NOT NULL,
    value      BYTEA NOT NULL,
    -- What it counts of the project's bound.
    bytes      BIGINT NOT NULL,
    version    BIGINT NOT NULL,
    expires_at BIGINT,
    PRIMARY KEY (project_id, own, kind, name, key)
);

CREATE INDEX plugin_state_expiry ON plugin_state (expires_at) WHERE expires_at IS NOT NULL;

-- What a project's plugins keep together, and the last version that was given.

CREATE TABLE plugin_state_use (
    project_id BIGINT PRIMARY KEY REFERENCES projects (id) ON DELETE CASCADE,
    bytes      BIGINT NOT NULL,
    entries    BIGINT NOT NULL,
    version    BIGINT NOT NULL
);

-- Secrets of projects that the service puts into requests of plugins.

CREATE TABLE plugin_secrets (
    project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    name       TEXT NOT NULL,
    -- Encrypted with the instance's secret, for this project and name.
    sealed     BYTEA NOT NULL,
    -- JSON array of the origins that may receive it.
    hosts      TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (project_id, name)
);

-- What plugins logged in calls for a project, for their authors. Bounded for each plugin.

CREATE TABLE plugin_logs (
    id         BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    -- 1: of the project's own plugin, not of the instance's of that name.
    own        BIGINT NOT NULL,
    kind       TEXT NOT NULL,
    name       TEXT NOT NULL,
    ts         BIGINT NOT NULL,
    -- Its manifest's version.
    version    TEXT NOT NULL,
    -- Empty if there is none.
    request_id TEXT NOT NULL,
    -- crawl or actor; empty if it is no run.
    run_kind   TEXT NOT NULL,
    run_id     BIGINT,
    -- trace, debug, info, warn or error.
    level      TEXT NOT NULL,
    -- Without credentials.
    message    TEXT NOT NULL,
    -- What it counts of the plugin's bound.
    bytes      BIGINT NOT NULL
);
CREATE INDEX plugin_logs_plugin ON plugin_logs (project_id, own, kind, name, id);
CREATE INDEX plugin_logs_ts ON plugin_logs (ts);

-- Where a project is told of what belongs to no run.

CREATE TABLE project_webhooks (
    project_id BIGINT PRIMARY KEY REFERENCES projects (id) ON DELETE CASCADE,
    -- May carry credentials.
    url        TEXT NOT NULL,
    -- Names of events, separated by spaces.
    events     TEXT NOT NULL,
    updated_at BIGINT NOT NULL
);

-- What a project's receiver was last told of the quarantine of a plugin.

CREATE TABLE plugin_quarantines (
    project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    -- 1: the project's own plugin, not the instance's of that name.
    own        BIGINT NOT NULL,
    kind       TEXT NOT NULL,
    name       TEXT NOT NULL,
    -- SHA-256 of the component, lower-case hex.
    digest     TEXT NOT NULL,
    -- 1: its beginning was told last; 0: its end.
    is_open    BIGINT NOT NULL,
    -- When its beginning was last told, and when it was last heard of.
    told_at    BIGINT NOT NULL,
    seen_at    BIGINT NOT NULL,
    PRIMARY KEY (project_id, own, kind, name)
);

-- Failed calls of plugins, with their inputs, for their authors. Bounded for each plugin.

CREATE TABLE plugin_calls (
    id             BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project_id     BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    own            BIGINT NOT NULL,
    kind           TEXT NOT NULL,
    name           TEXT NOT NULL,
    ts             BIGINT NOT NULL,
    version        TEXT NOT NULL,
    request_id     TEXT NOT NULL,
    run_kind       TEXT NOT NULL,
    run_id         BIGINT,
    -- SHA-256 of the component, lower-case hex.
    digest         TEXT NOT NULL,
    -- JSON, without credentials.
    input          TEXT NOT NULL,
    -- SHA-256 of the whole input.
    input_digest   TEXT NOT NULL,
    -- The page's text, if there is one and it is small enough.
    body           BYTEA,
    -- Why the call cannot be made again; empty if it can.
    not_replayable TEXT NOT NULL,
    code           TEXT NOT NULL,
    message        TEXT NOT NULL,
    cpu_us         BIGINT NOT NULL,
    wall_us        BIGINT NOT NULL,
    memory         BIGINT NOT NULL,
    bytes          BIGINT NOT NULL
);
CREATE INDEX plugin_calls_plugin ON plugin_calls (project_id, own, kind, name, id);
CREATE INDEX plugin_calls_ts ON plugin_calls (ts);

-- --- Partitions

-- Each project is in one of 16 partitions of each of these tables, of the same number in all of them. What is
-- asked for carries the project, so a statement plans and locks one partition, whose indexes are small. The number
-- is a constant, because the key of a row decides its partition for good: with 10⁹ pages a partition has 62 million, and
-- 16 are few enough that a statement over all projects (maintenance) still asks each of them.
--
-- They are not partitioned by time as well. A run is deleted as a whole, whenever its project likes, and each of its
-- pages gives its body back, so no partition of pages could be dropped unread; a page is read by its id
-- alone; and a usage event's token must be unique for all time.
--
-- Foreign keys are those of partitions to the partition of the same number: a check of a key that refers to a
-- partitioned table plans for all of its partitions, row by row, which makes the insertion of a page twice as slow.
DO $$
DECLARE
    parent TEXT;
BEGIN
    FOR part IN 0..15 LOOP
        FOREACH parent IN ARRAY ARRAY[
            'blobs', 'pages', 'page_links', 'page_records', 'frontier', 'run_errors', 'run_reports',
            'usage_events', 'search_docs', 'search_index'
        ] LOOP
            EXECUTE format(
                'CREATE TABLE %I PARTITION OF %I FOR VALUES WITH (MODULUS 16, REMAINDER %s)',
                parent || to_char(part, 'FM_00'), parent, part);
        END LOOP;
        EXECUTE replace(
            'ALTER TABLE pages# ADD FOREIGN KEY (blob_id, project_id) REFERENCES blobs# (id, project_id);
             ALTER TABLE page_links# ADD FOREIGN KEY (page_id, project_id)
                 REFERENCES pages# (id, project_id) ON DELETE CASCADE;
             ALTER TABLE page_records# ADD FOREIGN KEY (page_id, project_id)
                 REFERENCES pages# (id, project_id) ON DELETE CASCADE;
             ALTER TABLE search_docs# ADD FOREIGN KEY (page_id, project_id)
                 REFERENCES pages# (id, project_id) ON DELETE CASCADE;
             ALTER TABLE search_index# ADD FOREIGN KEY (page_id, project_id)
                 REFERENCES search_docs# (page_id, project_id) ON DELETE CASCADE;',
            '#', to_char(part, 'FM_00'));
    END LOOP;
END $$;

-- What no day has a partition for. The program makes one for each day ahead of time, and drops it when it is
-- older than the log is kept.
CREATE TABLE request_log_other PARTITION OF request_log DEFAULT;
