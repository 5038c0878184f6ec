//! Projects: the tenants.

use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, Utc};
use orbweaver_core::ids::ProjectId;

use super::key_events::KeyChange;
use super::keys::NewKey;
use crate::db::{per_database, read, transact};
use crate::error::StoreError;
use crate::notices::Topic;
use crate::settings::ACCOUNTS_VERSION;
use crate::store::Store;
use crate::time::{from_ms, to_ms};

/// How pages are fetched: with this host's HTTP client, a browser, or an unblocking service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CloudMode {
    /// Plain HTTP.
    #[default]
    None,
    /// Plain HTTP first, then a more capable mode if needed.
    Auto,
    /// The unblocking backend.
    Unblocker,
    /// A browser.
    Browser,
}

impl CloudMode {
    /// The name in requests and in the database.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Auto => "auto",
            Self::Unblocker => "unblocker",
            Self::Browser => "browser",
        }
    }
}

impl fmt::Display for CloudMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for CloudMode {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        match word {
            "none" => Ok(Self::None),
            "auto" => Ok(Self::Auto),
            "unblocker" => Ok(Self::Unblocker),
            "browser" => Ok(Self::Browser),
            _ => Err("must be one of none, auto, unblocker, browser".to_owned()),
        }
    }
}

/// A project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// Its id.
    pub id: ProjectId,
    /// Unique name.
    pub name: String,
    /// Name of its tier; the caps of a tier are configuration.
    pub tier: String,
    /// Whether its keys may manage plugins.
    pub administrator: bool,
    /// Proxy for its requests; may contain credentials, so never log it unredacted.
    pub proxy_url: Option<String>,
    /// Cloud mode of requests that do not name one.
    pub cloud_mode: CloudMode,
    /// When it was created.
    pub created_at: DateTime<Utc>,
    /// Since when it is suspended; `None`: not suspended.
    pub suspended_at: Option<DateTime<Utc>>,
}

/// A project to create, with its first key.
#[derive(Clone, Debug)]
pub struct NewProject<'a> {
    /// Unique name.
    pub name: &'a str,
    /// Tier.
    pub tier: &'a str,
    /// Its first key.
    pub key: NewKey<'a>,
    /// The creator: `cli` or `start`.
    pub actor: &'a str,
}

/// A change of a project; `None` leaves a field unchanged.
#[derive(Clone, Debug, Default)]
pub struct ProjectChange<'a> {
    /// New tier; applies at once.
    pub tier: Option<&'a str>,
    /// New proxy; the inner `None` removes it.
    pub proxy_url: Option<Option<&'a str>>,
    /// New default cloud mode.
    pub cloud_mode: Option<CloudMode>,
}

/// A project created by signup.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SignedUpProject<'a> {
    pub(crate) name: &'a str,
    pub(crate) tier: &'a str,
    /// Address to which its keys are sent.
    pub(crate) email: &'a str,
    /// Its first key.
    pub(crate) key: &'a NewKey<'a>,
    /// `signup` or `billing`.
    pub(crate) actor: &'a str,
}

#[derive(sqlx_macros::FromRow)]
struct ProjectRow {
    id: i64,
    name: String,
    tier: String,
    administrator: i64,
    proxy_url: Option<String>,
    cloud_mode: String,
    created_at: i64,
    suspended_at: Option<i64>,
}

impl TryFrom<ProjectRow> for Project {
    type Error = StoreError;

    fn try_from(row: ProjectRow) -> Result<Self, StoreError> {
        Ok(Self {
            id: ProjectId(row.id),
            name: row.name,
            tier: row.tier,
            administrator: row.administrator != 0,
            proxy_url: row.proxy_url,
            cloud_mode: row.cloud_mode.parse().map_err(StoreError::Damaged)?,
            created_at: from_ms(row.created_at),
            suspended_at: row.suspended_at.map(from_ms),
        })
    }
}

per_database! {
    /// Locks a project: other transactions that lock it wait until this one ends. On SQLite only
    /// one transaction writes at a time anyway.
    pub(crate) async fn lock(conn: &mut Conn, project: ProjectId) -> Result<(), StoreError> {
        let select = if IS_SHARED {
            // Does not block rows that refer to the project.
            "SELECT id FROM projects WHERE id = $1 FOR NO KEY UPDATE"
        } else {
            "SELECT id FROM projects WHERE id = $1"
        };
        let _: Option<i64> = sqlx::query_scalar(select)
            .bind(project.get())
            .fetch_optional(&mut *conn)
            .await?;
        Ok(())
    }

    /// Stores a project; the first of a database is the administrator's.
    pub(crate) async fn insert(
        conn: &mut Conn,
        name: &str,
        tier: &str,
        now: DateTime<Utc>,
    ) -> Result<ProjectId, StoreError> {
        let id: i64 = sqlx::query_scalar(
            "INSERT INTO projects (name, tier, administrator, created_at)
             VALUES ($1, $2, CASE WHEN EXISTS (SELECT 1 FROM projects) THEN 0 ELSE 1 END, $3)
             RETURNING id",
        )
        .bind(name)
        .bind(tier)
        .bind(to_ms(now))
        .fetch_one(&mut *conn)
        .await?;
        Ok(ProjectId(id))
    }

    /// Stores a project that signed up, with its first key; never the administrator's.
    pub(crate) async fn insert_signed_up(
        conn: &mut Conn,
        new: &SignedUpProject<'_>,
        now: DateTime<Utc>,
    ) -> Result<ProjectId, StoreError> {
        let id: i64 = sqlx::query_scalar(
            "INSERT INTO projects (name, tier, administrator, email, created_at)
             VALUES ($1, $2, 0, $3, $4) RETURNING id",
        )
        .bind(new.name)
        .bind(new.tier)
        .bind(new.email)
        .bind(to_ms(now))
        .fetch_one(&mut *conn)
        .await?;
        let issued = KeyChange::issued(ProjectId(id), new.actor, now);
        sql::keys::insert(conn, new.key, issued).await?;
        Ok(ProjectId(id))
    }
}

impl Store {
    /// Creates a project and its first key. The first project of a database is an
    /// administrator.
    ///
    /// # Errors
    /// [`StoreError::Exists`] if the name is taken.
    #[crate::boxed]
    pub async fn create_project(
        &self,
        new: &NewProject<'_>,
        now: DateTime<Utc>,
    ) -> Result<ProjectId, StoreError> {
        let created: Result<ProjectId, StoreError> = transact!(self.db, tx => {
            let project = sql::projects::insert(tx, new.name, new.tier, now).await?;
            sql::keys::insert(tx, &new.key, KeyChange::issued(project, new.actor, now)).await?;
            sql::settings::count_up(tx, ACCOUNTS_VERSION, Topic::Accounts).await?;
            Ok(project)
        });
        created.map_err(|error| error.or_exists("a project or key of that name"))
    }

    /// Creates a project without a key. The first of a database is the administrator's.
    #[crate::boxed]
    pub async fn create_project_alone(
        &self,
        name: &str,
        tier: &str,
        now: DateTime<Utc>,
    ) -> Result<ProjectId, StoreError> {
        let created: Result<ProjectId, StoreError> = transact!(self.db, tx => {
            let project = sql::projects::insert(tx, name, tier, now).await?;
            sql::settings::count_up(tx, ACCOUNTS_VERSION, Topic::Accounts).await?;
            Ok(project)
        });
        created.map_err(|error| error.or_exists("a project of that name"))
    }

    /// All projects, oldest first.
    #[crate::boxed]
    pub async fn projects(&self) -> Result<Vec<Project>, StoreError> {
        let rows: Vec<ProjectRow> = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT id, name, tier, administrator, proxy_url, cloud_mode, created_at,
                        suspended_at
                 FROM projects ORDER BY id",
            )
            .fetch_all(pool)
            .await?
        });
        rows.into_iter().map(Project::try_from).collect()
    }

    /// The project with this id.
    #[crate::boxed]
    pub async fn project(&self, id: ProjectId) -> Result<Option<Project>, StoreError> {
        let row: Option<ProjectRow> = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT id, name, tier, administrator, proxy_url, cloud_mode, created_at,
                        suspended_at
                 FROM projects WHERE id = $1",
            )
            .bind(id.get())
            .fetch_optional(pool)
            .await?
        });
        row.map(Project::try_from).transpose()
    }

    /// The project with this name.
    #[crate::boxed]
    pub async fn project_named(&self, name: &str) -> Result<Option<Project>, StoreError> {
        let row: Option<ProjectRow> = read!(self.db, pool => {
            sqlx::query_as(
                "SELECT id, name, tier, administrator, proxy_url, cloud_mode, created_at,
                        suspended_at
                 FROM projects WHERE name = $1",
            )
            .bind(name)
            .fetch_optional(pool)
            .await?
        });
        row.map(Project::try_from).transpose()
    }

    /// Changes a project; `false` if it does not exist.
    #[crate::boxed]
    pub async fn change_project(
        &self,
        project: ProjectId,
        change: &ProjectChange<'_>,
    ) -> Result<bool, StoreError> {
        transact!(self.db, tx => {
            let done = sqlx::query(
                "UPDATE projects SET
                     tier = COALESCE($2, tier),
                     proxy_url = CASE WHEN $3 = 1 THEN $4 ELSE proxy_url END,
                     cloud_mode = COALESCE($5, cloud_mode)
                 WHERE id = $1",
            )
            .bind(project.get())
            .bind(change.tier)
            .bind(i64::from(change.proxy_url.is_some()))
            .bind(change.proxy_url.flatten())
            .bind(change.cloud_mode.map(CloudMode::as_str))
            .execute(&mut *tx)
            .await?;
            if change.tier.is_some() {
                // The permissions of its plugins depend on the tier.
                sql::plugins::begin(tx).await?;
            }
            sql::settings::count_up(tx, ACCOUNTS_VERSION, Topic::Accounts).await?;
            Ok(done.rows_affected() == 1)
        })
    }

    /// Suspends a project from `since` on; `None` ends the suspension. `false` if it does not
    /// exist.
    #[crate::boxed]
    pub async fn suspend_project(
        &self,
        project: ProjectId,
        since: Option<DateTime<Utc>>,
    ) -> Result<bool, StoreError> {
        transact!(self.db, tx => {
            let done = sqlx::query("UPDATE projects SET suspended_at = $2 WHERE id = $1")
                .bind(project.get())
                .bind(since.map(to_ms))
                .execute(&mut *tx)
                .await?;
            sql::settings::count_up(tx, ACCOUNTS_VERSION, Topic::Accounts).await?;
            Ok(done.rows_affected() == 1)
        })
    }

    /// The project's tier; `None` if it is suspended or does not exist.
    #[crate::boxed]
    pub async fn active_tier(&self, project: ProjectId) -> Result<Option<String>, StoreError> {
        read!(self.db, pool => {
            Ok(sqlx::query_scalar(
                "SELECT tier FROM projects WHERE id = $1 AND suspended_at IS NULL",
            )
            .bind(project.get())
            .fetch_optional(pool)
            .await?)
        })
    }
}
