//! The state of each upload on this node: loaded, or failed to load.

use std::collections::HashMap;
use std::time::Duration;

use orbweaver_core::ids::ProjectId;
use orbweaver_engine::{Permissions, ProjectPolicy};
use orbweaver_store::PluginKey;
use parking_lot::Mutex;
use tokio::time::Instant;

/// Pause after the first failure to load an upload, and the longest one.
const RETRY: Duration = Duration::from_secs(2);
const LONGEST_RETRY: Duration = Duration::from_secs(600);

/// What is told of an upload that could not be read from the database, or whose load panicked.
pub(super) const UNREAD: &str = "an error of the service, which is in its log; it is tried again";

/// What decides whether a plugin must be loaded again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) number: i64,
    pub(super) digest: String,
    pub(super) grants: Option<String>,
    /// `None` for the instance.
    pub(super) policy: Option<ProjectPolicy>,
}

impl Target {
    /// Whether this may go on serving while another target does not load: with no more rights than that
    /// one has. Of another component only the
    /// operator's bounds count: its own grants were for that one.
    fn may_stand_in(&self, wanted: &Self) -> bool {
        let same_grants = self.digest != wanted.digest || self.grants == wanted.grants;
        let within = match (&self.policy, &wanted.policy) {
            (Some(own), Some(bounds)) => is_within(own, bounds),
            (None, None) => true,
            _ => false,
        };
        same_grants && within
    }
}

/// Whether the operator's bounds of one policy allow no more than those of another.
fn is_within(own: &ProjectPolicy, bounds: &ProjectPolicy) -> bool {
    let at_most = |own: Option<u64>, most: Option<u64>| {
        most.is_none_or(|most| own.is_some_and(|own| own <= most))
    };
    let listed = |own: &[String], all: &[String]| own.iter().all(|one| all.contains(one));
    // Named one by one, so that a new permission is not forgotten here.
    let Permissions {
        http,
        extract,
        render,
        crawl_data,
        state,
        secrets,
        wasi,
    } = &own.allowed;
    let most = &bounds.allowed;
    at_most(own.cpu_ms, bounds.cpu_ms)
        && at_most(own.memory_mib, bounds.memory_mib)
        && listed(http, &most.http)
        && listed(extract, &most.extract)
        && listed(secrets, &most.secrets)
        && listed(wasi, &most.wasi)
        && (*render <= most.render)
        && (*crawl_data <= most.crawl_data)
        && (*state <= most.state)
}

#[derive(Debug)]
struct Known {
    /// `None` if it is not known what should serve.
    target: Option<Target>,
    failed: Option<Failed>,
    /// What serves meanwhile, if the target does not.
    stand_in: Option<Target>,
}

/// An upload that did not load.
#[derive(Debug)]
struct Failed {
    attempts: u32,
    again: Instant,
    /// Why; `None` if it was not even read.
    reason: Option<String>,
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
        let known = Known {
            target: Some(target),
            failed: None,
            stand_in: None,
        };
        self.0.lock().insert(key.clone(), known);
    }

    /// Records a failed load, why, for its owner, and the time of its retry; `target` and `reason` are
    /// `None` if the stored version could not be read. False if the old version must stop: it has
    /// permissions that the new one lacks, or is unknown.
    #[must_use]
    pub(super) fn failed(
        &self,
        key: &PluginKey,
        target: Option<Target>,
        reason: Option<String>,
        now: Instant,
    ) -> bool {
        let mut all = self.0.lock();
        let (mut attempts, mut serving) = (0, None);
        if let Some(known) = all.remove(key) {
            serving = match known.failed {
                None => known.target,
                Some(failed) => {
                    if known.target == target {
                        attempts = failed.attempts;
                    }
                    known.stand_in
                }
            };
        }
        let may_stand_in = |serving: &Target| {
            let wanted = target.as_ref();
            wanted.is_none_or(|wanted| serving.may_stand_in(wanted))
        };
        let stand_in = serving.filter(may_stand_in);
        let may_go_on = stand_in.is_some();
        let pause = RETRY.saturating_mul(1 << attempts.min(16));
        let failed = Some(Failed {
            attempts: attempts + 1,
            again: now + pause.min(LONGEST_RETRY),
            reason,
        });
        let known = Known {
            target,
            failed,
            stand_in,
        };
        all.insert(key.clone(), known);
        may_go_on
    }

    /// The uploads of the instance, or of a project, that did not load, and why.
    pub(super) fn problems(&self, owner: Option<ProjectId>) -> Vec<(PluginKey, String)> {
        let all = self.0.lock();
        let own = all.iter().filter(|(key, _)| key.project == owner);
        let reason = |failed: &Failed| failed.reason.clone().unwrap_or_else(|| UNREAD.to_owned());
        own.filter_map(|(key, known)| Some((key.clone(), reason(known.failed.as_ref()?))))
            .collect()
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
        let known = all.get(key);
        match known.filter(|known| known.target.as_ref() == Some(target)) {
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
            assert!(!known.failed(&key, Some(target(1)), None, now));
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
        assert!(!known.failed(&key, Some(target(2)), None, now));
        assert_eq!(known.failures(), 1);
        known.loaded(&key, target(2));
        assert_eq!(known.todo(&key, &target(2), now), Todo::Nothing);
        assert_eq!((known.failures(), known.next_retry()), (0, None));
    }

    #[test]
    fn what_is_gone_is_found_also_if_it_did_not_load() {
        let known = KnownUploads::default();
        assert!(!known.failed(&key(1, "a"), Some(target(1)), None, Instant::now()));
        known.loaded(&key(1, "b"), target(1));
        let there = HashMap::from([(key(1, "b"), target(1))]);
        assert_eq!(known.others(&there), [key(1, "a")]);
        assert!(known.forget(&key(1, "a")));
        assert!(!known.forget(&key(1, "b")));
    }

    #[test]
    fn an_owner_is_told_why_its_uploads_did_not_load() {
        let (known, now) = (KnownUploads::default(), Instant::now());
        known.loaded(&key(1, "b"), target(1));
        for (owner, name) in [(1, "a"), (2, "a")] {
            assert!(!known.failed(&key(owner, name), Some(target(1)), None, now));
        }
        let of = |project: i64| known.problems(Some(ProjectId(project)));
        assert_eq!(of(1), [(key(1, "a"), UNREAD.to_owned())]);
        let reason = Some("no permission".to_owned());
        assert!(!known.failed(&key(1, "a"), Some(target(1)), reason, now));
        assert_eq!(of(1), [(key(1, "a"), "no permission".to_owned())]);
        assert_eq!(of(2), [(key(2, "a"), UNREAD.to_owned())]);
        assert_eq!(known.problems(None), []);
        known.loaded(&key(1, "a"), target(1));
        assert_eq!(of(1), []);
    }

    /// A version under a tier that allows these grants, and this much memory.
    fn under(number: i64, grants: &[&str], memory_mib: u64) -> Target {
        Target {
            digest: number.to_string(),
            policy: Some(ProjectPolicy {
                accepted: Permissions::all(),
                allowed: Permissions::from_names(grants).unwrap(),
                cpu_ms: Some(100),
                memory_mib: Some(memory_mib),
            }),
            ..target(number)
        }
    }

    #[test]
    fn what_serves_goes_on_only_with_the_rights_that_it_still_has() {
        let (key, now) = (key(1, "a"), Instant::now());
        let serving = under(1, &["http"], 64);
        for (wanted, may_go_on) in [
            (under(2, &["http"], 64), true),
            (under(1, &["http", "render"], 64), true),
            (under(1, &["http"], 65), true),
            (under(2, &["render"], 64), false),
            (under(1, &[], 64), false),
            (under(2, &["http"], 63), false),
        ] {
            let known = KnownUploads::default();
            known.loaded(&key, serving.clone());
            assert_eq!(
                known.failed(&key, Some(wanted.clone()), None, now),
                may_go_on,
                "{wanted:?}"
            );
            assert_eq!(
                known.failed(&key, Some(wanted), None, now),
                may_go_on,
                "once more"
            );
        }
        // If only the grants of the same component differ, they are the change.
        let other_grants = |mut of: Target| {
            of.grants = Some("[]".to_owned());
            of
        };
        for (wanted, may_go_on) in [
            (other_grants(under(1, &["http"], 64)), false),
            (other_grants(under(2, &["http"], 64)), true),
        ] {
            let known = KnownUploads::default();
            known.loaded(&key, serving.clone());
            assert_eq!(known.failed(&key, Some(wanted), None, now), may_go_on);
        }
    }

    #[test]
    fn what_serves_is_known_through_several_failures() {
        let (known, key, now) = (KnownUploads::default(), key(1, "a"), Instant::now());
        known.loaded(&key, under(1, &["http"], 64));
        assert!(known.failed(&key, Some(under(2, &["http"], 64)), None, now));
        // Another version that does not load either, and then a tier with less.
        assert!(known.failed(&key, Some(under(3, &["http", "state"], 64)), None, now));
        assert!(!known.failed(&key, Some(under(3, &[], 64)), None, now));
        // It is stopped, and no version serves in its place.
        assert!(!known.failed(&key, Some(under(4, &["http"], 64)), None, now));
        known.loaded(&key, under(4, &["http"], 64));
        assert!(known.failed(&key, Some(under(5, &["http"], 64)), None, now));
    }

    #[test]
    fn what_could_not_be_found_out_is_tried_again() {
        let (known, key, now) = (KnownUploads::default(), key(1, "a"), Instant::now());
        known.loaded(&key, under(1, &["http"], 64));
        for pause in [2, 4, 8] {
            assert!(known.failed(&key, None, None, now), "it serves as before");
            assert_eq!(known.next_retry(), Some(now + Duration::from_secs(pause)));
        }
        assert_eq!(known.failures(), 1);
        // The database answers: it is gone, or wanted in some version.
        assert_eq!(known.others(&HashMap::new()), std::slice::from_ref(&key));
        let again = under(1, &["http"], 64);
        assert_eq!(known.todo(&key, &again, now), Todo::Load);
        // The version that served is still known.
        assert!(!known.failed(&key, Some(under(2, &[], 64)), None, now));
    }
}
