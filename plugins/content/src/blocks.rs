//! The page as a row of blocks: what stands directly in each block-level element.
//!
//! A block is the unit that is kept or left out on pages of many parts. Hidden text is a
//! block too: tabs and accordions are hidden until a click shows them.

use orbweaver_sdk::dom::{Node, View, attr, tag};

use crate::lexicon::{self, SEED, step};
use crate::lower;
use crate::measure::{HIDE, Info, SKIP, get};
use crate::phrases;
use crate::word::{Hash, Run};

/// Longest line that may announce something, in bytes.
const MAX_LINE: usize = 160;

/// One block: figures of the text that stands in it and in no block below.
#[derive(Clone, Copy, Default)]
pub struct Block {
    /// The element.
    pub node: u32,
    /// Its first text.
    pub first: u32,
    /// Characters that are no white space.
    pub chars: u32,
    /// Those of them inside links.
    pub link: u32,
    /// Words in halves, since a Chinese character is about half a word.
    pub halves: u32,
    /// Function words, in halves.
    pub stops: u32,
    /// Sentence punctuation.
    pub punct: u32,
    /// Digits.
    pub digits: u32,
    /// Words that begin with a capital.
    pub capitals: u32,
    /// Words that stand in the page's title.
    pub titled: u32,
    /// Words that stand in the page's description.
    pub described: u32,
    /// Separators such as `|` and `·`.
    pub separators: u32,
    /// Prices: a currency sign beside a digit.
    pub prices: u32,
    /// Numbers of four digits that may be years.
    pub years: u32,
    /// Text nodes.
    pub texts: u32,
    /// Text nodes inside links.
    pub links: u32,
    /// The class of the first character: a small letter, a digit and so on.
    pub head: u8,
    /// The class of the last character.
    pub tail: u8,
    /// Whether it has a copyright sign.
    pub copyright: bool,
    /// Whether it has an `@`.
    pub at: bool,
    /// What the block announces, 0 for nothing.
    pub phrase: u8,
    /// Hash of the text, by which copies are found.
    pub hash: u32,
    /// Whether a currency sign stood directly before.
    pub(crate) currency: bool,
}

/// Words of the page's title and description.
#[derive(Default)]
pub struct Topic {
    title: Keys,
    description: Keys,
}

/// A few words, by hash.
#[derive(Default)]
struct Keys {
    sorted: Vec<u32>,
    /// For each word the bit that its lowest bits name: most words of a text are none of these,
    /// which this tells without a search.
    bits: [u64; 8],
}

impl Keys {
    fn of(mut keys: Vec<u32>) -> Self {
        keys.sort_unstable();
        keys.dedup();
        let mut bits = [0; 8];
        for key in &keys {
            let (word, bit) = Self::place(*key);
            if let Some(word) = bits.get_mut(word) {
                *word |= bit;
            }
        }
        Self { sorted: keys, bits }
    }

    fn has(&self, key: u32) -> bool {
        let (word, bit) = Self::place(key);
        self.bits.get(word).is_some_and(|word| word & bit != 0)
            && self.sorted.binary_search(&key).is_ok()
    }

    fn place(key: u32) -> (usize, u64) {
        ((key >> 6 & 7) as usize, 1 << (key & 63))
    }
}

impl Topic {
    /// Reads the head of the page.
    pub fn of(view: &View<'_>) -> Self {
        let (mut title, mut description) = (Vec::new(), Vec::new());
        for node in view.head().into_iter().flat_map(|h| h.descendants()) {
            let content = || node.attr(attr::CONTENT).unwrap_or("");
            match node.tag() {
                tag::TITLE => node.text_runs().for_each(|t| words(t, &mut title)),
                tag::META => {
                    let key = node.attr(attr::PROPERTY).or_else(|| node.attr(attr::NAME));
                    match key {
                        Some("og:title") => words(content(), &mut title),
                        Some("description" | "og:description") => {
                            words(content(), &mut description);
                        }
                        _ => {}
                    }
                }
                _ => {}
            }
        }
        Self {
            title: Keys::of(title),
            description: Keys::of(description),
        }
    }
}

/// Adds the hashes of a text's words that are no function words.
fn words(text: &str, out: &mut Vec<u32>) {
    for word in text.split(|c: char| !c.is_alphanumeric()) {
        if out.len() >= 64 {
            return;
        }
        let mut hash = Hash::NEW;
        for c in word.chars().flat_map(char::to_lowercase) {
            hash.push_char(c);
        }
        let key = hash.finish();
        if !word.is_empty() && !lexicon::is_stop_word(key) {
            out.push(key);
        }
    }
}

/// The page's blocks.
pub struct Blocks {
    /// In document order, each where its first text stands.
    pub list: Vec<Block>,
    /// By node, the number of blocks that begin before it, with one entry more for the end.
    pub before: Vec<u32>,
    /// The block of each element that is one, counted from 1.
    pub of: Vec<u32>,
}

impl Blocks {
    /// Reads the texts of a measured page.
    pub fn of(view: &View<'_>, info: &[Info], topic: &Topic) -> Self {
        let count = view.len();
        let mut blocks = Self {
            list: Vec::with_capacity(256),
            before: Vec::with_capacity(count as usize + 1),
            of: vec![0; count as usize],
        };
        let mut line = String::with_capacity(MAX_LINE + 64);
        let (mut id, mut link_end) = (0, 0);
        while id < count {
            let Some(node) = view.node(id) else { break };
            blocks.before.push(blocks.list.len() as u32);
            let me = get(info, id);
            if me.state & SKIP != 0 && me.state & HIDE == 0 || is_never_text(me.tag) {
                id += 1;
                while id < node.end() {
                    blocks.before.push(blocks.list.len() as u32);
                    id += 1;
                }
                continue;
            }
            if me.tag == tag::A && node.has_attr(attr::HREF) {
                link_end = link_end.max(node.end());
            } else if node.is_text() && !node.text().trim_ascii().is_empty() {
                let Some(slot) = blocks.of.get_mut(me.owner as usize) else {
                    break;
                };
                if *slot == 0 {
                    blocks.list.push(Block {
                        node: me.owner,
                        first: id,
                        hash: SEED,
                        ..Block::default()
                    });
                    *slot = blocks.list.len() as u32;
                }
                if let Some(block) = blocks.list.get_mut(*slot as usize - 1) {
                    block.read(node.text(), id < link_end, topic);
                }
            }
            id += 1;
        }
        blocks.before.push(blocks.list.len() as u32);
        for block in &mut blocks.list {
            if block.chars > 64 && block.link * 2 < block.chars {
                continue;
            }
            if let Some(node) = view.node(block.node) {
                read_line(node, info, &mut line);
                block.phrase = phrases::find(&line).map_or(0, |what| what as u8 + 1);
            }
        }
        blocks
    }

    /// The blocks inside an element, as a range.
    pub fn range(&self, start: u32, end: u32) -> std::ops::Range<usize> {
        let at = |id: u32| self.before.get(id as usize).copied().unwrap_or(0) as usize;
        at(start)..at(end).max(at(start))
    }
}

/// What is skipped by its tag even where it is hidden.
fn is_never_text(tag: u16) -> bool {
    matches!(
        tag,
        tag::SCRIPT | tag::STYLE | tag::TEMPLATE | tag::NOSCRIPT | tag::HEAD | tag::SVG
    )
}

/// The text of a block in lower case, white space collapsed.
fn read_line(node: Node<'_>, info: &[Info], line: &mut String) {
    line.clear();
    for below in node.descendants().take(64) {
        if !below.is_text() || get(info, below.id()).owner != node.id() {
            continue;
        }
        if lower::push_words_up_to(MAX_LINE, below.text(), line) {
            return;
        }
    }
}

/// The class of a character: 1 a small letter, 2 a capital, 3 a digit, 4 a full stop, 5 other
/// ends of sentences, 6 a colon, 7 a comma or semicolon, 8 a currency sign, 9 others.
fn class_of(c: char) -> u8 {
    match c {
        '.' | '。' | '।' | '．' => 4,
        '!' | '?' | '…' | '！' | '？' | '؟' | '”' | '"' => 5,
        ':' | '：' => 6,
        ',' | ';' | '，' | '、' | '；' | '،' => 7,
        '$' | '€' | '£' | '¥' | '₹' | '₩' | '₽' => 8,
        _ if c.is_uppercase() => 2,
        _ if c.is_alphabetic() => 1,
        _ if c.is_numeric() => 3,
        _ => 9,
    }
}

/// How a character takes part in words.
enum Part {
    /// A letter of a word that goes on.
    Letter,
    /// A word of its own: about so many halves to a word.
    Halves(u32),
    /// Between words.
    None,
}

fn part_of(c: char) -> Part {
    match c as u32 {
        // Thai, Lao, Myanmar, Khmer: no spaces between words of some four characters.
        0x0e00..=0x0eff | 0x1000..=0x109f | 0x1780..=0x17ff => Part::Halves(0),
        0x3040..=0x30ff
        | 0x3400..=0x4dbf
        | 0x4e00..=0x9fff
        | 0xf900..=0xfaff
        | 0x20000..=0x3ffff => Part::Halves(1),
        _ if c.is_alphanumeric() => Part::Letter,
        // Vowel signs of Indic and Arabic scripts, joiners.
        0x0300..=0x036f | 0x064b..=0x065f | 0x0900..=0x0dff | 0x200c..=0x200d => Part::Letter,
        _ => Part::None,
    }
}

/// A word under way, and how the one before began.
struct Word {
    hash: Hash,
    /// Its characters; 0 between words.
    len: u32,
    capital: bool,
    digits: u32,
}

impl Block {
    fn read(&mut self, text: &str, link: bool, topic: &Topic) {
        self.texts += 1;
        self.links += u32::from(link);
        self.currency = false;
        let mut word = Word {
            hash: Hash::NEW,
            len: 0,
            capital: false,
            digits: 0,
        };
        let before = self.chars;
        let mut thai = 0;
        let mut last = None;
        let bytes = text.as_bytes();
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            if byte.is_ascii_alphanumeric() {
                if self.head == 0 {
                    self.head = class_of(char::from(byte));
                }
                let run = self.letters(bytes.get(at..).unwrap_or_default(), &mut word);
                at += run;
                last = bytes.get(at - 1).map(|byte| char::from(*byte));
                continue;
            }
            let c = if byte.is_ascii() {
                self.end_word(&mut word, topic);
                char::from(byte)
            } else if let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) {
                c
            } else {
                break;
            };
            at += c.len_utf8();
            if c.is_whitespace() || c == '\u{200b}' {
                self.end_word(&mut word, topic);
                continue;
            }
            if self.head == 0 {
                self.head = class_of(c);
            }
            last = Some(c);
            self.chars += 1;
            if c.is_ascii() {
                match byte {
                    b'.' | b',' | b';' | b'!' | b'?' => self.punct += 1,
                    b'|' | b'/' | b'>' => self.separators += 1,
                    b'$' => self.currency = true,
                    b'@' => self.at = true,
                    _ => {}
                }
            } else {
                thai += self.wide(c, &mut word, topic);
            }
        }
        self.end_word(&mut word, topic);
        self.halves += thai / 2;
        if let Some(c) = last {
            self.tail = class_of(c);
        }
        if link {
            self.link += self.chars - before;
        }
    }

    /// Reads the ASCII letters and digits at the beginning of a text; returns how many there are.
    #[inline]
    fn letters(&mut self, bytes: &[u8], word: &mut Word) -> usize {
        if word.len == 0 {
            word.capital = bytes.first().is_some_and(u8::is_ascii_uppercase);
            word.digits = 0;
        }
        let (mut at, mut digits) = (0, 0);
        loop {
            let run = Run::of(bytes.get(at..).unwrap_or_default());
            if run.len > 0 {
                word.hash.push(run.bytes, run.len);
            }
            at += run.len as usize;
            digits += run.digits;
            if run.len < 8 {
                break;
            }
        }
        word.len += at as u32;
        word.digits += digits;
        self.chars += at as u32;
        self.digits += digits;
        if self.currency && digits > 0 {
            self.currency = false;
            self.prices += 1;
        }
        at
    }

    /// Reads a character beyond ASCII that is no white space. Returns 1 if it is of a script
    /// without spaces between words of several characters.
    fn wide(&mut self, c: char, word: &mut Word, topic: &Topic) -> u32 {
        match part_of(c) {
            Part::Letter => {
                if word.len == 0 {
                    word.capital = c.is_uppercase();
                    word.digits = 0;
                }
                for lower in c.to_lowercase() {
                    word.hash.push_char(lower);
                }
                word.len += 1;
            }
            Part::Halves(halves) => {
                self.end_word(word, topic);
                self.halves += halves;
                self.stops += u32::from(lexicon::is_particle(c));
                self.hash = step(self.hash.rotate_left(3), c as u8);
                return 1 - halves;
            }
            Part::None => {
                self.end_word(word, topic);
                match c {
                    '。' | '，' | '、' | '！' | '？' | '；' | '؟' | '،' | '؛' | '।' | '…' =>
                    {
                        self.punct += 1;
                    }
                    '·' | '•' | '›' | '»' | '→' | '｜' => self.separators += 1,
                    '€' | '£' | '¥' | '₹' | '₩' | '₽' => {
                        self.currency = true;
                        self.prices += u32::from(word.digits > 0);
                    }
                    '©' => self.copyright = true,
                    _ => {}
                }
            }
        }
        0
    }

    fn end_word(&mut self, word: &mut Word, topic: &Topic) {
        if word.len == 0 {
            return;
        }
        let key = word.hash.finish();
        self.halves += 2;
        self.capitals += u32::from(word.capital);
        if lexicon::is_stop_word(key) {
            self.stops += 2;
        } else {
            self.titled += u32::from(topic.title.has(key));
            self.described += u32::from(topic.description.has(key));
        }
        self.years += u32::from(word.digits == 4 && word.len == 4);
        self.hash = (self.hash ^ key).wrapping_mul(0x0100_0193).rotate_left(5);
        word.hash = Hash::NEW;
        word.len = 0;
    }
}
