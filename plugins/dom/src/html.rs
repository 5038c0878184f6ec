//! Elements as HTML source.

use crate::text::push_escaped_html;
use crate::{Kind, Namespace, Node};

/// The HTML inside an element, as `innerHTML` writes it.
/// <https://html.spec.whatwg.org/multipage/parsing.html#serialising-html-fragments>
pub fn inner(root: Node<'_>) -> String {
    let mut out = String::new();
    push_inner(root, usize::MAX, &mut out);
    out
}

/// An element with the HTML inside it, as `outerHTML` writes it; `None` if it has more than `max`
/// bytes.
pub fn outer(root: Node<'_>, max: usize) -> Option<String> {
    let mut out = String::new();
    if root.is_element() {
        start_tag(root, &mut out);
        if !is_void(root) {
            push_inner(root, max, &mut out);
            close(root, &mut out);
        }
    }
    (out.len() <= max).then_some(out)
}

/// Stops after the node with which `out` has more than `max` bytes.
fn push_inner(root: Node<'_>, max: usize, out: &mut String) {
    let mut open: Vec<Node<'_>> = Vec::new();
    for node in root.descendants() {
        if out.len() > max {
            return;
        }
        while let Some(last) = open.pop_if(|last| last.end() <= node.id()) {
            close(last, out);
        }
        match node.kind() {
            Kind::Element => {
                start_tag(node, out);
                if !is_void(node) {
                    open.push(node);
                }
            }
            Kind::Text if node.parent().is_some_and(|parent| is_raw(parent)) => {
                out.push_str(node.text());
            }
            Kind::Text => push_escaped_html(node.text(), out),
            Kind::Comment => {
                out.push_str("<!--");
                out.push_str(node.text());
                out.push_str("-->");
            }
            Kind::Document | Kind::Doctype => {}
        }
    }
    while let Some(last) = open.pop() {
        close(last, out);
    }
}

fn start_tag(node: Node<'_>, out: &mut String) {
    out.push('<');
    out.push_str(node.name());
    for attribute in node.attrs() {
        out.push(' ');
        out.push_str(attribute.name());
        out.push_str("=\"");
        push_escaped_html(attribute.value(), out);
        out.push('"');
    }
    out.push('>');
}

fn close(node: Node<'_>, out: &mut String) {
    out.push_str("</");
    out.push_str(node.name());
    out.push('>');
}

fn is_void(node: Node<'_>) -> bool {
    node.namespace() == Namespace::Html
        && matches!(
            node.name(),
            "area"
                | "base"
                | "br"
                | "col"
                | "embed"
                | "hr"
                | "img"
                | "input"
                | "link"
                | "meta"
                | "param"
                | "source"
                | "track"
                | "wbr"
        )
}

/// Whether the texts inside are written as they are.
fn is_raw(node: Node<'_>) -> bool {
    node.namespace() == Namespace::Html
        && matches!(
            node.name(),
            "style" | "script" | "xmp" | "iframe" | "noembed" | "noframes" | "plaintext"
        )
}

#[cfg(all(test, feature = "write"))]
mod tests {
    use super::*;

    #[test]
    fn an_element_is_written_as_browsers_write_it() {
        let html =
            "<div id=a title='x \"&amp;'>1 &lt; 2<br><!-- c --><script>a < b</script><p>x</div>y";
        let snapshot = crate::parse(html);
        let view = snapshot.view().expect("a view");
        let div = view.elements().find(|e| e.name() == "div").expect("a div");
        let expected = "<div id=\"a\" title=\"x &quot;&amp;\">1 &lt; 2<br><!-- c -->\
                        <script>a < b</script><p>x</p></div>";
        assert_eq!(outer(div, 1_000).as_deref(), Some(expected));
        assert_eq!(outer(div, expected.len()).as_deref(), Some(expected));
        assert_eq!(outer(div, expected.len() - 1), None);
        assert_eq!(
            format!("<div id=\"a\" title=\"x &quot;&amp;\">{}</div>", inner(div)),
            expected
        );
    }
}
