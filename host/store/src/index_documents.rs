//! Documents (PDF and the like) that wait for the search index. They must be converted first, which can
//! take many seconds. So they wait apart from pages, and projects take turns: however many documents one
//! project has, the next one of another project waits for one of them at most.
//!
//! A row is leased by the node that converts its document. If that node ends, another one takes it over.

use chrono::{DateTime, TimeDelta, Utc};
use orbweaver_core::ids::{PageId, ProjectId};

use crate::db::{per_database, read, transact};
use crate::error::StoreError;
use crate::search::UnindexedPage;
use crate::store::Store;
use crate::time::to_ms;

/// How long a node may take for a document.
const LEASE: TimeDelta = TimeDelta::minutes(5);

/// A document that one node converts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DocumentClaim {
    /// The project that owns it.
    pub project: ProjectId,
    /// Its page.
    pub page: PageId,
}

per_database! {
    /// Leases the first waiting document of the next project after `after`.
    pub(crate) async fn take(
        conn: &mut Conn,
        after: i64,
        now: i64,
        until: i64,
    ) -> Result<Option<DocumentClaim>, StoreError> {
        let taken: Option<(i64, i64)> = sqlx::query_as(if IS_SHARED {
            "UPDATE search_documents SET lease_until = $3
             WHERE (project_id, page_id) = (
                 SELECT project_id, page_id FROM search_documents
                 WHERE project_id > $1 AND lease_until <= $2
                 ORDER BY project_id, page_id LIMIT 1 FOR UPDATE SKIP LOCKED)
             RETURNING project_id, page_id"
        } else {
            "UPDATE search_documents SET lease_until = $3
             WHERE (project_id, page_id) = (
                 SELECT project_id, page_id FROM search_documents
                 WHERE project_id > $1 AND lease_until <= $2
                 ORDER BY project_id, page_id LIMIT 1)
             RETURNING project_id, page_id"
        })
        .bind(after)
        .bind(now)
        .bind(until)
        .fetch_optional(&mut *conn)
        .await?;
        Ok(taken.map(|(project, page)| DocumentClaim {
            project: ProjectId(project),
            page: PageId(page),
        }))
    }

    /// Adds documents; those that wait already stay as they are.
    pub(crate) async fn add(
        conn: &mut Conn,
        documents: &[UnindexedPage],
    ) -> Result<(), StoreError> {
        let mut insert = sqlx::QueryBuilder::new(
            "INSERT INTO search_documents (project_id, page_id, lease_until) ",
        );
        insert.push_values(documents, |mut row, document| {
            row.push_bind(document.project.get())
                .push_bind(document.page.get())
                .push_bind(0_i64);
        });
        insert.push(" ON CONFLICT DO NOTHING");
        insert.build().persistent(false).execute(&mut *conn).await?;
        Ok(())
    }

    /// Ends the leases of all documents.
    pub(crate) async fn end_leases(conn: &mut Conn) -> Result<(), StoreError> {
        sqlx::query("UPDATE search_documents SET lease_until = 0 WHERE lease_until <> 0")
            .execute(&mut *conn)
            .await?;
        Ok(())
    }
}

impl Store {
    /// Lets the documents wait for their conversion.
    #[crate::boxed]
    pub async fn queue_documents(&self, documents: &[UnindexedPage]) -> Result<(), StoreError> {
        if documents.is_empty() {
            return Ok(());
        }
        transact!(quiet true, self.db, tx => {
            sql::index_documents::add(tx, documents).await
        })
    }

    /// Claims for this node the first waiting document of the next project after `after`, in the order of
    /// ids and from the beginning again. `None` if none waits.
    #[crate::boxed]
    pub async fn claim_document(
        &self,
        after: ProjectId,
        now: DateTime<Utc>,
    ) -> Result<Option<DocumentClaim>, StoreError> {
        if !self.may_claim_document(now).await? {
            return Ok(None);
        }
        let (now, until) = (to_ms(now), to_ms(now + LEASE));
        transact!(quiet true, self.db, tx => {
            match sql::index_documents::take(tx, after.get(), now, until).await? {
                Some(claim) => Ok(Some(claim)),
                None => sql::index_documents::take(tx, 0, now, until).await,
            }
        })
    }

    /// Whether a document can be claimed, without a transaction.
    async fn may_claim_document(&self, now: DateTime<Utc>) -> Result<bool, StoreError> {
        let found: Option<i64> = read!(self.db, pool => {
            sqlx::query_scalar("SELECT page_id FROM search_documents WHERE lease_until <= $1 LIMIT 1")
                .bind(to_ms(now))
                .fetch_optional(pool)
                .await?
        });
        Ok(found.is_some())
    }

    /// Whether documents wait, those that a node has claimed included.
    #[crate::boxed]
    pub async fn has_queued_documents(&self) -> Result<bool, StoreError> {
        let found: Option<i64> = read!(self.db, pool => {
            sqlx::query_scalar("SELECT page_id FROM search_documents LIMIT 1")
                .fetch_optional(pool)
                .await?
        });
        Ok(found.is_some())
    }

    /// Ends a claim. Without `done` the document waits again, for any node.
    #[crate::boxed]
    pub async fn end_document_claim(
        &self,
        claim: DocumentClaim,
        done: bool,
    ) -> Result<(), StoreError> {
        let statement = if done {
            "DELETE FROM search_documents WHERE project_id = $1 AND page_id = $2"
        } else {
            "UPDATE search_documents SET lease_until = 0 WHERE project_id = $1 AND page_id = $2"
        };
        transact!(quiet true, self.db, tx => {
            sqlx::query(statement)
                .bind(claim.project.get())
                .bind(claim.page.get())
                .execute(&mut *tx)
                .await?;
            Ok(())
        })
    }
}
