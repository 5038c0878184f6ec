//! The page as a row of blocks: what stands directly in each block-level element.
//!
//! A block is the unit that is kept or left out on pages of many parts. Hidden text is a
//! block too: tabs and accordions are hidden until a click shows them.

use orbweaver_sdk::dom::{Node, View, attr, tag};

use crate::lexicon::{self, SEED, step};
use crate::lower;
use crate::measure::{HIDE, Info, SKIP, get};
use crate::phrases;

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

/// Words of the page's title and description, by hash.
#[derive(Default)]
pub struct Topic {
    title: Vec<u32>,
    description: Vec<u32>,
}

impl Topic {
    /// Reads the head of the page.
    pub fn of(view: &View<'_>) -> Self {
        let mut topic = Self::default();
        for node in view.head().into_iter().flat_map(|h| h.descendants()) {
            let content = || node.attr(attr::CONTENT).unwrap_or("");
            match node.tag() {
                tag::TITLE => node.text_runs().for_each(|t| words(t, &mut topic.title)),
                tag::META => {
                    let key = node.attr(attr::PROPERTY).or_else(|| node.attr(attr::NAME));
                    match key {
                        Some("og:title") => words(content(), &mut topic.title),
                        Some("description" | "og:description") => {
                            words(content(), &mut topic.description);
                        }
                        _ => {}
                    }
                }
                _ => {}
            }
        }
        for list in [&mut topic.title, &mut topic.description] {
            list.sort_unstable();
            list.dedup();
        }
        topic
    }
}

/// Adds the hashes of a text's words that are no function words.
fn words(text: &str, out: &mut Vec<u32>) {
    for word in text.split(|c: char| !c.is_alphanumeric()) {
        if out.len() >= 64 {
            return;
        }
        let key = word
            .chars()
            .flat_map(char::to_lowercase)
            .fold(SEED, push_char);
        if !word.is_empty() && !lexicon::is_stop_word(key) {
            out.push(key);
        }
    }
}

fn push_char(hash: u32, c: char) -> u32 {
    let mut buffer = [0; 4];
    c.encode_utf8(&mut buffer).bytes().fold(hash, step)
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
    /// Of a word that goes on.
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

impl Block {
    fn read(&mut self, text: &str, link: bool, topic: &Topic) {
        self.texts += 1;
        self.links += u32::from(link);
        let (mut key, mut len, mut capital, mut digits) = (SEED, 0u32, false, 0u32);
        let before = self.chars;
        let mut thai = 0;
        self.currency = false;
        let mut last = ' ';
        for c in text.chars() {
            if c.is_whitespace() || c == '\u{200b}' {
                self.end_word(&mut key, &mut len, capital, digits, topic);
                continue;
            }
            if self.head == 0 {
                self.head = class_of(c);
            }
            last = c;
            self.chars += 1;
            if c.is_ascii() {
                let byte = c as u8;
                if byte.is_ascii_alphanumeric() {
                    if len == 0 {
                        capital = byte.is_ascii_uppercase();
                        digits = 0;
                    }
                    let digit = byte.is_ascii_digit();
                    self.digits += u32::from(digit);
                    digits += u32::from(digit);
                    self.prices += u32::from(digit && std::mem::take(&mut self.currency));
                    key = step(key, byte.to_ascii_lowercase());
                    len += 1;
                    continue;
                }
                self.end_word(&mut key, &mut len, capital, digits, topic);
                match byte {
                    b'.' | b',' | b';' | b'!' | b'?' => self.punct += 1,
                    b'|' | b'/' | b'>' => self.separators += 1,
                    b'$' => self.currency = true,
                    b'@' => self.at = true,
                    _ => {}
                }
                continue;
            }
            match part_of(c) {
                Part::Letter => {
                    if len == 0 {
                        capital = c.is_uppercase();
                        digits = 0;
                    }
                    for lower in c.to_lowercase() {
                        key = push_char(key, lower);
                    }
                    len += 1;
                }
                Part::Halves(halves) => {
                    self.end_word(&mut key, &mut len, capital, digits, topic);
                    thai += 1 - halves;
                    self.halves += halves;
                    self.stops += u32::from(lexicon::is_particle(c));
                    self.hash = step(self.hash.rotate_left(3), c as u8);
                }
                Part::None => {
                    self.end_word(&mut key, &mut len, capital, digits, topic);
                    match c {
                        '。' | '，' | '、' | '！' | '？' | '；' | '؟' | '،' | '؛' | '।' | '…' =>
                        {
                            self.punct += 1;
                        }
                        '·' | '•' | '›' | '»' | '→' | '｜' => self.separators += 1,
                        '€' | '£' | '¥' | '₹' | '₩' | '₽' => {
                            self.currency = true;
                            self.prices += u32::from(digits > 0);
                        }
                        '©' => self.copyright = true,
                        _ => {}
                    }
                }
            }
        }
        self.end_word(&mut key, &mut len, capital, digits, topic);
        self.halves += thai / 2;
        if last != ' ' {
            self.tail = class_of(last);
        }
        if link {
            self.link += self.chars - before;
        }
    }

    fn end_word(
        &mut self,
        key: &mut u32,
        len: &mut u32,
        capital: bool,
        digits: u32,
        topic: &Topic,
    ) {
        if *len == 0 {
            return;
        }
        self.halves += 2;
        self.capitals += u32::from(capital);
        if lexicon::is_stop_word(*key) {
            self.stops += 2;
        } else {
            self.titled += u32::from(topic.title.binary_search(key).is_ok());
            self.described += u32::from(topic.description.binary_search(key).is_ok());
        }
        self.years += u32::from(digits == 4 && *len == 4);
        self.hash = (self.hash ^ *key).wrapping_mul(0x0100_0193).rotate_left(5);
        *key = SEED;
        *len = 0;
    }
}
