//! Formulas: their TeX where the page carries it, else a plain rendering of the MathML.

use orbweaver_sdk::dom::{Node, attr, tag};

use crate::walk::Walker;
use crate::writer::Mode;

impl<'a> Walker<'a> {
    /// `<math>`: `$TeX$`, or `$$TeX$$` for one that stands for itself.
    pub(crate) fn math(&mut self, node: Node<'a>) -> u32 {
        let mut tex = std::mem::take(&mut self.scratch);
        tex.clear();
        let annotation = node.descendants().find(|n| {
            n.tag() == tag::ANNOTATION
                && n.attr(attr::ENCODING)
                    .is_some_and(|e| e.to_ascii_lowercase().contains("tex"))
        });
        match (annotation, node.attr_named("alttext")) {
            (Some(annotation), _) => annotation.push_text_content(&mut tex),
            (None, Some(text)) if !text.trim().is_empty() => tex.push_str(text),
            _ => self.linear(node, &mut tex),
        }
        let in_display = |n: &Node<'_>| {
            n.attr(attr::CLASS)
                .is_some_and(|c| c.contains("katex-display"))
        };
        let display = node.attr_named("display") == Some("block")
            || node.attr_named("mode") == Some("display")
            || node.ancestors().take(4).any(|n| in_display(&n));
        self.formula(&tex, display);
        self.scratch = tex;
        self.pass(node)
    }

    /// `<script type="math/tex">`, MathJax's way to carry a formula. Other scripts are
    /// nothing to read.
    pub(crate) fn script(&mut self, node: Node<'a>) -> u32 {
        let kind = node.attr(attr::TYPE).unwrap_or("");
        if kind.starts_with("math/tex")
            && let Some(source) = node.first_child()
        {
            self.formula(source.text(), kind.contains("mode=display"));
        }
        self.pass(node)
    }

    fn formula(&mut self, tex: &str, display: bool) {
        let tex = tex.trim();
        // Wikipedia's and others' wrappers only say how large the formula is drawn.
        let bare = tex
            .strip_prefix("{\\displaystyle ")
            .and_then(|t| t.strip_suffix('}'));
        let tex = bare.unwrap_or(tex).trim();
        if tex.is_empty() {
            return;
        }
        let own_block = display && self.w.mode == Mode::Flow;
        if own_block {
            self.w.block();
        }
        let aside = self.w.set_code_aside();
        self.w.ready('$');
        let sign = if own_block { "$$" } else { "$" };
        self.w.out.push_str(sign);
        for (index, word) in tex.split_whitespace().enumerate() {
            if index > 0 {
                self.w.out.push(' ');
            }
            for c in word.chars() {
                if c == '|' && self.w.mode == Mode::Cell {
                    self.w.out.push('\\');
                }
                self.w.out.push(c);
            }
        }
        self.w.out.push_str(sign);
        self.w.resume_code(aside);
        if own_block {
            self.w.block();
        }
    }

    /// MathML without TeX, written as TeX would have its structure.
    fn linear(&mut self, node: Node<'a>, out: &mut String) {
        // An element whose children are operands: where it ends, its tag, operands begun.
        let mut open: Vec<(u32, u16, u32)> = Vec::new();
        let mut id = node.id() + 1;
        while id < node.end() {
            while open.last().is_some_and(|&(end, _, _)| end <= id) {
                open.pop();
                out.push('}');
            }
            let Some(below) = self.view.node(id) else {
                return;
            };
            id += 1;
            if below.is_text() {
                let text = below.text().trim();
                if text.starts_with(|c: char| c.is_alphanumeric())
                    && out.ends_with(|c: char| c.is_alphanumeric())
                {
                    out.push(' ');
                }
                out.push_str(text);
                continue;
            }
            if !below.is_element() {
                continue;
            }
            // Only direct children of a structure are its operands.
            if let Some((_, tag, count)) = open.last_mut()
                && below.parent().is_some_and(|p| is_structure(p.tag()))
            {
                if *count > 0 {
                    out.push_str(joint(*tag, *count));
                }
                *count += 1;
            }
            if below.tag() == tag::ANNOTATION || below.tag() == tag::ANNOTATION_XML {
                id = below.end();
            } else if is_structure(below.tag()) {
                out.push_str(match below.tag() {
                    tag::MFRAC => "\\frac{",
                    tag::MSQRT => "\\sqrt{",
                    _ => "{",
                });
                open.push((below.end(), below.tag(), 0));
            }
        }
        for _ in open {
            out.push('}');
        }
    }
}

fn is_structure(tag: u16) -> bool {
    matches!(
        tag,
        tag::MFRAC
            | tag::MSQRT
            | tag::MROOT
            | tag::MSUB
            | tag::MSUP
            | tag::MSUBSUP
            | tag::MUNDER
            | tag::MOVER
            | tag::MUNDEROVER
    )
}

/// What stands between two operands of a structure.
fn joint(tag: u16, index: u32) -> &'static str {
    match (tag, index) {
        (tag::MFRAC, _) => "}{",
        (tag::MSQRT, _) => "",
        (tag::MROOT, _) => "}^{1/",
        (tag::MSUB | tag::MUNDER, _) | (tag::MSUBSUP | tag::MUNDEROVER, 1) => "}_{",
        _ => "}^{",
    }
}
