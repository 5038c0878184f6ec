//! Reading what a page states of itself for programs, in words that can be found in the page.

use orbweaver_sdk::dom::{View, tag};
use orbweaver_sdk::jsonld::{self, Block};

use crate::lexicon::{SEED, step};

/// Words of a run that is looked up: the same three stand in few other texts.
pub const RUN: usize = 3;

/// The page's blocks of JSON-LD that have this text, which most blocks have not.
pub fn blocks_with<'v>(view: &'v View<'v>, text: &'v str) -> impl Iterator<Item = Block> + 'v {
    view.tagged(|id| id == tag::SCRIPT)
        .filter(move |script| {
            jsonld::is_block(*script) && script.text_runs().any(|run| run.contains(text))
        })
        .filter_map(jsonld::parse_node)
}

/// Calls with the texts between the tags of a text that may be HTML.
pub fn markup(text: &str, found: &mut impl FnMut(&str)) {
    for part in text.split('<') {
        let inside = part.split_once('>').filter(|(tag, _)| {
            tag.len() < 400 && tag.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/')
        });
        found(inside.map_or(part, |(_, text)| text));
    }
}

/// Reads the words of a text that comes in pieces.
#[derive(Clone, Copy, Default)]
pub struct Reader {
    /// The words before, the nearest last.
    before: [u32; RUN - 1],
    /// Words so far.
    pub words: u32,
}

impl Reader {
    /// Tells the hash of each word, whatever its case, and that of the run of [`RUN`] words that it
    /// ends, if it ends one.
    pub fn read(&mut self, text: &str, found: &mut impl FnMut(u32, Option<u32>)) {
        for word in text.split(|c: char| !c.is_alphanumeric()) {
            if word.is_empty() {
                continue;
            }
            let mut word_hash = SEED;
            let mut buffer = [0; 4];
            for c in word.chars().flat_map(char::to_lowercase) {
                word_hash = c.encode_utf8(&mut buffer).bytes().fold(word_hash, step);
            }
            let [first, second] = self.before;
            self.before = [second, word_hash];
            self.words += 1;
            let ends_run = self.words as usize >= RUN;
            found(
                word_hash,
                ends_run.then(|| mix(mix(first, second), word_hash)),
            );
        }
    }
}

/// One hash of two, in this order.
fn mix(one: u32, other: u32) -> u32 {
    (one.rotate_left(9) ^ other).wrapping_mul(0x9e37_79b1)
}
