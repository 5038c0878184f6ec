//! The Orbweaver program: command line, configuration, assembly of the service, and background
//! work.

// `println!` panics if the output is closed; see `cli::out`.
#![warn(clippy::print_stdout)]

pub mod blobs;
pub mod cli;
pub mod config;
pub mod housekeeping;
pub mod insecure_settings;
pub mod listen;
pub mod probe;
mod recurring;
pub mod serve;
pub mod service;
mod supervise;
pub mod telemetry;
pub mod traces;
mod user_dirs;
