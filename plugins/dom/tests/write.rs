//! What the writer makes of a page.
#![cfg(feature = "write")]
#![expect(clippy::expect_used, reason = "a test may panic")]

use orbweaver_dom::{Limits, Namespace, Node, Snapshot, parse, parse_with, tag};

/// The tree as nested parentheses, text in quotes.
fn outline(snapshot: &Snapshot) -> String {
    fn name(node: Node<'_>, out: &mut String) {
        if node.is_element() {
            out.push_str(node.name());
            for attr in node.attrs() {
                out.push_str(&format!(" {}={}", attr.name(), attr.value()));
            }
        } else {
            out.push_str(&format!("{:?}", node.text()));
        }
    }
    let view = snapshot.view().expect("a snapshot");
    let mut out = String::new();
    let mut open: Vec<u32> = Vec::new();
    for node in view.nodes().skip(1) {
        while open.last().is_some_and(|end| *end <= node.id()) {
            out.push(')');
            open.pop();
        }
        if !out.is_empty() && !out.ends_with('(') {
            out.push(' ');
        }
        name(node, &mut out);
        if node.first_child().is_some() {
            out.push('(');
            open.push(node.end());
        }
    }
    out.extend(open.iter().map(|_| ')'));
    out
}

#[test]
fn a_page_becomes_its_tree() {
    let page =
        "<!doctype html><title>T</title><p class=a id='b'>x<b>y</b>z<!--c--><my-el data-x=1>";
    assert_eq!(
        outline(&parse(page)),
        r#""html" html(head(title("T")) body(p class=a id=b("x" b("y") "z" "c" my-el data-x=1)))"#
    );
}

#[test]
fn text_moved_out_of_a_table_is_one_node() {
    assert_eq!(
        outline(&parse("<table>a<tr><td>1</td>b</tr>c</table>d")),
        r#"html(head body("abc" table(tbody(tr(td("1")))) "d"))"#
    );
}

#[test]
fn misnested_formatting_is_adopted() {
    assert_eq!(
        outline(&parse("<b class=k>1<p>2</b>3</p>")),
        r#"html(head body(b class=k("1") p(b class=k("2") "3")))"#
    );
}

#[test]
fn template_contents_are_its_children() {
    assert_eq!(
        outline(&parse("<template><tr><td>x</template>y")),
        r#"html(head(template(tr(td("x")))) body("y"))"#
    );
}

#[test]
fn repeated_html_tags_add_only_missing_attributes() {
    assert_eq!(
        outline(&parse(
            "<html lang=en data-a=1><html lang=de data-a=2 data-b=3 id=x>"
        )),
        "html lang=en data-a=1 data-b=3 id=x(head body)"
    );
}

#[test]
fn foreign_content_has_its_namespace() {
    let snapshot = parse("<svg viewbox='0 0 1 1'><a xlink:href=#u><title>t</title></a></svg><a>");
    let view = snapshot.view().expect("a snapshot");
    let svg: Vec<_> = view
        .nodes()
        .filter(|n| n.is_element() && n.namespace() == Namespace::Svg)
        .map(|n| (n.name(), n.attrs().map(|a| a.name()).collect::<Vec<_>>()))
        .collect();
    assert_eq!(
        svg,
        [
            ("svg", vec!["viewBox"]),
            ("a", vec!["xlink:href"]),
            ("title", vec![])
        ]
    );
}

#[test]
fn deep_elements_are_flattened_and_keep_their_text() {
    let limits = Limits {
        max_depth: 5,
        ..Limits::default()
    };
    // html, body, 3 = the third level of divs.
    let page = "<div>1<div>2<div>3<div>4<div>5</div>6</div>7</div>8</div>9</div>";
    let snapshot = parse_with(page, &limits);
    assert!(snapshot.view().expect("a snapshot").truncated());
    assert_eq!(
        outline(&snapshot),
        r#"html(head body(div("1" div("2" div("3") div("4") div("5") "6" "7" "8") "9")))"#
    );
}

#[test]
fn nodes_beyond_the_limit_are_left_out() {
    let limits = Limits {
        max_nodes: 7,
        ..Limits::default()
    };
    let snapshot = parse_with("<p>1<p>2<p>3<p>4", &limits);
    let view = snapshot.view().expect("a snapshot");
    assert!(view.truncated());
    assert_eq!(view.len(), 7);
    assert_eq!(outline(&snapshot), r#"html(head body(p("1") p))"#);
}

#[test]
fn a_page_that_is_left_unread_is_truncated_whatever_was_taken_out_of_its_tree() {
    let limits = Limits {
        max_nodes: 5,
        ..Limits::default()
    };
    // The frameset takes the body's place, which makes room for one frame, but the page is full.
    let snapshot = parse_with("<b><frameset><frame><frame>", &limits);
    assert!(snapshot.view().expect("a snapshot").truncated());
    let snapshot = parse_with("<b><frameset>", &limits);
    assert_eq!(outline(&snapshot), "html(head frameset)");
    assert!(!snapshot.view().expect("a snapshot").truncated());
}

#[test]
fn a_declarative_shadow_root_is_there_once_and_hides_nothing() {
    let snapshot = parse("<div><template shadowrootmode=open><p>x</template>");
    assert_eq!(
        outline(&snapshot),
        r#"html(head body(div(template shadowrootmode=open(p("x")))))"#
    );
    assert_eq!(snapshot.text, "templateshadowrootmodeopenx");
    for (mode, is_template, shown) in [
        ("shadowrootmode=Closed", false, "x"),
        ("shadowrootmode=none", true, ""),
        ("", true, ""),
    ] {
        let html = &format!("<p><template {mode}><b>x</b></template>");
        let snapshot = parse(html);
        let view = snapshot.view().expect("a snapshot");
        let found = view.elements().find(|e| e.name() == "template");
        let found = found.expect("a template");
        assert_eq!(found.tag() == tag::TEMPLATE, is_template, "{html}");
        let body = view.body().expect("a body");
        assert_eq!(orbweaver_dom::text::line(body), shown, "{html}");
    }
}

#[test]
fn links_between_nodes_agree() {
    let snapshot = parse("<ul><li>1<li>2<b>x</b></ul><table><tr><td>a<td>b</table>t<br>");
    let view = snapshot.view().expect("a snapshot");
    assert_eq!(view.body().map(|b| b.tag()), Some(tag::BODY));
    for node in view.nodes() {
        let children: Vec<_> = node.children().collect();
        for pair in children.windows(2) {
            assert_eq!(pair[0].next_sibling(), Some(pair[1]));
            assert_eq!(pair[1].prev_sibling(), Some(pair[0]));
            assert_eq!(pair[0].end(), pair[1].id());
        }
        for child in &children {
            assert_eq!(child.parent(), Some(node));
        }
        assert_eq!(
            children.last().map_or(node.id() + 1, |c| c.end()),
            node.end()
        );
    }
}
