//! What the block model reads of each block: one byte a feature, 0 to 127.
//!
//! The trainer reads the very same bytes, so that a model sees in a plugin what it saw when
//! it was trained.

use orbweaver_sdk::dom::{View, tag};

use crate::blocks::{Block, Blocks};
use crate::context::{Context, IN_MAIN, INSIDE, Repeats};
use crate::kind::{Kind, Votes};
use crate::measure::{DROP, HEADING, HIDE, Info, PICTURE, SKIP, get};
use crate::words::MARKS;

/// Features of a block by itself.
pub const OWN: [&str; 34] = [
    "chars",
    "words",
    "link_share",
    "links",
    "punct",
    "punct_share",
    "stop_share",
    "digit_share",
    "capital_share",
    "word_length",
    "title_share",
    "description_share",
    "head",
    "tail",
    "tag",
    "prices",
    "years",
    "copyright",
    "separators",
    "at",
    "phrase",
    "texts",
    "copies",
    "copy_before",
    "like",
    "like_chars",
    "like_link",
    "like_stop",
    "depth",
    "heading",
    "kept",
    "nodes",
    "hidden",
    "prose",
];
/// Features of [`OWN`] that a block also has of its neighbours, up to three away.
const SHARED: [usize; 11] = [0, 2, 5, 6, 14, 15, 20, 24, 29, 30, 32];
/// Neighbours by their distance.
const AROUND: [isize; 6] = [-3, -2, -1, 1, 2, 3];
/// Features of each of the three nearest elements around a block that hold more than it.
const BOX: [&str; 12] = [
    "chars",
    "link_share",
    "prose_share",
    "stop_share",
    "blocks",
    "kept_share",
    "like",
    "at",
    "tag",
    "hidden_share",
    "prices_share",
    "headings",
];
const BOXES: usize = 3;
/// Features of a block's place on the page.
const PLACE: [&str; 19] = [
    "index",
    "progress",
    "after_h1",
    "since_heading",
    "heading_level",
    "heading_phrase",
    "heading_chars",
    "since_kept",
    "until_kept",
    "near_chars",
    "near_link",
    "near_stop",
    "near_kept",
    "far_kept",
    "far_prose",
    "since_phrase",
    "last_phrase",
    "max_like",
    "h1_before",
];
/// Features of the page, the same for all of its blocks.
pub const PAGE: [&str; 34] = [
    "p_article",
    "p_forum",
    "p_product",
    "p_listing",
    "p_documentation",
    "p_kind",
    "p_chars",
    "p_blocks",
    "p_prose",
    "p_link",
    "p_stop",
    "p_kept",
    "p_kept_blocks",
    "p_headings",
    "p_h1",
    "p_prices",
    "p_years",
    "p_items",
    "p_tables",
    "p_forms",
    "p_pre",
    "p_articles",
    "p_main",
    "p_hidden",
    "p_max_like",
    "p_depth",
    "p_images",
    "p_url_depth",
    "p_url_words",
    "p_url_digits",
    "p_url_query",
    "p_long_blocks",
    "p_phrases",
    "p_titled",
];

/// The types of page, in the order of the page model's answers.
pub const TYPES: [&str; 7] = [
    "article",
    "collection",
    "documentation",
    "forum",
    "listing",
    "product",
    "service",
];

const FIRST_INSIDE: usize = OWN.len();
const FIRST_MARK: usize = FIRST_INSIDE + INSIDE.len();
const FIRST_SHARED: usize = FIRST_MARK + MARKS.len();
const FIRST_BOX: usize = FIRST_SHARED + SHARED.len() * AROUND.len();
const FIRST_PLACE: usize = FIRST_BOX + BOX.len() * BOXES;
const FIRST_PAGE: usize = FIRST_PLACE + PLACE.len();
/// Where the probabilities of the types of page begin.
pub const FIRST_TYPE: usize = FIRST_PAGE + PAGE.len();
/// Features of a block, in all.
pub const COUNT: usize = FIRST_TYPE + TYPES.len();

/// The features' names, in order.
pub fn names() -> Vec<String> {
    let own = OWN.iter().map(|s| (*s).to_owned());
    let inside = INSIDE.iter().map(|s| format!("in_{s}"));
    let marks = MARKS.iter().map(|(s, _)| format!("mark_{s}"));
    let shared = AROUND.iter().flat_map(|d| {
        SHARED
            .iter()
            .map(move |&i| format!("{}{d:+}", OWN.get(i).copied().unwrap_or("")))
    });
    let boxes = (1..=BOXES).flat_map(|n| BOX.iter().map(move |s| format!("box{n}_{s}")));
    let place = PLACE.iter().map(|s| (*s).to_owned());
    let page = PAGE.iter().map(|s| (*s).to_owned());
    let types = TYPES.iter().map(|s| format!("type_{s}"));
    own.chain(inside)
        .chain(marks)
        .chain(shared)
        .chain(boxes)
        .chain(place)
        .chain(page)
        .chain(types)
        .collect()
}

/// A number as its logarithm, in quarters of a doubling: exact where it matters, and never
/// above 127.
pub fn log(n: u32) -> u8 {
    let n = u64::from(n) + 1;
    let e = 63 - n.leading_zeros();
    let quarter = if e >= 2 {
        n >> (e - 2) & 3
    } else {
        n << (2 - e) & 3
    };
    (u64::from(e) * 4 + quarter).min(127) as u8
}

/// A share of a whole, 1 to 126; 0 where there is no whole.
pub fn share(part: u32, whole: u32) -> u8 {
    if whole == 0 {
        return 0;
    }
    (1 + u64::from(part) * 125 / u64::from(whole)).min(126) as u8
}

/// A distance forward or back: 64 is here.
fn distance(by: i64) -> u8 {
    let size = log(by.unsigned_abs().min(u64::from(u32::MAX)) as u32).min(60);
    if by < 0 { 64 - size } else { 64 + size }
}

/// Elements by what they are in a text, for the features `tag`.
fn tag_class(tag: u16) -> u8 {
    match tag {
        tag::P => 1,
        tag::DIV => 2,
        tag::LI => 3,
        tag::H1..=tag::H6 => 4,
        tag::TD => 5,
        tag::TH => 6,
        tag::DD => 7,
        tag::DT => 8,
        tag::PRE => 9,
        tag::BLOCKQUOTE => 10,
        tag::SECTION => 11,
        tag::ARTICLE => 12,
        tag::UL | tag::OL | tag::DL | tag::MENU => 13,
        tag::TABLE | tag::TBODY | tag::THEAD | tag::TFOOT | tag::TR => 14,
        tag::FIGCAPTION | tag::FIGURE | tag::CAPTION => 15,
        tag::ADDRESS => 16,
        tag::HEADER => 17,
        tag::FOOTER => 18,
        tag::ASIDE => 19,
        tag::NAV => 20,
        tag::MAIN => 21,
        tag::FORM | tag::FIELDSET | tag::LEGEND => 22,
        tag::SUMMARY | tag::DETAILS => 23,
        tag::SPAN | tag::A => 24,
        tag::BODY => 25,
        _ => 26,
    }
}

/// Sums over the blocks up to each, so that any run of them is two look-ups.
#[derive(Clone, Copy, Default)]
struct Sum {
    chars: u32,
    link: u32,
    halves: u32,
    stops: u32,
    prose: u32,
    kept: u32,
    hidden: u32,
    prices: u32,
    headings: u32,
}

impl Sum {
    fn less(self, other: Self) -> Self {
        Self {
            chars: self.chars - other.chars,
            link: self.link - other.link,
            halves: self.halves - other.halves,
            stops: self.stops - other.stops,
            prose: self.prose - other.prose,
            kept: self.kept - other.kept,
            hidden: self.hidden - other.hidden,
            prices: self.prices - other.prices,
            headings: self.headings - other.headings,
        }
    }
}

/// A distance where there is nothing to be distant from, in blocks.
const FAR: u32 = 10_000;

/// The features of all blocks, feature by feature: those of one feature stand together, for
/// every eighth block filled up with zeros.
pub struct Matrix {
    /// Blocks, rounded up to eight.
    pub stride: usize,
    /// The bytes, `stride` for each feature.
    pub data: Vec<u8>,
}

impl Matrix {
    /// The value of a block's feature.
    pub fn at(&self, feature: usize, block: usize) -> u8 {
        self.data
            .get(feature * self.stride + block)
            .copied()
            .unwrap_or(0)
    }

    fn set(&mut self, feature: usize, block: usize, value: u8) {
        if let Some(slot) = self.data.get_mut(feature * self.stride + block) {
            *slot = value;
        }
    }
}

/// What the features are made of.
pub struct Source<'a> {
    /// The page.
    pub view: &'a View<'a>,
    /// As the rules left it: what they drop has [`DROP`].
    pub info: &'a [Info],
    /// The subtree that the rules chose.
    pub root: u32,
    /// The page's blocks.
    pub blocks: &'a Blocks,
    /// The surroundings of each node.
    pub(crate) context: &'a [Context],
    /// How often each signature occurs.
    pub(crate) repeats: &'a Repeats,
}

/// By block, whether the rules keep it.
pub fn kept_by_rules(source: &Source<'_>) -> Vec<bool> {
    let mut kept = vec![false; source.blocks.list.len()];
    let Some(root) = source.view.node(source.root) else {
        return kept;
    };
    let mut id = source.root;
    while id < root.end() {
        let me = get(source.info, id);
        let Some(node) = source.view.node(id) else {
            break;
        };
        if me.state & (SKIP | DROP | PICTURE) != 0 {
            id = node.end();
            continue;
        }
        if node.is_text()
            && let Some(&block) = source.blocks.of.get(me.owner as usize)
            && block > 0
            && let Some(slot) = kept.get_mut(block as usize - 1)
        {
            *slot = true;
        }
        id += 1;
    }
    kept
}

/// Computes the features of every block. `page` is from [`page`], `types` the probabilities
/// of [`TYPES`] in parts of 127.
pub fn compute(
    source: &Source<'_>,
    kept: &[bool],
    page: &[u8; PAGE.len()],
    types: &[u8; TYPES.len()],
) -> Matrix {
    let list = &source.blocks.list;
    let count = list.len();
    let stride = count.div_ceil(8) * 8;
    let mut m = Matrix {
        stride,
        data: vec![0; stride * COUNT],
    };
    let is_heading = |b: &Block| get(source.info, b.node).state & HEADING != 0;
    let mut sums = Vec::with_capacity(count + 1);
    let mut sum = Sum::default();
    sums.push(sum);
    for (block, kept) in list.iter().zip(kept) {
        let me = get(source.info, block.node);
        sum.chars += block.chars;
        sum.link += block.link;
        sum.halves += block.halves;
        sum.stops += block.stops;
        sum.prose += prose(block);
        sum.kept += if *kept { block.chars } else { 0 };
        sum.hidden += if me.state & HIDE != 0 { block.chars } else { 0 };
        sum.prices += block.prices.min(4);
        sum.headings += u32::from(is_heading(block));
        sums.push(sum);
    }
    let between = |a: usize, b: usize| {
        let at = |i: usize| sums.get(i.min(count)).copied().unwrap_or_default();
        at(b).less(at(a))
    };
    let likes = Likes::of(source, list);
    let copies = copies(list);
    let mut before = Before {
        since_heading: FAR,
        level: 0,
        heading_phrase: 0,
        heading_chars: 0,
        since_kept: FAR,
        since_phrase: FAR,
        phrase: 0,
    };
    let until = until_kept(kept);
    let h1 = list
        .iter()
        .position(|b| get(source.info, b.node).tag == tag::H1);
    let all = sum.chars;
    for (i, block) in list.iter().enumerate() {
        let me = get(source.info, block.node);
        let ctx = source
            .context
            .get(block.node as usize)
            .copied()
            .unwrap_or_default();
        let kept_here = kept.get(i).copied().unwrap_or(false);
        let like = likes.at(ctx.like);
        let (same, same_before) = copies.get(i).copied().unwrap_or((0, false));
        let words = block.halves;
        let heading = if me.state & HEADING != 0 {
            (me.tag - tag::H1 + 1) as u8
        } else {
            0
        };
        let own: [u8; OWN.len()] = [
            log(block.chars),
            log(block.halves),
            share(block.link, block.chars),
            log(block.links),
            log(block.punct),
            share(block.punct * 16, words),
            share(block.stops * 2, words),
            share(block.digits, block.chars),
            share(block.capitals * 2, words),
            (block.chars * 16 / words.max(1)).min(127) as u8,
            share(block.titled * 2, words),
            share(block.described * 2, words),
            block.head,
            block.tail,
            tag_class(me.tag),
            block.prices.min(127) as u8,
            block.years.min(127) as u8,
            u8::from(block.copyright),
            block.separators.min(127) as u8,
            u8::from(block.at),
            block.phrase,
            log(block.texts),
            log(same),
            u8::from(same_before),
            log(source.repeats.count(ctx.like)),
            log(like.chars / like.blocks.max(1)),
            share(like.link, like.chars),
            share(like.stops * 2, like.halves),
            ctx.depth.min(127) as u8,
            heading,
            u8::from(kept_here),
            log(source.view.node(block.node).map_or(0, |n| n.end() - n.id())),
            u8::from(me.state & HIDE != 0),
            log(prose(block)),
        ];
        for (f, value) in own.into_iter().enumerate() {
            m.set(f, i, value);
        }
        for bit in 0..INSIDE.len() {
            m.set(FIRST_INSIDE + bit, i, (ctx.inside >> bit & 1) as u8);
        }
        for (k, (_, mark)) in MARKS.iter().enumerate() {
            let value = u8::from(me.above & mark != 0) + u8::from(ctx.near & mark != 0);
            m.set(FIRST_MARK + k, i, value);
        }
        boxes(source, &between, block, i, &mut m);
        let near = between(i.saturating_sub(5), i + 6);
        let far = between(i.saturating_sub(15), i + 16);
        let mut at = source.view.node(block.node);
        let mut max_like = 0;
        for _ in 0..12 {
            let Some(node) = at else { break };
            let ctx = source
                .context
                .get(node.id() as usize)
                .copied()
                .unwrap_or_default();
            max_like = max_like.max(source.repeats.count(ctx.like));
            at = node.parent();
        }
        let place: [u8; PLACE.len()] = [
            share(i as u32, count as u32),
            share(sums.get(i).map_or(0, |s| s.chars), all),
            h1.map_or(0, |h| distance(i as i64 - h as i64)),
            log(before.since_heading),
            before.level,
            before.heading_phrase,
            log(before.heading_chars),
            log(before.since_kept),
            log(until.get(i).copied().unwrap_or(0)),
            log(near.chars),
            share(near.link, near.chars),
            share(near.stops * 2, near.halves),
            share(near.kept, near.chars),
            share(far.kept, far.chars),
            share(far.prose, far.chars),
            log(before.since_phrase),
            before.phrase,
            log(max_like),
            u8::from(h1.is_some_and(|h| h < i)),
        ];
        before.pass(block, heading, kept_here);
        for (f, value) in place.into_iter().enumerate() {
            m.set(FIRST_PLACE + f, i, value);
        }
        for (f, value) in page.iter().chain(types).enumerate() {
            m.set(FIRST_PAGE + f, i, *value);
        }
    }
    for i in 0..count {
        for (d, by) in AROUND.iter().enumerate() {
            let Some(j) = i.checked_add_signed(*by).filter(|j| *j < count) else {
                continue;
            };
            for (k, &f) in SHARED.iter().enumerate() {
                let value = m.at(f, j);
                m.set(FIRST_SHARED + d * SHARED.len() + k, i, value);
            }
        }
    }
    m
}

/// How much of a block is running text, as the rules count it.
fn prose(block: &Block) -> u32 {
    let text = block.chars - block.link;
    if block.link * 2 > block.chars {
        0
    } else if text >= 60 && block.punct > 0 {
        text
    } else if text >= 30 && block.punct > 0 || text >= 100 {
        text / 2
    } else {
        text / 8
    }
}

/// Writes the features of the elements around a block.
fn boxes(
    source: &Source<'_>,
    between: &impl Fn(usize, usize) -> Sum,
    block: &Block,
    i: usize,
    m: &mut Matrix,
) {
    let mut inner = block.chars;
    let mut found = 0;
    let mut at = source.view.node(block.node);
    for _ in 0..24 {
        let Some(node) = at else { break };
        at = node.parent();
        let range = source.blocks.range(node.id(), node.end());
        let sum = between(range.start, range.end);
        if sum.chars <= inner {
            continue;
        }
        inner = sum.chars;
        let ctx = source
            .context
            .get(node.id() as usize)
            .copied()
            .unwrap_or_default();
        let before = between(range.start, i.max(range.start));
        let values: [u8; BOX.len()] = [
            log(sum.chars),
            share(sum.link, sum.chars),
            share(sum.prose, sum.chars),
            share(sum.stops * 2, sum.halves),
            log(range.len() as u32),
            share(sum.kept, sum.chars),
            log(source.repeats.count(ctx.like)),
            share(before.chars, sum.chars),
            tag_class(get(source.info, node.id()).tag),
            share(sum.hidden, sum.chars),
            share(sum.prices, range.len() as u32),
            share(sum.headings, range.len() as u32),
        ];
        for (f, value) in values.into_iter().enumerate() {
            m.set(FIRST_BOX + found * BOX.len() + f, i, value);
        }
        found += 1;
        if found == BOXES {
            break;
        }
    }
}

/// Sums over the blocks of one signature.
#[derive(Clone, Copy, Default)]
struct Like {
    blocks: u32,
    chars: u32,
    link: u32,
    halves: u32,
    stops: u32,
}

struct Likes(Vec<Like>);

impl Likes {
    fn of(source: &Source<'_>, list: &[Block]) -> Self {
        let mut sums = vec![Like::default(); source.repeats.slots()];
        for block in list {
            let like = source
                .context
                .get(block.node as usize)
                .map_or(0, |c| c.like);
            if let Some(sum) = sums.get_mut(like as usize) {
                sum.blocks += 1;
                sum.chars += block.chars;
                sum.link += block.link;
                sum.halves += block.halves;
                sum.stops += block.stops;
            }
        }
        Self(sums)
    }

    fn at(&self, like: u32) -> Like {
        self.0.get(like as usize).copied().unwrap_or_default()
    }
}

/// By block, how many others have the same text, and whether one stands before it.
fn copies(list: &[Block]) -> Vec<(u32, bool)> {
    let mut order: Vec<(u32, u32)> = list
        .iter()
        .enumerate()
        .map(|(i, b)| (b.hash ^ b.chars, i as u32))
        .collect();
    order.sort_unstable();
    let mut out = vec![(0, false); list.len()];
    for run in order.chunk_by(|a, b| a.0 == b.0) {
        for (k, (_, i)) in run.iter().enumerate() {
            if let Some(slot) = out.get_mut(*i as usize) {
                *slot = (run.len() as u32 - 1, k > 0);
            }
        }
    }
    out
}

/// By block, how many blocks on the next stands that the rules keep.
fn until_kept(kept: &[bool]) -> Vec<u32> {
    let mut out = vec![0; kept.len()];
    let mut far = FAR;
    for (slot, kept) in out.iter_mut().zip(kept).rev() {
        far = if *kept { 0 } else { far + 1 };
        *slot = far;
    }
    out
}

/// What has gone before a block.
struct Before {
    since_heading: u32,
    level: u8,
    heading_phrase: u8,
    heading_chars: u32,
    since_kept: u32,
    since_phrase: u32,
    phrase: u8,
}

impl Before {
    fn pass(&mut self, block: &Block, heading: u8, kept: bool) {
        self.since_heading += 1;
        self.since_kept += 1;
        self.since_phrase += 1;
        if heading > 0 {
            self.since_heading = 0;
            self.level = heading;
            self.heading_phrase = block.phrase;
            self.heading_chars = block.chars;
        }
        if kept {
            self.since_kept = 0;
        }
        if block.phrase > 0 {
            self.since_phrase = 0;
            self.phrase = block.phrase;
        }
    }
}

/// Points and the kind that the page's own words speak for.
pub struct Said<'a> {
    /// Points for each kind.
    pub votes: &'a Votes,
    /// The kind that the rules took the page for.
    pub kind: Kind,
}

/// Computes the features of the page.
pub fn page(source: &Source<'_>, kept: &[bool], said: &Said<'_>, url: &str) -> [u8; PAGE.len()] {
    let list = &source.blocks.list;
    let total = |f: &dyn Fn(&Block) -> u32| list.iter().map(f).sum::<u32>();
    let chars = total(&|b| b.chars);
    let kept_chars: u32 = list
        .iter()
        .zip(kept)
        .map(|(b, k)| if *k { b.chars } else { 0 })
        .sum();
    let hidden = total(&|b| {
        if get(source.info, b.node).state & HIDE != 0 {
            b.chars
        } else {
            0
        }
    });
    let mut tags = [0u32; 10];
    let mut depth = 0;
    for (me, ctx) in source.info.iter().zip(source.context) {
        let slot = match me.tag {
            tag::LI => 0,
            tag::TABLE => 1,
            tag::FORM => 2,
            tag::PRE => 3,
            tag::ARTICLE => 4,
            tag::IMG => 5,
            tag::H1 => 6,
            tag::H2..=tag::H6 => 7,
            _ => 9,
        };
        if let Some(count) = tags.get_mut(slot) {
            *count += 1;
        }
        depth = depth.max(ctx.depth);
    }
    let tags = |i: usize| log(tags.get(i).copied().unwrap_or(0));
    let in_main = source.context.iter().any(|c| c.inside & IN_MAIN != 0);
    let max_like = list
        .iter()
        .filter_map(|b| source.context.get(b.node as usize))
        .map(|c| source.repeats.count(c.like))
        .max()
        .unwrap_or(0);
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let path = rest.split_once('/').map_or("", |(_, path)| path);
    let path = path.split('#').next().unwrap_or("").trim_end_matches('/');
    let points = |n: i32| n.clamp(0, 100) as u8;
    let last = path.rsplit('/').next().unwrap_or("");
    [
        points(said.votes.article),
        points(said.votes.forum),
        points(said.votes.product),
        points(said.votes.listing),
        points(said.votes.documentation),
        said.kind as u8 + 1,
        log(chars),
        log(list.len() as u32),
        share(total(&prose), chars),
        share(total(&|b| b.link), chars),
        share(total(&|b| b.stops) * 2, total(&|b| b.halves)),
        share(kept_chars, chars),
        log(kept.iter().filter(|k| **k).count() as u32),
        tags(7),
        tags(6),
        log(total(&|b| b.prices)),
        log(total(&|b| b.years)),
        tags(0),
        tags(1),
        tags(2),
        tags(3),
        tags(4),
        u8::from(in_main),
        share(hidden, chars),
        log(max_like),
        depth.min(127) as u8,
        tags(5),
        path.split('/').filter(|s| !s.is_empty()).count().min(127) as u8,
        last.bytes()
            .filter(|b| matches!(b, b'-' | b'_'))
            .count()
            .min(127) as u8,
        path.bytes().filter(u8::is_ascii_digit).count().min(127) as u8,
        query.bytes().filter(|b| *b == b'=').count().min(127) as u8,
        log(list
            .iter()
            .filter(|b| b.chars > 240 && b.link * 2 < b.chars)
            .count() as u32),
        log(list.iter().filter(|b| b.phrase > 0).count() as u32),
        log(total(&|b| b.titled)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_feature_has_a_name() {
        let names = names();
        assert_eq!(names.len(), COUNT);
        let mut sorted = names.clone();
        sorted.sort();
        sorted.dedup();
        assert_eq!(sorted.len(), COUNT, "two features have one name");
    }

    #[test]
    fn numbers_fit_seven_bits_and_keep_their_order() {
        let mut last = 0;
        for n in [0, 1, 2, 3, 4, 5, 7, 9, 16, 100, 5_000, 1 << 30, u32::MAX] {
            assert!(log(n) >= last && log(n) < 128, "{n}");
            last = log(n);
            assert!(share(n, u32::MAX) < 128 && share(n, n) < 128, "{n}");
        }
        assert_eq!((share(3, 0), share(0, 9), share(9, 9)), (0, 1, 126));
        assert_eq!(distance(0), 64);
        assert!(distance(-5) < 64 && distance(5) > 64);
        assert!(distance(i64::MIN) < 64 && distance(i64::MAX) < 128);
    }
}
