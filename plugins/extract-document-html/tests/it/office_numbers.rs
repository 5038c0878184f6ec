//! The numbers of list items in DOCX.

use super::office::{body, docx, docx_with, item, item_of, paragraph};

/// Two lists that count together, the second from 5 on; one of its own; one from 3 on, whose second
/// level does not begin again.
const NUMBERING: (&str, &str) = (
    "word/numbering.xml",
    r#"<w:numbering>
    <w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="decimal"/></w:lvl>
      <w:lvl w:ilvl="1"><w:start w:val="1"/><w:numFmt w:val="lowerLetter"/></w:lvl></w:abstractNum>
    <w:abstractNum w:abstractNumId="1"><w:lvl w:ilvl="0"><w:start w:val="3"/><w:numFmt w:val="decimal"/></w:lvl>
      <w:lvl w:ilvl="1"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:lvlRestart w:val="0"/></w:lvl></w:abstractNum>
    <w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>
    <w:num w:numId="2"><w:abstractNumId w:val="0"/><w:lvlOverride w:ilvl="0"><w:startOverride w:val="5"/></w:lvlOverride></w:num>
    <w:num w:numId="3"><w:abstractNumId w:val="1"/></w:num>
    <w:num w:numId="4"><w:abstractNumId w:val="0"/><w:lvlOverride w:ilvl="0"><w:startOverride w:val="1"/></w:lvlOverride></w:num>
    <w:num w:numId="5"><w:abstractNumId w:val="0"/><w:lvlOverride w:ilvl="0"><w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/></w:lvl></w:lvlOverride></w:num>
    </w:numbering>"#,
);

fn numbered(parts: &[&str]) -> String {
    body(&docx_with(&parts.concat(), &[NUMBERING]))
}

#[test]
fn items_of_a_docx_are_counted_over_what_is_between_them() {
    let one = |text| item_of(1, 0, text);
    assert_eq!(
        numbered(&[
            &one("a"),
            &one("b"),
            &paragraph("between"),
            &one("c"),
            &one("d")
        ]),
        "<ol>\n<li>a</li>\n<li>b</li>\n</ol>\n<p>between</p>\n<ol start=\"3\">\n<li>c</li>\n<li>d</li>\n</ol>\n"
    );
    // An item without text has its number; one that was deleted has none.
    let gone = r#"<w:p><w:pPr><w:numPr><w:numId w:val="1"/></w:numPr><w:rPr><w:del/></w:rPr></w:pPr><w:del><w:r><w:delText>x</w:delText></w:r></w:del></w:p>"#;
    assert_eq!(
        numbered(&[&one("a"), &one(""), &one("c"), gone, &one("d")]),
        "<ol>\n<li>a</li>\n<li value=\"3\">c</li>\n<li>d</li>\n</ol>\n"
    );
}

#[test]
fn lists_of_a_docx_begin_where_they_say() {
    let two = |list, text| item_of(list, 0, text);
    assert_eq!(
        numbered(&[&two(3, "a"), &two(3, "b")]),
        "<ol start=\"3\">\n<li>a</li>\n<li>b</li>\n</ol>\n"
    );
    // Lists with something in common count together, unless one says where it begins.
    assert_eq!(
        numbered(&[
            &two(1, "a"),
            &two(2, "b"),
            &two(2, "c"),
            &two(1, "d"),
            &two(4, "e")
        ]),
        "<ol>\n<li>a</li>\n<li value=\"5\">b</li>\n<li>c</li>\n<li>d</li>\n</ol>\n<ol>\n<li>e</li>\n</ol>\n"
    );
    assert_eq!(numbered(&[&two(5, "a")]), "<ul>\n<li>a</li>\n</ul>\n");
    assert_eq!(numbered(&[&two(9, "a")]), "<ul>\n<li>a</li>\n</ul>\n");
}

#[test]
fn inner_lists_of_a_docx_begin_again_unless_they_say_otherwise() {
    for (list, starts) in [
        (1, ["<ol>", "<ol>"]),
        (3, ["<ol start=\"3\">", "<ol start=\"3\">"]),
    ] {
        let html = numbered(&[
            &item_of(list, 0, "a"),
            &item_of(list, 1, "b"),
            &item_of(list, 1, "c"),
            &item_of(list, 0, "d"),
            &item_of(list, 1, "e"),
        ]);
        let [outer, inner] = starts;
        let expected = format!(
            "{outer}\n<li>a</li>\n<ol>\n<li>b</li>\n<li>c</li>\n</ol>\n<li>d</li>\n{inner}\n<li>e</li>\n</ol>\n</ol>\n"
        );
        assert_eq!(html, expected);
    }
}

#[test]
fn headings_of_a_docx_are_counted_with_their_list() {
    let heading = r#"<w:p><w:pPr><w:pStyle w:val="H2"/><w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr></w:pPr><w:r><w:t>Head</w:t></w:r></w:p>"#;
    let inner = item_of(1, 1, "x");
    let html = numbered(&[&inner, heading, &inner]);
    assert_eq!(html.matches("start").count(), 0, "{html}");
}

#[test]
fn numbers_of_a_docx_are_bounded() {
    let html = body(&docx(
        &[item(255, "far"), item_of(u32::MAX, 0, "none")].concat(),
    ));
    assert!(html.contains("far") && html.contains("none"), "{html}");
    let numbering = NUMBERING
        .1
        .replace(r#"w:start w:val="3""#, r#"w:start w:val="4294967295""#);
    let items = [item_of(3, 0, "a"), item_of(3, 0, "b")].concat();
    let html = body(&docx_with(&items, &[("word/numbering.xml", &numbering)]));
    assert!(
        html.contains("<li>a</li>") && html.contains("b</li>"),
        "{html}"
    );
}
