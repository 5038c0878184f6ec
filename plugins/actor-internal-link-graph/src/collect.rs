//! Reads a run from the host in batches.

use orbweaver_sdk::urls::{KeyRules, Resolved, key_of};
use orbweaver_sdk::{Error, crawl_data};

use crate::MAX_PAGES;
use crate::anchors::Anchors;
use crate::graph::Graph;

/// Pages per request for rows or links.
const PAGE_BATCH: u32 = 10_000;
const LINK_BATCH: u32 = 1_000;

/// A run's pages and links. Nodes are numbered in the order of their pages' ids.
#[derive(Default)]
pub struct Collected {
    /// URLs by node.
    pub urls: Vec<String>,
    /// The node of the seed, where it is known.
    pub seed: Option<u32>,
    /// Source nodes of followed links; a pair of nodes may occur more than once.
    pub from: Vec<u32>,
    /// Target nodes of followed links.
    pub to: Vec<u32>,
    /// Text numbers of followed links, for `anchors`.
    pub anchor: Vec<u32>,
    /// Sources and targets of nofollow links: they pass no rank, but make their targets
    /// reachable.
    pub nofollow: (Vec<u32>, Vec<u32>),
    /// The anchor texts.
    pub anchors: Anchors,
}

/// Reads a finished run.
pub fn collect(id: i64) -> Result<Collected, Error> {
    let run = crawl_data::run(id)?;
    if run.page_count > MAX_PAGES as u64 {
        return Err(Error::invalid(format!(
            "crawl_id: run {id} has {} pages, at most {MAX_PAGES} can be measured",
            run.page_count
        )));
    }
    let mut collected = Collected::default();
    let mut ids = Vec::new();
    let mut after = 0;
    loop {
        let rows = crawl_data::pages(id, after, PAGE_BATCH)?;
        let Some(last) = rows.last().map(|row| row.id).filter(|last| *last > after) else {
            break;
        };
        after = last;
        for row in rows {
            ids.push(row.id);
            collected.urls.push(row.url);
        }
        if ids.len() > MAX_PAGES {
            return Err(Error::invalid(format!(
                "crawl_id: run {id} has more than {MAX_PAGES} pages"
            )));
        }
    }
    collected.seed = seed(&run.url, &collected.urls);
    links(id, &ids, &mut collected)?;
    Ok(collected)
}

/// The page with the seed's URL; if it has none because of a redirect or a sitemap, the page that
/// was stored first.
fn seed(url: &str, urls: &[String]) -> Option<u32> {
    let key = |url: &str| Resolved::parse(url).map(|url| key_of(&url, KeyRules::default()));
    let wanted = key(url);
    let found = urls
        .iter()
        .position(|url| wanted.is_some() && key(url) == wanted);
    found
        .or_else(|| (!urls.is_empty()).then_some(0))
        .map(|node| node as u32)
}

fn links(id: i64, ids: &[i64], collected: &mut Collected) -> Result<(), Error> {
    // Ids of a run's pages are mostly consecutive.
    let first = ids.first().copied().unwrap_or(0);
    let node = |page: i64| {
        let at = page.wrapping_sub(first) as usize;
        let found = match ids.get(at) {
            Some(id) if *id == page => Some(at),
            _ => ids.binary_search(&page).ok(),
        };
        found.map(|node| node as u32)
    };
    let mut after = 0;
    loop {
        let batch = crawl_data::links(id, after, LINK_BATCH)?;
        let numbers: Vec<u32> = batch
            .anchors
            .iter()
            .map(|text| collected.anchors.number(text))
            .collect();
        let columns = batch
            .from_page
            .iter()
            .zip(&batch.to_page)
            .zip(&batch.anchor)
            .zip(&batch.nofollow);
        for (((from, to), anchor), nofollow) in columns {
            if from == to || *to < 0 {
                continue;
            }
            let (Some(from), Some(to)) = (node(*from), node(*to)) else {
                continue;
            };
            if *nofollow {
                collected.nofollow.0.push(from);
                collected.nofollow.1.push(to);
                continue;
            }
            collected.from.push(from);
            collected.to.push(to);
            collected
                .anchor
                .push(numbers.get(*anchor as usize).copied().unwrap_or(0));
        }
        match batch.next {
            Some(next) if next > after => after = next,
            _ => return Ok(()),
        }
    }
}

impl Collected {
    /// The graph of all links, including nofollow ones.
    pub fn walkable(&self) -> Graph {
        let with = |own: &[u32], more: &[u32]| [own, more].concat();
        Graph::new(
            self.urls.len(),
            &with(&self.from, &self.nofollow.0),
            &with(&self.to, &self.nofollow.1),
        )
    }

    /// The texts of the links to each of these nodes with their counts: most frequent first, then
    /// in alphabetical order, at most `most` for each.
    pub fn anchor_counts(&self, targets: &[u32], most: usize) -> Vec<Vec<(String, u64)>> {
        let mut place = vec![u32::MAX; self.urls.len()];
        for (at, target) in targets.iter().enumerate() {
            if let Some(slot) = place.get_mut(*target as usize) {
                *slot = at as u32;
            }
        }
        let mut found: Vec<Vec<u32>> = vec![Vec::new(); targets.len()];
        for (to, anchor) in self.to.iter().zip(&self.anchor) {
            let at = place.get(*to as usize).copied().unwrap_or(u32::MAX);
            if let Some(list) = found.get_mut(at as usize) {
                list.push(*anchor);
            }
        }
        let counted = found.into_iter().map(|mut list| {
            list.sort_unstable();
            let mut counts: Vec<(&str, u64)> = list
                .chunk_by(|a, b| a == b)
                .map(|same| {
                    (
                        self.anchors.get(same.first().copied().unwrap_or(0)),
                        same.len() as u64,
                    )
                })
                .collect();
            counts.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
            let top = counts.into_iter().take(most);
            top.map(|(text, count)| (text.to_owned(), count)).collect()
        });
        counted.collect()
    }
}
