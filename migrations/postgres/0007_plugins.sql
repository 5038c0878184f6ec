-- Plugins that were uploaded: an overlay over the plugin folder, the same on every node. The
-- setting `plugins_version` counts its changes.

CREATE TABLE plugins (
    -- extractor, actor or fetcher.
    kind        TEXT NOT NULL,
    name        TEXT NOT NULL,
    -- SHA-256 of the component, lower-case hex.
    digest      TEXT NOT NULL,
    size        BIGINT NOT NULL,
    -- JSON array of the grants named with the upload; null where the configuration decides.
    grants      TEXT,
    uploaded_at BIGINT NOT NULL,
    -- zstd of the component.
    component   BYTEA NOT NULL,
    PRIMARY KEY (kind, name)
);
