//! The database of Orbweaver: every SQL statement, for SQLite and PostgreSQL; and the bodies of
//! pages, which may be in a blob store instead.
//!
//! Methods take the project's id as an argument, so that no query reads another project's rows.
//! Reads use a connection pool directly. Frequent writes (request log, usage, stored scans) go
//! through [`writer`], which commits many of them in one transaction; every other write is its
//! own transaction.
//!
//! The statements on a table are in one module. Those that other modules need within their own
//! transactions are functions, defined once and compiled for both databases
//! (`db::per_database!`), and called as `sql::pages::insert_scan(tx, …)`.

mod accounts;
mod bodies;
mod change_watch;
pub mod crawl;
mod db;
mod error;
mod exclusive_work;
pub mod exports;
mod idempotency;
mod index_claims;
mod index_documents;
mod indexed_key;
pub mod jobs;
mod leases;
mod logs;
mod mail;
mod memory;
pub mod monitors;
mod notices;
mod pages;
mod plugin_records;
mod plugin_secrets;
mod plugin_state;
mod plugins;
mod presence;
mod purge;
mod quota;
mod reach;
mod refusals;
mod replicas;
mod runs;
mod schema;
mod search;
mod settings;
mod sql;
mod store;
mod time;
pub mod webhook;
mod worker_lock;
pub mod writer;

pub use accounts::{
    ApiKey, Attempt, CloudMode, Intent, KeyEvent, KeyHash, KeyState, MAX_ACTIVE_KEYS,
    MAX_ENDED_KEYS, NewKey, NewProject, NewSignup, Principal, Project, ProjectChange, Revoked,
    SignedUp, SignupLimits,
};
pub use bodies::encoding::{BodyEncoding, StoredBody};
pub use bodies::moving::Moved;
pub use bodies::sweep::{BlobSweeper, Swept};
pub use change_watch::ChangeWatch;
pub use db::Options;
pub use error::StoreError;
pub use exclusive_work::ExclusiveWork;
pub use idempotency::{Claim, KeptAnswer, MAX_KEPT_BYTES, PackedAnswer, RENEWAL};
pub use index_claims::IndexClaim;
pub use index_documents::DocumentClaim;
pub use indexed_key::indexed_key;
pub use leases::Except;
pub use logs::{LogEntry, LogFilter};
pub use mail::{DueMail, NewMail};
pub use notices::Topic;
pub use orbweaver_blobs as blobs;
pub use pages::{CacheQuery, NewPage, StoredPage};
pub use plugin_records::{
    PluginCall, PluginLine, PluginRecord, RecordBounds, RecordOrigin, RecordPage,
};
pub use plugin_secrets::{PluginSecret, SavedSecret, SealedSecret};
pub use plugin_state::{StateBounds, StateEntry, StateKeys, StateOwner, StateWrite, StateWritten};
pub use plugins::{NewPluginVersion, PluginBounds, PluginKey, SavedPlugin, UploadedPlugin};
pub use purge::Retention;
pub use quota::{
    Amount, MAX_COST_MICROS, NewUsage, PageCap, PageCaps, ReachedCap, ReservationRequest,
    ReservationResult, UsageCall, UsageDay,
};
pub use replicas::ReplicaState;
pub use search::{IndexEntry, PageWords, SearchHit, UnindexedPage};
pub use store::Store;
pub use worker_lock::{WorkerLock, WorkerLockAttempt};

/// Boxes the future of a public async function, so that it is compiled here, once, and not in
/// every crate that awaits it.
pub(crate) use async_recursion::async_recursion as boxed;
