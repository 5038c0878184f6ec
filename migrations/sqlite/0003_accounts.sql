-- Quota, key audit, signup, payment and mail.

-- Set while the project may do nothing.
ALTER TABLE projects ADD COLUMN suspended_at BIGINT;
-- Where its keys were mailed to, for projects that signed up.
ALTER TABLE projects ADD COLUMN email TEXT;

-- Pages set aside for work under way, so that parallel work cannot overshoot a cap. They
-- turn into usage events; what a dead process held ends by itself.
CREATE TABLE quota_reservations (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
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
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
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
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
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
    id           INTEGER PRIMARY KEY,
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
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    recipient       TEXT NOT NULL,
    subject         TEXT NOT NULL,
    -- The text, sealed: it may carry a key.
    sealed          BLOB NOT NULL,
    -- Tells which instance secret opens it.
    seal_id         TEXT NOT NULL,
    created_at      BIGINT NOT NULL,
    attempts        BIGINT NOT NULL DEFAULT 0,
    -- When to try (again); pushed ahead while a node is trying.
    next_attempt_at BIGINT NOT NULL,
    last_error      TEXT
);
CREATE INDEX mail_outbox_due ON mail_outbox (next_attempt_at);
