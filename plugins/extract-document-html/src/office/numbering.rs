//! The numbers of a DOCX's list items (ISO/IEC 29500-1, 17.9).

use std::collections::{HashMap, HashSet};

use crate::xml::{Xml, read};

/// Levels of a list.
const LEVELS: usize = 9;

/// What is said of a level of a list.
#[derive(Clone, Copy, Debug, Default)]
struct Level {
    /// Whether its items are numbered.
    ordered: Option<bool>,
    start: Option<u32>,
    /// Levels above whose items begin it again: all of them where nothing is said.
    restart: Option<usize>,
}

/// The lists of a document, and how far their items are counted.
#[derive(Debug, Default)]
pub(super) struct Numbering {
    /// What lists have in common, by its number and the level.
    shared: HashMap<(u32, usize), Level>,
    /// The number of what a list has in common with others, by its own.
    lists: HashMap<u32, u32>,
    /// What a list says of its own, by its number and the level.
    own: HashMap<(u32, usize), Level>,
    /// Numbers at which lists begin, whatever others have counted.
    starts: HashMap<(u32, usize), u32>,
    /// The last number of each level. Lists with something in common count together.
    counts: HashMap<u32, [Option<u32>; LEVELS]>,
    /// Which of `starts` are used.
    started: HashSet<(u32, usize)>,
}

impl Numbering {
    /// Reads `numbering.xml`.
    pub(super) fn read(xml: &str) -> Self {
        let mut all = Self::default();
        let (mut shared, mut list, mut level) = (None, None, 0);
        read(xml, |event| {
            let Xml::Start(element) = event else { return };
            let parsed = |name| element.attribute(name).and_then(|v| v.trim().parse().ok());
            let value = || parsed("val");
            match element.local() {
                "abstractNum" => (shared, list) = (parsed("abstractNumId"), None),
                "num" => (shared, list) = (None, parsed("numId")),
                "abstractNumId" => {
                    if let (Some(list), Some(shared)) = (list, value()) {
                        all.lists.insert(list, shared);
                    }
                }
                "lvl" | "lvlOverride" => {
                    level = parsed("ilvl").map_or(0, |level| level as usize);
                }
                "startOverride" => {
                    if let (Some(list), Some(start)) = (list, value()) {
                        all.starts.insert((list, level), start);
                    }
                }
                name @ ("numFmt" | "start" | "lvlRestart") => {
                    let at = match (shared, list) {
                        (Some(shared), _) => all.shared.entry((shared, level)),
                        (None, Some(list)) => all.own.entry((list, level)),
                        (None, None) => return,
                    };
                    let at = at.or_default();
                    match name {
                        "start" => at.start = value(),
                        "lvlRestart" => at.restart = value().map(|above| above as usize),
                        _ => {
                            let format = element.attribute("val").unwrap_or_default();
                            at.ordered = Some(!matches!(format.as_str(), "bullet" | "none"));
                        }
                    }
                }
                _ => {}
            }
        });
        all
    }

    /// Counts an item. Returns whether it is numbered, and its number.
    pub(super) fn count(&mut self, list: u32, level: usize) -> (bool, Option<u32>) {
        let Some(shared) = self.lists.get(&list).copied() else {
            return (false, None);
        };
        let of = |level| {
            let shared = self.shared.get(&(shared, level)).copied();
            let (shared, own) = (shared.unwrap_or_default(), self.own.get(&(list, level)));
            own.map_or(shared, |own| Level {
                ordered: own.ordered.or(shared.ordered),
                start: own.start.or(shared.start),
                restart: own.restart.or(shared.restart),
            })
        };
        let counts = self.counts.entry(shared).or_default();
        for (below, count) in counts.iter_mut().enumerate().skip(level + 1) {
            if count.is_some() && of(below).restart.is_none_or(|above| level < above) {
                *count = None;
            }
        }
        let Level { ordered, start, .. } = of(level);
        let own_start = self.starts.get(&(list, level)).copied();
        let Some(count) = counts.get_mut(level) else {
            return (false, None);
        };
        let begins = own_start.is_some() && self.started.insert((list, level));
        let last = count.filter(|_| !begins);
        let number = match last {
            Some(last) => last.saturating_add(1),
            None => own_start.or(start).unwrap_or(1),
        };
        *count = Some(number);
        let ordered = ordered.unwrap_or(false);
        (ordered, ordered.then_some(number))
    }
}
