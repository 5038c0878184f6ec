//! The outbox of mails. It is durable, since the keys in mails are shown nowhere else.

use chrono::{DateTime, Utc};
use orbweaver_core::ids::MailId;

use crate::db::{per_database, read, storable, transact};
use crate::error::StoreError;
use crate::store::Store;
use crate::time::{from_ms, to_ms};

/// A mail to send. Its text is encrypted, since it may contain a key, and keys are otherwise
/// stored as hashes only.
#[derive(Clone, Copy, Debug)]
pub struct NewMail<'a> {
    /// Recipient.
    pub recipient: &'a str,
    /// Subject line.
    pub subject: &'a str,
    /// The encrypted text.
    pub sealed: &'a [u8],
    /// Names the secret that opens `sealed`.
    pub seal_id: &'a str,
}

/// A mail that is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueMail {
    /// Its id.
    pub id: MailId,
    /// Recipient.
    pub recipient: String,
    /// Subject line.
    pub subject: String,
    /// The encrypted text.
    pub sealed: Vec<u8>,
    /// Number of attempts, including this one.
    pub attempts: u32,
    /// When it was queued.
    pub created_at: DateTime<Utc>,
}

#[derive(sqlx_macros::FromRow)]
struct MailRow {
    id: i64,
    recipient: String,
    subject: String,
    sealed: Vec<u8>,
    attempts: i64,
    created_at: i64,
}

/// The longest that a mail waits for its next attempt, in milliseconds.
const LONGEST_WAIT_MS: i64 = 3_600_000;

per_database! {
    /// Makes mails due that wait longer than any attempt, since the clock was set back; how many.
    pub(crate) async fn bound(conn: &mut Conn, now: DateTime<Utc>) -> Result<u64, StoreError> {
        let done = sqlx::query(
            "UPDATE mail_outbox SET next_attempt_at = $1
             WHERE next_attempt_at > $2 OR (next_attempt_at > $1 AND created_at > $1)",
        )
        .bind(to_ms(now))
        .bind(to_ms(now) + LONGEST_WAIT_MS)
        .execute(&mut *conn)
        .await?;
        Ok(done.rows_affected())
    }

    /// Queues a mail.
    pub(crate) async fn insert(
        conn: &mut Conn,
        mail: &NewMail<'_>,
        now: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO mail_outbox
                 (recipient, subject, sealed, seal_id, created_at, next_attempt_at)
             VALUES ($1, $2, $3, $4, $5, $5)",
        )
        .bind(mail.recipient)
        .bind(mail.subject)
        .bind(mail.sealed)
        .bind(mail.seal_id)
        .bind(to_ms(now))
        .execute(&mut *conn)
        .await?;
        Ok(())
    }

    /// Makes mails due that a dead process was sending. A mail whose attempt failed has an error
    /// and keeps its time.
    pub(crate) async fn end_claims(
        conn: &mut Conn,
        now: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "UPDATE mail_outbox SET next_attempt_at = $1
             WHERE attempts > 0 AND last_error IS NULL AND next_attempt_at > $1",
        )
        .bind(to_ms(now))
        .execute(&mut *conn)
        .await?;
        Ok(())
    }
}

impl Store {
    /// Claims a due mail until `until`. If the process dies before it is sent or postponed, it
    /// is due again then.
    #[crate::boxed]
    pub async fn claim_mail(
        &self,
        seal_id: &str,
        now: DateTime<Utc>,
        until: DateTime<Utc>,
    ) -> Result<Option<DueMail>, StoreError> {
        let skip = self.skip_locked();
        let claim = format!(
            "UPDATE mail_outbox SET attempts = attempts + 1, next_attempt_at = $3
             WHERE id = (SELECT id FROM mail_outbox
                         WHERE seal_id = $1 AND next_attempt_at <= $2
                         ORDER BY next_attempt_at, id LIMIT 1{skip})
             RETURNING id, recipient, subject, sealed, attempts, created_at"
        );
        let row: Option<MailRow> = transact!(self.db, tx => {
            Ok(sqlx::query_as(sqlx::AssertSqlSafe(claim.as_str()))
                .bind(seal_id)
                .bind(to_ms(now))
                .bind(to_ms(until))
                .fetch_optional(&mut *tx)
                .await?)
        })?;
        Ok(row.map(|row| DueMail {
            id: MailId(row.id),
            recipient: row.recipient,
            subject: row.subject,
            sealed: row.sealed,
            attempts: u32::try_from(row.attempts).unwrap_or(u32::MAX),
            created_at: from_ms(row.created_at),
        }))
    }

    /// The time at which the next mail is due.
    #[crate::boxed]
    pub async fn next_mail_at(&self, seal_id: &str) -> Result<Option<DateTime<Utc>>, StoreError> {
        let next: Option<i64> = read!(self.db, pool => {
            sqlx::query_scalar("SELECT MIN(next_attempt_at) FROM mail_outbox WHERE seal_id = $1")
                .bind(seal_id)
                .fetch_one(pool)
                .await?
        });
        Ok(next.map(from_ms))
    }

    /// Removes a mail that was sent or given up.
    #[crate::boxed]
    pub async fn remove_mail(&self, id: MailId) -> Result<(), StoreError> {
        transact!(self.db, tx => {
            sqlx::query("DELETE FROM mail_outbox WHERE id = $1")
                .bind(id.get())
                .execute(&mut *tx)
                .await?;
            Ok(())
        })
    }

    /// Records why a mail was not sent and when to try again.
    #[crate::boxed]
    pub async fn postpone_mail(
        &self,
        id: MailId,
        error: &str,
        next: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        transact!(self.db, tx => {
            sqlx::query(
                "UPDATE mail_outbox SET last_error = $2, next_attempt_at = $3 WHERE id = $1",
            )
            .bind(id.get())
            .bind(storable(error))
            .bind(to_ms(next))
            .execute(&mut *tx)
            .await?;
            Ok(())
        })
    }
}
