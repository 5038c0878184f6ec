//! The inner HTML of an element, after the HTML standard's fragment serialisation.

use orbweaver_sdk::dom::{Kind, Node, tag};

/// The element's children as HTML.
pub fn inner(element: Node<'_>) -> String {
    let mut out = String::new();
    // Elements that are open, innermost last.
    let mut open: Vec<Node<'_>> = Vec::new();
    for node in element.descendants() {
        while let Some(last) = open.last().filter(|last| last.end() <= node.id()) {
            close(*last, &mut out);
            open.pop();
        }
        match node.kind() {
            Kind::Element => {
                begin(node, &mut out);
                if !is_void(node.tag()) {
                    open.push(node);
                }
            }
            Kind::Text => {
                let raw = node.parent().is_some_and(|p| {
                    matches!(
                        p.tag(),
                        tag::SCRIPT
                            | tag::STYLE
                            | tag::XMP
                            | tag::IFRAME
                            | tag::NOEMBED
                            | tag::NOFRAMES
                    )
                });
                if raw {
                    out.push_str(node.text());
                } else {
                    escape(node.text(), false, &mut out);
                }
            }
            Kind::Document | Kind::Comment | Kind::Doctype => {}
        }
    }
    while let Some(last) = open.pop() {
        close(last, &mut out);
    }
    let end = out.trim_ascii_end().len();
    out.truncate(end);
    out.drain(..out.len() - out.trim_ascii_start().len());
    out
}

fn begin(node: Node<'_>, out: &mut String) {
    out.push('<');
    out.push_str(node.name());
    for attribute in node.attrs() {
        out.push(' ');
        out.push_str(attribute.name());
        out.push_str("=\"");
        escape(attribute.value(), true, out);
        out.push('"');
    }
    out.push('>');
}

fn close(node: Node<'_>, out: &mut String) {
    out.push_str("</");
    out.push_str(node.name());
    out.push('>');
}

fn is_void(tag: u16) -> bool {
    matches!(
        tag,
        tag::AREA
            | tag::BASE
            | tag::BR
            | tag::COL
            | tag::EMBED
            | tag::HR
            | tag::IMG
            | tag::INPUT
            | tag::LINK
            | tag::META
            | tag::SOURCE
            | tag::TRACK
            | tag::WBR
    )
}

/// Appends text with its special characters escaped; plain stretches are copied at once.
fn escape(text: &str, attribute: bool, out: &mut String) {
    let bytes = text.as_bytes();
    let (mut from, mut at) = (0, 0);
    while let Some(&byte) = bytes.get(at) {
        let (entity, width) = match byte {
            b'&' => ("&amp;", 1),
            b'"' if attribute => ("&quot;", 1),
            b'<' if !attribute => ("&lt;", 1),
            b'>' if !attribute => ("&gt;", 1),
            0xc2 if bytes.get(at + 1) == Some(&0xa0) => ("&nbsp;", 2),
            _ => {
                at += 1;
                continue;
            }
        };
        out.push_str(text.get(from..at).unwrap_or(""));
        out.push_str(entity);
        at += width;
        from = at;
    }
    out.push_str(text.get(from..).unwrap_or(""));
}
