//! What a node has done about each upload: loaded it, or failed to.

use std::collections::HashMap;
use std::time::Duration;

use orbweaver_engine::ProjectPolicy;
use orbweaver_store::PluginKey;
use parking_lot::Mutex;
use tokio::time::Instant;

/// Pause after the first failure to load an upload, and the longest one.
const RETRY: Duration = Duration::from_secs(2);
const LONGEST_RETRY: Duration = Duration::from_secs(600);

/// What decides whether a plugin must be loaded again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) number: i64,
    pub(super) digest: String,
    pub(super) grants: Option<String>,
    /// `None` for the instance.
    pub(super) policy: Option<ProjectPolicy>,
}

#[derive(Debug)]
struct Known {
    target: Target,
    failed: Option<Failed>,
}

/// An upload that did not load.
#[derive(Debug)]
struct Failed {
    attempts: u32,
    again: Instant,
}

/// What is to be done so that an upload serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Todo {
    /// Nothing now: it serves, or it did not load and the pause is not over.
    Nothing,
    /// It is new or has changed.
    Load,
    /// It did not load, and is as it was then.
    Retry,
}

/// The uploads that this node has loaded, or failed to load.
#[derive(Debug, Default)]
pub(super) struct KnownUploads(Mutex<HashMap<PluginKey, Known>>);

impl KnownUploads {
    /// Notes that this serves.
    pub(super) fn loaded(&self, key: &PluginKey, target: Target) {
        let failed = None;
        self.0.lock().insert(key.clone(), Known { target, failed });
    }

    /// Notes that this did not load, and when it is tried again.
    pub(super) fn failed(&self, key: &PluginKey, target: Target, now: Instant) {
        let mut all = self.0.lock();
        let before = all.get(key).filter(|known| known.target == target);
        let before = before.and_then(|known| known.failed.as_ref());
        let attempts = before.map_or(0, |failed| failed.attempts);
        let pause = RETRY.saturating_mul(1 << attempts.min(16));
        let failed = Some(Failed {
            attempts: attempts + 1,
            again: now + pause.min(LONGEST_RETRY),
        });
        all.insert(key.clone(), Known { target, failed });
    }

    /// Forgets an upload; whether its owner has others.
    pub(super) fn forget(&self, key: &PluginKey) -> bool {
        let mut all = self.0.lock();
        all.remove(key);
        all.keys().any(|other| other.project == key.project)
    }

    /// What is to be done so that `target` serves.
    pub(super) fn todo(&self, key: &PluginKey, target: &Target, now: Instant) -> Todo {
        let all = self.0.lock();
        match all.get(key).filter(|known| known.target == *target) {
            None => Todo::Load,
            Some(Known {
                failed: Some(failed),
                ..
            }) if failed.again <= now => Todo::Retry,
            Some(_) => Todo::Nothing,
        }
    }

    /// The known uploads that are not among these.
    pub(super) fn others(&self, than: &HashMap<PluginKey, Target>) -> Vec<PluginKey> {
        let all = self.0.lock();
        let others = all.keys().filter(|key| !than.contains_key(key));
        others.cloned().collect()
    }

    /// Number of uploads that did not load.
    pub(super) fn failures(&self) -> usize {
        let all = self.0.lock();
        all.values().filter(|known| known.failed.is_some()).count()
    }

    /// When the first of them is tried again; `None` without one.
    pub(super) fn next_retry(&self) -> Option<Instant> {
        let all = self.0.lock();
        let failed = all.values().filter_map(|known| known.failed.as_ref());
        failed.map(|failed| failed.again).min()
    }
}

#[cfg(test)]
mod tests {
    use orbweaver_core::ids::ProjectId;

    use super::*;

    fn key(project: i64, name: &str) -> PluginKey {
        PluginKey {
            project: Some(ProjectId(project)),
            kind: "extractor".to_owned(),
            name: name.to_owned(),
        }
    }

    fn target(number: i64) -> Target {
        Target {
            number,
            digest: "d".to_owned(),
            grants: None,
            policy: None,
        }
    }

    #[test]
    fn a_failure_is_tried_again_after_pauses_that_grow_up_to_ten_minutes() {
        let (known, key) = (KnownUploads::default(), key(1, "a"));
        let mut now = Instant::now();
        assert_eq!(known.todo(&key, &target(1), now), Todo::Load);
        let mut pauses = Vec::new();
        for _ in 0..12 {
            known.failed(&key, target(1), now);
            assert_eq!(known.todo(&key, &target(1), now), Todo::Nothing);
            // Another version need not wait.
            assert_eq!(known.todo(&key, &target(2), now), Todo::Load);
            let again = known.next_retry().expect("a failure");
            pauses.push((again - now).as_secs());
            now = again;
            assert_eq!(known.todo(&key, &target(1), now), Todo::Retry);
        }
        assert_eq!(pauses[..4], [2, 4, 8, 16]);
        assert_eq!(pauses[9..], [600, 600, 600]);
        known.failed(&key, target(2), now);
        assert_eq!(known.failures(), 1);
        known.loaded(&key, target(2));
        assert_eq!(known.todo(&key, &target(2), now), Todo::Nothing);
        assert_eq!((known.failures(), known.next_retry()), (0, None));
    }

    #[test]
    fn what_is_gone_is_found_also_if_it_did_not_load() {
        let known = KnownUploads::default();
        known.failed(&key(1, "a"), target(1), Instant::now());
        known.loaded(&key(1, "b"), target(1));
        let there = HashMap::from([(key(1, "b"), target(1))]);
        assert_eq!(known.others(&there), [key(1, "a")]);
        assert!(known.forget(&key(1, "a")));
        assert!(!known.forget(&key(1, "b")));
    }
}
