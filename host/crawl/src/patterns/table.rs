//! Tables: an automaton that takes one look-up for each byte of a text, whatever the text is.

use std::collections::HashMap;
use std::rc::Rc;

use super::states::{Position, States, Walk};

/// The place where nothing can match any more.
const DEAD: u32 = 0;
/// The place where a pattern has matched.
const MATCH: u32 = 1;
/// The place at the start of a text.
const START: u32 = 2;

/// A deterministic automaton.
#[derive(Clone, Debug)]
pub(super) struct Table {
    /// The class of every byte.
    classes: Vec<u8>,
    /// Places for each class, and a last one for the end of the text, of each position.
    places: Vec<u32>,
    /// Number of places of a position.
    width: usize,
}

/// What may be spent on tables.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    /// States looked at.
    pub(super) steps: u64,
    /// Entries of tables.
    pub(super) entries: usize,
}

impl Table {
    /// Makes the table of an automaton, within `most`, and takes what it costs from what is left;
    /// none if that is not enough.
    pub(super) fn of(states: &States, most: Budget, left: &mut Budget) -> Option<Self> {
        let mut walk = Walk::default();
        let budget = Budget {
            steps: most.steps.min(left.steps),
            entries: most.entries.min(left.entries),
        };
        let made = Self::within(states, budget, &mut walk);
        left.steps = left.steps.saturating_sub(walk.steps);
        let entries = made.as_ref().map_or(0, |table| table.places.len());
        left.entries = left.entries.saturating_sub(entries);
        made
    }

    fn within(states: &States, budget: Budget, walk: &mut Walk) -> Option<Self> {
        let (classes, bytes) = states.classes();
        let width = classes.iter().max().map_or(0, |last| usize::from(*last)) + 2;
        let start = Rc::new(states.start());
        let mut known: HashMap<Rc<Position>, u32> = HashMap::from([(Rc::clone(&start), START)]);
        let mut waiting = vec![(start, START)];
        // Nothing leads out of the places before it.
        let mut places = vec![DEAD; (START as usize + 1) * width];
        while let Some((at, place)) = waiting.pop() {
            let row = place as usize * width;
            if states.look(&at, None, walk) {
                *places.get_mut(row + width - 1)? = MATCH;
            }
            let mut matched = false;
            for (number, (class, byte)) in bytes.iter().enumerate() {
                if number == 0 || states.looks_ahead() {
                    matched = states.look(&at, Some(*byte), walk);
                }
                if walk.steps > budget.steps || places.len() > budget.entries {
                    return None;
                }
                let next = if matched {
                    MATCH
                } else if let Some(next) = states.after(*byte, walk) {
                    let next = Rc::new(next);
                    let new = u32::try_from(known.len()).ok()? + START;
                    let place = *known.entry(Rc::clone(&next)).or_insert(new);
                    if place == new {
                        places.resize((new as usize + 1) * width, DEAD);
                        waiting.push((next, new));
                    }
                    place
                } else {
                    DEAD
                };
                *places.get_mut(row + usize::from(*class))? = next;
            }
        }
        Some(Self {
            classes,
            places,
            width,
        })
    }

    /// Whether a text matches; adds the bytes that were read to `steps`.
    pub(super) fn is_match(&self, text: &[u8], steps: &mut u64) -> bool {
        let mut at = START;
        for (read, byte) in text.iter().enumerate() {
            let class = self.classes.get(usize::from(*byte)).copied().unwrap_or(0);
            let entry = at as usize * self.width + usize::from(class);
            at = self.places.get(entry).copied().unwrap_or(DEAD);
            if at <= MATCH {
                *steps += read as u64 + 1;
                return at == MATCH;
            }
        }
        *steps += text.len() as u64 + 1;
        let entry = (at as usize + 1) * self.width - 1;
        self.places.get(entry) == Some(&MATCH)
    }
}
