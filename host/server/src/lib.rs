//! The Orbweaver service: command line, configuration, HTTP interface, and the pipeline that
//! takes a page through its plugins.

pub mod accounts;
pub mod api;
pub mod app;
pub mod blocklist;
pub mod cli;
pub mod clock;
pub mod cloud;
pub mod config;
pub mod crawl;
pub mod housekeeping;
pub mod monitors;
pub mod pipeline;
pub mod serve;
pub mod telemetry;
pub mod webhooks;
