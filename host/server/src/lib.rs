//! The Orbweaver program: command line, configuration, the service put together from its
//! rooms, and the background work that keeps it in order.

// It panics when its reader has gone; see `cli::out`.
#![warn(clippy::print_stdout)]

pub mod cli;
pub mod config;
pub mod doors;
pub mod housekeeping;
pub mod listen;
pub mod probe;
pub mod serve;
pub mod service;
pub mod telemetry;
pub mod traces;
