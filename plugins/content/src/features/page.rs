//! The features of a page as a whole.

use orbweaver_sdk::dom::tag;

use super::Source;
use super::layout::PAGE;
use super::scale::{log, share};
use super::sums::prose;
use crate::blocks::Block;
use crate::context::IN_MAIN;
use crate::kind::{Kind, Votes};
use crate::measure::{HIDE, get};

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
