-- Monitors, and the outbox of webhooks.

CREATE TABLE monitors (
    id            BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project_id    BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    -- Five fields, UTC.
    schedule      TEXT NOT NULL,
    url           TEXT NOT NULL,
    url_key       TEXT NOT NULL,
    -- The validated crawl as JSON. May carry credentials: never shown or logged.
    spec          TEXT NOT NULL,
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

-- One row per event of a run that ended, written in the transaction that ends the run.
CREATE TABLE deliveries (
    id          BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project_id  BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    run_id      BIGINT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    -- The webhook-id that receivers see, the same for every attempt.
    message_id  TEXT NOT NULL UNIQUE,
    event       TEXT NOT NULL,
    url         TEXT NOT NULL,
    -- scheme://host:port of the URL: what is slow is slow as a whole.
    target      TEXT NOT NULL,
    -- JSON object of four counts; null without a run to compare with.
    diff        TEXT,
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
CREATE INDEX deliveries_project ON deliveries (project_id);

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
