//! Measures the steps of a long command.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

/// The steps that have run, in the order in which they ended. Some may run at the same time.
pub struct Steps {
    began: Instant,
    ended: Mutex<Vec<(&'static str, Duration)>>,
}

impl Steps {
    /// Begins to measure.
    pub fn begin() -> Self {
        Self {
            began: Instant::now(),
            ended: Mutex::default(),
        }
    }

    /// Runs a step, and reports its start and its duration.
    ///
    /// # Errors
    /// The step's error, with its name.
    pub fn run<T>(&self, name: &'static str, step: impl FnOnce() -> Result<T>) -> Result<T> {
        eprintln!("\x1b[1m        Step\x1b[0m {name}");
        let began = Instant::now();
        let done = step();
        let took = began.elapsed();
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        ended.push((name, took));
        eprintln!("\x1b[1m        Took\x1b[0m {} {name}", shown(took));
        done.with_context(|| format!("step `{name}`"))
    }

    /// Prints the duration of every step, and the time from the beginning.
    pub fn summary(self) {
        let ended = self.ended.into_inner();
        let ended = ended.unwrap_or_else(PoisonError::into_inner);
        eprintln!();
        for (name, took) in ended.iter().chain([&("total", self.began.elapsed())]) {
            eprintln!("{} {name}", shown(*took));
        }
    }
}

/// A duration as minutes and seconds, aligned.
fn shown(took: Duration) -> String {
    let tenths = took.as_millis() / 100;
    format!(
        "{:3} min {:2}.{} s",
        tenths / 600,
        tenths / 10 % 60,
        tenths % 10
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_shown_in_minutes_and_seconds() {
        assert_eq!(shown(Duration::from_millis(125_450)), "  2 min  5.4 s");
        assert_eq!(shown(Duration::from_millis(59_990)), "  0 min 59.9 s");
    }

    #[test]
    fn a_failed_step_is_named() {
        let steps = Steps::begin();
        let failed = steps.run("formatting", || anyhow::bail!("exit status 1"));
        let error: Result<()> = failed;
        assert_eq!(
            format!("{:#}", error.unwrap_err()),
            "step `formatting`: exit status 1"
        );
    }
}
