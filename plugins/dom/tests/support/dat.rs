//! Test cases in the format of html5lib's tree-construction tests:
//! <https://github.com/html5lib/html5lib-tests/blob/master/tree-construction/README.md>.

use orbweaver_dom::{Kind, Namespace, Node, View};

/// One case.
#[derive(Debug)]
pub struct Case {
    pub html: String,
    /// The tree, as [`dump`] writes it.
    pub tree: String,
    /// Parsed as the contents of an element, not as a document.
    pub is_fragment: bool,
    /// Only holds if scripts do not run.
    pub is_script_off: bool,
}

/// The cases of a file.
pub fn cases(file: &str) -> Vec<Case> {
    let file = file.replace("\r\n", "\n");
    let file = file.strip_prefix("#data\n").unwrap_or(&file);
    let mut cases = Vec::new();
    for case in file.split("\n\n#data\n") {
        let Some((html, rest)) = case.split_once("#errors\n") else {
            continue;
        };
        let Some((marks, tree)) = rest
            .split_once("#document\n")
            .map_or_else(|| rest.split_once("#document"), Some)
        else {
            continue;
        };
        let marks: Vec<_> = marks.lines().collect();
        cases.push(Case {
            html: html.strip_suffix('\n').unwrap_or(html).to_owned(),
            tree: without_doctype_ids(tree.trim_end_matches('\n')),
            is_fragment: marks.contains(&"#document-fragment"),
            is_script_off: marks.contains(&"#script-off"),
        });
    }
    cases
}

/// A snapshot keeps a doctype's name only.
fn without_doctype_ids(tree: &str) -> String {
    let line = |line: &str| match line.strip_prefix("| <!DOCTYPE ") {
        Some(doctype) => {
            let name = doctype.split(['>', '"']).next().unwrap_or("").trim_end();
            format!("| <!DOCTYPE {name}>")
        }
        None => line.to_owned(),
    };
    tree.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// The tree in the cases' notation, without a line end at the end.
pub fn dump(view: &View<'_>) -> String {
    let mut indents = vec![0_usize; view.len() as usize];
    let mut lines = Vec::new();
    for node in view.nodes().skip(1) {
        let indent = node.parent().map_or(0, |p| indents[p.id() as usize]);
        lines.push(format!("| {:indent$}{}", "", name(node)));
        let mut attrs: Vec<_> = node.attrs().map(|a| (attr_name(&a), a.value())).collect();
        attrs.sort();
        for (name, value) in attrs {
            lines.push(format!("|   {:indent$}{name}=\"{value}\"", ""));
        }
        indents[node.id() as usize] = indent + 2;
        if node.name() == "template" && node.namespace() == Namespace::Html {
            lines.push(format!("|   {:indent$}content", ""));
            indents[node.id() as usize] += 2;
        }
    }
    lines.join("\n")
}

fn name(node: Node<'_>) -> String {
    match node.kind() {
        Kind::Element => match node.namespace() {
            Namespace::Svg => format!("<svg {}>", node.name()),
            Namespace::MathMl => format!("<math {}>", node.name()),
            _ => format!("<{}>", node.name()),
        },
        Kind::Text => format!("\"{}\"", node.text()),
        Kind::Comment => format!("<!-- {} -->", node.text()),
        Kind::Doctype => format!("<!DOCTYPE {}>", node.text()),
        Kind::Document => String::new(),
    }
}

fn attr_name(attr: &orbweaver_dom::Attr<'_>) -> String {
    match attr.namespace() {
        Namespace::Html => attr.name().to_owned(),
        _ => attr.name().replacen(':', " ", 1),
    }
}
