//! The Orbweaver service: command line, configuration, HTTP interface, and the pipeline that
//! takes a page through its plugins.

// It panics when its reader has gone; see `cli::out`.
#![warn(clippy::print_stdout)]

pub mod accounts;
pub mod actors;
pub mod api;
pub mod app;
pub mod blocklist;
pub mod cli;
pub mod clock;
pub mod cloud;
pub mod config;
pub mod crawl;
pub mod housekeeping;
pub mod llms;
pub mod monitors;
pub mod pipeline;
pub mod plugins;
pub mod serve;
pub mod telemetry;
pub mod traces;
pub mod webhooks;
