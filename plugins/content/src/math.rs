//! Formulas as TeX: what the page carries, else a plain rendering of its MathML.

use orbweaver_sdk::dom::{Node, attr, tag};

/// Appends the TeX of a `<math>` element.
pub fn push_tex(node: Node<'_>, out: &mut String) {
    let annotation = node.descendants().find(|n| {
        n.tag() == tag::ANNOTATION
            && n.attr(attr::ENCODING)
                .is_some_and(|e| e.to_ascii_lowercase().contains("tex"))
    });
    match (annotation, node.attr_named("alttext")) {
        (Some(annotation), _) => annotation.push_text_content(out),
        (None, Some(text)) if !text.trim().is_empty() => out.push_str(text),
        _ => linear(node, out),
    }
}

/// TeX without what only says how large the formula is drawn, as the wrappers of Wikipedia and
/// others do.
pub fn bare(tex: &str) -> &str {
    let tex = tex.trim();
    let bare = tex
        .strip_prefix("{\\displaystyle ")
        .and_then(|t| t.strip_suffix('}'));
    bare.unwrap_or(tex).trim()
}

/// Whether a `<math>` element is a formula that stands for itself.
pub fn is_display(node: Node<'_>) -> bool {
    let in_display = |n: &Node<'_>| {
        n.attr(attr::CLASS)
            .is_some_and(|c| c.contains("katex-display"))
    };
    node.attr_named("display") == Some("block")
        || node.attr_named("mode") == Some("display")
        || node.ancestors().take(4).any(|n| in_display(&n))
}

/// MathML without TeX, written as TeX would have its structure.
fn linear(node: Node<'_>, out: &mut String) {
    // An element whose children are operands: where it ends, its tag, operands begun.
    let mut open: Vec<(u32, u16, u32)> = Vec::new();
    let mut id = node.id() + 1;
    while id < node.end() {
        while open.last().is_some_and(|&(end, _, _)| end <= id) {
            open.pop();
            out.push('}');
        }
        let Some(below) = node.view().node(id) else {
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
