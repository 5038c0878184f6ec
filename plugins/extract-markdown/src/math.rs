//! Formulas, between the signs that readers of Markdown know them by.

use orbweaver_content::math;
use orbweaver_sdk::dom::{Node, attr};

use crate::walk::Walker;
use crate::writer::Mode;

impl<'a> Walker<'a> {
    /// `<math>`: `$TeX$`, or `$$TeX$$` for one that stands for itself.
    pub(crate) fn math(&mut self, node: Node<'a>) -> u32 {
        let mut tex = std::mem::take(&mut self.scratch);
        tex.clear();
        math::push_tex(node, &mut tex);
        let display = math::is_display(node);
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
        let tex = math::bare(tex);
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
}
