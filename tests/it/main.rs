//! The behaviour suite: one module per promise, over real HTTP against the real router.

mod auth;
mod billing;
mod bulk;
mod cache;
mod crawl_engine;
mod crawl_store;
mod envelope;
mod faults;
mod health;
mod idempotency;
mod logs;
mod monitor_runs;
mod monitor_store;
mod monitors;
mod openapi;
mod process;
mod quota;
mod receivers;
mod robots;
mod scan;
mod store;
mod support;
mod tls;
mod webhooks;
