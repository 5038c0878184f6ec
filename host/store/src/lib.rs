//! Every SQL statement of Orbweaver, on SQLite and PostgreSQL.
//!
//! Methods speak the domain and take the project's id as an argument, so that tenancy can't
//! be forgotten. Reads go straight to a pool. Hot-path writes (request log, usage, stored
//! scans) go through [`writer`], which commits many of them in one transaction; the rest
//! are transactions of their own.

mod accounts;
mod blobs;
pub mod crawl;
mod db;
mod error;
mod idempotency;
mod keys;
mod logs;
mod mail;
pub mod monitors;
mod pages;
mod plugins;
mod presence;
mod projects;
mod purge;
mod quota;
mod schema;
mod search;
mod secrets;
mod settings;
mod time;
mod usage;
pub mod webhook;
pub mod writer;

pub use accounts::{Attempt, Intent, NewSignup, SignedUp, SignupLimits};
pub use blobs::{BodyEncoding, StoredBody};
pub use db::{Options, Store};
pub use error::StoreError;
pub use idempotency::{Claim, KeptAnswer};
pub use keys::{ApiKey, KeyEvent, KeyHash, KeyState, NewKey, Principal, Revoked};
pub use logs::{LogEntry, LogFilter};
pub use mail::{DueMail, NewMail};
pub use pages::{CacheQuery, NewPage, StoredPage};
pub use plugins::UploadedPlugin;
pub use presence::{Seating, WorkerSeat};
pub use projects::{CloudMode, NewProject, Project, ProjectChange};
pub use purge::Retention;
pub use quota::{Amount, Ask, Granted, PageCap, PageCaps};
pub use search::{IndexEntry, SearchHit, Unindexed};
pub use usage::{NewUsage, UsageDay};
