//! Which part of a page is converted.

use std::ops::Range;

use orbweaver_content::Selection;
use orbweaver_content::measure::{DROP, PICTURE, SKIP, get};
use orbweaver_sdk::dom::{View, tag};

/// The nodes to convert: those of `part` without the subtrees of `skips`.
pub(crate) struct Plan {
    /// A range of node ids, of whole subtrees.
    pub part: Range<u32>,
    /// Roots of subtrees to leave out, ascending.
    pub skips: Vec<u32>,
    /// What of the page no reader sees.
    pub hidden: Hidden,
}

/// What is done with hidden content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hidden {
    /// It is left out.
    Omit,
    /// It is wanted, since there is no other.
    Show,
    /// The skips say it.
    Planned,
}

impl Plan {
    /// The whole document.
    pub fn of_whole(view: &View<'_>) -> Self {
        Self {
            part: 0..view.len(),
            skips: Vec::new(),
            hidden: Hidden::Omit,
        }
    }

    /// The whole document, with what it hides.
    pub fn of_everything(view: &View<'_>) -> Self {
        Self {
            hidden: Hidden::Show,
            ..Self::of_whole(view)
        }
    }

    /// The main content. Of pictures with captions only the pictures: captions are no part of
    /// the content's text.
    pub fn of_content(view: &View<'_>, content: &Selection) -> Self {
        let mut plan = Self {
            part: 0..0,
            skips: Vec::new(),
            hidden: Hidden::Planned,
        };
        let Some(root) = view.node(content.root) else {
            return plan;
        };
        // A cell or an item without its table or list is a box.
        let inner = matches!(root.tag(), tag::TD | tag::TH | tag::LI | tag::DD | tag::TR);
        plan.part = root.id() + u32::from(inner)..root.end();
        let mut caption_end = 0;
        let mut id = plan.part.start;
        while let Some(node) = view.node(id).filter(|n| n.id() < root.end()) {
            let me = get(&content.info, id);
            // Their words are not in the text; the writer knows what else to make of them.
            let silent = matches!(me.tag, tag::INPUT | tag::NOSCRIPT) && me.state & DROP == 0;
            if me.state & PICTURE != 0 {
                caption_end = caption_end.max(node.end());
            }
            if silent {
                id = node.end();
            } else if me.state & (SKIP | DROP) != 0 || node.is_text() && id < caption_end {
                plan.skips.push(id);
                id = node.end();
            } else {
                id += 1;
            }
        }
        plan
    }
}
