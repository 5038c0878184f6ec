//! URLs that a run left out and lists: those that hooks left out, and those whose page another URL of
//! the run leads to.

use std::collections::HashMap;

use orbweaver_core::ids::{PageId, ProjectId, RunId};

use super::notes::{NoteKind, RunNote};
use crate::db::{push_list, read_replica, signed};
use crate::error::StoreError;
use crate::store::Store;

/// A URL that a run left out, because another one leads to the same page by a redirect, or because it
/// redirects to a page that another one has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DuplicateUrl {
    /// Position in the order of discovery.
    pub seq: i64,
    /// The link as written, resolved.
    pub url: String,
    /// Hash of its normalised URL.
    pub key_hash: u64,
}

/// A URL that a run left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SkippedUrl {
    /// By a hook.
    Hook(RunNote),
    /// As a duplicate.
    Duplicate(DuplicateUrl),
}

impl SkippedUrl {
    /// Its place in the list of a run's skipped URLs.
    pub const fn place(&self) -> SkippedPlace {
        match self {
            Self::Hook(note) => SkippedPlace::Hook(note.id),
            Self::Duplicate(url) => SkippedPlace::Duplicate(url.seq),
        }
    }
}

/// A place in the list of a run's skipped URLs: those of hooks, then duplicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SkippedPlace {
    /// After this note, by its id.
    Hook(i64),
    /// After this URL, by its place in the order of discovery.
    Duplicate(i64),
}

impl SkippedPlace {
    /// Before the first one.
    pub const START: Self = Self::Hook(i64::MIN);
}

/// The page to which a duplicate leads.
#[derive(Clone, Debug, PartialEq, Eq, sqlx_macros::FromRow)]
pub struct DuplicatePage {
    id: i64,
    /// The URL under which it is stored.
    pub url: String,
    key_hash: Option<i64>,
    asked: Option<String>,
}

impl DuplicatePage {
    /// The URL that leads to it: that of the duplicate, or, if that is the page's own, the URL that was
    /// fetched instead and redirects to it.
    pub fn led_from(&self, duplicate: DuplicateUrl) -> String {
        let is_own = self.key_hash == Some(duplicate.key_hash.cast_signed());
        let asked = self.asked.clone().filter(|_| is_own);
        asked.unwrap_or(duplicate.url)
    }
}

#[derive(sqlx_macros::FromRow)]
struct DuplicateRow {
    seq: i64,
    url: String,
    key_hash: i64,
}

impl Store {
    /// URLs that a run of the project left out and lists: those of hooks, in the order of storing, then
    /// duplicates, in the order of discovery. Those after `after`, of these after leaving out `offset`,
    /// at most `limit`.
    #[crate::boxed]
    pub async fn run_skipped(
        &self,
        project: ProjectId,
        run: RunId,
        after: SkippedPlace,
        offset: u64,
        limit: u32,
    ) -> Result<Vec<SkippedUrl>, StoreError> {
        let (mut skipped, mut skip) = (Vec::new(), offset);
        let mut after_url = i64::MIN;
        match after {
            SkippedPlace::Duplicate(seq) => after_url = seq,
            SkippedPlace::Hook(id) => {
                let kind = NoteKind::Hook;
                let notes = self.run_notes(project, run, kind, id, offset, limit);
                let notes = notes.await?;
                skip = if notes.is_empty() && offset > 0 {
                    let of_hooks = self.count_notes(project, run, kind, id).await?;
                    offset.saturating_sub(of_hooks)
                } else {
                    0
                };
                skipped.extend(notes.into_iter().map(SkippedUrl::Hook));
            }
        }
        let left = limit.saturating_sub(u32::try_from(skipped.len()).unwrap_or(limit));
        if left > 0 {
            let urls = self.run_duplicates(project, run, after_url, skip, left);
            let urls = urls.await?.into_iter();
            skipped.extend(urls.map(SkippedUrl::Duplicate));
        }
        Ok(skipped)
    }

    async fn run_duplicates(
        &self,
        project: ProjectId,
        run: RunId,
        after: i64,
        offset: u64,
        limit: u32,
    ) -> Result<Vec<DuplicateUrl>, StoreError> {
        let rows: Vec<DuplicateRow> = read_replica!(self, pool => {
            sqlx::query_as(
                "SELECT seq, url, key_hash FROM frontier
                 WHERE project_id = $1 AND run_id = $2 AND seq > $3
                   AND state = 3 AND redirect_to IS NOT NULL
                 ORDER BY seq LIMIT $4 OFFSET $5",
            )
            .bind(project.get())
            .bind(run.get())
            .bind(after)
            .bind(i64::from(limit))
            .bind(signed(offset))
            .fetch_all(pool)
            .await?
        });
        let urls = rows.into_iter().map(|row| DuplicateUrl {
            seq: row.seq,
            url: row.url,
            key_hash: row.key_hash.cast_unsigned(),
        });
        Ok(urls.collect())
    }

    /// The pages of a run to which its URLs lead by a redirect, by the hash of the URL. One that leads to no
    /// stored page has none.
    #[crate::boxed]
    pub async fn run_redirected(
        &self,
        project: ProjectId,
        run: RunId,
    ) -> Result<HashMap<u64, PageId>, StoreError> {
        let redirects = self.frontier_redirects(project, run).await?;
        let pages = self.run_index(project, run).await?;
        let page = |from: u64| Some((from, PageId(*pages.get(&from)?)));
        let found = redirects.into_iter().filter_map(|(from, _)| page(from));
        Ok(found.collect())
    }

    /// These pages of a run, to which duplicates lead.
    #[crate::boxed]
    pub async fn run_duplicate_pages(
        &self,
        project: ProjectId,
        run: RunId,
        pages: &[PageId],
    ) -> Result<HashMap<PageId, DuplicatePage>, StoreError> {
        let mut found = HashMap::with_capacity(pages.len());
        for piece in pages.chunks(500) {
            let rows: Vec<DuplicatePage> = read_replica!(self, pool => {
                let mut query = sqlx::QueryBuilder::new(
                    "SELECT p.id, p.url, p.key_hash, f.url AS asked
                     FROM pages p LEFT JOIN frontier f
                       ON f.project_id = p.project_id AND f.run_id = p.run_id AND f.seq = p.seq
                     WHERE p.run_id = ",
                );
                query
                    .push_bind(run.get())
                    .push(" AND p.project_id = ")
                    .push_bind(project.get())
                    .push(" AND p.id IN ");
                push_list(&mut query, piece.iter().map(|page| page.get()));
                query.build_query_as().fetch_all(pool).await?
            });
            found.extend(rows.into_iter().map(|row| (PageId(row.id), row)));
        }
        Ok(found)
    }
}
