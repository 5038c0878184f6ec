//! The integration tests: one module per feature, over real HTTP against the real router.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a helper that fails is to fail its test"
)]

mod actor_runs;
mod actors;
mod analyses;
mod auth;
mod bad_pages;
mod batch;
mod billing;
mod blobs;
mod bodies;
mod browsing;
mod bucket_exports;
mod bulk;
mod cache;
mod cloud;
mod cloud_backends;
mod cloud_content;
mod cloud_scan;
mod connections;
mod console;
mod crash;
mod crawl_engine;
mod crawl_read;
mod crawl_render;
mod crawl_request;
mod delivery_hooks;
mod documents;
mod envelope;
mod extract_fields;
mod extract_prompt;
mod extractor_options;
mod failed_urls;
mod faults;
mod fetchers;
mod health;
mod hooks;
mod idempotency;
mod idempotent_crawls;
mod keys;
mod large_files;
mod llms;
mod logs;
mod manners;
mod map;
mod mcp;
mod memory_limits;
mod monitor_runs;
mod monitors;
mod needs;
mod openapi;
mod page_webhooks;
mod paid_in_vain;
mod parts;
mod patience;
mod payment;
mod plugin_events;
mod plugin_figures;
mod plugin_records;
mod plugin_secrets;
mod plugin_state;
mod plugin_swaps;
mod plugins;
mod process;
mod proxied;
mod proxy_faults;
mod quota;
mod rates;
mod receivers;
mod replicas;
mod robots;
mod scan;
mod search;
mod secrets;
mod shares;
mod signup;
mod support;
mod tenancy;
mod tenant_plugins;
mod tenant_rights;
mod tls;
mod unique_text;
mod unknown_names;
mod usage;
mod warnings;
mod webhooks;
mod wrong_shapes;
