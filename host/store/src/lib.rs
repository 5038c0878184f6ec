//! Every SQL statement of Orbweaver, on SQLite and PostgreSQL.
//!
//! Methods take the project's id as an argument, so that no query can forget whose rows it
//! may see. Reads go straight to a pool. Hot-path writes (request log, usage, stored scans)
//! go through [`writer`], which commits many of them in one transaction; each other write is
//! a transaction of its own.
//!
//! The statements on a table stand in one module. Those that other modules need within their
//! own transactions are functions, defined once and stamped for both databases
//! (`db::per_database!`), and called as `sql::pages::insert_scan(tx, …)`.

mod accounts;
mod bodies;
pub mod crawl;
mod db;
mod error;
mod idempotency;
mod logs;
mod mail;
pub mod monitors;
mod pages;
mod plugins;
mod presence;
mod pulse;
mod purge;
mod quota;
mod runs;
mod schema;
mod search;
mod settings;
mod sql;
mod time;
pub mod webhook;
pub mod writer;

pub use accounts::{
    ApiKey, Attempt, CloudMode, Intent, KeyEvent, KeyHash, KeyState, NewKey, NewProject, NewSignup,
    Principal, Project, ProjectChange, Revoked, SignedUp, SignupLimits,
};
pub use bodies::{BodyEncoding, StoredBody};
pub use db::{Options, Store};
pub use error::StoreError;
pub use idempotency::{Claim, KeptAnswer};
pub use logs::{LogEntry, LogFilter};
pub use mail::{DueMail, NewMail};
pub use pages::{CacheQuery, NewPage, StoredPage};
pub use plugins::UploadedPlugin;
pub use presence::{Seating, WorkerSeat};
pub use pulse::Pulse;
pub use purge::Retention;
pub use quota::{Amount, Ask, Granted, NewUsage, PageCap, PageCaps, UsageDay};
pub use search::{IndexEntry, PageWords, SearchHit, Unindexed};
