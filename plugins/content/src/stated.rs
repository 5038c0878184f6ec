//! The text that a page states of itself: `articleBody` of its JSON-LD.
//!
//! It is written by the page's own system, without what stands around the text, and often without
//! headings, lists and tables. Where it is there in full, it tells which of the page's blocks are
//! the text: also those that are hidden behind a "read more", and not those that the site puts
//! between the paragraphs.

use orbweaver_sdk::dom::View;
use orbweaver_sdk::jsonld;

use crate::blocks::{Blocks, Topic};
use crate::measure::{HEADING, Info, get};
use crate::select;
use crate::statements::{Reader, blocks_with, markup};

/// The shortest statement that is believed, in words, and how much of a longer one is read.
const MIN_WORDS: usize = 80;
const MAX_WORDS: usize = 40_000;

/// Share of a block's runs from which it is of the stated text.
const SAME: f32 = 0.6;

/// Share of the stated runs that the page must show for the statement to be about it.
const SHOWN: f32 = 0.8;

/// The statement must be this much of what the rules keep, or it is an excerpt.
const WHOLE: f32 = 0.5;

/// Shorter blocks are too short to be told from others, in words.
const SHORT: u32 = 6;

/// Blocks that are not stated stay up to this many words: headings between the paragraphs.
const MAX_HEADING: u32 = 16;

/// The runs of words of a text, sorted.
struct Runs(Vec<u32>);

impl Runs {
    /// Those of the longest `articleBody` of the page, if it is long enough.
    fn stated(view: &View<'_>) -> Option<Self> {
        let mut best = Vec::new();
        for block in blocks_with(view, "\"articleBody\"") {
            for object in block.objects() {
                let body = object.get("articleBody").and_then(jsonld::string);
                let runs = body.map_or_else(Vec::new, |body| {
                    let mut reader = Reader::default();
                    let mut runs = Vec::new();
                    let mut push = |_, run| {
                        if runs.len() < MAX_WORDS {
                            runs.extend(run);
                        }
                    };
                    markup(&body, &mut |text| reader.read(text, &mut push));
                    runs
                });
                if runs.len() > best.len() {
                    best = runs;
                }
            }
        }
        best.sort_unstable();
        best.dedup();
        (best.len() >= MIN_WORDS).then_some(Self(best))
    }

    fn place(&self, run: u32) -> Option<usize> {
        self.0.binary_search(&run).ok()
    }
}

/// How much of a block is stated.
#[derive(Clone, Copy, Default)]
struct Share {
    reader: Reader,
    runs: u32,
    stated: u32,
    /// Stated runs that stand in no block before, nor in one that the rules keep.
    new: u32,
}

impl Share {
    fn is_stated(&self) -> bool {
        self.stated > 0 && self.stated as f32 >= self.runs as f32 * SAME
    }

    /// Whether it is no copy of another block.
    fn is_new(&self) -> bool {
        self.new as f32 >= self.runs as f32 * SAME
    }
}

/// Corrects what the rules kept by what the page states, where it states all of its text.
/// Returns the new root.
pub fn apply(view: &View<'_>, info: &mut [Info], root: u32) -> Option<u32> {
    let stated = Runs::stated(view)?;
    let blocks = Blocks::of(view, info, &Topic::default());
    let kept = select::kept(view, info, root, &blocks);
    let shares = shares(view, info, &blocks, &stated, &kept);
    let is_stated = |block: &usize| shares.get(*block).is_some_and(Share::is_stated);
    let all = 0..blocks.list.len();
    let first = all.clone().find(is_stated)?;
    let last = all.clone().rev().find(is_stated)?;
    // Copies count once.
    let found: u32 = all
        .clone()
        .filter(is_stated)
        .filter_map(|at| shares.get(at))
        .map(|s| s.new)
        .sum();
    let kept_words: u32 = shares
        .iter()
        .zip(&kept)
        .filter(|(_, kept)| **kept)
        .map(|(s, _)| s.runs)
        .sum();
    let found = found as f32;
    if found < stated.0.len() as f32 * SHOWN || found < kept_words as f32 * WHOLE {
        return None;
    }
    let keep: Vec<bool> = shares
        .iter()
        .enumerate()
        .map(|(at, share)| {
            let was_kept = kept.get(at).copied().unwrap_or(false);
            let inside = (first..=last).contains(&at);
            let words = share.reader.words;
            let heading = blocks
                .list
                .get(at)
                .is_some_and(|block| get(info, block.node).state & HEADING != 0);
            share.is_stated() && (was_kept || words >= SHORT && share.is_new())
                || was_kept && inside && (words < SHORT || heading && words <= MAX_HEADING)
        })
        .collect();
    Some(select::apply(view, info, &blocks, &keep))
}

fn shares(
    view: &View<'_>,
    info: &[Info],
    blocks: &Blocks,
    stated: &Runs,
    kept: &[bool],
) -> Vec<Share> {
    let mut shares = vec![Share::default(); blocks.list.len()];
    let mut shown = vec![false; stated.0.len()];
    for chosen in [true, false] {
        for node in view.nodes().filter(|node| node.is_text()) {
            let owner = get(info, node.id()).owner as usize;
            let block = blocks.of.get(owner).copied().unwrap_or(0) as usize;
            let Some(at) = block
                .checked_sub(1)
                .filter(|at| kept.get(*at) == Some(&chosen))
            else {
                continue;
            };
            let Some(share) = shares.get_mut(at) else {
                continue;
            };
            let mut reader = share.reader;
            reader.read(node.text(), &mut |_, run| {
                let Some(run) = run else { return };
                share.runs += 1;
                if let Some(place) = stated.place(run) {
                    share.stated += 1;
                    let was = shown
                        .get_mut(place)
                        .map(|shown| std::mem::replace(shown, true));
                    share.new += u32::from(was == Some(false));
                }
            });
            share.reader = reader;
        }
    }
    shares
}

#[cfg(test)]
mod tests {
    use orbweaver_sdk::testing::Document;

    use crate::{Content, text};

    /// Fifty words of a paragraph's own.
    fn paragraph(number: u32) -> String {
        let words: Vec<String> = (0..50).map(|at| format!("w{number}x{at}")).collect();
        format!("{}.", words.join(" "))
    }

    /// A page with a promotion between the paragraphs and two more paragraphs hidden, which
    /// states this text.
    fn page(stated: &[u32]) -> String {
        let stated: Vec<String> = stated.iter().map(|n| paragraph(*n)).collect();
        let body = stated.join("\\n");
        let [p1, p2, p3, p4] = [1, 2, 3, 4].map(paragraph);
        let offer = "Readers of this paper get the first month of it at no cost at all, and can end it any day.";
        format!(
            r#"<html><head><title>T</title><meta property="og:type" content="article">
            <script type="application/ld+json">{{"@type":"NewsArticle","headline":"T","articleBody":"{body}"}}</script>
            </head><body><article><h1>T</h1><p>{p1}</p><p>{offer}</p><p>{p2}</p>
            <h2>Between</h2><p style="display:none">{p3}</p><p style="display:none">{p4}</p></article>
            <div style="display:none"><p>{p1}</p></div></body></html>"#
        )
    }

    fn found(html: &str) -> Vec<String> {
        let document = Document::new("https://example.org/news/t", html);
        let page = document.page();
        let view = page.view().unwrap();
        // As the rules alone leave the page.
        let text = Content::survey(view, page.final_url(), |view, selection, _, _| {
            let mut info = selection.info.clone();
            let root = super::apply(view, &mut info, selection.root).unwrap_or(selection.root);
            text::render(view, &info, root)
        });
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let first = |line: &str| line.split(' ').next().unwrap_or_default().to_owned();
        lines.map(first).collect()
    }

    #[test]
    fn a_page_that_states_its_text_is_taken_at_its_word() {
        assert_eq!(
            found(&page(&[1, 2, 3, 4])),
            ["w1x0", "w2x0", "Between", "w3x0", "w4x0"]
        );
    }

    #[test]
    fn the_beginning_alone_or_another_text_is_not_believed() {
        let usual = ["w1x0", "Readers", "w2x0", "Between"];
        assert_eq!(found(&page(&[7, 8, 9])), usual, "another text");
        assert_eq!(found(&page(&[1])), usual, "too short");
        assert_eq!(found(&page(&[])), usual, "nothing");
        let long = page(&[1, 2]).replace(
            "<h2>",
            &format!(
                "<p>{}</p><p>{}</p><p>{}</p><h2>",
                paragraph(5),
                paragraph(6),
                paragraph(7)
            ),
        );
        assert_eq!(
            found(&long),
            ["w1x0", "Readers", "w2x0", "w5x0", "w6x0", "w7x0", "Between"],
            "an excerpt"
        );
    }
}
