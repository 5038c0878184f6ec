//! Signups, intents, and the projects created from them.

use chrono::{DateTime, NaiveTime, TimeDelta, Utc};
use orbweaver_core::ids::{IntentId, ProjectId};

use super::keys::NewKey;
use super::projects::SignedUpProject;
use crate::db::{per_database, read, transact};
use crate::error::StoreError;
use crate::mail::NewMail;
use crate::notices::Topic;
use crate::settings::ACCOUNTS_VERSION;
use crate::store::Store;
use crate::time::{from_ms, to_ms};

/// How long attempts count, and how long an unpaid intent reserves its name.
const DAY: TimeDelta = TimeDelta::hours(24);

/// Limits of signups.
#[derive(Clone, Copy, Debug)]
pub struct SignupLimits {
    /// Most attempts of one address in 24 hours.
    pub attempts: u32,
    /// Most successful signups of all addresses in a UTC day.
    pub successes: u32,
}

/// Result of recording an attempt to sign up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// The attempt is recorded under this number.
    Noted(i64),
    /// The limit of attempts of that address is reached.
    TooMany,
    /// Today's limit of signups is reached.
    Full,
}

/// Result of a signup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignedUp<T> {
    /// It succeeded.
    Done(T),
    /// The project's name is taken, by a project or by an intent that waits for payment.
    NameTaken,
    /// Today's limit of signups is reached.
    Full,
}

/// A signup to store.
#[derive(Clone, Copy, Debug)]
pub struct NewSignup<'a> {
    /// Number of the recorded attempt.
    pub attempt: i64,
    /// The project's name.
    pub project_name: &'a str,
    /// Address to which the key is sent.
    pub email: &'a str,
    /// The tier.
    pub tier: &'a str,
}

/// A paid signup: an intent that becomes a project when it is paid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intent {
    /// Its id.
    pub id: IntentId,
    /// The requested project name.
    pub project_name: String,
    /// Address to which the key is sent.
    pub email: String,
    /// The tier.
    pub tier: String,
    /// When it was created.
    pub created_at: DateTime<Utc>,
    /// When it was paid.
    pub completed_at: Option<DateTime<Utc>>,
    /// The project created from it.
    pub project: Option<ProjectId>,
}

#[derive(sqlx_macros::FromRow)]
struct IntentRow {
    id: i64,
    project_name: String,
    email: String,
    tier: String,
    created_at: i64,
    completed_at: Option<i64>,
    project_id: Option<i64>,
}

impl From<IntentRow> for Intent {
    fn from(row: IntentRow) -> Self {
        Self {
            id: IntentId(row.id),
            project_name: row.project_name,
            email: row.email,
            tier: row.tier,
            created_at: from_ms(row.created_at),
            completed_at: row.completed_at.map(from_ms),
            project: row.project_id.map(ProjectId),
        }
    }
}

/// Lock name: one signup at a time, because counting and adding must not interleave.
const SIGNUP_LOCK: &str = "signup.lock";

per_database! {
    /// Whether today's limit of signups is reached.
    async fn is_full(conn: &mut Conn, limit: u32, now: DateTime<Utc>) -> Result<bool, StoreError> {
        let midnight = now.date_naive().and_time(NaiveTime::MIN).and_utc();
        let successes: i64 = sqlx::query_scalar(
            "SELECT COUNT(*) FROM signup_attempts WHERE ts >= $1 AND succeeded = 1",
        )
        .bind(to_ms(midnight))
        .fetch_one(&mut *conn)
        .await?;
        Ok(successes >= i64::from(limit))
    }

    /// Whether the name belongs to a project or to an intent that waits for payment.
    async fn is_name_taken(
        conn: &mut Conn,
        name: &str,
        now: DateTime<Utc>,
    ) -> Result<bool, StoreError> {
        let taken: i64 = sqlx::query_scalar(
            "SELECT (SELECT COUNT(*) FROM projects WHERE name = $1)
                  + (SELECT COUNT(*) FROM signup_intents
                     WHERE project_name = $1 AND completed_at IS NULL AND created_at > $2)",
        )
        .bind(name)
        .bind(to_ms(now - DAY))
        .fetch_one(&mut *conn)
        .await?;
        Ok(taken > 0)
    }

    /// Locks signups and returns what prevents this one, if anything.
    pub(crate) async fn obstacle<T>(
        conn: &mut Conn,
        new: &NewSignup<'_>,
        limits: SignupLimits,
        now: DateTime<Utc>,
    ) -> Result<Option<SignedUp<T>>, StoreError> {
        sql::settings::lock(conn, SIGNUP_LOCK).await?;
        if is_full(conn, limits.successes, now).await? {
            return Ok(Some(SignedUp::Full));
        }
        let taken = is_name_taken(conn, new.project_name, now).await?;
        Ok(taken.then_some(SignedUp::NameTaken))
    }

    /// Records an attempt, unless the limit of attempts is reached.
    pub(crate) async fn note_attempt(
        conn: &mut Conn,
        ip: &str,
        limits: SignupLimits,
        now: DateTime<Utc>,
    ) -> Result<Attempt, StoreError> {
        sql::settings::lock(conn, SIGNUP_LOCK).await?;
        sqlx::query("DELETE FROM signup_attempts WHERE ts < $1")
            .bind(to_ms(now - DAY - DAY))
            .execute(&mut *conn)
            .await?;
        let tried: i64 =
            sqlx::query_scalar("SELECT COUNT(*) FROM signup_attempts WHERE ip = $1 AND ts > $2")
                .bind(ip)
                .bind(to_ms(now - DAY))
                .fetch_one(&mut *conn)
                .await?;
        if tried >= i64::from(limits.attempts) {
            return Ok(Attempt::TooMany);
        }
        if is_full(conn, limits.successes, now).await? {
            return Ok(Attempt::Full);
        }
        let id: i64 =
            sqlx::query_scalar("INSERT INTO signup_attempts (ip, ts) VALUES ($1, $2) RETURNING id")
                .bind(ip)
                .bind(to_ms(now))
                .fetch_one(&mut *conn)
                .await?;
        Ok(Attempt::Noted(id))
    }

    /// Records that an attempt led to a project or an intent.
    pub(crate) async fn note_success(conn: &mut Conn, attempt: i64) -> Result<(), StoreError> {
        sqlx::query("UPDATE signup_attempts SET succeeded = 1 WHERE id = $1")
            .bind(attempt)
            .execute(&mut *conn)
            .await?;
        Ok(())
    }
}

impl Store {
    /// Records an attempt to sign up, unless a limit is reached.
    #[crate::boxed]
    pub async fn note_signup_attempt(
        &self,
        ip: &str,
        limits: SignupLimits,
        now: DateTime<Utc>,
    ) -> Result<Attempt, StoreError> {
        transact!(self.db, tx => {
            sql::signup::note_attempt(tx, ip, limits, now).await
        })
    }

    /// Deletes an attempt that failed because of this service.
    #[crate::boxed]
    pub async fn forget_signup_attempt(&self, attempt: i64) -> Result<(), StoreError> {
        transact!(self.db, tx => {
            sqlx::query("DELETE FROM signup_attempts WHERE id = $1")
                .bind(attempt)
                .execute(&mut *tx)
                .await?;
            Ok(())
        })
    }

    /// Creates the project of a free signup, its key and the mail with the key.
    #[crate::boxed]
    pub async fn sign_up(
        &self,
        new: &NewSignup<'_>,
        key: &NewKey<'_>,
        mail: Option<&NewMail<'_>>,
        limits: SignupLimits,
        now: DateTime<Utc>,
    ) -> Result<SignedUp<ProjectId>, StoreError> {
        transact!(self.db, tx => {
            if let Some(obstacle) = sql::signup::obstacle(tx, new, limits, now).await? {
                return Ok(obstacle);
            }
            let project = SignedUpProject {
                name: new.project_name,
                tier: new.tier,
                email: new.email,
                key,
                actor: "signup",
            };
            let project = sql::projects::insert_signed_up(tx, &project, now).await?;
            if let Some(mail) = mail {
                sql::mail::insert(tx, mail, now).await?;
            }
            sql::signup::note_success(tx, new.attempt).await?;
            sql::settings::count_up(tx, ACCOUNTS_VERSION, Topic::Accounts).await?;
            Ok(SignedUp::Done(project))
        })
    }

    /// Records a paid signup that waits for payment, under an id chosen by the caller.
    ///
    /// # Errors
    /// When the database fails, or the id is in use.
    #[crate::boxed]
    pub async fn add_intent(
        &self,
        id: IntentId,
        new: &NewSignup<'_>,
        limits: SignupLimits,
        now: DateTime<Utc>,
    ) -> Result<SignedUp<IntentId>, StoreError> {
        transact!(self.db, tx => {
            if let Some(obstacle) = sql::signup::obstacle(tx, new, limits, now).await? {
                return Ok(obstacle);
            }
            sqlx::query(
                "INSERT INTO signup_intents (id, project_name, email, tier, created_at)
                 VALUES ($1, $2, $3, $4, $5)",
            )
            .bind(id.get())
            .bind(new.project_name)
            .bind(new.email)
            .bind(new.tier)
            .bind(to_ms(now))
            .execute(&mut *tx)
            .await?;
            sql::signup::note_success(tx, new.attempt).await?;
            Ok(SignedUp::Done(id))
        })
    }

    /// A paid signup. Intents belong to no project: anyone who knows the id may pay.
    #[crate::boxed]
    pub async fn intent(&self, id: IntentId) -> Result<Option<Intent>, StoreError> {
        let row: Option<IntentRow> = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT id, project_name, email, tier, created_at, completed_at, project_id
                 FROM signup_intents WHERE id = $1",
            )
            .bind(id.get())
            .fetch_optional(pool)
            .await?
        });
        Ok(row.map(Intent::from))
    }

    /// Stores the provider's checkout session of an intent.
    #[crate::boxed]
    pub async fn note_checkout(
        &self,
        id: IntentId,
        session: &str,
        url: &str,
    ) -> Result<(), StoreError> {
        transact!(self.db, tx => {
            sqlx::query(
                "UPDATE signup_intents SET session_id = $2, checkout_url = $3 WHERE id = $1",
            )
            .bind(id.get())
            .bind(session)
            .bind(url)
            .execute(&mut *tx)
            .await?;
            Ok(())
        })
    }

    /// Creates the project of a paid intent, its key and the mail with the key; `None` if that
    /// was already done. `name` is the intent's, or another one if that is taken by now.
    ///
    /// # Errors
    /// [`StoreError::Exists`] if the name is taken.
    #[crate::boxed]
    pub async fn complete_intent(
        &self,
        intent: &Intent,
        name: &str,
        key: &NewKey<'_>,
        mail: Option<&NewMail<'_>>,
        now: DateTime<Utc>,
    ) -> Result<Option<ProjectId>, StoreError> {
        let done: Result<Option<ProjectId>, StoreError> = transact!(self.db, tx => {
            sql::settings::lock(tx, SIGNUP_LOCK).await?;
            let claimed = sqlx::query(
                "UPDATE signup_intents SET completed_at = $2
                 WHERE id = $1 AND completed_at IS NULL",
            )
            .bind(intent.id.get())
            .bind(to_ms(now))
            .execute(&mut *tx)
            .await?;
            if claimed.rows_affected() == 0 {
                return Ok(None);
            }
            let project = SignedUpProject {
                name,
                tier: &intent.tier,
                email: &intent.email,
                key,
                actor: "billing",
            };
            let project = sql::projects::insert_signed_up(tx, &project, now).await?;
            sqlx::query("UPDATE signup_intents SET project_id = $2 WHERE id = $1")
                .bind(intent.id.get())
                .bind(project.get())
                .execute(&mut *tx)
                .await?;
            if let Some(mail) = mail {
                sql::mail::insert(tx, mail, now).await?;
            }
            sql::settings::count_up(tx, ACCOUNTS_VERSION, Topic::Accounts).await?;
            Ok(Some(project))
        });
        done.map_err(|error| error.or_exists("a project of that name"))
    }
}
