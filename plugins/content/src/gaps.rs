//! Parts of a text that stand between chosen blocks.
//!
//! The block model judges each block by itself: of a list it may drop one entry, of a manual the
//! headings and the names that its sentences explain. What the rules take for content stays
//! where the text around it does.

use std::ops::Range;

use orbweaver_sdk::dom::{Node, View, tag};

use crate::measure::{HIDE, Info, SKIP, get, is_heading};
use crate::page_type::{PageType, Types};
use crate::survey::Survey;
use crate::table::{Shape, has_content};

/// How sure it must be that a page is a manual for all that stands between its blocks to stay.
const MANUAL: f32 = 0.5;

/// Most levels that are looked at around a block, and most nodes beside one.
const LEVELS: usize = 8;
const SIBLINGS: usize = 16;

/// Keeps such parts.
pub fn fill(view: &View<'_>, info: &[Info], survey: &Survey, types: &Types, keep: &mut [bool]) {
    let gaps = Gaps {
        survey,
        sums: sums(info, survey, keep),
        ruled_out: ruled_out(survey),
        is_manual: types.share(PageType::Documentation) >= MANUAL,
    };
    let mut found: Vec<Range<usize>> = Vec::new();
    // The part that was looked at last: each of its blocks would ask for it again.
    let mut last: Option<(u32, Option<Range<usize>>)> = None;
    let mut at = 0;
    while let Some(block) = survey.blocks.list.get(at) {
        let gap = (keep.get(at) == Some(&false))
            .then(|| view.node(block.node))
            .flatten()
            .and_then(|node| gaps.largest(node))
            .filter(|(_, is_part)| *is_part || gaps.is_manual)
            .and_then(|(part, _)| match &last {
                Some((known, gap)) if *known == part.id() => gap.clone(),
                _ => {
                    let gap = gaps.of(part);
                    last = Some((part.id(), gap.clone()));
                    gap
                }
            });
        match gap {
            Some(gap) => {
                at = gap.end.max(at + 1);
                found.push(gap);
            }
            None => at += 1,
        }
    }
    for gap in found {
        keep.get_mut(gap).unwrap_or_default().fill(true);
    }
}

struct Gaps<'a> {
    survey: &'a Survey,
    /// By block, the characters before it, and those of them that are kept.
    sums: Vec<(u32, u32)>,
    /// By block, how many before it the rules do not keep.
    ruled_out: Vec<u32>,
    is_manual: bool,
}

/// Counts the blocks that the rules do not keep.
fn ruled_out(survey: &Survey) -> Vec<u32> {
    let mut counts = Vec::with_capacity(survey.kept.len() + 1);
    let mut count = 0;
    counts.push(count);
    for kept in &survey.kept {
        count += u32::from(!kept);
        counts.push(count);
    }
    counts
}

/// Sums over the blocks that are shown.
fn sums(info: &[Info], survey: &Survey, keep: &[bool]) -> Vec<(u32, u32)> {
    let mut sums = Vec::with_capacity(keep.len() + 1);
    let (mut all, mut kept) = (0, 0);
    sums.push((0, 0));
    for (block, keep) in survey.blocks.list.iter().zip(keep) {
        if get(info, block.first).state & (HIDE | SKIP) == 0 {
            all += block.chars;
            kept += if *keep { block.chars } else { 0 };
        }
        sums.push((all, kept));
    }
    sums
}

impl Gaps<'_> {
    /// The blocks of a part that is to be kept; `None` where it is to stay out.
    fn of(&self, part: Node<'_>) -> Option<Range<usize>> {
        let blocks = self.range(part);
        if self.count_ruled_out(&blocks) > 0 {
            return None;
        }
        let (all, _) = self.chars(&blocks);
        let is_followed = self.is_kept(self.beside(part, Node::next_sibling));
        if all == 0 || !is_followed && !self.ends_text(part) {
            return None;
        }
        // A heading belongs to what follows it.
        let is_headed = is_heading(part.tag()) && self.before(&blocks);
        (is_headed || self.is_kept(self.beside(part, Node::prev_sibling))).then_some(blocks)
    }

    /// The largest element around a block of which nothing is kept, and whether the block is one of
    /// a heading, a list, a table or code in it.
    fn largest<'v>(&self, node: Node<'v>) -> Option<(Node<'v>, bool)> {
        let mut part = node;
        let mut is_part = is_of_text(node.tag());
        for around in node.ancestors().take(LEVELS) {
            if matches!(around.tag(), tag::FIGCAPTION | tag::H1) {
                return None;
            }
            if self.chars(&self.range(around)).1 > 0 || around.tag() == tag::BODY {
                break;
            }
            part = around;
            is_part |= is_of_text(part.tag());
        }
        (part.tag() != tag::H1).then_some((part, is_part))
    }

    /// The blocks of the nearest node with any on one side of an element.
    fn beside<'v>(
        &self,
        node: Node<'v>,
        next: impl Fn(&Node<'v>) -> Option<Node<'v>>,
    ) -> Option<Range<usize>> {
        let mut at = node;
        for _ in 0..LEVELS {
            let found = std::iter::successors(next(&at), |n| next(n))
                .take(SIBLINGS)
                .map(|node| (node, self.range(node)))
                .find(|(node, blocks)| self.chars(blocks).0 > 0 && !self.is_gap(*node, blocks))
                .map(|(_, blocks)| blocks);
            if found.is_some() {
                return found;
            }
            at = at.parent().filter(|parent| parent.tag() != tag::BODY)?;
        }
        None
    }

    /// Whether an element is code, a table of data or a list of facts at the end of a text.
    fn ends_text(&self, part: Node<'_>) -> bool {
        let Some(around) = part.parent() else {
            return false;
        };
        let blocks = self.range(around);
        let behind = self.range(part).end..blocks.end;
        let (all, kept) = self.chars(&blocks);
        if (self.count_ruled_out(&behind) as usize) < behind.len() || kept * 2 < all {
            return false;
        }
        let mut inside = std::iter::once(part).chain(part.descendants().take(LEVELS));
        inside.any(|node| match node.tag() {
            tag::PRE => true,
            tag::DL => has_facts(node),
            tag::TABLE => Shape::of(node, &mut Vec::new(), has_content).is_data(node),
            _ => false,
        })
    }

    /// Whether an element may be of the same gap as the one beside it.
    fn is_gap(&self, node: Node<'_>, blocks: &Range<usize>) -> bool {
        matches!(
            node.tag(),
            tag::LI | tag::DT | tag::DD | tag::TD | tag::TH | tag::PRE | tag::TABLE
        ) && self.chars(blocks).1 == 0
            && self.count_ruled_out(blocks) == 0
    }

    /// How many of some blocks the rules do not keep.
    fn count_ruled_out(&self, blocks: &Range<usize>) -> u32 {
        let before = |at: usize| self.ruled_out.get(at).copied().unwrap_or_default();
        before(blocks.end).saturating_sub(before(blocks.start))
    }

    /// Whether nearly all of some blocks is kept.
    fn is_kept(&self, blocks: Option<Range<usize>>) -> bool {
        let (all, kept) = blocks.map_or((0, 0), |blocks| self.chars(&blocks));
        kept > 0 && kept * 5 >= all * 4
    }

    /// Whether something before some blocks is kept.
    fn before(&self, blocks: &Range<usize>) -> bool {
        self.sums
            .get(blocks.start)
            .is_some_and(|(_, kept)| *kept > 0)
    }

    fn chars(&self, blocks: &Range<usize>) -> (u32, u32) {
        let sum = |at: usize| self.sums.get(at).copied().unwrap_or_default();
        let (from, to) = (sum(blocks.start), sum(blocks.end));
        (to.0.saturating_sub(from.0), to.1.saturating_sub(from.1))
    }

    fn range(&self, node: Node<'_>) -> Range<usize> {
        self.survey.blocks.range(node.id(), node.end())
    }
}

/// Whether an element is of a kind that an author's text is made of, other than paragraphs: labels and
/// credits are paragraphs, too.
fn is_of_text(tag: u16) -> bool {
    matches!(
        tag,
        tag::H2..=tag::H6 | tag::LI | tag::DT | tag::DD | tag::PRE | tag::TD | tag::TH | tag::TABLE
    )
}

/// Whether a list has two terms, each with what it says of the thing.
fn has_facts(list: Node<'_>) -> bool {
    /// Elements that are looked at.
    const MOST: usize = 16;
    let has = |group: Node<'_>, tag| {
        group
            .child_elements()
            .take(MOST)
            .any(|part| part.tag() == tag)
    };
    let is_term = |part: &Node<'_>| match part.tag() {
        tag::DT => part.next_sibling().is_some(),
        tag::DIV => has(*part, tag::DT) && has(*part, tag::DD),
        _ => false,
    };
    list.child_elements().take(MOST).filter(is_term).count() >= 2 && {
        let mut links = list.descendants().take(MOST * MOST);
        !links.any(|below| below.tag() == tag::A)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::{Kind, Votes};
    use crate::measure::measure;

    /// The texts of the blocks that are kept on a page of this type, of which the block model drops
    /// those of `dropped` and the rules drop none.
    fn kept(kind: PageType, html: &str, dropped: &[&str]) -> Vec<String> {
        let snapshot = orbweaver_sdk::dom::parse(html);
        let view = snapshot.view().expect("view");
        let info = measure(&view, false, 4).info;
        let root = view.body().expect("a body").id();
        let votes = Votes::default();
        let survey = Survey::of(
            &view,
            &info,
            root,
            &votes,
            Kind::Article,
            "https://example.org/",
        );
        let nodes = survey.blocks.list.iter().map(|block| block.node);
        let texts: Vec<String> = nodes
            .filter_map(|id| view.node(id))
            .map(orbweaver_sdk::text::line)
            .collect();
        let is_kept = |text: &String| !dropped.contains(&text.as_str());
        let mut keep: Vec<bool> = texts.iter().map(is_kept).collect();
        fill(&view, &info, &survey, &Types::only(kind), &mut keep);
        let pairs = texts.into_iter().zip(keep);
        pairs
            .filter(|(_, keep)| *keep)
            .map(|(text, _)| text)
            .collect()
    }

    const TEXT: &str = "<h2>One</h2><p>A first text.</p><h2>Two</h2><ol><li>Stop.<li>Wait for it.<li>Start.\
                        </ol><pre>run</pre><p>A second text.</p><h2>Others</h2><ul><li>Silk</ul>";

    #[test]
    fn parts_of_a_text_stay_where_the_text_around_them_does() {
        let text = |dropped: &[&str]| kept(PageType::Article, TEXT, dropped);
        let all = text(&[]);
        assert_eq!(text(&["Two"]), all);
        assert_eq!(text(&["Stop.", "Start."]), all);
        assert_eq!(text(&["run"]), all);
        let end = ["Others", "Silk"];
        assert_eq!(
            text(&end),
            all[..all.len() - 2],
            "nothing stays behind these"
        );
        assert_eq!(text(&["One"]), all[1..], "nothing stays before it");
    }

    #[test]
    fn entries_that_are_dropped_one_after_the_other_stay() {
        let html = "<p>A first text.</p><ol><li>Stop.<li>Wait.<li>Start it with the lever.<ul><li>Soft</ul><li>Look.<li>Go.</ol>\
                    <p>A second text.</p>";
        let text = |dropped: &[&str]| kept(PageType::Article, html, dropped);
        let all = text(&[]);
        assert_eq!(text(&["Stop.", "Wait."]), all);
        assert_eq!(text(&["Soft", "Look.", "Go."]), all);
    }

    #[test]
    fn code_stays_in_a_figure_and_a_caption_does_not() {
        let figure = |inner: &str| {
            let html = format!("<p>A first text.</p><figure>{inner}</figure><p>A second text.</p>");
            kept(PageType::Article, &html, &["run", "The caption"]).len()
        };
        assert_eq!(figure("<table><tr><td><pre>run</pre></table>"), 3);
        assert_eq!(
            figure("<img src=a.png><figcaption>The caption</figcaption>"),
            2
        );
    }

    #[test]
    fn code_and_tables_stay_at_the_end_of_a_text() {
        let text = |end: &str| {
            let html = format!("<div><p>A first text of some length.</p>{end}</div><p>Others</p>");
            let dropped = ["run", "Silk", "7", "Others"];
            kept(PageType::Article, &html, &dropped).len()
        };
        assert_eq!(text("<pre>run</pre>"), 2);
        assert_eq!(text("<table><tr><td>Silk<td>7</table>"), 3);
        assert_eq!(text("<dl><dt>Silk<dd>7<dt>Silk<dd>7</dl>"), 5);
        let group = "<div><dt>Silk<dd>7</div>";
        assert_eq!(text(&format!("<dl>{group}{group}</dl>")), 5);
        assert_eq!(text("<dl><dt>Silk<dd>7</dl>"), 1, "one is no list");
        let linked = "<dl><dt>Silk<dd><a href=/x>7</a><dt>Silk<dd>7</dl>";
        assert_eq!(text(linked), 1, "links to others");
        assert_eq!(text("<ul><li>Silk</ul>"), 1);
        let layout = "<table><tr><td><h3>Silk</h3><td>7</table>";
        assert_eq!(text(layout), 1, "it only lays out");
        assert_eq!(text("<pre>run</pre><p>Another text</p><p>7</p>"), 3);
    }

    #[test]
    fn lines_between_paragraphs_are_of_the_text_in_manuals() {
        let html = "<p>A first text.</p><div>put(key)</div><p>A second text.</p>";
        let all = ["A first text.", "put(key)", "A second text."];
        assert_eq!(kept(PageType::Documentation, html, &["put(key)"]), all);
        let article = kept(PageType::Article, html, &["put(key)"]);
        assert_eq!(article, ["A first text.", "A second text."]);
    }
}
