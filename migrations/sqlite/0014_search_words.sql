-- Words are made before they come here, in ASCII (pairs of characters where a script has no
-- spaces): the index is made anew, in the background.

DROP TRIGGER search_docs_gone;
DROP TABLE search_index;
DELETE FROM search_docs;
DELETE FROM settings WHERE name = 'search.indexed_through';

CREATE VIRTUAL TABLE search_index USING fts5 (
    owner, title, body,
    content = '', contentless_delete = 1,
    tokenize = 'ascii'
);

-- Words are gathered in memory until a transaction's end, not until the default's 1 MiB is
-- full: fewer pieces of the index are written, and merged again.
INSERT INTO search_index (search_index, rank) VALUES ('hashsize', 16777216);

CREATE TRIGGER search_docs_gone AFTER DELETE ON search_docs BEGIN
    DELETE FROM search_index WHERE rowid = old.page_id;
END;
