//! Distinct anchor texts: five million links usually have a few thousand.

use std::hash::{BuildHasher, RandomState};

/// Longest text kept, in bytes; longer ones are cut.
const MAX_BYTES: usize = 200;
/// Most bytes of all texts together. Links with further texts count as links without text.
const MAX_ALL: usize = 192 << 20;

/// Texts by number; number 0 is the empty text.
pub struct Anchors {
    text: String,
    /// End of each text; it starts at the end of the previous one.
    ends: Vec<u32>,
    /// Hash table with open addressing: number plus one; 0 is free.
    slots: Vec<u32>,
    hasher: RandomState,
}

impl Default for Anchors {
    fn default() -> Self {
        let mut anchors = Self {
            text: String::new(),
            ends: Vec::new(),
            slots: vec![0; 1024],
            hasher: RandomState::new(),
        };
        anchors.number("");
        anchors
    }
}

impl Anchors {
    /// The text with this number.
    pub fn get(&self, number: u32) -> &str {
        let number = number as usize;
        let start = number
            .checked_sub(1)
            .and_then(|before| self.ends.get(before))
            .copied();
        let end = self.ends.get(number).copied().unwrap_or(0);
        self.text
            .get(start.unwrap_or(0) as usize..end as usize)
            .unwrap_or("")
    }

    /// The number of a text; a new text gets a new number.
    pub fn number(&mut self, text: &str) -> u32 {
        let text = text
            .get(..text.floor_char_boundary(MAX_BYTES))
            .unwrap_or(text);
        let mask = self.slots.len() - 1;
        let mut at = self.hasher.hash_one(text) as usize & mask;
        loop {
            match self.slots.get(at).copied().unwrap_or(0) {
                0 => break,
                number if self.get(number - 1) == text => return number - 1,
                _ => at = (at + 1) & mask,
            }
        }
        if self.text.len() + text.len() > MAX_ALL {
            return 0;
        }
        let number = self.ends.len() as u32;
        self.text.push_str(text);
        self.ends.push(self.text.len() as u32);
        if let Some(slot) = self.slots.get_mut(at) {
            *slot = number + 1;
        }
        if self.ends.len() * 2 > self.slots.len() {
            self.grow();
        }
        number
    }

    fn grow(&mut self) {
        let mask = self.slots.len() * 2 - 1;
        let mut slots = vec![0; mask + 1];
        for number in 0..self.ends.len() as u32 {
            let mut at = self.hasher.hash_one(self.get(number)) as usize & mask;
            while slots.get(at).is_some_and(|slot| *slot != 0) {
                at = (at + 1) & mask;
            }
            if let Some(slot) = slots.get_mut(at) {
                *slot = number + 1;
            }
        }
        self.slots = slots;
    }
}
