//! Builds that run at the same time, and share the processors.

use std::num::NonZero;
use std::process::Command;
use std::sync::LazyLock;
use std::{env, thread};

use anyhow::{Result, bail};
use jobserver::Client;

/// Tokens for compilers, one fewer than may run: each Cargo has one of its own. `None` on one processor,
/// or if the system gives no pipe.
static JOBS: LazyLock<Option<Client>> = LazyLock::new(|| {
    let stated = env::var("CARGO_BUILD_JOBS").ok();
    let stated = stated.and_then(|jobs| jobs.parse::<NonZero<usize>>().ok());
    let jobs = stated.or_else(|| thread::available_parallelism().ok());
    let tokens = jobs.map_or(0, |jobs| jobs.get() - 1);
    (tokens > 0).then(|| Client::new(tokens).ok()).flatten()
});

/// Lets a Cargo that only builds share the compilers with the other one of [`both`]. What it runs would
/// look for the tokens in vain, so this is not for tests that run.
pub fn share_jobs(cargo: &mut Command) -> &mut Command {
    if let Some(jobs) = &*JOBS {
        jobs.configure(cargo);
    }
    cargo
}

/// Runs two builds at a time, with as many compilers as one has alone. The end of most builds is a chain of large
/// crates, each of which needs the one before; the other build then uses the other processors.
///
/// # Errors
/// The error of one of them; the other one runs to its end.
pub fn both(
    first: impl FnOnce() -> Result<()> + Send,
    second: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let Some(jobs) = &*JOBS else {
        first()?;
        return second();
    };
    // Stands for the one that the second Cargo has of its own.
    let token = jobs.acquire()?;
    thread::scope(|scope| {
        let first = scope.spawn(|| {
            let done = first();
            drop(token);
            done
        });
        let second = second();
        let Ok(first) = first.join() else {
            bail!("the thread of a build panicked");
        };
        first.and(second)
    })
}
