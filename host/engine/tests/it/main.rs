//! Tests of the engine's guarantees with real components.
//!
//! The components are built by `cargo xtask build-fixtures` from `tests/hostile`, whose README
//! describes each of them.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "test helpers fail by panicking too"
)]

mod actors;
mod bundle;
mod elements;
mod extract;
mod frozen;
mod fuel;
mod fuel_kinds;
mod hook_quarantine;
mod hook_state;
mod hooks;
mod hostile;
mod hostile_actors;
mod hostile_async;
mod hostile_extraction;
mod hostile_jobs;
mod hostile_kinds;
mod hostile_memory;
mod hostile_stalls;
mod hostile_tables;
mod interrupts;
mod load;
mod needs;
mod rehearsal;
mod shared;
mod shipped;
mod support;
mod swap;
mod tenancy;
mod wat;
mod wat_kinds;
