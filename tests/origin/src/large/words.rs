//! Meaningless words, the same for the same seed.

/// A small random number generator (SplitMix64): no dependency, the same on every machine.
#[derive(Clone, Debug)]
pub(super) struct Random(u64);

impl Random {
    /// A generator for one purpose (`stream`) and one item (`index`) of a seed.
    pub(super) fn new(seed: u64, stream: u64, index: usize) -> Self {
        let mut random = Self(seed ^ stream.rotate_left(32) ^ (index as u64).rotate_left(16));
        random.next();
        random
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`; 0 if `end` is 0.
    pub(super) fn below(&mut self, end: usize) -> usize {
        let product = u128::from(self.next()) * (end as u128);
        usize::try_from(product >> 64).unwrap_or(0)
    }

    /// An item of a list.
    pub(super) fn pick<'a>(&mut self, list: &'a [String]) -> &'a str {
        list.get(self.below(list.len())).map_or("", String::as_str)
    }
}

const SYLLABLES: &[&str] = &[
    "ba", "ce", "dor", "el", "fi", "gan", "hu", "il", "jo", "ker", "lu", "mi", "nor", "os", "pel",
    "qui", "ra", "sen", "tu", "ul", "ver", "wa", "xi", "yn", "zo", "tra", "bri", "clo", "sta",
    "gre", "ment", "ing",
];

/// The vocabulary of the pages.
#[derive(Debug)]
pub(super) struct Language {
    words: Vec<String>,
    paragraphs: Vec<String>,
}

impl Language {
    pub(super) fn new(seed: u64) -> Self {
        let mut random = Random::new(seed, 1, 0);
        let words = (0..4000)
            .map(|_| {
                (0..=random.below(4))
                    .filter_map(|_| SYLLABLES.get(random.below(SYLLABLES.len())))
                    .copied()
                    .collect()
            })
            .collect();
        let mut language = Self {
            words,
            paragraphs: Vec::new(),
        };
        language.paragraphs = (0..2500)
            .map(|_| {
                let sentences: Vec<String> = (0..3 + random.below(5))
                    .map(|_| language.sentence(&mut random))
                    .collect();
                sentences.join(" ")
            })
            .collect();
        language
    }

    /// A word. Some are more frequent than others, as in any language: the product of two random
    /// numbers is small more often than large.
    pub(super) fn word(&self, random: &mut Random) -> &str {
        let end = self.words.len();
        let at = random.below(end) * random.below(end) / end.max(1);
        self.words.get(at).map_or("", String::as_str)
    }

    /// `count` words with spaces between them.
    pub(super) fn words(&self, random: &mut Random, count: usize) -> String {
        let words: Vec<&str> = (0..count).map(|_| self.word(random)).collect();
        words.join(" ")
    }

    /// A sentence of 6 to 20 words.
    pub(super) fn sentence(&self, random: &mut Random) -> String {
        let count = 6 + random.below(15);
        let mut sentence = capitalized(&self.words(random, count));
        sentence.push('.');
        sentence
    }

    /// A heading of 3 to 8 words.
    pub(super) fn title(&self, random: &mut Random) -> String {
        let count = 3 + random.below(6);
        capitalized(&self.words(random, count))
    }

    /// One of the prepared paragraphs.
    pub(super) fn paragraph(&self, random: &mut Random) -> &str {
        random.pick(&self.paragraphs)
    }
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}
