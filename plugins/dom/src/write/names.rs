//! Names of tags and attributes as numbers, found without comparing strings.

use std::collections::HashMap;

use crate::names::{attr, tag};

/// A tag's name. Equal names of one page have equal numbers, whatever the case in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Name(u32);

impl Name {
    /// The name of no element.
    pub(super) const NONE: Self = Self(tag::UNKNOWN as u32);
    /// `mglyph`, which is MathML even inside `<mi>`.
    pub(super) const MGLYPH: Self = Self::foreign("mglyph");
    /// `malignmark`, likewise.
    pub(super) const MALIGNMARK: Self = Self::foreign("malignmark");
    /// `foreignobject`, as the source has it.
    pub(super) const FOREIGN_OBJECT: Self = Self::foreign("foreignobject");

    /// A name of the snapshot's table.
    pub(super) const fn of(tag: u16) -> Self {
        Self(tag as u32)
    }

    const fn foreign(name: &str) -> Self {
        let mut at = 0;
        while at < FOREIGN.len() {
            if key(FOREIGN[at].as_bytes()) == key(name.as_bytes()) {
                return Self((KNOWN + at) as u32);
            }
            at += 1;
        }
        Self::NONE
    }

    /// Its id in the snapshot's table, [`tag::UNKNOWN`] if it is not there.
    #[inline]
    pub(super) fn tag(self) -> u16 {
        if self.0 < KNOWN as u32 {
            self.0 as u16
        } else {
            tag::UNKNOWN
        }
    }

    /// A small number for tables by name: below the number of names read so far.
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

const KNOWN: usize = tag::NAMES.len();

/// Names that the rules for foreign content ask for and the snapshot's table does not have in
/// lower case.
const FOREIGN: [&str; 3] = ["mglyph", "malignmark", "foreignobject"];

/// Longest name that a [`key`] can tell from all others.
pub(super) const MAX_KEY: usize = 16;

/// The bytes of a name of at most [`MAX_KEY`] bytes as one number; 0 for longer names. No name
/// contains a NUL, so that different names have different keys.
pub(super) const fn key(name: &[u8]) -> u128 {
    if name.len() > MAX_KEY {
        return 0;
    }
    let mut key = 0;
    let mut at = name.len();
    while at > 0 {
        at -= 1;
        key = key << 8 | name[at] as u128;
    }
    key
}

/// [`key`] of the `len` bytes at `start`, which has no branch for a name in the middle of a page.
#[inline]
pub(super) fn key_at(page: &[u8], start: usize, len: usize) -> u128 {
    if len > MAX_KEY {
        return 0;
    }
    let rest = page.get(start..).unwrap_or_default();
    match rest.first_chunk::<MAX_KEY>() {
        Some(chunk) if len > 0 => {
            u128::from_le_bytes(*chunk) & (u128::MAX >> (8 * (MAX_KEY - len)))
        }
        _ => key(rest.get(..len).unwrap_or_default()),
    }
}

/// Slots of a table: sparse enough that nearly every look-up ends at its first one.
const SLOTS: usize = 2048;
/// Most names of a table.
const MAX_NAMES: usize = 256;

/// An open-addressing hash table from [`key`] to id, made by the compiler.
pub(super) struct Table {
    slots: [u16; SLOTS],
    keys: [u128; MAX_NAMES],
}

impl Table {
    /// `names` by id, without the first; then the `more`.
    const fn new(names: &[&str], more: &[&str]) -> Self {
        let mut table = Self {
            slots: [0; SLOTS],
            keys: [0; MAX_NAMES],
        };
        let mut id = 1;
        while id < names.len() + more.len() {
            let name = if id < names.len() {
                names[id]
            } else {
                more[id - names.len()]
            };
            table.add(id, key(name.as_bytes()));
            id += 1;
        }
        table
    }

    const fn add(&mut self, id: usize, key: u128) {
        assert!(key != 0, "a name of the tables has at most 16 bytes");
        self.keys[id] = key;
        let mut slot = first_slot(key);
        while self.slots[slot] != 0 {
            slot = (slot + 1) % SLOTS;
        }
        self.slots[slot] = id as u16;
    }

    /// The id of the name with this key, 0 if the table does not have it.
    #[inline]
    fn id(&self, key: u128) -> u16 {
        let mut slot = first_slot(key);
        loop {
            let id = self.slots[slot];
            if id == 0 || self.keys[id as usize % MAX_NAMES] == key {
                return id;
            }
            slot = (slot + 1) % SLOTS;
        }
    }
}

#[inline]
const fn first_slot(key: u128) -> usize {
    let folded = (key as u64) ^ ((key >> 64) as u64).rotate_left(23);
    (folded.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 53) as usize % SLOTS
}

static TAGS: Table = Table::new(tag::NAMES, &FOREIGN);
static ATTRS: Table = Table::new(attr::NAMES, &[]);

/// The snapshot's id of an attribute's name with this key, [`attr::UNKNOWN`] if it has none.
#[inline]
pub(super) fn attr_id(key: u128) -> u16 {
    ATTRS.id(key)
}

/// The names of a page's tags.
#[derive(Default)]
pub(super) struct Names {
    unknown: HashMap<Box<str>, Name>,
}

impl Names {
    /// The name with this key that every page has.
    #[inline]
    pub(super) fn known(key: u128) -> Option<Name> {
        match TAGS.id(key) {
            0 => None,
            id => Some(Name(u32::from(id))),
        }
    }

    /// A name in lower case that is none of those, if a start tag had it.
    pub(super) fn seen(&self, name: &str) -> Option<Name> {
        self.unknown.get(name).copied()
    }

    /// A start tag's name in lower case that is none of those.
    pub(super) fn unknown(&mut self, name: &str) -> Name {
        if let Some(seen) = self.seen(name) {
            return seen;
        }
        let number = Name((KNOWN + FOREIGN.len() + self.unknown.len()) as u32);
        self.unknown.insert(name.into(), number);
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str) -> Option<Name> {
        Names::known(key_at(name.as_bytes(), 0, name.len()))
    }

    #[test]
    fn every_name_is_found_and_no_other() {
        for (id, name) in tag::NAMES.iter().enumerate().skip(1) {
            assert_eq!(read(name).map(Name::tag), Some(id as u16), "{name}");
        }
        for (id, name) in attr::NAMES.iter().enumerate().skip(1) {
            assert_eq!(attr_id(key(name.as_bytes())), id as u16, "{name}");
        }
        for name in FOREIGN {
            assert_eq!(read(name).map(Name::tag), Some(tag::UNKNOWN), "{name}");
        }
        for name in [
            "x",
            "data-unheard-of",
            "a-name-of-more-than-sixteen-bytes",
            "HTML",
        ] {
            assert_eq!(read(name), None, "{name}");
            assert_eq!(attr_id(key(name.as_bytes())), attr::UNKNOWN, "{name}");
        }
    }

    #[test]
    fn a_key_is_the_same_wherever_the_name_stands() {
        let page = b"xabcdefghijklmnopqrs";
        for start in 0..page.len() {
            for len in 0..page.len() - start {
                assert_eq!(key_at(page, start, len), key(&page[start..start + len]));
            }
        }
    }

    #[test]
    fn unknown_names_have_numbers_of_their_own() {
        let mut names = Names::default();
        let (a, b) = (names.unknown("x-a"), names.unknown("x-b"));
        assert!(a != b && a == names.unknown("x-a"));
        assert_eq!((names.seen("x-b"), names.seen("x-c")), (Some(b), None));
        assert!(a.tag() == tag::UNKNOWN);
        assert!(a != Name::MGLYPH && a != Name::MALIGNMARK && a != Name::FOREIGN_OBJECT);
    }
}
