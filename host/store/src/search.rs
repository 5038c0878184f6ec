//! The full-text index of stored pages; what a search finds in it: [`hits`].
//!
//! On SQLite a crawled page whose words are known is indexed in the transaction that stores it
//! ([`Store::commit_crawl`](crate::Store::commit_crawl)), unless the crawl is faster than the
//! writer. Every other page is indexed some time after it was stored, by a task that claims it
//! ([`Store::claim_unindexed`]), reads [`Store::unindexed`] and calls [`Store::index`]. A
//! deleted page leaves the index in the same transaction, by foreign key. The index has one
//! document per URL that answered: its newest page. `core::words` defines what a word is; the databases only
//! store words.

mod hits;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashSet};

use orbweaver_core::ids::{BlobId, PageId, ProjectId};

use crate::db::{by_project, per_database, pieces, push_list, transact};
use crate::error::StoreError;
use crate::indexed_key::indexed_key;
use crate::store::Store;

pub use hits::SearchHit;

/// Pages that are indexed in one transaction on PostgreSQL. It locks them: a run that is deleted meanwhile
/// waits.
const TOGETHER: usize = 25;

/// Bytes of words that are indexed in one transaction on SQLite, where nobody else writes meanwhile: a
/// fraction of a second, also of words that occur once each.
const TOGETHER_BYTES: usize = 4 << 20;

/// A stored page that is not indexed yet.
#[derive(Clone, Debug)]
pub struct UnindexedPage {
    /// The page.
    pub page: PageId,
    /// The project that owns it.
    pub project: ProjectId,
    /// The normalised URL: of a scan the one that was asked for, of a crawl the one that answered.
    pub url_key: String,
    /// The URL that answered.
    pub final_url: String,
    /// Response headers, a JSON array of `[name, value]`.
    pub headers: String,
    /// Its body.
    pub blob: BlobId,
    /// Whether it must be converted to HTML first.
    pub is_document: bool,
}

/// A page's words, as `core::words::index_words` makes them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageWords {
    /// Its title's.
    pub title: String,
    /// Its visible text's.
    pub text: String,
}

/// The words of a stored page, to index.
#[derive(Clone, Debug)]
pub struct IndexEntry {
    /// The page.
    pub page: PageId,
    /// The project that owns it.
    pub project: ProjectId,
    /// The normalised URL that answered.
    pub url_key: String,
    /// The normalised URL that was asked for, if it led to another one: older pages of it leave the
    /// index.
    pub asked_key: Option<String>,
    /// Its words.
    pub words: PageWords,
}

/// As [`IndexEntry`], borrowed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewDocument<'a> {
    pub(crate) page: PageId,
    pub(crate) project: ProjectId,
    pub(crate) url_key: &'a str,
    pub(crate) asked_key: Option<&'a str>,
    pub(crate) words: &'a PageWords,
}

/// The keys of a document as rows have them.
struct Keys<'a> {
    url: Cow<'a, str>,
    asked: Option<Cow<'a, str>>,
}

impl<'a> Keys<'a> {
    fn of(document: &NewDocument<'a>) -> Self {
        Self {
            url: indexed_key(document.url_key),
            asked: document.asked_key.map(indexed_key),
        }
    }

    /// The document with these keys.
    fn put<'k>(&'k self, document: &NewDocument<'k>) -> NewDocument<'k> {
        NewDocument {
            url_key: &self.url,
            asked_key: self.asked.as_deref(),
            ..*document
        }
    }
}

#[derive(sqlx_macros::FromRow)]
struct KnownRow {
    page_id: i64,
    project_id: i64,
    url_key: String,
}

/// Documents by project and normalised URL.
type ByUrl<'a> = BTreeMap<(ProjectId, &'a str), NewDocument<'a>>;

/// One document per URL, its youngest page's, in a map by this key.
fn youngest<'a>(
    documents: &[NewDocument<'a>],
    key: impl Fn(&NewDocument<'a>) -> Option<&'a str>,
) -> ByUrl<'a> {
    let mut youngest = ByUrl::new();
    for document in documents {
        let Some(url_key) = key(document) else {
            continue;
        };
        let kept = youngest
            .entry((document.project, url_key))
            .or_insert(*document);
        if kept.page < document.page {
            *kept = *document;
        }
    }
    youngest
}

/// Whether the map has a younger page under this key.
fn has_younger(documents: &ByUrl<'_>, key: (ProjectId, &str), page: PageId) -> bool {
    documents.get(&key).is_some_and(|other| other.page > page)
}

per_database! {
    /// Adds documents to the index, in place of older pages of their URLs. A document whose
    /// URL has a younger page in the index is left out. On SQLite the last statement of a
    /// transaction: see [`add_words`].
    pub(crate) async fn add(
        conn: &mut Conn,
        documents: &[NewDocument<'_>],
    ) -> Result<(), StoreError> {
        let keys: Vec<Keys<'_>> = documents.iter().map(Keys::of).collect();
        let documents = documents.iter().zip(&keys);
        let documents: Vec<NewDocument<'_>> =
            documents.map(|(document, keys)| keys.put(document)).collect();
        let mut wanted = youngest(&documents, |document| Some(document.url_key));
        // URLs that lead to another one now.
        let left = youngest(&documents, |document| document.asked_key);
        wanted.retain(|key, new| !has_younger(&left, *key, new.page));
        // By project and URL, so that two nodes never wait for each other.
        let keys: BTreeSet<(ProjectId, &str)> =
            wanted.keys().chain(left.keys()).copied().collect();
        let mut older = BTreeSet::new();
        let known = known(conn, &keys).await?;
        for row in &known {
            let (project, there) = (ProjectId(row.project_id), PageId(row.page_id));
            let key = (project, row.url_key.as_str());
            if has_younger(&wanted, key, there) || has_younger(&left, key, there) {
                older.insert((row.project_id, row.page_id));
            } else {
                wanted.remove(&key);
            }
        }
        for (project, pages) in by_project(older) {
            for piece in pieces(&pages) {
                let mut delete =
                    sqlx::QueryBuilder::new("DELETE FROM search_docs WHERE project_id = ");
                delete.push_bind(project).push(" AND page_id IN ");
                push_list(&mut delete, piece.iter().copied());
                delete.build().execute(&mut *conn).await?;
            }
        }
        let wanted: Vec<NewDocument<'_>> = wanted.into_values().collect();
        let mut added = Vec::with_capacity(wanted.len());
        for piece in pieces(&wanted) {
            added.extend_from_slice(&add_documents(conn, piece).await?);
        }
        added.sort_by_key(|document| document.page);
        add_words(conn, &added).await
    }

    /// What the index has of these URLs.
    async fn known(
        conn: &mut Conn,
        keys: &BTreeSet<(ProjectId, &str)>,
    ) -> Result<Vec<KnownRow>, StoreError> {
        let mut known: Vec<KnownRow> = Vec::new();
        let keys = keys.iter().map(|(project, url_key)| (project.get(), *url_key));
        for (project, url_keys) in by_project(keys) {
            for piece in pieces(&url_keys) {
                let mut select = sqlx::QueryBuilder::new(
                    "SELECT page_id, project_id, url_key FROM search_docs WHERE project_id = ",
                );
                select.push_bind(project).push(" AND url_key IN ");
                push_list(&mut select, piece.iter().copied());
                known.extend(select.build_query_as().fetch_all(&mut *conn).await?);
            }
        }
        Ok(known)
    }

    /// The transaction does not wait until it is on disk. The pages stay claimed until a later one is,
    /// which is written after it.
    pub(crate) async fn relax(conn: &mut Conn) -> Result<(), StoreError> {
        if IS_SHARED {
            sqlx::query("SET LOCAL synchronous_commit = off")
                .execute(&mut *conn)
                .await?;
        }
        Ok(())
    }

    /// Adds documents without their words: those that were added, and not by somebody else
    /// meanwhile.
    async fn add_documents<'a>(
        conn: &mut Conn,
        piece: &[NewDocument<'a>],
    ) -> Result<Vec<NewDocument<'a>>, StoreError> {
        let mut insert =
            sqlx::QueryBuilder::new("INSERT INTO search_docs (page_id, project_id, url_key) ");
        insert.push_values(piece, |mut row, document| {
            row.push_bind(document.page.get())
                .push_bind(document.project.get())
                .push_bind(document.url_key);
        });
        insert.push(" ON CONFLICT DO NOTHING RETURNING page_id");
        let added: Vec<i64> = insert.build_query_scalar().fetch_all(&mut *conn).await?;
        let is_added = |document: &&NewDocument<'_>| added.contains(&document.page.get());
        Ok(piece.iter().filter(is_added).copied().collect())
    }

    /// Adds the words of documents, sorted by page. On SQLite all of them at the end of a
    /// transaction, in the pages' order and in one statement: a lower id, or the beginning of
    /// another statement, makes SQLite write the words so far as a piece of the index of
    /// their own, to be merged later.
    async fn add_words(
        conn: &mut Conn,
        documents: &[NewDocument<'_>],
    ) -> Result<(), StoreError> {
        if documents.is_empty() {
            return Ok(());
        }
        if IS_SHARED {
            let mut insert = sqlx::QueryBuilder::new(
                "INSERT INTO search_index (page_id, project_id, words)
                 SELECT page, project, setweight(to_tsvector('simple', title), 'A')
                         || setweight(to_tsvector('simple', body), 'D')
                 FROM (",
            );
            insert.push_values(documents, |mut row, document| {
                row.push_bind(document.page.get())
                    .push_bind(document.project.get())
                    .push_bind(document.words.title.as_str())
                    .push_bind(document.words.text.as_str());
            });
            insert.push(") AS new (page, project, title, body)");
            insert.build().persistent(false).execute(&mut *conn).await?;
            return Ok(());
        }
        let mut insert =
            sqlx::QueryBuilder::new("INSERT INTO search_index (rowid, owner, title, body) ");
        insert.push_values(documents, |mut row, document| {
            row.push_bind(document.page.get())
                .push_bind(owner(document.project))
                .push_bind(document.words.title.as_str())
                .push_bind(document.words.text.as_str());
        });
        // Any number of rows: kept statements would push others out.
        insert.build().persistent(false).execute(&mut *conn).await?;
        Ok(())
    }
}

/// Consecutive entries, at most `count` of them or with at most `bytes` bytes of words, but for a longer one.
fn chunks(entries: &[IndexEntry], count: usize, bytes: usize) -> Vec<&[IndexEntry]> {
    let (mut chunks, mut rest) = (Vec::new(), entries);
    while !rest.is_empty() {
        let mut taken = 0_usize;
        let fits = |entry: &&IndexEntry| {
            taken = taken.saturating_add(entry.words.title.len() + entry.words.text.len());
            taken <= bytes
        };
        let fit = rest.iter().take(count).take_while(fits).count().max(1);
        let (chunk, left) = rest.split_at(fit.min(rest.len()));
        chunks.push(chunk);
        rest = left;
    }
    chunks
}

impl Store {
    /// Adds pages to the index. A page that was deleted meanwhile, or whose URL has a newer one in the
    /// index, is left out; so is one that the database refuses, with a warning: it must not keep
    /// all others out.
    ///
    /// # Errors
    /// A temporary failure.
    #[crate::boxed]
    pub async fn index(&self, entries: &[IndexEntry]) -> Result<(), StoreError> {
        // On SQLite every transaction creates a piece of the index that is merged later: one for all that
        // are not long.
        let is_shared = self.is_shared();
        let (count, bytes) = match is_shared {
            true => (TOGETHER, usize::MAX),
            false => (entries.len(), TOGETHER_BYTES),
        };
        for chunk in chunks(entries, count, bytes) {
            let wanted: Vec<&IndexEntry> = chunk.iter().collect();
            let done = match self.index_chunk(&wanted, is_shared).await {
                Ok(done) => done,
                Err(error) if error.is_transient() => return Err(error),
                // It refuses at least one of them.
                Err(_) => HashSet::new(),
            };
            // Alone, so that nobody waits for another page while this one waits.
            for entry in wanted.iter().filter(|entry| !done.contains(&entry.page)) {
                match self.index_chunk(&[entry], false).await {
                    Err(error) if error.is_transient() => return Err(error),
                    Err(error) => {
                        tracing::warn!(page = entry.page.get(), %error, "a page is not indexed");
                    }
                    Ok(_) => {}
                }
            }
        }
        Ok(())
    }

    /// Returns the pages that are there. `skips`: leaves out those that another transaction locks.
    async fn index_chunk(
        &self,
        entries: &[&IndexEntry],
        skips: bool,
    ) -> Result<HashSet<PageId>, StoreError> {
        transact!(quiet true, self.db, tx => {
            sql::search::relax(tx).await?;
            let pages = entries.iter().map(|entry| (entry.project, entry.page));
            let there = sql::pages::hold(tx, pages, skips).await?;
            let documents: Vec<NewDocument<'_>> = entries
                .iter()
                .filter(|entry| there.contains(&entry.page))
                .map(|entry| NewDocument {
                    page: entry.page,
                    project: entry.project,
                    url_key: &entry.url_key,
                    asked_key: entry.asked_key.as_deref(),
                    words: &entry.words,
                })
                .collect();
            sql::search::add(tx, &documents).await?;
            Ok(there)
        })
    }
}

/// The project as a word in the index.
fn owner(project: ProjectId) -> String {
    format!("project{}", project.get())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transaction_has_a_bounded_number_of_pages_and_of_bytes() {
        let entry = |page: i64, bytes: usize| IndexEntry {
            page: PageId(page),
            project: ProjectId(1),
            url_key: page.to_string(),
            asked_key: None,
            words: PageWords {
                title: "t".to_owned(),
                text: "x".repeat(bytes - 1),
            },
        };
        let entries = [4, 4, 4, 12, 2, 2, 2, 2].map(|bytes| entry(1, bytes));
        let sizes = |count, bytes| -> Vec<usize> {
            chunks(&entries, count, bytes)
                .iter()
                .map(|chunk| chunk.len())
                .collect()
        };
        assert_eq!(sizes(8, usize::MAX), [8]);
        assert_eq!(sizes(3, usize::MAX), [3, 3, 2]);
        assert_eq!(sizes(8, 9), [2, 1, 1, 4]);
        assert!(chunks(&[], 8, 9).is_empty());
    }
}
