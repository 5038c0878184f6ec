//! Text that the chosen blocks have more than once.
//!
//! Pages made of parts show one text to wide screens and a copy of it to narrow ones, repeat slides
//! to let them go round, and quote a post in each answer to it. Who reads the content reads it once.

use orbweaver_sdk::dom::View;

use crate::blocks::Blocks;
use crate::measure::{Info, get};
use crate::word::{Hash, Run};

/// The words of a run that must stand on the page before to count as repeated. Blocks of fewer words
/// stay: the entries of a list may well have the same label.
const RUN: usize = 8;

/// The most words that are compared: pages for people have fewer.
const MAX_WORDS: usize = 200_000;

/// A factor for the hash of a run, odd.
const FACTOR: u32 = 0x9e37_79b1;

/// Drops of the chosen blocks those whose words all stand in runs of words that stand in chosen blocks
/// before. A page that is repeated for more than two thirds stays as it is: it was made that way, from
/// a template or as a sample, and repeats its text more often than copies for screens and slides do.
pub fn drop_repeated(view: &View<'_>, info: &[Info], blocks: &Blocks, keep: &mut [bool]) {
    let (words, of) = words(view, info, blocks, keep);
    let repeated = repeated(&words);
    let again = repeated.iter().filter(|&&is_repeated| is_repeated).count();
    if again * 3 > words.len() * 2 {
        return;
    }
    // By block, its words and those of them that are repeated.
    let mut counts = vec![(0u32, 0u32); keep.len()];
    for (block, is_repeated) in of.iter().zip(repeated) {
        if let Some((all, again)) = counts.get_mut(*block as usize) {
            *all += 1;
            *again += u32::from(is_repeated);
        }
    }
    for (keep, (all, again)) in keep.iter_mut().zip(counts) {
        *keep &= (all as usize) < RUN || again < all;
    }
}

/// Hashes of the chosen blocks' words in document order, and the block of each.
fn words(view: &View<'_>, info: &[Info], blocks: &Blocks, keep: &[bool]) -> (Vec<u32>, Vec<u32>) {
    let (mut words, mut of) = (Vec::new(), Vec::new());
    for node in view.nodes().filter(|node| node.is_text()) {
        let owner = get(info, node.id()).owner;
        let block = blocks.of.get(owner as usize).copied().unwrap_or(0);
        let Some(block) = block.checked_sub(1) else {
            continue;
        };
        let is_in = blocks
            .list
            .get(block as usize)
            .is_some_and(|b| b.first <= node.id());
        if !is_in || keep.get(block as usize) != Some(&true) {
            continue;
        }
        push_words(node.text(), &mut words);
        if words.len() > MAX_WORDS {
            words.truncate(of.len());
            break;
        }
        of.resize(words.len(), block);
    }
    (words, of)
}

/// Adds the hashes of a text's words.
fn push_words(text: &str, words: &mut Vec<u32>) {
    let mut rest = text;
    let mut hash = Hash::NEW;
    let mut is_word = false;
    loop {
        let run = Run::of(rest.as_bytes());
        if run.len > 0 {
            hash.push(run.bytes, run.len);
            is_word = true;
            rest = rest.get(run.len as usize..).unwrap_or_default();
            continue;
        }
        let next = rest.chars().next();
        if let Some(c) = next.filter(|c| c.is_alphanumeric()) {
            c.to_lowercase().for_each(|c| hash.push_char(c));
            is_word = true;
        } else if is_word {
            words.push(hash.finish());
            hash = Hash::NEW;
            is_word = false;
        }
        let Some(c) = next else { break };
        rest = rest.get(c.len_utf8()..).unwrap_or_default();
    }
}

/// By word, whether it stands in a run of [`RUN`] words that stands before, without a word in common.
fn repeated(words: &[u32]) -> Vec<bool> {
    let mut repeated = vec![false; words.len()];
    let runs = (words.len() + 1).saturating_sub(RUN);
    let mut first = First::with_room(runs);
    // The hash of the run that ends at a word: a sum with a power of the factor for each word.
    let last = (1..RUN).fold(1u32, |power, _| power.wrapping_mul(FACTOR));
    let mut sum = 0u32;
    for (end, word) in words.iter().enumerate() {
        if let Some(gone) = end.checked_sub(RUN).and_then(|at| words.get(at)) {
            sum = sum.wrapping_sub(gone.wrapping_mul(last));
        }
        sum = sum.wrapping_mul(FACTOR).wrapping_add(*word);
        let Some(start) = (end + 1).checked_sub(RUN) else {
            continue;
        };
        let before = first.of(sum, start as u32) as usize;
        if before + RUN <= start && words.get(before..before + RUN) == words.get(start..=end) {
            repeated.get_mut(start..=end).unwrap_or_default().fill(true);
        }
    }
    repeated
}

/// Where each run stands for the first time, by its hash.
struct First {
    /// The number of the run and 1; 0 for none.
    slots: Vec<(u32, u32)>,
}

/// Slots that are tried for one hash: a page may be made to have many that meet.
const MAX_PROBES: usize = 16;

impl First {
    fn with_room(runs: usize) -> Self {
        Self {
            slots: vec![(0, 0); (runs.max(4) * 2).next_power_of_two()],
        }
    }

    /// The first run of a hash; this one if there is none before.
    fn of(&mut self, hash: u32, run: u32) -> u32 {
        let mask = self.slots.len() - 1;
        let mut at = (hash ^ hash >> 15).wrapping_mul(FACTOR) as usize & mask;
        for _ in 0..MAX_PROBES {
            match self.slots.get_mut(at) {
                Some(slot) if slot.1 == 0 => {
                    *slot = (hash, run + 1);
                    return run;
                }
                Some((other, first)) if *other == hash => return *first - 1,
                _ => at = (at + 1) & mask,
            }
        }
        run
    }
}

#[cfg(test)]
mod tests {
    use orbweaver_sdk::dom;

    use super::*;
    use crate::blocks::Topic;
    use crate::measure::measure;

    /// By block, whether it stays where all are chosen.
    fn kept(html: &str) -> Vec<bool> {
        let snapshot = dom::parse(html);
        let view = snapshot.view().expect("view");
        let info = measure(&view, false, 4).info;
        let blocks = Blocks::of(&view, &info, &Topic::of(&view));
        let mut keep = vec![true; blocks.list.len()];
        drop_repeated(&view, &info, &blocks, &mut keep);
        keep
    }

    const LINE: &str = "one two three four five six seven eight nine ten eleven";

    #[test]
    fn a_text_stays_where_it_stands_first() {
        let html = format!("<p>{LINE}<p>Other words<p>{LINE}<p>{}", LINE.to_uppercase());
        assert_eq!(kept(&html), [true, true, false, false]);
    }

    #[test]
    fn the_labels_of_entries_stay() {
        let labels = "<li>Full time<li>Any place in the world<li>Apply today";
        let html = format!("<p>{LINE}<ul>{labels}</ul><p>{LINE}<ul>{labels}</ul>");
        let (line, labels) = ([true], [true; 3]);
        assert_eq!(
            kept(&html),
            [&line[..], &labels[..], &[false], &labels[..]].concat()
        );
    }

    #[test]
    fn a_text_with_a_word_of_its_own_stays() {
        let html = format!("<p>{LINE}<p>{LINE} and three words more<p>{LINE} and two");
        assert_eq!(kept(&html), [true; 3]);
        assert!(kept("").is_empty());
    }

    #[test]
    fn a_text_that_repeats_itself_stays() {
        let itself = format!("{LINE} ").repeat(9);
        assert_eq!(kept(&format!("<p>Other words<p>{itself}")), [true; 2]);
        assert_eq!(kept(&"<p>a b".repeat(8)), [true; 8]);
    }

    #[test]
    fn a_page_that_is_made_of_one_text_stays() {
        assert_eq!(kept(&format!("<p>{LINE}").repeat(4)), [true; 4]);
        let twice = format!("<p>{LINE}").repeat(2);
        assert_eq!(kept(&twice), [true, false]);
    }
}
