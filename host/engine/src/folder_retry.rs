//! Files of the plugin folder that were refused for a reason that may pass, and when each is tried
//! again although it is unchanged.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Pause after the first failure; each further one doubles it.
const FIRST: Duration = Duration::from_secs(1);
/// The longest pause: after each, a large file is read and perhaps compiled again, without success.
const LONGEST: Duration = Duration::from_secs(600);

/// The files to try again.
#[derive(Debug, Default)]
pub(crate) struct Retries(BTreeMap<PathBuf, Retry>);

#[derive(Clone, Copy, Debug)]
struct Retry {
    pause: Duration,
    at: Instant,
}

impl Retries {
    /// The file failed, and may be loaded later.
    pub fn failed(&mut self, path: &Path, now: Instant) {
        let last = self.0.get(path).map(|retry| retry.pause);
        let pause = last.map_or(FIRST, |pause| pause.saturating_mul(2).min(LONGEST));
        let at = now + pause;
        self.0.insert(path.to_owned(), Retry { pause, at });
    }

    /// The file is loaded, gone, changed, or refused for good.
    pub fn forget(&mut self, path: &Path) {
        self.0.remove(path);
    }

    /// Whether the file is to be tried now.
    pub fn is_due(&self, path: &Path, now: Instant) -> bool {
        self.0.get(path).is_some_and(|retry| retry.at <= now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_doubles_up_to_a_bound_and_begins_anew_for_a_changed_file() {
        let (mut retries, path) = (Retries::default(), Path::new("extract-a.wasm"));
        let mut now = Instant::now();
        assert!(!retries.is_due(path, now), "it did not fail");
        let mut pause = FIRST;
        for _ in 0..12 {
            retries.failed(path, now);
            let due = now + pause;
            assert!(!retries.is_due(path, due - Duration::from_millis(1)));
            assert!(retries.is_due(path, due));
            now = due;
            pause = (pause * 2).min(LONGEST);
        }
        assert_eq!(pause, LONGEST);
        retries.forget(path);
        assert!(!retries.is_due(path, now + LONGEST));
        retries.failed(path, now);
        assert!(retries.is_due(path, now + FIRST));
    }
}
