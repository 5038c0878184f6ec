//! Quarantine: a plugin that crashes again and again is not called for a while.
//!
//! The rule, for one version of a plugin on one node:
//!
//! - Only uploaded plugins are put in quarantine: a project's own, and the instance's. Those of the program
//!   and of the plugin folder never are. They are the operator's, and read the pages of every crawl: a page
//!   that crashes one costs its own call, and not the content of the pages that follow.
//! - It is kept for each project that calls. A project's own plugin is called by that project alone, so
//!   its quarantine is the plugin's. An instance's plugin is refused to the project whose calls crashed
//!   it, and to nobody else: no project's pages, however many accounts it has, decide what another one
//!   gets. Calls without a project (tools, self-tests) never count.
//! - A crash is a trap, or running out of CPU time, memory, table elements, handles or the stack. An
//!   error that the plugin answers is none; nor is running out of wall time, which slow servers cause,
//!   nor an answer that is too large or no JSON, nor the end of a call by its caller. Of an instance's
//!   plugin only traps count: whether its budgets are enough is decided by the size of the project's
//!   pages.
//! - After so many crashes in a row (`plugins.quarantine_crashes`) calls are refused for
//!   `plugins.quarantine_ms`. Then one call is let through on trial. If it crashes, the time doubles,
//!   up to `plugins.quarantine_max_ms`; if it does not, the quarantine is over. A trial whose end is
//!   never seen (its caller is gone) counts as none: the next one follows after the same time.
//! - A new version begins without quarantine.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use orbweaver_core::ids::ProjectId;
use orbweaver_core::setting::Millis;
use parking_lot::Mutex;

use crate::config::EngineConfig;
use crate::error::{Limit, PluginError};
use crate::plugin::Source;

/// Most projects with crashes in a row that are remembered for one plugin; crashes of further ones
/// do not count.
const MAX_CALLERS: usize = 1_024;

/// When a plugin is put in quarantine, and for how long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QuarantineRule {
    /// Crashes in a row; 0: never.
    pub crashes: u32,
    pub first: Duration,
    pub longest: Duration,
}

impl QuarantineRule {
    /// The rule for plugins from this source.
    pub fn of(config: &EngineConfig, source: &Source) -> Self {
        let time = |ms: Millis| ms.as_duration();
        Self {
            crashes: match source {
                Source::Upload | Source::Project(_) => config.quarantine_crashes,
                Source::Embedded | Source::Folder(_) => 0,
            },
            first: time(config.quarantine_ms),
            longest: time(config.quarantine_max_ms),
        }
    }
}

/// Crashes in a row of the calls of one project.
#[derive(Clone, Copy, Debug)]
struct Streak {
    crashes: u32,
    error: &'static str,
    /// How long calls are refused after the last crash.
    backoff: Duration,
    /// Until when; `None`: there were too few crashes.
    until: Option<Instant>,
    /// Whether a call was let through since.
    on_trial: bool,
}

/// What became of the end of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Nothing changes.
    Same,
    /// Calls are now refused for this time, after so many crashes.
    Closed(Duration, u32),
    /// Calls are let through again.
    Opened,
}

/// The quarantine of one version of a plugin.
#[derive(Debug)]
pub(crate) struct Quarantine {
    rule: QuarantineRule,
    /// Whether it belongs to a project.
    is_own: bool,
    callers: Mutex<HashMap<ProjectId, Streak>>,
}

impl Quarantine {
    pub fn new(rule: QuarantineRule, is_own: bool) -> Self {
        Self {
            rule,
            is_own,
            callers: Mutex::default(),
        }
    }

    /// Whether a call may begin; it counts as begun.
    ///
    /// # Errors
    /// [`PluginError::Quarantined`] with the time until the next trial.
    pub fn admit(&self, caller: Option<ProjectId>, now: Instant) -> Result<(), PluginError> {
        self.let_through(caller, now, |streak| {
            // This call is the trial; others wait for its end, but not for ever.
            streak.until = now.checked_add(streak.backoff);
            streak.on_trial = true;
        })
    }

    /// Whether a call may begin, without its beginning.
    ///
    /// # Errors
    /// Same as [`admit`](Self::admit).
    pub fn check(&self, caller: Option<ProjectId>, now: Instant) -> Result<(), PluginError> {
        self.let_through(caller, now, |_| {})
    }

    fn let_through(
        &self,
        caller: Option<ProjectId>,
        now: Instant,
        on_trial: impl FnOnce(&mut Streak),
    ) -> Result<(), PluginError> {
        let Some(caller) = caller.filter(|_| self.rule.crashes > 0) else {
            return Ok(());
        };
        let mut callers = self.callers.lock();
        let Some(streak) = callers.get_mut(&caller) else {
            return Ok(());
        };
        let Some(until) = streak.until else {
            return Ok(());
        };
        if now < until {
            return Err(PluginError::Quarantined {
                crashes: streak.crashes,
                retry_after: until.saturating_duration_since(now),
            });
        }
        on_trial(streak);
        Ok(())
    }

    /// Notes how a call ended.
    pub fn ended(
        &self,
        caller: Option<ProjectId>,
        error: Option<&PluginError>,
        now: Instant,
    ) -> Turn {
        let Some(caller) = caller.filter(|_| self.rule.crashes > 0) else {
            return Turn::Same;
        };
        match error {
            Some(error) if self.is_crash(error) => self.crashed(caller, error.kind(), now),
            // How the plugin would have ended is not known.
            Some(PluginError::Engine(_) | PluginError::Quarantined { .. }) => Turn::Same,
            _ => {
                let mut callers = self.callers.lock();
                match callers.remove(&caller) {
                    Some(streak) if streak.until.is_some() => Turn::Opened,
                    _ => Turn::Same,
                }
            }
        }
    }

    fn is_crash(&self, error: &PluginError) -> bool {
        match error {
            PluginError::Trap(_) => true,
            PluginError::Limit(
                Limit::Cpu(_)
                | Limit::Memory(_)
                | Limit::Table(_)
                | Limit::Handles(_)
                | Limit::Stack,
            ) => self.is_own,
            _ => false,
        }
    }

    fn crashed(&self, caller: ProjectId, error: &'static str, now: Instant) -> Turn {
        let mut callers = self.callers.lock();
        if callers.len() >= MAX_CALLERS && !callers.contains_key(&caller) {
            // Times that are over long ago make room.
            callers.retain(|_, streak| streak.until.is_some_and(|until| until > now));
            if callers.len() >= MAX_CALLERS {
                return Turn::Same;
            }
        }
        let streak = callers.entry(caller).or_insert(Streak {
            crashes: 0,
            error,
            backoff: Duration::ZERO,
            until: None,
            on_trial: false,
        });
        let is_trial = std::mem::take(&mut streak.on_trial);
        if streak.until.is_some() && !is_trial {
            // It began before the quarantine, and does not prolong it.
            return Turn::Same;
        }
        streak.crashes = streak.crashes.saturating_add(1);
        streak.error = error;
        if streak.crashes < self.rule.crashes {
            return Turn::Same;
        }
        streak.backoff = match is_trial {
            true => streak.backoff.saturating_mul(2).min(self.rule.longest),
            false => self.rule.first,
        };
        streak.until = now.checked_add(streak.backoff);
        Turn::Closed(streak.backoff, streak.crashes)
    }

    /// The quarantine as it stands: of one caller, or of all of them together; `None` if there is none.
    pub fn shown(&self, caller: Option<ProjectId>, now: Instant) -> Option<QuarantineState> {
        let callers = self.callers.lock();
        let closed = callers.iter().filter(|(project, streak)| {
            streak.until.is_some() && caller.is_none_or(|caller| caller == **project)
        });
        let mut state: Option<QuarantineState> = None;
        for (_, streak) in closed {
            let left = streak
                .until
                .map_or(Duration::ZERO, |until| until.saturating_duration_since(now));
            let state = state.get_or_insert(QuarantineState {
                projects: 0,
                crashes: 0,
                error: streak.error,
                retry_after: Duration::ZERO,
            });
            state.projects += 1;
            state.retry_after = state.retry_after.max(left);
            if streak.crashes > state.crashes {
                (state.crashes, state.error) = (streak.crashes, streak.error);
            }
        }
        state
    }
}

/// A quarantine of a plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuarantineState {
    /// Number of projects whose calls are refused; of a project's own plugin 1.
    pub projects: usize,
    /// Crashes in a row, the most of one project.
    pub crashes: u32,
    /// The last of these crashes, as [`PluginError::kind`] names it.
    pub error: &'static str,
    /// Time until the next call on trial; zero if it may begin.
    pub retry_after: Duration,
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: Option<ProjectId> = Some(ProjectId(1));
    const OTHERS: Option<ProjectId> = Some(ProjectId(2));

    fn quarantine(is_own: bool) -> Quarantine {
        let rule = QuarantineRule {
            crashes: 3,
            first: Duration::from_secs(1),
            longest: Duration::from_secs(3),
        };
        Quarantine::new(rule, is_own)
    }

    #[test]
    fn only_uploaded_plugins_are_put_in_quarantine() {
        let config = EngineConfig::default();
        let of = |source| QuarantineRule::of(&config, &source);
        for source in [Source::Upload, Source::Project(ProjectId(1))] {
            assert_eq!(of(source).crashes, config.quarantine_crashes);
        }
        for source in [Source::Embedded, Source::Folder("extract-x.wasm".into())] {
            let quarantine = Quarantine::new(of(source), false);
            let now = Instant::now();
            assert_eq!(crash(&quarantine, 100, now), Turn::Same);
            assert!(quarantine.admit(US, now).is_ok());
        }
    }

    fn trap() -> PluginError {
        PluginError::Trap("unreachable".to_owned())
    }

    /// Ends so many calls with a crash.
    fn crash(quarantine: &Quarantine, times: u32, now: Instant) -> Turn {
        let turns = (0..times).map(|_| quarantine.ended(US, Some(&trap()), now));
        turns.last().unwrap_or(Turn::Same)
    }

    #[test]
    fn crashes_in_a_row_close_it_and_a_good_trial_opens_it() {
        let (quarantine, start) = (quarantine(true), Instant::now());
        let second = Duration::from_secs(1);
        assert_eq!(crash(&quarantine, 2, start), Turn::Same);
        assert!(quarantine.admit(US, start).is_ok());
        assert_eq!(crash(&quarantine, 1, start), Turn::Closed(second, 3));
        assert_eq!(
            quarantine.admit(US, start),
            Err(PluginError::Quarantined {
                crashes: 3,
                retry_after: second
            })
        );
        assert!(quarantine.check(US, start).is_err());
        // One call on trial, and only one.
        let later = start + second;
        assert!(quarantine.check(US, later).is_ok());
        assert!(quarantine.admit(US, later).is_ok());
        assert!(quarantine.admit(US, later).is_err());
        assert_eq!(quarantine.ended(US, None, later), Turn::Opened);
        assert!(quarantine.admit(US, later).is_ok());
        assert_eq!(quarantine.shown(None, later), None);
        assert_eq!(crash(&quarantine, 2, later), Turn::Same);
    }

    #[test]
    fn every_crash_on_trial_doubles_the_time_up_to_a_bound() {
        let (quarantine, mut now) = (quarantine(true), Instant::now());
        crash(&quarantine, 3, now);
        let mut times = Vec::new();
        for _ in 0..3 {
            now += Duration::from_secs(10);
            assert!(quarantine.admit(US, now).is_ok());
            match crash(&quarantine, 1, now) {
                Turn::Closed(time, _) => times.push(time.as_secs()),
                other => panic!("{other:?}"),
            }
            // Calls that began before it was closed change nothing.
            assert_eq!(crash(&quarantine, 5, now), Turn::Same);
        }
        assert_eq!(times, [2, 3, 3]);
    }

    #[test]
    fn a_trial_without_an_end_is_followed_by_another() {
        let (quarantine, start) = (quarantine(true), Instant::now());
        crash(&quarantine, 3, start);
        let later = start + Duration::from_secs(1);
        assert!(quarantine.admit(US, later).is_ok());
        assert!(quarantine.admit(US, later).is_err());
        assert!(quarantine.admit(US, later + Duration::from_secs(1)).is_ok());
    }

    #[test]
    fn an_answer_of_any_kind_ends_a_row_of_crashes() {
        let (quarantine, now) = (quarantine(true), Instant::now());
        let wall = PluginError::Limit(Limit::Wall(Duration::from_secs(1)));
        for answer in [None, Some(PluginError::invalid("a: b")), Some(wall)] {
            assert_eq!(crash(&quarantine, 2, now), Turn::Same);
            quarantine.ended(US, answer.as_ref(), now);
        }
        assert_eq!(crash(&quarantine, 2, now), Turn::Same);
        // A caller that went away says nothing about the plugin.
        let gone = PluginError::Engine("cancelled".to_owned());
        quarantine.ended(US, Some(&gone), now);
        assert!(matches!(crash(&quarantine, 1, now), Turn::Closed(..)));
    }

    #[test]
    fn an_instances_plugin_is_refused_to_nobody_but_the_project_that_crashed_it() {
        let (quarantine, now) = (quarantine(false), Instant::now());
        crash(&quarantine, 3, now);
        assert!(quarantine.admit(US, now).is_err());
        assert!(quarantine.admit(OTHERS, now).is_ok());
        assert!(quarantine.admit(None, now).is_ok());
        assert_eq!(quarantine.shown(OTHERS, now), None);
        let state = quarantine.shown(None, now).expect("it is closed");
        assert_eq!((state.projects, state.crashes, state.error), (1, 3, "trap"));
    }

    #[test]
    fn budgets_that_a_page_exhausts_count_for_a_projects_own_plugin_only() {
        let now = Instant::now();
        let limit = PluginError::Limit(Limit::Memory(1));
        for (is_own, closed) in [(true, true), (false, false)] {
            let quarantine = quarantine(is_own);
            for _ in 0..5 {
                quarantine.ended(US, Some(&limit), now);
            }
            assert_eq!(quarantine.admit(US, now).is_err(), closed);
        }
    }

    #[test]
    fn the_number_of_remembered_projects_is_bounded() {
        let (quarantine, now) = (quarantine(false), Instant::now());
        for project in 0..3_000 {
            for _ in 0..3 {
                quarantine.ended(Some(ProjectId(project)), Some(&trap()), now);
            }
        }
        assert!(quarantine.callers.lock().len() <= MAX_CALLERS);
        // Those whose time is over make room.
        let later = now + Duration::from_secs(1);
        quarantine.ended(Some(ProjectId(5_000)), Some(&trap()), later);
        assert_eq!(quarantine.callers.lock().len(), 1);
    }
}
