//! Signup, intents, and the projects that they become.

use chrono::{DateTime, NaiveTime, TimeDelta, Utc};
use orbweaver_core::ids::{IntentId, ProjectId};

use crate::db::{Store, read, transact};
use crate::error::StoreError;
use crate::keys::{NewKey, insert_key};
use crate::mail::{NewMail, queue_mail};
use crate::settings::accounts_changed;
use crate::time::{from_ms, to_ms};

/// How far back attempts count, and how long an unpaid intent keeps its name.
const DAY: TimeDelta = TimeDelta::hours(24);

/// How many signups there may be.
#[derive(Clone, Copy, Debug)]
pub struct SignupLimits {
    /// Attempts of one address in 24 hours.
    pub attempts: u32,
    /// Successes of all in a UTC day.
    pub successes: u32,
}

/// Whether someone may try to sign up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// It is noted; the number names it.
    Noted(i64),
    /// That address tried often enough.
    TooMany,
    /// Enough signed up today.
    Full,
}

/// Whether a signup came to pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignedUp<T> {
    /// It did.
    Done(T),
    /// The project's name is taken, by a project or by an intent that waits for payment.
    NameTaken,
    /// Enough signed up today.
    Full,
}

/// Someone who signs up.
#[derive(Clone, Copy, Debug)]
pub struct NewSignup<'a> {
    /// The attempt that it is.
    pub attempt: i64,
    /// The project's name.
    pub project_name: &'a str,
    /// Where the key goes.
    pub email: &'a str,
    /// The tier.
    pub tier: &'a str,
}

/// A paid signup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intent {
    /// Its id.
    pub id: IntentId,
    /// The project's name as asked for.
    pub project_name: String,
    /// Where the key goes.
    pub email: String,
    /// The tier.
    pub tier: String,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// When it was paid.
    pub completed_at: Option<DateTime<Utc>>,
    /// The project that it became.
    pub project: Option<ProjectId>,
}

#[derive(sqlx::FromRow)]
struct Row {
    id: i64,
    project_name: String,
    email: String,
    tier: String,
    created_at: i64,
    completed_at: Option<i64>,
    project_id: Option<i64>,
}

impl From<Row> for Intent {
    fn from(row: Row) -> Self {
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

/// One signup at a time: counting and adding must not interleave. The row is locked until
/// the transaction ends.
macro_rules! one_signup_at_a_time {
    ($tx:expr) => {
        sqlx::query(
            "INSERT INTO settings (name, value) VALUES ('signup.lock', '')
             ON CONFLICT (name) DO UPDATE SET value = ''",
        )
        .execute(&mut *$tx)
        .await?
    };
}

/// Whether today has had its signups.
macro_rules! is_full {
    ($tx:expr, $limit:expr, $now:expr) => {{
        let midnight = $now.date_naive().and_time(NaiveTime::MIN).and_utc();
        let successes: i64 = sqlx::query_scalar(
            "SELECT COUNT(*) FROM signup_attempts WHERE ts >= $1 AND succeeded = 1",
        )
        .bind(to_ms(midnight))
        .fetch_one(&mut *$tx)
        .await?;
        successes >= i64::from($limit)
    }};
}

/// Whether a project has this name, or someone is about to pay for it.
macro_rules! is_name_taken {
    ($tx:expr, $name:expr, $now:expr) => {{
        let taken: i64 = sqlx::query_scalar(
            "SELECT (SELECT COUNT(*) FROM projects WHERE name = $1)
                  + (SELECT COUNT(*) FROM signup_intents
                     WHERE project_name = $1 AND completed_at IS NULL AND created_at > $2)",
        )
        .bind($name)
        .bind(to_ms($now - DAY))
        .fetch_one(&mut *$tx)
        .await?;
        taken > 0
    }};
}

macro_rules! succeeded {
    ($tx:expr, $attempt:expr) => {
        sqlx::query("UPDATE signup_attempts SET succeeded = 1 WHERE id = $1")
            .bind($attempt)
            .execute(&mut *$tx)
            .await?
    };
}

/// A project that signed up, with its first key; never the administrator's.
macro_rules! insert_project {
    ($tx:expr, $name:expr, $tier:expr, $email:expr, $key:expr, $actor:expr, $now:expr) => {{
        let id: i64 = sqlx::query_scalar(
            "INSERT INTO projects (name, tier, administrator, email, created_at)
             VALUES ($1, $2, 0, $3, $4) RETURNING id",
        )
        .bind($name)
        .bind($tier)
        .bind($email)
        .bind(to_ms($now))
        .fetch_one(&mut *$tx)
        .await?;
        let _key: i64 = insert_key!($tx, id, $key, "issued", $actor, $now);
        ProjectId(id)
    }};
}

impl Store {
    /// Notes an attempt to sign up, unless there were enough.
    pub async fn note_signup_attempt(
        &self,
        ip: &str,
        limits: SignupLimits,
        now: DateTime<Utc>,
    ) -> Result<Attempt, StoreError> {
        transact!(self.db, tx => {
            one_signup_at_a_time!(tx);
            sqlx::query("DELETE FROM signup_attempts WHERE ts < $1")
                .bind(to_ms(now - DAY - DAY))
                .execute(&mut *tx)
                .await?;
            let tried: i64 = sqlx::query_scalar(
                "SELECT COUNT(*) FROM signup_attempts WHERE ip = $1 AND ts > $2",
            )
            .bind(ip)
            .bind(to_ms(now - DAY))
            .fetch_one(&mut *tx)
            .await?;
            if tried >= i64::from(limits.attempts) {
                return Ok(Attempt::TooMany);
            }
            if is_full!(tx, limits.successes, now) {
                return Ok(Attempt::Full);
            }
            let id: i64 = sqlx::query_scalar(
                "INSERT INTO signup_attempts (ip, ts) VALUES ($1, $2) RETURNING id",
            )
            .bind(ip)
            .bind(to_ms(now))
            .fetch_one(&mut *tx)
            .await?;
            Ok(Attempt::Noted(id))
        })
    }

    /// Forgets an attempt that failed through no fault of who tried.
    pub async fn forget_signup_attempt(&self, attempt: i64) -> Result<(), StoreError> {
        transact!(self.db, tx => {
            sqlx::query("DELETE FROM signup_attempts WHERE id = $1")
                .bind(attempt)
                .execute(&mut *tx)
                .await?;
            Ok(())
        })
    }

    /// Makes the project of a free signup, its key and the mail that brings it.
    pub async fn sign_up(
        &self,
        new: &NewSignup<'_>,
        key: &NewKey<'_>,
        mail: Option<&NewMail<'_>>,
        limits: SignupLimits,
        now: DateTime<Utc>,
    ) -> Result<SignedUp<ProjectId>, StoreError> {
        transact!(self.db, tx => {
            one_signup_at_a_time!(tx);
            if is_full!(tx, limits.successes, now) {
                return Ok(SignedUp::Full);
            }
            if is_name_taken!(tx, new.project_name, now) {
                return Ok(SignedUp::NameTaken);
            }
            let project =
                insert_project!(tx, new.project_name, new.tier, new.email, key, "signup", now);
            if let Some(mail) = mail {
                queue_mail!(tx, mail, now);
            }
            succeeded!(tx, new.attempt);
            accounts_changed!(tx);
            Ok(SignedUp::Done(project))
        })
    }

    /// Records a paid signup that waits for its payment, under an id that the caller drew.
    ///
    /// # Errors
    /// When the database fails, or the id exists.
    pub async fn add_intent(
        &self,
        id: IntentId,
        new: &NewSignup<'_>,
        limits: SignupLimits,
        now: DateTime<Utc>,
    ) -> Result<SignedUp<IntentId>, StoreError> {
        transact!(self.db, tx => {
            one_signup_at_a_time!(tx);
            if is_full!(tx, limits.successes, now) {
                return Ok(SignedUp::Full);
            }
            if is_name_taken!(tx, new.project_name, now) {
                return Ok(SignedUp::NameTaken);
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
            succeeded!(tx, new.attempt);
            Ok(SignedUp::Done(id))
        })
    }

    /// A paid signup. Intents belong to no project: whoever has the number may pay.
    pub async fn intent(&self, id: IntentId) -> Result<Option<Intent>, StoreError> {
        let row: Option<Row> = read!(self.db, pool => {
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

    /// Notes the provider's checkout session of an intent.
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

    /// Makes the project of a paid intent, its key and the mail that brings it; `None` when
    /// that was done before. `name` is the intent's, or another where that is taken by now.
    ///
    /// # Errors
    /// [`StoreError::Exists`] when the name is taken.
    pub async fn complete_intent(
        &self,
        intent: &Intent,
        name: &str,
        key: &NewKey<'_>,
        mail: Option<&NewMail<'_>>,
        now: DateTime<Utc>,
    ) -> Result<Option<ProjectId>, StoreError> {
        let done: Result<Option<ProjectId>, StoreError> = transact!(self.db, tx => {
            one_signup_at_a_time!(tx);
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
            let project = insert_project!(
                tx,
                name,
                intent.tier.as_str(),
                intent.email.as_str(),
                key,
                "billing",
                now
            );
            sqlx::query("UPDATE signup_intents SET project_id = $2 WHERE id = $1")
                .bind(intent.id.get())
                .bind(project.get())
                .execute(&mut *tx)
                .await?;
            if let Some(mail) = mail {
                queue_mail!(tx, mail, now);
            }
            accounts_changed!(tx);
            Ok(Some(project))
        });
        done.map_err(|error| error.or_exists("a project of that name"))
    }
}
