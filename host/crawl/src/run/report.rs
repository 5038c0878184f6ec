//! Report of a lent URL's outcome, from the worker of a part to the run's worker.
//!
//! The page itself is stored with the report; the report says what follows from it: which URLs it
//! leads to, and what counts. Both workers may run different releases, so fields are only added.

use std::collections::HashMap;
use std::collections::hash_map::Entry as Slot;

use chrono::{DateTime, Utc};
use orbweaver_core::page::{Link, Links};
use orbweaver_engine::{HookReason, JudgedLink};
use orbweaver_store::crawl::{NewNote, NoteKind, SkipReason, is_unreliable};
use serde::{Deserialize, Serialize};

use crate::entry::{Entry, Fetched};
use crate::hooks::report::PluginReport;
use crate::hooks::verdict::{Fate, Hooked};

/// Bytes of the URLs of one report. What leads to more is read from the stored page.
const MAX_BYTES: usize = 512 << 10;

/// What became of a URL.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Report {
    pub(super) url: String,
    /// Hash of its key.
    pub(super) hash: u64,
    /// Links from the seed.
    pub(super) depth: u32,
    /// Keys of the URLs that it redirects to, without one that another fetch has.
    #[serde(default)]
    pub(super) chain: Vec<u64>,
    /// Key of the URL that redirects to one that is left out for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) claimer: Option<u64>,
    #[serde(default)]
    pub(super) plugins: PluginsReport,
    pub(super) end: ReportedEnd,
}

/// How a URL ended.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ReportedEnd {
    /// With a page; without one if hooks dropped it.
    Page(ReportedPage),
    /// With a redirect to a page of this key that another fetch has.
    Merged(u64),
    /// Left out.
    Skipped(Skipped),
    /// Without an answer.
    Failed {
        kind: String,
        message: String,
        attempts: u32,
        at: DateTime<Utc>,
    },
}

/// Why a URL was left out by the worker of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Skipped {
    Robots,
    Duplicate,
}

impl Skipped {
    pub(super) const fn of(reason: SkipReason) -> Self {
        match reason {
            SkipReason::Robots => Self::Robots,
            _ => Self::Duplicate,
        }
    }

    pub(super) const fn reason(self) -> SkipReason {
        match self {
            Self::Robots => SkipReason::Robots,
            Self::Duplicate => SkipReason::Duplicate,
        }
    }
}

/// What a page leads to.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct ReportedPage {
    pub(super) redirect_to: Option<u64>,
    pub(super) out_of_scope: u64,
    pub(super) excluded: u64,
    pub(super) unjudged: u64,
    pub(super) dropped: bool,
    /// Its status is a temporary failure.
    pub(super) is_down: bool,
    links: Vec<ReportedLink>,
    added: Vec<Judged>,
    hook_skipped: u64,
    /// The URL that answered, if it is another one: the page is stored under it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) landed: Option<String>,
    /// The URL of the page whose stored links are to be read, because they are too many.
    pub(super) links_of: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
struct ReportedLink {
    to: String,
    hash: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    judged: Option<Judged>,
}

/// What hooks decided about a link.
#[derive(Debug, Serialize, Deserialize)]
struct Judged {
    url: String,
    priority: i32,
    changed: bool,
    skipped: bool,
}

impl Judged {
    fn of(link: &JudgedLink) -> Self {
        Self {
            url: link.url.clone(),
            priority: link.priority,
            changed: link.is_changed,
            skipped: link.skipped.is_some(),
        }
    }

    fn link(self) -> JudgedLink {
        JudgedLink {
            url: self.url,
            priority: self.priority,
            is_changed: self.changed,
            // The reason was noted by the worker that asked the hook.
            skipped: self.skipped.then(|| HookReason {
                hook: String::new(),
                reason: String::new(),
            }),
        }
    }
}

/// What plugins did.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct PluginsReport {
    failures: u64,
    broken: Option<String>,
    notes: Vec<ReportedNote>,
}

#[derive(Debug, Serialize, Deserialize)]
struct ReportedNote {
    is_failure: bool,
    plugin: String,
    url: String,
    hash: u64,
    message: String,
    at: DateTime<Utc>,
}

impl From<PluginReport> for PluginsReport {
    fn from(report: PluginReport) -> Self {
        let notes = report.notes.into_iter();
        Self {
            failures: report.failures,
            broken: report.broken,
            notes: notes
                .map(|note| ReportedNote {
                    is_failure: note.kind == NoteKind::Plugin,
                    plugin: note.plugin,
                    url: note.url,
                    hash: note.key_hash,
                    message: note.message,
                    at: note.noted_at,
                })
                .collect(),
        }
    }
}

impl From<PluginsReport> for PluginReport {
    fn from(report: PluginsReport) -> Self {
        let notes = report.notes.into_iter();
        Self {
            failures: report.failures,
            broken: report.broken,
            notes: notes
                .map(|note| NewNote {
                    kind: if note.is_failure {
                        NoteKind::Plugin
                    } else {
                        NoteKind::Hook
                    },
                    plugin: note.plugin,
                    url: note.url,
                    key_hash: note.hash,
                    message: note.message,
                    noted_at: note.at,
                })
                .collect(),
        }
    }
}

impl Report {
    pub(super) fn new(entry: &Entry, plugins: PluginReport, end: ReportedEnd) -> Self {
        Self {
            url: entry.url.clone(),
            hash: entry.hash,
            depth: entry.depth,
            chain: Vec::new(),
            claimer: None,
            plugins: plugins.into(),
            end,
        }
    }
}

/// The links that a part has told of: hash of the key, and links from the seed.
#[derive(Debug, Default)]
pub(super) struct Told(HashMap<u64, u32>);

impl Told {
    /// Whether a link is news: it was not told of, or only as farther from the seed.
    fn is_news(&mut self, hash: u64, distance: u32) -> bool {
        match self.0.entry(hash) {
            Slot::Vacant(slot) => {
                slot.insert(distance);
                true
            }
            Slot::Occupied(mut slot) if *slot.get() > distance => {
                slot.insert(distance);
                true
            }
            Slot::Occupied(_) => false,
        }
    }
}

impl ReportedPage {
    /// What a fetched page leads to; `follows` tells whether the run follows links.
    pub(super) fn new(fetched: &Fetched, entry: &Entry, follows: bool, told: &mut Told) -> Self {
        let hooked = fetched.hooked.as_deref();
        let final_url = &fetched.row.page.final_url;
        let mut page = Self {
            landed: (*final_url != entry.url).then(|| final_url.clone()),
            redirect_to: fetched.redirect_to,
            out_of_scope: fetched.left_out.scope,
            excluded: fetched.left_out.excluded,
            unjudged: fetched.left_out.budget,
            dropped: hooked.is_some_and(|hooked| hooked.fate == Fate::Dropped),
            is_down: is_unreliable(fetched.row.page.status),
            ..Self::default()
        };
        if !follows {
            return page;
        }
        if let Some(hooked) = hooked {
            page.hook_skipped = hooked.skipped;
            page.added = hooked.added.iter().map(Judged::of).collect();
        }
        let mut bytes: usize = page.added.iter().map(|link| link.url.len()).sum();
        for (hash, index) in &fetched.found {
            let judged = hooked.and_then(|hooked| hooked.link(*index));
            // A hook may decide differently from page to page.
            let is_plain = judged.is_none_or(|link| !link.is_changed && link.skipped.is_none());
            if is_plain && !told.is_news(*hash, entry.depth) {
                continue;
            }
            let Some(link) = fetched.links.get(*index as usize) else {
                continue;
            };
            bytes += link.to.len() + judged.map_or(0, |link| link.url.len());
            if bytes > MAX_BYTES {
                // All of it follows from the stored page: what hooks left out is counted then.
                page.links.clear();
                page.added.clear();
                page.hook_skipped = 0;
                page.links_of = Some(final_url.clone());
                return page;
            }
            page.links.push(ReportedLink {
                to: link.to.to_owned(),
                hash: *hash,
                judged: judged.map(Judged::of),
            });
        }
        page
    }

    /// Hashes of the keys of links about which hooks decided nothing that may change.
    pub(super) fn hashes(&self) -> impl Iterator<Item = u64> {
        let plain = self.links.iter().filter(|link| {
            let judged = link.judged.as_ref();
            judged.is_none_or(|judged| !judged.changed && !judged.skipped)
        });
        plain.map(|link| link.hash)
    }

    /// The links, which of them are in scope, and what hooks decided about them.
    pub(super) fn take_links(&mut self) -> (Links, Vec<(u64, u32)>, Hooked) {
        let reported = std::mem::take(&mut self.links);
        let links = reported.iter().map(|link| Link {
            to: &link.to,
            anchor: "",
            rel: "",
            nofollow: false,
        });
        let links: Links = links.collect();
        let mut hooked = Hooked::default();
        hooked.skipped = self.hook_skipped;
        let added = std::mem::take(&mut self.added).into_iter();
        hooked.added = added.map(Judged::link).collect();
        let mut found = Vec::with_capacity(reported.len());
        for (link, index) in reported.into_iter().zip(0_u32..) {
            found.push((link.hash, index));
            if let Some(judged) = link.judged {
                hooked.insert(index, judged.link());
            }
        }
        (links, found, hooked)
    }
}
