//! Report of the plugins' work on a URL to the run's task: counts, notes, and a reason to end the run.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use chrono::{DateTime, Utc};
use orbweaver_engine::{HookFailure, HookReason, PluginError};
use orbweaver_store::crawl::{NewNote, NoteKind};

/// Most notes of one run: what goes beyond them is only counted.
const MAX_NOTES: u64 = 10_000;
/// Longest URL of a note, in bytes; a longer one is cut.
const MAX_NOTE_URL: usize = 2_048;

/// A URL that a plugin did something to, and when.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Subject<'a> {
    pub url: &'a str,
    /// Hash of its normalised form.
    pub key_hash: u64,
    pub at: DateTime<Utc>,
}

/// What plugins did to a URL.
#[derive(Debug, Default)]
pub(crate) struct PluginReport {
    pub notes: Vec<NewNote>,
    /// Failures of plugins.
    pub failures: u64,
    /// Why the run is to end as failed.
    pub broken: Option<String>,
}

impl PluginReport {
    /// Adds what another step reported.
    pub fn merge(&mut self, other: Self) {
        self.notes.extend(other.notes);
        self.failures += other.failures;
        self.broken = self.broken.take().or(other.broken);
    }

    /// A hook left out a URL.
    pub fn left_out(&mut self, subject: Subject<'_>, why: &HookReason) {
        self.note(NoteKind::Hook, &why.hook, subject, &why.reason);
    }

    /// A hook failed on a URL, which ends the run if the hook is strict.
    pub fn hook_failed(&mut self, subject: Subject<'_>, failure: &HookFailure, is_strict: bool) {
        let HookFailure { hook, point, error } = failure;
        let message = format!("{}: {}", point.as_str(), error.told());
        if is_strict && self.broken.is_none() {
            let url = subject.url;
            self.broken = Some(format!("hook `{hook}` failed on {url}: {message}"));
        }
        self.failures += 1;
        self.note(NoteKind::Plugin, hook, subject, &message);
    }

    /// An extractor failed on a page.
    pub fn extractor_failed(&mut self, subject: Subject<'_>, role: &str, error: &PluginError) {
        self.failures += 1;
        self.note(NoteKind::Plugin, role, subject, &error.told());
    }

    fn note(&mut self, kind: NoteKind, plugin: &str, subject: Subject<'_>, message: &str) {
        let Subject { url, key_hash, at } = subject;
        let end = url.floor_char_boundary(MAX_NOTE_URL);
        self.notes.push(NewNote {
            kind,
            plugin: plugin.to_owned(),
            url: url.get(..end).unwrap_or_default().to_owned(),
            key_hash,
            message: message.replace('\0', ""),
            noted_at: at,
        });
    }
}

/// The notes of a run so far: each URL is noted once for each plugin, and up to a bound.
#[derive(Debug, Default)]
pub(crate) struct Noted {
    known: HashSet<u64>,
    stored: u64,
}

impl Noted {
    /// The notes of a run that has stored so many under earlier workers.
    pub fn resumed(stored: u64) -> Self {
        Self {
            known: HashSet::new(),
            stored,
        }
    }

    /// The notes that are new, as long as there is room.
    pub fn admit(&mut self, mut notes: Vec<NewNote>) -> Vec<NewNote> {
        notes.retain(|note| {
            let mut hasher = DefaultHasher::new();
            (note.kind, &note.plugin, note.key_hash).hash(&mut hasher);
            let is_new = self.stored < MAX_NOTES && self.known.insert(hasher.finish());
            self.stored += u64::from(is_new);
            is_new
        });
        notes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(plugin: &str, key_hash: u64) -> NewNote {
        NewNote {
            kind: NoteKind::Hook,
            plugin: plugin.to_owned(),
            url: String::new(),
            key_hash,
            message: String::new(),
            noted_at: DateTime::<Utc>::UNIX_EPOCH,
        }
    }

    #[test]
    fn a_url_is_noted_once_for_each_plugin() {
        let mut noted = Noted::default();
        let notes = vec![note("a", 1), note("b", 1), note("a", 1), note("a", 2)];
        assert_eq!(noted.admit(notes).len(), 3);
        assert!(noted.admit(vec![note("b", 1)]).is_empty());
    }

    #[test]
    fn notes_are_bounded_over_all_workers_of_a_run() {
        let mut noted = Noted::resumed(MAX_NOTES - 2);
        let notes = (0..5).map(|hash| note("a", hash)).collect();
        assert_eq!(noted.admit(notes).len(), 2);
        assert_eq!(noted.known.len(), 2, "what is refused takes no memory");
    }
}
