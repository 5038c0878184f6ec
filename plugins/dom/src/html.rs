//! Elements as HTML source, after the HTML standard's fragment serialisation:
//! <https://html.spec.whatwg.org/multipage/parsing.html#serialising-html-fragments>.

use crate::text::ByteSet;
use crate::{Kind, Namespace, Node};

/// The HTML inside an element, as `innerHTML` writes it.
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
            Kind::Text => push_escaped(node.text(), Place::Text, out),
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
        push_escaped(attribute.value(), Place::Attribute, out);
        out.push('"');
    }
    out.push('>');
}

fn close(node: Node<'_>, out: &mut String) {
    out.push_str("</");
    out.push_str(node.name());
    out.push('>');
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Text,
    Attribute,
}

/// Appends a text with the characters escaped that the standard escapes at this place.
fn push_escaped(text: &str, place: Place, out: &mut String) {
    static STOPS: ByteSet = ByteSet::of(b"&<>\"");
    let mut rest = text;
    loop {
        let at = STOPS.first_in(rest.as_bytes());
        let (plain, tail) = rest.split_at_checked(at).unwrap_or((rest, ""));
        // The set is of ASCII, which the no-break space is not.
        let mut pieces = plain.split('\u{a0}');
        out.push_str(pieces.next().unwrap_or_default());
        for piece in pieces {
            out.push_str("&nbsp;");
            out.push_str(piece);
        }
        let mut chars = tail.chars();
        match chars.next() {
            None => return,
            Some('&') => out.push_str("&amp;"),
            Some('<') => out.push_str("&lt;"),
            Some('>') => out.push_str("&gt;"),
            Some('"') if place == Place::Attribute => out.push_str("&quot;"),
            Some(other) => out.push(other),
        }
        rest = chars.as_str();
    }
}

/// Whether the element is written without an end tag: the void elements, and those that the
/// standard treats as such only here.
fn is_void(node: Node<'_>) -> bool {
    node.namespace() == Namespace::Html
        && matches!(
            node.name(),
            "area"
                | "base"
                | "basefont"
                | "bgsound"
                | "br"
                | "col"
                | "embed"
                | "frame"
                | "hr"
                | "img"
                | "input"
                | "keygen"
                | "link"
                | "meta"
                | "param"
                | "source"
                | "track"
                | "wbr"
        )
}

/// Whether the texts inside are written as they are. The parser takes scripts as enabled, so the
/// contents of `noscript` are such a text, too.
fn is_raw(node: Node<'_>) -> bool {
    node.namespace() == Namespace::Html
        && matches!(
            node.name(),
            "style"
                | "script"
                | "xmp"
                | "iframe"
                | "noembed"
                | "noframes"
                | "noscript"
                | "plaintext"
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

    /// The inner HTML of a body with this source.
    #[expect(clippy::expect_used, reason = "a test fails by panicking")]
    fn body(html: &str) -> String {
        let snapshot = crate::parse(&format!("<body>{html}"));
        let view = snapshot.view().expect("a view");
        let body = view.elements().find(|e| e.name() == "body");
        inner(body.expect("a body"))
    }

    #[test]
    fn each_element_is_written_by_its_rule() {
        // Source, and what is written for it; `None`: the same.
        let table = [
            // Void elements.
            ("<area>x", None),
            ("<base>x", None),
            ("<basefont>x", None),
            ("<bgsound>x", None),
            ("<br>x", None),
            ("<embed>x", None),
            ("<hr>x", None),
            ("<img>x", None),
            ("<input>x", None),
            ("<keygen>x", None),
            ("<link>x", None),
            ("<meta>x", None),
            ("<param>x", None),
            ("<source>x", None),
            ("<track>x", None),
            ("<wbr>x", None),
            (
                "<table><colgroup><col></table>",
                Some("<table><colgroup><col></colgroup></table>"),
            ),
            // The contents are one text, written as it is.
            ("<style>a<b>&amp;</style>", None),
            ("<script>a<b>&amp;</script>", None),
            ("<xmp>a<b>&amp;</xmp>", None),
            ("<iframe>a<b>&amp;</iframe>", None),
            ("<noembed>a<b>&amp;</noembed>", None),
            ("<noframes>a<b>&amp;</noframes>", None),
            ("<noscript>a<b>&amp;</noscript>", None),
            (
                "<plaintext>a<b>&amp;",
                Some("<plaintext>a<b>&amp;</plaintext>"),
            ),
            // The same names in another namespace are elements as others.
            ("<svg><style>&lt;</style></svg>", None),
            ("<svg><source></source></svg>", None),
            // Texts whose source is parsed, but not for tags.
            (
                "<textarea>a<b>&amp;</textarea>",
                Some("<textarea>a&lt;b&gt;&amp;</textarea>"),
            ),
            // Special characters.
            ("<p>&amp; &lt; &gt; \" é ©&nbsp;</p>", None),
            (
                "<p title='&amp; &lt; > \" © \u{a0}'></p>",
                Some("<p title=\"&amp; &lt; &gt; &quot; © &nbsp;\"></p>"),
            ),
            ("<p>a<!-- b < & c -->d</p>", None),
        ];
        for (html, expected) in table {
            assert_eq!(body(html), expected.unwrap_or(html));
        }
        let snapshot = crate::parse("<frameset><frame></frameset>");
        let view = snapshot.view().expect("a view");
        assert_eq!(
            inner(view.root()),
            "<html><head></head><frameset><frame></frameset></html>"
        );
    }
}
