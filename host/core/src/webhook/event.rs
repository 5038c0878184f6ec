//! The webhook events of a run.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A webhook event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Event {
    /// A run ended, done or failed.
    #[serde(rename = "crawl.done")]
    Done,
    /// A monitor's run found a difference to the previous run.
    #[serde(rename = "crawl.diff_detected")]
    DiffDetected,
    /// A run has stored pages.
    #[serde(rename = "crawl.page")]
    Page,
}

impl Event {
    /// Every event.
    pub const ALL: [Self; 3] = [Self::Done, Self::DiffDetected, Self::Page];

    /// The event's name, as in `webhook_events`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Done => "crawl.done",
            Self::DiffDetected => "crawl.diff_detected",
            Self::Page => "crawl.page",
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The text is not the name of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("is none of crawl.done, crawl.diff_detected, crawl.page")]
pub struct UnknownEvent;

impl FromStr for Event {
    type Err = UnknownEvent;

    fn from_str(text: &str) -> Result<Self, UnknownEvent> {
        Self::ALL
            .into_iter()
            .find(|event| event.as_str() == text)
            .ok_or(UnknownEvent)
    }
}

/// Numbers of pages that differ between two runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiffCounts {
    /// Pages of the new run that are not in the old one.
    pub added: u64,
    /// Pages of the old run that are not in the new one.
    pub removed: u64,
    /// Pages of both whose content differs, except those that are gone.
    pub changed: u64,
    /// Pages of both runs with the same content.
    pub unchanged: u64,
    /// Pages that answered 2xx in the old run and answer 404 or 410 in the new one.
    #[serde(default)]
    pub gone: u64,
    /// Pages of the old run that the new one did not come to: it was cut short, or they gave
    /// no answer.
    #[serde(default)]
    pub unvisited: u64,
    /// Pages that failed temporarily in one of the runs, or in both: their content is not compared, and
    /// they are no difference.
    #[serde(default)]
    pub unavailable: u64,
}

/// URLs of pages that differ between two runs, or are unavailable, as sent by a webhook: the first of
/// each kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiffUrls {
    /// Pages of the new run that are not in the old one.
    pub added: Vec<String>,
    /// Pages of the old run that are not in the new one.
    pub removed: Vec<String>,
    /// Pages of both whose content differs.
    pub changed: Vec<String>,
    /// Pages that answered 2xx in the old run and answer 404 or 410 in the new one.
    pub gone: Vec<String>,
    /// Pages that failed temporarily in one of the runs, or in both.
    #[serde(default)]
    pub unavailable: Vec<String>,
    /// Whether the lists are complete.
    pub complete: bool,
}

impl DiffCounts {
    /// Whether nothing differs.
    pub const fn is_zero(&self) -> bool {
        self.added == 0 && self.removed == 0 && self.changed == 0 && self.gone == 0
    }
}

/// A finished run, with the facts that decide about its webhook events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selection<'a> {
    /// The requested events.
    pub events: &'a [Event],
    /// Whether a monitor started the run.
    pub recurring: bool,
    /// `return_only_changed`; applies to monitors only.
    pub only_changed: bool,
    /// Whether the run succeeded.
    pub succeeded: bool,
    /// The difference to the previous run; `None` if there is none to compare with. Ignored for
    /// a failed run.
    pub diff: Option<DiffCounts>,
}

/// The decision about a finished run's webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// These events are delivered; never empty.
    Deliver(Vec<Event>),
    /// No event applies: nothing changed.
    NoChange,
    /// No event applies: there is no previous run to compare with.
    NoBaseline,
}

/// Selects the events of a finished run.
///
/// `crawl.done` applies to every run, except that `return_only_changed` suppresses it without a
/// difference or without a previous run. A failed run could not find differences, which does
/// not mean "no change", so it is reported if there is a previous run. `crawl.diff_detected`
/// applies only if there is a difference. `crawl.page` is no event of the end.
pub fn select(run: &Selection<'_>) -> Outcome {
    let diff = run.diff.filter(|_| run.recurring);
    let differs = run.succeeded && diff.is_some_and(|diff| !diff.is_zero());
    let kept_back =
        run.recurring && run.only_changed && (diff.is_none() || (run.succeeded && !differs));
    let events: Vec<Event> = Event::ALL
        .into_iter()
        .filter(|event| run.events.contains(event))
        .filter(|event| match event {
            Event::Done => !kept_back,
            Event::DiffDetected => differs,
            // Sent while the run goes on.
            Event::Page => false,
        })
        .collect();
    if !events.is_empty() {
        Outcome::Deliver(events)
    } else if diff.is_some() {
        Outcome::NoChange
    } else {
        Outcome::NoBaseline
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ZERO: DiffCounts = DiffCounts {
        added: 0,
        removed: 0,
        changed: 0,
        gone: 0,
        unvisited: 0,
        unavailable: 2,
        unchanged: 9,
    };
    const SOME: DiffCounts = DiffCounts { removed: 1, ..ZERO };

    fn selected(
        events: &[Event],
        recurring: bool,
        only_changed: bool,
        succeeded: bool,
        diff: Option<DiffCounts>,
    ) -> Outcome {
        select(&Selection {
            events,
            recurring,
            only_changed,
            succeeded,
            diff,
        })
    }

    #[test]
    fn every_finished_run_causes_crawl_done() {
        let done = Outcome::Deliver(vec![Event::Done]);
        for (recurring, succeeded, diff) in [
            (false, true, None),
            (false, false, None),
            (true, true, None),
            (true, true, Some(ZERO)),
            (true, true, Some(SOME)),
            (true, false, None),
        ] {
            let outcome = selected(&[Event::Done], recurring, false, succeeded, diff);
            assert_eq!(outcome, done, "{recurring} {succeeded} {diff:?}");
        }
    }

    #[test]
    fn return_only_changed_suppresses_runs_without_a_change() {
        let both = [Event::Done, Event::DiffDetected];
        let only = |diff| selected(&both, true, true, true, diff);
        assert_eq!(only(None), Outcome::NoBaseline);
        assert_eq!(only(Some(ZERO)), Outcome::NoChange);
        assert_eq!(only(Some(SOME)), Outcome::Deliver(both.to_vec()));
        // A failure does not mean "nothing changed".
        assert_eq!(
            selected(&both, true, true, false, Some(ZERO)),
            Outcome::Deliver(vec![Event::Done])
        );
        assert_eq!(
            selected(&both, true, true, false, None),
            Outcome::NoBaseline
        );
        // The option does not apply to one-shot runs.
        assert_eq!(
            selected(&[Event::Done], false, true, true, None),
            Outcome::Deliver(vec![Event::Done])
        );
        assert_eq!(
            selected(&Event::ALL, false, false, true, None),
            Outcome::Deliver(vec![Event::Done])
        );
    }

    #[test]
    fn diff_detected_needs_a_difference() {
        let diff = [Event::DiffDetected];
        for only_changed in [false, true] {
            let told = |diff_found| selected(&diff, true, only_changed, true, diff_found);
            assert_eq!(told(None), Outcome::NoBaseline);
            assert_eq!(told(Some(ZERO)), Outcome::NoChange);
            assert_eq!(told(Some(SOME)), Outcome::Deliver(diff.to_vec()));
        }
        assert_eq!(
            selected(&diff, false, false, true, Some(SOME)),
            Outcome::NoBaseline
        );
        assert_eq!(
            selected(&diff, true, false, false, Some(SOME)),
            Outcome::NoChange
        );
    }

    #[test]
    fn events_have_names() {
        for event in Event::ALL {
            assert_eq!(event.as_str().parse(), Ok(event));
            assert_eq!(
                serde_json::to_value(event).unwrap(),
                serde_json::json!(event.as_str())
            );
        }
        assert_eq!("crawl.started".parse::<Event>(), Err(UnknownEvent));
    }
}
