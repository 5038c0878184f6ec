//! The content as plain text: one line a block.

use orbweaver_sdk::dom::{View, tag};
use orbweaver_sdk::text::stretches;

use crate::apart;
use crate::invisible;
use crate::math;
use crate::measure::{BLOCK, DROP, Info, PICTURE, SKIP, get};

/// Writes what is left of a subtree. Lines are separated by `\n`; runs of white space
/// are one space, in `pre` they stay.
pub fn render(view: &View<'_>, info: &[Info], root: u32) -> String {
    let Some(node) = view.node(root) else {
        return String::new();
    };
    let mut out = String::with_capacity(get(info, root).chars as usize + 64);
    let mut id = root;
    let mut owner = u32::MAX;
    // Preformatted text, and code, of which no two parts are apart: both end here.
    let (mut pre_end, mut code_end) = (0, 0);
    let mut gap = Gap::None;
    let mut tex = String::new();
    // Ends of custom elements, whose parts are apart on the screen.
    let mut apart: Vec<u32> = Vec::new();
    while id < node.end() {
        let Some(here) = view.node(id) else { break };
        while apart.pop_if(|end| *end <= id).is_some() {
            gap = gap.max(Gap::Space);
        }
        let me = get(info, id);
        if me.state & (SKIP | DROP | PICTURE) != 0 {
            gap = gap.max(if me.state & BLOCK != 0 {
                Gap::Line
            } else {
                Gap::None
            });
            id = here.end();
            continue;
        }
        if me.tag == tag::MATH {
            let around = if math::is_display(here) {
                Gap::Line
            } else {
                Gap::Space
            };
            tex.clear();
            math::push_tex(here, &mut tex);
            gap = gap.max(around);
            push(&mut out, math::bare(&tex), &mut gap, false);
            gap = gap.max(around);
            id = here.end();
            continue;
        }
        if here.is_text() {
            if me.owner != owner && !here.text().trim_ascii().is_empty() {
                owner = me.owner;
                gap = Gap::Line;
            }
            push(&mut out, here.text(), &mut gap, id < pre_end);
        } else if me.tag == tag::BR {
            gap = Gap::Line;
        } else if me.state & BLOCK != 0 {
            gap = Gap::Line;
            if matches!(me.tag, tag::PRE | tag::LISTING | tag::XMP) {
                pre_end = pre_end.max(here.end());
            }
        } else if me.tag == tag::UNKNOWN && here.is_element() && here.name().contains('-') {
            gap = gap.max(Gap::Space);
            apart.push(here.end());
        } else if me.tag == tag::CITE && apart::names_speaker(here) {
            apart.push(here.end());
        } else if gap == Gap::None
            && id >= pre_end.max(code_end)
            && (me.tag == tag::IMG || apart::are_apart(here))
        {
            // A picture stands between the words beside it.
            gap = Gap::Space;
        }
        if matches!(me.tag, tag::CODE | tag::KBD | tag::SAMP | tag::TT) {
            code_end = code_end.max(here.end());
        }
        id += 1;
    }
    out
}

/// White space owed before the next word.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Gap {
    None,
    Space,
    /// White space of the source with a line end, which between two Han characters means nothing.
    LineEnd,
    Line,
}

impl Gap {
    fn of(white: &str) -> Self {
        if white.is_empty() {
            Self::None
        } else if white.is_ascii() && white.contains('\n') {
            Self::LineEnd
        } else {
            Self::Space
        }
    }
}

fn push(out: &mut String, text: &str, gap: &mut Gap, pre: bool) {
    if pre {
        if *gap == Gap::Line && !out.is_empty() && !out.ends_with('\n') {
            out.push('\n');
        }
        out.push_str(&invisible::of_code(text));
        *gap = Gap::None;
        return;
    }
    let mut rest = text;
    for stretch in stretches(text) {
        let at = rest.len() - rest.trim_start().len();
        *gap = (*gap).max(Gap::of(rest.get(..at).unwrap_or("")));
        rest = rest.get(at + stretch.len()..).unwrap_or("");
        if !out.is_empty() {
            match gap {
                Gap::None => {}
                Gap::LineEnd if joins(out, stretch) => {}
                Gap::Space | Gap::LineEnd => out.push(' '),
                Gap::Line => out.push('\n'),
            }
        }
        out.push_str(&invisible::of_text(stretch));
        *gap = Gap::None;
    }
    *gap = (*gap).max(Gap::of(rest));
}

/// Whether text goes on behind a line end of the source without a space.
fn joins(out: &str, next: &str) -> bool {
    let is_han = |c: Option<char>| c.is_some_and(apart::is_han);
    is_han(next.chars().next()) && is_han(out.chars().next_back())
}

/// The characters that [`render`] would write, white space aside.
pub fn count(view: &View<'_>, info: &[Info], root: u32) -> u32 {
    let Some(node) = view.node(root) else {
        return 0;
    };
    let (mut sum, mut id) = (0, root);
    while id < node.end() {
        let Some(here) = view.node(id) else { break };
        let me = get(info, id);
        if me.state & (SKIP | DROP | PICTURE) != 0 {
            id = here.end();
            continue;
        }
        if here.is_text() {
            sum += me.chars;
        }
        id += 1;
    }
    sum
}
