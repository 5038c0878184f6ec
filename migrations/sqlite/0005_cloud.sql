-- Full-text search over stored pages: one document per project and URL, of its youngest page.

CREATE TABLE search_docs (
    page_id    BIGINT PRIMARY KEY REFERENCES pages (id) ON DELETE CASCADE,
    project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    url_key    TEXT NOT NULL,
    UNIQUE (project_id, url_key)
);

-- The words alone: the text is with the page. `owner` holds the project, so that a search
-- reads only its project's entries.
CREATE VIRTUAL TABLE search_index USING fts5 (
    owner, title, body,
    content = '', contentless_delete = 1,
    tokenize = 'unicode61 remove_diacritics 2'
);

CREATE TRIGGER search_docs_gone AFTER DELETE ON search_docs BEGIN
    DELETE FROM search_index WHERE rowid = old.page_id;
END;
