-- Runs that were deleted and whose pages are still being removed, a piece at a time.

CREATE TABLE run_deletions (
    run_id       BIGINT PRIMARY KEY,
    project_id   BIGINT NOT NULL,
    requested_at BIGINT NOT NULL
);
