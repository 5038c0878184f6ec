//! Reading the names in `class` and `id` values.
//!
//! A value is cut into names at white space, a name into words at everything that is no
//! letter and where a capital follows a small letter (`relatedPosts` is `related` and
//! `posts`). Words are looked up in one table built at compile time; a name's words
//! together give its marks.

use crate::words::{
    ARTICLE, BODY, BOILERPLATE, CONSENT, Marks, POPUP, PROMO, STATE, STRONG, TABLE,
};

const SLOTS: usize = 1024;

const fn hash(word: &[u8]) -> u64 {
    let mut h = 0xcbf2_9ce4_8422_2325_u64;
    let mut i = 0;
    while i < word.len() {
        h = step(h, word[i]);
        i += 1;
    }
    h
}

const fn step(h: u64, byte: u8) -> u64 {
    (h ^ byte as u64).wrapping_mul(0x0100_0000_01b3)
}

/// Open addressing; a key of 0 is an empty slot.
static SLOT: [(u64, Marks); SLOTS] = {
    let mut slots = [(0, 0); SLOTS];
    let mut i = 0;
    while i < TABLE.len() {
        let (marks, words) = TABLE[i];
        let mut j = 0;
        while j < words.len() {
            let key = hash(words[j].as_bytes());
            let mut at = place(key);
            while slots[at].0 != 0 {
                at = (at + 1) % SLOTS;
            }
            slots[at] = (key, marks);
            j += 1;
        }
        i += 1;
    }
    slots
};

const fn place(key: u64) -> usize {
    (key ^ key >> 32) as usize % SLOTS
}

fn look_up(key: u64) -> Marks {
    let mut at = place(key);
    loop {
        let (k, marks) = SLOT[at % SLOTS];
        if k == key {
            return marks;
        }
        if k == 0 {
            return 0;
        }
        at += 1;
    }
}

/// The last word of `cookie-law-info-bar`.
const BAR: u64 = hash(b"bar");

/// The marks of a `class` or `id` value; names of more words say nothing, but that a bar or a banner
/// asks for consent.
pub fn marks(value: &str, max_words: u32) -> Marks {
    let mut all = 0;
    let mut name = Name::default();
    let mut key = hash(b"");
    let mut len = 0u32;
    let mut small = false;
    for &byte in value.as_bytes() {
        if byte.is_ascii_alphabetic() {
            if byte.is_ascii_uppercase() && small {
                name.word(key, len);
                key = hash(b"");
                len = 0;
            }
            small = byte.is_ascii_lowercase();
            key = step(key, byte.to_ascii_lowercase());
            len += 1;
            continue;
        }
        name.word(key, len);
        key = hash(b"");
        len = 0;
        small = false;
        if byte.is_ascii_whitespace() {
            all |= name.marks(max_words);
            name = Name::default();
        }
    }
    name.word(key, len);
    all | name.marks(max_words)
}

/// One class name under way.
#[derive(Default)]
struct Name {
    marks: Marks,
    last: Marks,
    is_bar: bool,
    words: u32,
}

impl Name {
    fn word(&mut self, key: u64, len: u32) {
        if len < 2 {
            return;
        }
        let marks = look_up(key);
        if self.words == 0 || marks & STATE == 0 {
            self.marks |= marks;
        }
        self.last = marks;
        self.is_bar = key == BAR;
        self.words += 1;
    }

    fn marks(&self, max_words: u32) -> Marks {
        if self.marks & STATE != 0 {
            return 0;
        }
        if self.words > max_words {
            let asks = self.is_bar || self.last & (POPUP | PROMO) != 0;
            return if asks { self.marks & CONSENT } else { 0 };
        }
        let mut marks = self.marks;
        if marks & ARTICLE != 0 && self.last & BODY != 0 && marks & BOILERPLATE == 0 {
            marks |= STRONG;
        }
        marks
    }
}
