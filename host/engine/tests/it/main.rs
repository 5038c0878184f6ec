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
mod extract;
mod hostile;
mod hostile_actors;
mod load;
mod shipped;
mod support;
mod swap;
mod wat;
