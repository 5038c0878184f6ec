//! The parts that a page states of its subject: what goes into a dish, and the steps of its recipe.
//!
//! Lists of a few words, beside the text or below it, look like menus and like data about the
//! text. JSON-LD and microdata tell which of a page's boxes they are. Only what stands in the page
//! is added, and each part once: print views and other units are copies.

mod recipe;

use std::ops::Range;

use orbweaver_sdk::dom::{Node, View, tag};

use crate::blocks::{Blocks, Topic};
use crate::measure::{HEADING, HIDE, Info, SKIP, get};
use crate::select;
use crate::statements::{RUN, Reader};
use recipe::{KINDS, Stated, stated};

/// Most words of a page that are read, and most boxes whose single words are counted.
const MAX_PAGE_WORDS: usize = 200_000;
const MAX_COUNTED: u32 = 64;

/// Share of a box's words that must be stated for it to be such a part.
const SAME: f32 = 0.6;

/// Share of the stated words that one box must have if it has no whole run of them.
const COVERED: f32 = 0.5;

/// A box with more than this many times the stated words holds copies.
const COPIES: f32 = 1.5;

/// Most words of an amount.
const MAX_AMOUNT: u32 = 3;

/// Longest heading of a part, in characters.
const MAX_HEADING: u32 = 60;

/// What of one block is stated.
#[derive(Clone, Copy, Default)]
struct Share {
    words: u32,
    stated: u32,
    /// Words at the end of a stated run.
    runs: u32,
    /// Words that are shown, and stated words that are hidden.
    shown: u32,
    hidden: u32,
}

impl Share {
    /// Whether a box is shown as a whole or hidden as a whole, but for copies: what is hidden may be
    /// the part, beside other texts.
    fn is_of_one_look(&self) -> bool {
        self.shown == 0 || self.hidden * 2 <= self.stated
    }
}

/// Adds what is stated to what is kept. Returns the new root if that is anything.
pub fn apply(view: &View<'_>, info: &mut [Info], root: u32) -> Option<u32> {
    let all = stated(view);
    if all.iter().all(Option::is_none) {
        return None;
    }
    let blocks = Blocks::of(view, info, &Topic::default());
    let mut keep = select::kept(view, info, root, &blocks);
    let before = keep.clone();
    for (stated, (_, is_list)) in all.iter().zip(KINDS) {
        let Some(stated) = stated else { continue };
        let page = Page::read(view, info, &blocks, stated, is_list);
        for part in page.parts(&keep) {
            page.keep(part, &mut keep);
        }
    }
    (keep != before).then(|| select::apply(view, info, &blocks, &keep))
}

/// A page as one statement is looked for in it.
struct Page<'a> {
    view: &'a View<'a>,
    info: &'a [Info],
    blocks: &'a Blocks,
    stated: &'a Stated,
    shares: Vec<Share>,
    /// Sums of the shares of the blocks before each.
    sums: Vec<Share>,
    /// The words of the page with the blocks that they stand in, as far as they are stated.
    words: Vec<(usize, u32)>,
}

impl<'a> Page<'a> {
    fn read(
        view: &'a View<'a>,
        info: &'a [Info],
        blocks: &'a Blocks,
        stated: &'a Stated,
        is_list: bool,
    ) -> Self {
        let mut page = Self {
            view,
            info,
            blocks,
            stated,
            shares: vec![Share::default(); blocks.list.len()],
            sums: Vec::with_capacity(blocks.list.len() + 1),
            words: Vec::new(),
        };
        page.find_runs();
        if is_list {
            page.find_words();
        }
        let mut sum = Share::default();
        page.sums.push(sum);
        for (at, share) in page.shares.iter().enumerate() {
            sum.words += share.words;
            sum.stated += share.stated;
            sum.runs += share.runs;
            if page.is_hidden(&(at..at + 1)) {
                sum.hidden += share.stated;
            } else {
                sum.shown += share.words;
            }
            page.sums.push(sum);
        }
        page
    }

    /// Finds stated runs, also those that go on from one block to the next: amounts and things
    /// may be cells of their own.
    fn find_runs(&mut self) {
        let mut reader = Reader::default();
        let mut is_stated = Vec::new();
        for node in self.view.nodes().filter(|node| node.is_text()) {
            let owner = get(self.info, node.id()).owner as usize;
            let block = self.blocks.of.get(owner).copied().unwrap_or(0) as usize;
            let Some(block) = block.checked_sub(1) else {
                continue;
            };
            if is_stated.len() >= MAX_PAGE_WORDS {
                break;
            }
            reader.read(node.text(), &mut |hash, run| {
                is_stated.push(false);
                if run.is_some_and(|run| self.stated.runs.binary_search(&run).is_ok()) {
                    let words = is_stated.iter_mut().rev();
                    words.take(RUN).for_each(|is| *is = true);
                    if let Some(share) = self.shares.get_mut(block) {
                        share.runs += 1;
                    }
                }
                self.words.push((block, hash));
            });
        }
        for ((block, _), is) in self.words.iter().zip(is_stated) {
            if let Some(share) = self.shares.get_mut(*block) {
                share.words += 1;
                share.stated += u32::from(is);
            }
        }
    }

    /// Takes blocks most of whose words stand somewhere in the statement: a list may name the thing
    /// before the amount, or say more of it. Short blocks with a number say how much, which the
    /// statement may leave out.
    fn find_words(&mut self) {
        self.words
            .retain(|(_, hash)| self.stated.words.binary_search(hash).is_ok());
        let mut counts = vec![0; self.shares.len()];
        for (block, _) in &self.words {
            if let Some(count) = counts.get_mut(*block) {
                *count += 1;
            }
        }
        for ((share, count), block) in self.shares.iter_mut().zip(counts).zip(&self.blocks.list) {
            if count as f32 >= share.words as f32 * SAME {
                share.stated = share.stated.max(count);
            } else if share.words <= MAX_AMOUNT && block.digits > 0 && share.runs == 0 {
                share.words = share.stated;
            }
        }
    }

    fn share(&self, blocks: &Range<usize>) -> Share {
        let of = |at: usize| self.sums.get(at).copied().unwrap_or_default();
        let (from, to) = (of(blocks.start), of(blocks.end));
        Share {
            words: to.words.saturating_sub(from.words),
            stated: to.stated.saturating_sub(from.stated),
            runs: to.runs.saturating_sub(from.runs),
            shown: to.shown.saturating_sub(from.shown),
            hidden: to.hidden.saturating_sub(from.hidden),
        }
    }

    fn range(&self, node: Node<'_>) -> Range<usize> {
        self.blocks.range(node.id(), node.end())
    }

    /// The boxes that are to be kept: the largest that are mostly stated, without copies.
    fn parts(&self, keep: &[bool]) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        let Some(body) = self.view.body() else {
            return found;
        };
        let mut id = body.id();
        let mut left = MAX_COUNTED;
        while let Some(node) = self.view.node(id).filter(|_| id < body.end()) {
            let blocks = self.range(node);
            let share = self.share(&blocks);
            if share.stated == 0 {
                id = node.end();
                continue;
            }
            id += 1;
            let is_one = share.stated as f32 <= self.stated.count as f32 * COPIES;
            if node.is_element()
                && is_one
                && share.is_of_one_look()
                && share.stated as f32 >= share.words as f32 * SAME
                && (share.runs >= 2 || self.covers(&blocks, share, &mut left))
            {
                id = node.end();
                found.push(blocks);
            }
        }
        self.without_copies(found, keep)
    }

    /// Whether some blocks have enough of the stated words, each counted once. `left` is how
    /// often words may be counted.
    fn covers(&self, blocks: &Range<usize>, share: Share, left: &mut u32) -> bool {
        let enough = (self.stated.words.len() as f32 * COVERED) as usize;
        if (share.stated as usize) < enough || *left == 0 {
            return false;
        }
        *left -= 1;
        let mut inside: Vec<u32> = self
            .words
            .iter()
            .filter(|(block, _)| blocks.contains(block))
            .map(|(_, hash)| *hash)
            .filter(|hash| self.stated.words.binary_search(hash).is_ok())
            .collect();
        inside.sort_unstable();
        inside.dedup();
        inside.len() >= enough
    }

    /// Boxes that are begun come first, then those that are shown.
    fn without_copies(&self, mut parts: Vec<Range<usize>>, keep: &[bool]) -> Vec<Range<usize>> {
        let kept = |blocks: &Range<usize>| {
            let shares = self.shares.get(blocks.clone()).unwrap_or_default();
            let keep = keep.get(blocks.clone()).unwrap_or_default();
            let of = shares.iter().zip(keep).filter(|(_, keep)| **keep);
            of.map(|(share, _)| share.stated).sum::<u32>()
        };
        parts.sort_by_key(|blocks| (kept(blocks) == 0, self.is_hidden(blocks), blocks.start));
        let mut left = self.stated.count as f32 * COPIES;
        parts.retain(|blocks| {
            let stated = self.share(blocks).stated as f32;
            let fits = stated <= left;
            if fits {
                left -= stated;
            }
            fits
        });
        parts
    }

    fn is_hidden(&self, blocks: &Range<usize>) -> bool {
        let shown = |at: usize| {
            let block = self.blocks.list.get(at);
            block.is_some_and(|block| get(self.info, block.first).state & (HIDE | SKIP) == 0)
        };
        !blocks.clone().any(shown)
    }

    /// Keeps the blocks of a part, those that are hidden in it only if all of it is, and the
    /// heading before it.
    fn keep(&self, part: Range<usize>, keep: &mut [bool]) {
        let is_hidden = self.is_hidden(&part);
        for at in part.clone() {
            let is_wanted = is_hidden || !self.is_hidden(&(at..at + 1));
            if let Some(slot) = keep.get_mut(at).filter(|_| is_wanted) {
                *slot = true;
            }
        }
        let Some(before) = part.start.checked_sub(1) else {
            return;
        };
        let is_heading = self.blocks.list.get(before).is_some_and(|block| {
            let me = get(self.info, block.node);
            me.state & HEADING != 0 && me.tag != tag::H1 && block.chars <= MAX_HEADING
        });
        if let Some(slot) = keep
            .get_mut(before)
            .filter(|_| is_heading && !self.is_hidden(&(before..before + 1)))
        {
            *slot = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::content::Content;
    use crate::text;

    const STATED: &str = r#"<script type="application/ld+json">{"@context":"https://schema.org","@graph":[
        {"@type":"WebPage","name":"Soup"},
        {"@type":"Recipe","recipeIngredient":["200 g red lentils","1 large onion","2 tsp ground cumin","salt"],
         "recipeInstructions":[{"@type":"HowToSection","name":"Soup","itemListElement":[
          {"@type":"HowToStep","text":"Chop the onion and fry it."},
          {"@type":"HowToStep","text":"Add lentils, water and cumin."}]}]}]}</script>"#;

    const LIST: &str =
        "<ul><li>200 g red lentils<li>1 large onion<li>2 tsp ground cumin<li>salt</ul>";

    /// The lines of a page with this body, of which the rules kept the paragraphs alone.
    fn lines(head: &str, body: &str) -> Vec<String> {
        let snapshot = orbweaver_sdk::dom::parse(&format!("<head>{head}</head><body>{body}"));
        let view = snapshot.view().expect("view");
        Content::survey(
            &view,
            "https://example.org/soup",
            |view, selection, survey, _| {
                let mut info = selection.info.clone();
                let is_paragraph = |id| view.node(id).is_some_and(|node| node.name() == "p");
                let nodes = survey.blocks.list.iter().map(|block| block.node);
                let keep: Vec<bool> = nodes.map(is_paragraph).collect();
                let root = crate::select::apply(view, &mut info, &survey.blocks, &keep);
                let root = super::apply(view, &mut info, root).unwrap_or(root);
                let text = text::render(view, &info, root);
                let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
                lines.map(str::to_owned).collect()
            },
        )
    }

    const ALL: [&str; 6] = [
        "Ingredients",
        "200 g red lentils",
        "1 large onion",
        "2 tsp ground cumin",
        "salt",
        "A soup for cold days.",
    ];

    #[test]
    fn what_goes_into_a_dish_stays_with_its_heading() {
        let body = format!(
            "<aside><h2>Ingredients</h2>{LIST}</aside><p>A soup for cold days.</p><ul><li>Print<li>Pin it</ul>"
        );
        assert_eq!(lines(STATED, &body), ALL);
        assert_eq!(
            lines("", &body),
            ["A soup for cold days."],
            "it is not stated"
        );
        let other = STATED
            .replace("lentils", "beans")
            .replace("onion", "carrot")
            .replace("ground cumin", "of thyme");
        assert_eq!(
            lines(&other, &body),
            ["A soup for cold days."],
            "another is stated"
        );
    }

    #[test]
    fn amounts_may_have_cells_of_their_own_and_stand_behind() {
        let row = |first: &str, second: &str| format!("<tr><td>{first}<td>{second}");
        let table = |rows: [(&str, &str); 3], turned: bool| {
            let rows = rows.map(|(a, b)| if turned { row(b, a) } else { row(a, b) });
            format!(
                "<table>{}</table><p>A soup for cold days.</p>",
                rows.concat()
            )
        };
        let rows = [
            ("200 g", "red lentils"),
            ("1", "large onion"),
            ("2 tsp", "ground cumin"),
        ];
        for turned in [false, true] {
            let found = lines(STATED, &table(rows, turned)).join(" ");
            for word in ["200", "lentils", "onion", "tsp", "cumin"] {
                assert!(found.contains(word), "{word}: {found}");
            }
        }
    }

    #[test]
    fn steps_are_added_and_copies_are_not() {
        let steps = "<ol><li>Chop the onion and fry it.<li>Add lentils, water and cumin.</ol>";
        let body =
            format!("<p>A soup for cold days.</p><div>{steps}</div><div class=print>{steps}</div>");
        let all = [
            "A soup for cold days.",
            "Chop the onion and fry it.",
            "Add lentils, water and cumin.",
        ];
        assert_eq!(lines(STATED, &body), all);
        let kept = steps.replace("li>", "p>").replace("ol>", "div>");
        let body =
            format!("<p>A soup for cold days.</p><div>{kept}</div><div class=print>{steps}</div>");
        assert_eq!(lines(STATED, &body), all);
    }

    #[test]
    fn a_tab_that_is_hidden_is_added_if_no_copy_is_shown() {
        let hidden = format!(
            "<p>A soup for cold days.</p><div style=display:none><h2>Ingredients</h2>{LIST}</div>"
        );
        let found = lines(STATED, &hidden);
        assert!(found.iter().any(|line| line == "salt"), "{found:?}");
        let both = format!("{hidden}<div><h2>Ingredients</h2>{LIST}</div>");
        let found = lines(STATED, &both);
        assert_eq!(
            found.iter().filter(|line| *line == "salt").count(),
            1,
            "{found:?}"
        );
    }

    #[test]
    fn microdata_states_parts_too() {
        let list = LIST.replace("<li>", "<li itemprop=recipeIngredient>");
        let body = format!("<h2>Ingredients</h2>{list}<p>A soup for cold days.</p>");
        assert_eq!(lines("", &body), ALL);
    }
}
