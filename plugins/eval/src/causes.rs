//! Counts blocks that were kept wrongly or lost, by the place where they stand.

use std::collections::{BTreeMap, BTreeSet};

use crate::blocks::Block;
use crate::data::TruePage;
use crate::metric::Overlap;
use crate::table::Table;

/// Rows of each table.
const ROWS: usize = 15;

/// A block's mistake, if it is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mistake {
    /// The answer has what the truth has not.
    KeptWrongly,
    /// The truth has what the answer has not.
    Lost,
}

impl Mistake {
    /// What is wrong with a block, if anything.
    pub fn in_block(block: &Block) -> Option<Self> {
        match (block.wanted, block.kept) {
            (false, true) => Some(Self::KeptWrongly),
            (true, false) => Some(Self::Lost),
            _ => None,
        }
    }
}

#[derive(Default)]
struct Sum {
    points: f64,
    words: usize,
    pages: BTreeSet<String>,
    sites: BTreeSet<String>,
}

/// Sums of mistakes over a set.
#[derive(Default)]
pub struct Causes {
    places: BTreeMap<(Mistake, String), Sum>,
    names: BTreeMap<(Mistake, String), Sum>,
    pages: usize,
}

impl Causes {
    /// Adds the mistakes of one page. A word's weight is what correcting it would add to the
    /// page's F1.
    pub fn add(&mut self, page: &TruePage, overlap: Overlap, blocks: &[Block]) {
        self.pages += 1;
        let weight = overlap.weight().max(1.0);
        for block in blocks {
            let Some(mistake) = Mistake::in_block(block) else {
                continue;
            };
            let a_word = match mistake {
                Mistake::KeptWrongly => overlap.f1() / weight,
                Mistake::Lost => (2.0 - overlap.f1()) / weight,
            };
            let count = |sums: &mut BTreeMap<(Mistake, String), Sum>, name: &str| {
                let sum = sums.entry((mistake, name.to_owned())).or_default();
                sum.points += a_word * block.words as f64;
                sum.words += block.words;
                sum.pages.insert(page.id.clone());
                sum.sites.insert(page.site.clone());
            };
            count(&mut self.places, &block.place);
            for name in &block.names {
                count(&mut self.names, name);
            }
        }
    }

    /// One table a mistake and a way of grouping, the costliest first. A class name is shown
    /// only where three sites use it.
    pub fn tables(&self) -> Vec<Table> {
        let mut tables = Vec::new();
        for (mistake, verb) in [
            (Mistake::KeptWrongly, "Kept wrongly"),
            (Mistake::Lost, "Lost"),
        ] {
            tables.push(self.table(&self.places, mistake, &format!("{verb}, by place"), 1));
            tables.push(self.table(&self.names, mistake, &format!("{verb}, by class or id"), 3));
        }
        tables
    }

    fn table(
        &self,
        sums: &BTreeMap<(Mistake, String), Sum>,
        mistake: Mistake,
        title: &str,
        min_sites: usize,
    ) -> Table {
        let mut rows: Vec<(&String, &Sum)> = sums
            .iter()
            .filter(|((kind, _), sum)| *kind == mistake && sum.sites.len() >= min_sites)
            .map(|((_, name), sum)| (name, sum))
            .collect();
        rows.sort_by(|a, b| b.1.points.total_cmp(&a.1.points));
        let mut table = Table::new(title, &["where", "F1 points", "words", "pages", "sites"]);
        for (name, sum) in rows.into_iter().take(ROWS) {
            table.row([
                name.clone(),
                format!("{:.4}", sum.points / self.pages.max(1) as f64),
                sum.words.to_string(),
                sum.pages.len().to_string(),
                sum.sites.len().to_string(),
            ]);
        }
        table
    }
}
