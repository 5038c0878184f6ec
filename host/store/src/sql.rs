//! Access to the statements of every table, one module per database.
//!
//! A table's statements are in one module, compiled for both databases by
//! [`per_database!`](crate::db::per_database). Other modules call them in their own transactions
//! as `sql::<subject>::<function>(tx, …)`. So this file and the tables' modules import each other,
//! the only import circle of this crate.

/// Statements for SQLite.
pub(crate) mod lite {
    pub(crate) use crate::accounts::key_events::lite as key_events;
    pub(crate) use crate::accounts::keys::lite as keys;
    pub(crate) use crate::accounts::projects::lite as projects;
    pub(crate) use crate::accounts::signup::lite as signup;
    pub(crate) use crate::bodies::rows::lite as bodies;
    pub(crate) use crate::bodies::segments::lite as segments;
    pub(crate) use crate::crawl::commit::lite as commit;
    pub(crate) use crate::crawl::errors::lite as run_errors;
    pub(crate) use crate::crawl::frontier::lite as frontier;
    pub(crate) use crate::crawl::keys::lite as crawl_keys;
    pub(crate) use crate::crawl::notes::lite as run_notes;
    pub(crate) use crate::idempotency::lite as idempotency;
    pub(crate) use crate::index_claims::lite as index_claims;
    pub(crate) use crate::index_documents::lite as index_documents;
    pub(crate) use crate::jobs::items::lite as job_items;
    pub(crate) use crate::jobs::rows::lite as jobs;
    pub(crate) use crate::leases::lite as leases;
    pub(crate) use crate::logs::lite as logs;
    pub(crate) use crate::mail::lite as mail;
    pub(crate) use crate::monitors::rows::lite as monitors;
    pub(crate) use crate::notices::lite as notices;
    pub(crate) use crate::pages::links::lite as page_links;
    pub(crate) use crate::pages::records::lite as page_records;
    pub(crate) use crate::pages::rows::lite as pages;
    pub(crate) use crate::plugin_records::lite as plugin_records;
    pub(crate) use crate::plugin_secrets::lite as plugin_secrets;
    pub(crate) use crate::plugin_state::lite as plugin_state;
    pub(crate) use crate::plugins::lite as plugins;
    pub(crate) use crate::quota::reservations::lite as reservations;
    pub(crate) use crate::quota::usage::lite as usage;
    pub(crate) use crate::runs::baseline::lite as baselines;
    pub(crate) use crate::runs::parts::lite as run_parts;
    pub(crate) use crate::runs::rows::lite as runs;
    pub(crate) use crate::runs::slots::lite as slots;
    pub(crate) use crate::runs::texts::lite as run_texts;
    pub(crate) use crate::search::lite as search;
    pub(crate) use crate::settings::lite as settings;
    pub(crate) use crate::webhook::feed::lite as page_feeds;
    pub(crate) use crate::webhook::outbox::lite as outbox;
    pub(crate) use crate::webhook::receiver::lite as receivers;
}

/// Statements for PostgreSQL.
pub(crate) mod pg {
    pub(crate) use crate::accounts::key_events::pg as key_events;
    pub(crate) use crate::accounts::keys::pg as keys;
    pub(crate) use crate::accounts::projects::pg as projects;
    pub(crate) use crate::accounts::signup::pg as signup;
    pub(crate) use crate::bodies::rows::pg as bodies;
    pub(crate) use crate::bodies::segments::pg as segments;
    pub(crate) use crate::crawl::commit::pg as commit;
    pub(crate) use crate::crawl::errors::pg as run_errors;
    pub(crate) use crate::crawl::frontier::pg as frontier;
    pub(crate) use crate::crawl::keys::pg as crawl_keys;
    pub(crate) use crate::crawl::notes::pg as run_notes;
    pub(crate) use crate::idempotency::pg as idempotency;
    pub(crate) use crate::index_claims::pg as index_claims;
    pub(crate) use crate::index_documents::pg as index_documents;
    pub(crate) use crate::jobs::items::pg as job_items;
    pub(crate) use crate::jobs::rows::pg as jobs;
    pub(crate) use crate::leases::pg as leases;
    pub(crate) use crate::logs::pg as logs;
    pub(crate) use crate::mail::pg as mail;
    pub(crate) use crate::monitors::rows::pg as monitors;
    pub(crate) use crate::notices::pg as notices;
    pub(crate) use crate::pages::links::pg as page_links;
    pub(crate) use crate::pages::records::pg as page_records;
    pub(crate) use crate::pages::rows::pg as pages;
    pub(crate) use crate::plugin_records::pg as plugin_records;
    pub(crate) use crate::plugin_secrets::pg as plugin_secrets;
    pub(crate) use crate::plugin_state::pg as plugin_state;
    pub(crate) use crate::plugins::pg as plugins;
    pub(crate) use crate::quota::reservations::pg as reservations;
    pub(crate) use crate::quota::usage::pg as usage;
    pub(crate) use crate::runs::baseline::pg as baselines;
    pub(crate) use crate::runs::parts::pg as run_parts;
    pub(crate) use crate::runs::rows::pg as runs;
    pub(crate) use crate::runs::slots::pg as slots;
    pub(crate) use crate::runs::texts::pg as run_texts;
    pub(crate) use crate::search::pg as search;
    pub(crate) use crate::settings::pg as settings;
    pub(crate) use crate::webhook::feed::pg as page_feeds;
    pub(crate) use crate::webhook::outbox::pg as outbox;
    pub(crate) use crate::webhook::receiver::pg as receivers;
}
