-- Full-text search over stored pages: one document per project and URL, of its youngest page.

CREATE TABLE search_docs (
    page_id    BIGINT PRIMARY KEY REFERENCES pages (id) ON DELETE CASCADE,
    project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    url_key    TEXT NOT NULL,
    UNIQUE (project_id, url_key)
);

-- The words alone: the text is with the page.
CREATE TABLE search_index (
    page_id BIGINT PRIMARY KEY REFERENCES search_docs (page_id) ON DELETE CASCADE,
    words   TSVECTOR NOT NULL
);
CREATE INDEX search_index_words ON search_index USING gin (words);
