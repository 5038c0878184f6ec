//! The engine's promises, held against real components.
//!
//! The components are built by `cargo xtask build-fixtures` from `tests/hostile`, whose
//! README states what each of them does.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests, too, fail by panicking"
)]

mod actors;
mod bundle;
mod extract;
mod fuel;
mod hostile;
mod hostile_actors;
mod hostile_async;
mod hostile_memory;
mod load;
mod shipped;
mod support;
mod swap;
mod wat;
