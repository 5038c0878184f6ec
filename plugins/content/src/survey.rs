//! The blocks of a page with what the models read of them.

use orbweaver_sdk::dom::View;

use crate::blocks::{Blocks, Topic};
use crate::context::{self, Context, Repeats};
use crate::features::{self, Matrix, PAGE, Said, Source, TYPES};
use crate::kind::{Kind, Votes};
use crate::measure::Info;
use crate::select;

/// The blocks of a page and their surroundings.
pub struct Survey {
    /// The blocks.
    pub blocks: Blocks,
    context: Vec<Context>,
    repeats: Repeats,
    /// By block, whether the rules keep it.
    pub kept: Vec<bool>,
    /// What the models read of the page as a whole.
    pub page: [u8; PAGE.len()],
}

impl Survey {
    /// Surveys a page as the rules left it. `root` is the subtree that they chose.
    pub fn of(
        view: &View<'_>,
        info: &[Info],
        root: u32,
        votes: &Votes,
        kind: Kind,
        url: &str,
    ) -> Self {
        let blocks = Blocks::of(view, info, &Topic::of(view));
        let (context, repeats) = context::read(view, info);
        let mut survey = Self {
            blocks,
            context,
            repeats,
            kept: Vec::new(),
            page: [0; PAGE.len()],
        };
        let source = survey.source(view, info, root);
        let kept = select::kept(view, info, root, source.blocks);
        let said = Said { votes, kind };
        let page = features::page(&source, &kept, &said, url);
        survey.kept = kept;
        survey.page = page;
        survey
    }

    fn source<'a>(&'a self, view: &'a View<'a>, info: &'a [Info], root: u32) -> Source<'a> {
        Source {
            view,
            info,
            root,
            blocks: &self.blocks,
            context: &self.context,
            repeats: &self.repeats,
        }
    }

    /// The deepest element's level.
    pub fn depth(&self) -> u16 {
        self.context.iter().map(|c| c.depth).max().unwrap_or(0)
    }

    /// The number of different texts among the blocks.
    pub fn texts(&self) -> usize {
        let mut hashes: Vec<u32> = self.blocks.list.iter().map(|b| b.hash).collect();
        hashes.sort_unstable();
        hashes.dedup();
        hashes.len()
    }

    /// The features of every block. `types` are the page's probabilities of each of
    /// [`TYPES`], in parts of 127.
    pub fn matrix(
        &self,
        view: &View<'_>,
        info: &[Info],
        root: u32,
        types: &[u8; TYPES.len()],
    ) -> Matrix {
        features::compute(
            &self.source(view, info, root),
            &self.kept,
            &self.page,
            types,
        )
    }
}
