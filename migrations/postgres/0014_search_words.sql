-- Words are made before they come here, in ASCII (pairs of characters where a script has no
-- spaces): the index is made anew, in the background.

DELETE FROM search_docs;
DELETE FROM settings WHERE name = 'search.indexed_through';
