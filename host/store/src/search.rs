//! Full-text search over a project's stored pages.
//!
//! A page is indexed some time after it was stored, by a task that reads [`Store::unindexed`]
//! and calls [`Store::index`]; a deleted page leaves the index in the same transaction, by
//! foreign key. The index has one document per URL: its newest page. `core::words` defines what a
//! word is; the databases only store words.

use std::collections::BTreeMap;

use orbweaver_core::ids::{BlobId, PageId, ProjectId};
use orbweaver_core::words::Term;

use crate::db::{Db, Store, transact};
use crate::error::StoreError;

/// Name of the setting that holds the id up to which pages are indexed.
const THROUGH: &str = "search.indexed_through";

/// Number of newest pages that PostgreSQL ranks: ranking reads all words of a page, which would
/// take seconds for a word that every page has.
const RANKED: i64 = 5_000;

/// A stored page that is not indexed yet.
#[derive(Clone, Debug)]
pub struct UnindexedPage {
    /// The page.
    pub page: PageId,
    /// The project that owns it.
    pub project: ProjectId,
    /// The normalised URL.
    pub url_key: String,
    /// The URL that answered.
    pub final_url: String,
    /// Response headers, a JSON array of `[name, value]`.
    pub headers: String,
    /// Its body.
    pub blob: BlobId,
}

/// The words of a page, to index.
#[derive(Clone, Debug)]
pub struct IndexEntry {
    /// The page.
    pub page: PageId,
    /// The project that owns it.
    pub project: ProjectId,
    /// The normalised URL.
    pub url_key: String,
    /// Words of its title, made by `core::words::index_words`.
    pub title: String,
    /// Words of its visible text.
    pub text: String,
}

/// A page found by a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchHit {
    /// The page.
    pub page: PageId,
    /// Higher is better; comparable within one search only.
    pub score: f64,
}

impl Store {
    /// Id up to which every page was indexed or skipped.
    #[crate::boxed]
    pub async fn indexed_through(&self) -> Result<i64, StoreError> {
        let value = self.setting(THROUGH).await?;
        Ok(value.and_then(|value| value.parse().ok()).unwrap_or(0))
    }

    /// Adds pages to the index and sets the id up to which indexing has come to `through`. A page
    /// that was deleted meanwhile, or whose URL has a newer one in the index, is left out.
    #[crate::boxed]
    pub async fn index(&self, entries: &[IndexEntry], through: i64) -> Result<(), StoreError> {
        // On SQLite every transaction creates an index segment that is merged later: use one for
        // all. On PostgreSQL the transaction locks rows: use one per page.
        let at_once = if self.is_shared() { 1 } else { entries.len() };
        for chunk in entries.chunks(at_once.max(1)) {
            self.index_chunk(chunk).await?;
        }
        self.set_setting(THROUGH, &through.to_string()).await
    }

    async fn index_chunk(&self, entries: &[IndexEntry]) -> Result<(), StoreError> {
        let shared = self.is_shared();
        let insert = if shared {
            "INSERT INTO search_index (page_id, words)
             SELECT $1, setweight(to_tsvector('simple', $3), 'A')
                     || setweight(to_tsvector('simple', $4), 'D') WHERE $2 <> ''"
        } else {
            "INSERT INTO search_index (rowid, owner, title, body) VALUES ($1, $2, $3, $4)"
        };
        // Only the newest page of a URL; older entries are removed before words are added.
        let mut youngest: BTreeMap<(ProjectId, &str), &IndexEntry> = BTreeMap::new();
        for entry in entries {
            let kept = youngest
                .entry((entry.project, entry.url_key.as_str()))
                .or_insert(entry);
            if kept.page < entry.page {
                *kept = entry;
            }
        }
        transact!(quiet true, self.db, tx => {
            let mut added = Vec::with_capacity(youngest.len());
            for entry in youngest.values() {
                sqlx::query(
                    "DELETE FROM search_docs
                     WHERE project_id = $1 AND url_key = $2 AND page_id < $3",
                )
                .bind(entry.project.get())
                .bind(entry.url_key.as_str())
                .bind(entry.page.get())
                .execute(&mut *tx)
                .await?;
                if !sql::pages::hold(tx, entry.project, entry.page).await? {
                    continue;
                }
                let done = sqlx::query(
                    "INSERT INTO search_docs (page_id, project_id, url_key) VALUES ($1, $2, $3)
                     ON CONFLICT DO NOTHING",
                )
                .bind(entry.page.get())
                .bind(entry.project.get())
                .bind(entry.url_key.as_str())
                .execute(&mut *tx)
                .await?;
                if done.rows_affected() == 1 {
                    added.push(*entry);
                }
            }
            // All words last, in the order of the pages and without other statements between them:
            // a lower id, or a statement that SQLite may have to roll back, would make it write
            // the words so far as a separate segment.
            added.sort_by_key(|entry| entry.page);
            for entry in added {
                sqlx::query(insert)
                    .bind(entry.page.get())
                    .bind(owner(entry.project))
                    .bind(entry.title.as_str())
                    .bind(entry.text.as_str())
                    .execute(&mut *tx)
                    .await?;
            }
            Ok(())
        })
    }

    /// Pages of the project with all these terms, best first; if none has all, those with all the
    /// words but not next to each other; if there are none, those with any word.
    #[crate::boxed]
    pub async fn search(
        &self,
        project: ProjectId,
        terms: &[Term],
        limit: u32,
    ) -> Result<Vec<SearchHit>, StoreError> {
        let loose = terms.iter().flat_map(|term| {
            term.words.iter().map(|word| Term {
                words: vec![word.clone()],
                prefix: term.prefix,
            })
        });
        let loose: Vec<Term> = loose.collect();
        if loose.is_empty() {
            return Ok(Vec::new());
        }
        let mut found = self.search_as(project, terms, true, limit).await?;
        if found.is_empty() && loose.len() > terms.len() {
            found = self.search_as(project, &loose, true, limit).await?;
        }
        if found.is_empty() && loose.len() > 1 {
            found = self.search_as(project, terms, false, limit).await?;
        }
        if found.is_empty() && loose.len() > terms.len() {
            found = self.search_as(project, &loose, false, limit).await?;
        }
        Ok(found)
    }

    async fn search_as(
        &self,
        project: ProjectId,
        terms: &[Term],
        all: bool,
        limit: u32,
    ) -> Result<Vec<SearchHit>, StoreError> {
        let rows: Vec<(i64, f64)> = match &self.db {
            Db::Lite(lite) => {
                let quoted: Vec<String> = terms.iter().map(lite_term).collect();
                let joined = quoted.join(if all { " AND " } else { " OR " });
                let query = format!("owner : {} AND {{title body}} : ({joined})", owner(project));
                sqlx::query_as(
                    "SELECT rowid, -bm25(search_index, 0.0, 8.0, 1.0)
                     FROM search_index WHERE search_index MATCH $1
                     ORDER BY bm25(search_index, 0.0, 8.0, 1.0), rowid DESC LIMIT $2",
                )
                .bind(query)
                .bind(i64::from(limit))
                .fetch_all(&lite.read)
                .await?
            }
            Db::Pg(pool) => {
                let quoted: Vec<String> = terms.iter().map(pg_term).collect();
                sqlx::query_as(
                    "SELECT i.page_id, CAST(ts_rank_cd(i.words, q, 1 | 4) AS DOUBLE PRECISION)
                     FROM (SELECT d.page_id
                           FROM search_docs d JOIN search_index f ON f.page_id = d.page_id
                           WHERE d.project_id = $2 AND f.words @@ to_tsquery('simple', $1)
                           ORDER BY d.page_id DESC LIMIT $4) found
                     JOIN search_index i ON i.page_id = found.page_id,
                          to_tsquery('simple', $1) q
                     ORDER BY 2 DESC, i.page_id DESC LIMIT $3",
                )
                .bind(quoted.join(if all { " & " } else { " | " }))
                .bind(project.get())
                .bind(i64::from(limit))
                .bind(RANKED)
                .fetch_all(pool)
                .await?
            }
        };
        Ok(rows
            .into_iter()
            .map(|(page, score)| SearchHit {
                page: PageId(page),
                score,
            })
            .collect())
    }
}

/// A term in FTS5's query syntax: words next to each other.
fn lite_term(term: &Term) -> String {
    let star = if term.prefix { " *" } else { "" };
    format!("\"{}\"{star}", term.words.join(" "))
}

/// A term in PostgreSQL's query syntax.
fn pg_term(term: &Term) -> String {
    let star = if term.prefix { ":*" } else { "" };
    let quoted: Vec<String> = term.words.iter().map(|w| format!("'{w}'{star}")).collect();
    format!("({})", quoted.join(" <-> "))
}

/// The project as a word in the index.
fn owner(project: ProjectId) -> String {
    format!("project{}", project.get())
}
