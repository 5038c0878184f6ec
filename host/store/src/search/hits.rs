//! Searches over a project's pages in the index.

use std::collections::HashMap;

use orbweaver_core::ids::{PageId, ProjectId};
use orbweaver_core::words::Term;

use super::owner;
use crate::db::{Db, read_replica};
use crate::error::StoreError;
use crate::store::Store;

/// Number of newest pages that PostgreSQL ranks: ranking reads all words of a page, which would
/// take seconds for a word that every page has.
const RANKED: i64 = 5_000;

/// Pages that are read for each one that is wanted: several may be of one URL.
const SPARE: i64 = 4;

/// A page found by a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchHit {
    /// The page.
    pub page: PageId,
    /// Higher is better; comparable within one search only.
    pub score: f64,
}

impl Store {
    /// Pages of the project with all these terms, one per URL that answered, best first; if none has all, those with all the
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
        // A page may be found under several URLs that once led to it.
        let wanted = i64::from(limit).saturating_mul(SPARE);
        let rows: Vec<(i64, f64, String)> = match &self.db {
            Db::Lite(lite) => {
                let quoted: Vec<String> = terms.iter().map(lite_term).collect();
                let joined = quoted.join(if all { " AND " } else { " OR " });
                let query = format!("owner : {} AND {{title body}} : ({joined})", owner(project));
                sqlx::query_as(
                    "SELECT found.page_id, found.score, p.final_url
                     FROM (SELECT rowid AS page_id, -bm25(search_index, 0.0, 8.0, 1.0) AS score
                           FROM search_index WHERE search_index MATCH $1
                           ORDER BY bm25(search_index, 0.0, 8.0, 1.0), rowid DESC LIMIT $2) found
                     JOIN pages p ON p.id = found.page_id
                     ORDER BY 2 DESC, 1 DESC",
                )
                .bind(query)
                .bind(wanted)
                .fetch_all(&lite.read)
                .await?
            }
            Db::Pg(_) => {
                let quoted: Vec<String> = terms.iter().map(pg_term).collect();
                let query = quoted.join(if all { " & " } else { " | " });
                read_replica!(self, pool => sqlx::query_as(
                    "SELECT i.page_id, CAST(ts_rank_cd(i.words, q, 1 | 4) AS DOUBLE PRECISION),
                            p.final_url
                     FROM (SELECT d.page_id
                           FROM search_docs d JOIN search_index f
                               ON f.page_id = d.page_id AND f.project_id = $2
                           WHERE d.project_id = $2 AND f.words @@ to_tsquery('simple', $1)
                           ORDER BY d.page_id DESC LIMIT $4) found
                     JOIN search_index i ON i.page_id = found.page_id AND i.project_id = $2
                     JOIN pages p ON p.id = i.page_id AND p.project_id = $2,
                          to_tsquery('simple', $1) q
                     ORDER BY 2 DESC, i.page_id DESC LIMIT $3",
                )
                .bind(query.as_str())
                .bind(project.get())
                .bind(wanted)
                .bind(RANKED)
                .fetch_all(pool)
                .await?)
            }
        };
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        Ok(one_per_url(rows, limit))
    }
}

/// The best `limit` URLs of these pages, which are sorted: each with its youngest page.
fn one_per_url(rows: Vec<(i64, f64, String)>, limit: usize) -> Vec<SearchHit> {
    let mut hits: Vec<SearchHit> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for (page, score, final_url) in rows {
        let place = *places.entry(final_url).or_insert(hits.len());
        match hits.get_mut(place) {
            Some(hit) => hit.page = hit.page.max(PageId(page)),
            None => hits.push(SearchHit {
                page: PageId(page),
                score,
            }),
        }
    }
    hits.truncate(limit);
    hits
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_found_once_as_its_youngest_page() {
        let rows = [(4, 9.0, "b"), (2, 8.0, "a"), (7, 7.0, "b"), (1, 6.0, "c")];
        let rows = rows.map(|(page, score, url)| (page, score, url.to_owned()));
        let hits = one_per_url(rows.to_vec(), 2);
        let hits: Vec<(i64, f64)> = hits.iter().map(|hit| (hit.page.get(), hit.score)).collect();
        assert_eq!(hits, [(7, 9.0), (2, 8.0)]);
    }
}
