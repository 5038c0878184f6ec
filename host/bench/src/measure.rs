//! Times several functions in turns.

use std::time::{Duration, Instant};

/// A function to time, and its name.
pub struct Candidate<'a> {
    pub name: &'static str,
    pub run: Box<dyn FnMut() -> anyhow::Result<Duration> + 'a>,
}

impl<'a> Candidate<'a> {
    /// Times `work` itself.
    pub fn new(name: &'static str, mut work: impl FnMut() -> anyhow::Result<()> + 'a) -> Self {
        let run = move || {
            let start = Instant::now();
            work()?;
            Ok(start.elapsed())
        };
        Self {
            name,
            run: Box::new(run),
        }
    }
}

/// Medians of `rounds` rounds, in each of which every candidate runs once, after one warm-up
/// round. Ratios are medians of the rounds' own ratios.
pub struct Rounds {
    names: Vec<&'static str>,
    times: Vec<Vec<Duration>>,
}

impl Rounds {
    /// Runs until `rounds` rounds are done or `budget` is used up (three rounds at least).
    pub fn run(
        mut candidates: Vec<Candidate<'_>>,
        rounds: usize,
        budget: Duration,
    ) -> anyhow::Result<Self> {
        let mut times = vec![Vec::with_capacity(rounds); candidates.len()];
        for candidate in &mut candidates {
            (candidate.run)()?;
        }
        let start = Instant::now();
        for round in 0..rounds {
            if round >= 3 && start.elapsed() > budget {
                break;
            }
            for (candidate, times) in candidates.iter_mut().zip(&mut times) {
                times.push((candidate.run)()?);
            }
        }
        Ok(Self {
            names: candidates.iter().map(|c| c.name).collect(),
            times,
        })
    }

    /// Names in order, each with its median.
    pub fn medians(&self) -> impl Iterator<Item = (&'static str, Duration)> + '_ {
        self.names.iter().zip(&self.times).map(|(name, times)| {
            (
                *name,
                median(times.iter().map(Duration::as_secs_f64))
                    .map_or(Duration::ZERO, Duration::from_secs_f64),
            )
        })
    }

    /// Median over the rounds of candidate `a`'s time divided by candidate `b`'s.
    pub fn ratio(&self, a: &str, b: &str) -> Option<f64> {
        let index = |name| self.names.iter().position(|n| *n == name);
        let (a, b) = (self.times.get(index(a)?)?, self.times.get(index(b)?)?);
        median(
            a.iter()
                .zip(b)
                .map(|(a, b)| a.as_secs_f64() / b.as_secs_f64()),
        )
    }
}

/// The median; `None` of an empty list.
pub fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}
