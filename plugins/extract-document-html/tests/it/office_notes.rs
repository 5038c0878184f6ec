//! Footnotes and endnotes of DOCX and ODT.

use super::convert;
use super::office::{body, docx, docx_with, odt};

const MARKED: &str = r#"<w:p><w:r><w:t>One</w:t></w:r><w:r><w:footnoteReference w:id="3"/></w:r><w:r><w:t>, two</w:t></w:r><w:r><w:endnoteReference w:id="1"/></w:r><w:hyperlink r:id="rId1"><w:r><w:t>, three</w:t></w:r><w:r><w:footnoteReference w:id="2"/></w:r></w:hyperlink></w:p>"#;

const FOOTNOTES: (&str, &str) = (
    "word/footnotes.xml",
    r#"<w:footnotes><w:footnote w:type="separator" w:id="-1"><w:p><w:r><w:separator/><w:t>line</w:t></w:r></w:p></w:footnote>
    <w:footnote w:id="2"><w:p><w:r><w:footnoteRef/></w:r><w:hyperlink r:id="rId1"><w:r><w:t>Second</w:t></w:r></w:hyperlink></w:p></w:footnote>
    <w:footnote w:id="3"><w:p><w:r><w:t>First</w:t></w:r><w:r><w:footnoteReference w:id="2"/></w:r></w:p><w:p><w:r><w:t>More</w:t></w:r></w:p></w:footnote>
    <w:footnote w:id="4"><w:p><w:r><w:t>Nobody refers to it</w:t></w:r></w:p></w:footnote></w:footnotes>"#,
);
const ENDNOTES: (&str, &str) = (
    "word/endnotes.xml",
    r#"<w:endnotes><w:endnote w:id="1"><w:p><w:r><w:t>End</w:t></w:r></w:p></w:endnote></w:endnotes>"#,
);
const LINKS: (&str, &str) = (
    "word/_rels/footnotes.xml.rels",
    r#"<Relationships><Relationship Id="rId1" TargetMode="External" Target="https://n.org/"/></Relationships>"#,
);

#[test]
fn notes_of_a_docx_follow_the_text() {
    let file = docx_with(MARKED, &[FOOTNOTES, ENDNOTES, LINKS]);
    let (_, notice) = convert(&file).expect("a DOCX");
    assert_eq!(notice, "converted from a DOCX document");
    assert_eq!(
        body(&file),
        "<p>One<sup><a href=\"#note-1\">1</a></sup>, two<sup><a href=\"#note-2\">2</a></sup>\
         <a href=\"https://e.org/?a=1&amp;b\">, three<sup>3</sup></a></p>\n\
         <section role=\"doc-endnotes\">\n<ol>\n\
         <li id=\"note-1\"><p>First</p>\n<p>More</p>\n</li>\n\
         <li id=\"note-2\"><p>End</p>\n</li>\n\
         <li id=\"note-3\"><p><a href=\"https://n.org/\">Second</a></p>\n</li>\n\
         </ol>\n</section>\n"
    );
}

#[test]
fn notes_of_a_docx_that_are_missing_are_named() {
    for parts in [vec![], vec![FOOTNOTES], vec![ENDNOTES]] {
        let (html, notice) = convert(&docx_with(MARKED, &parts)).expect("a DOCX");
        assert!(
            notice.ends_with("some of its notes cannot be read"),
            "{notice}"
        );
        assert!(html.contains("One"), "{html}");
    }
    let (html, _) = convert(&docx_with(MARKED, &[ENDNOTES])).expect("a DOCX");
    assert!(
        html.contains("<li id=\"note-2\" value=\"2\"><p>End</p>"),
        "{html}"
    );
    let (html, notice) = convert(&docx("<w:p><w:r><w:t>none</w:t></w:r></w:p>")).expect("a DOCX");
    assert_eq!(notice, "converted from a DOCX document");
    assert!(!html.contains("doc-endnotes"), "{html}");
}

#[test]
fn notes_of_an_odt_follow_the_text() {
    let text = r#"<text:list><text:list-item><text:p>One<text:note text:note-class="footnote"><text:note-citation>1</text:note-citation><text:note-body><text:p>First</text:p><text:p>More<text:note><text:note-body><text:p>within</text:p></text:note-body></text:note></text:p></text:note-body></text:note> ends</text:p></text:list-item></text:list><text:p>Two<text:note><text:note-body><text:p>Second</text:p></text:note-body></text:note></text:p>"#;
    assert_eq!(
        body(&odt(text)),
        "<ul>\n<li>One<sup><a href=\"#note-1\">1</a></sup> ends</li>\n</ul>\n\
         <p>Two<sup><a href=\"#note-2\">2</a></sup></p>\n\
         <section role=\"doc-endnotes\">\n<ol>\n\
         <li id=\"note-1\"><p>First</p>\n<p>More</p>\n</li>\n\
         <li id=\"note-2\"><p>Second</p>\n</li>\n\
         </ol>\n</section>\n"
    );
}

#[test]
fn notes_have_the_limit_of_the_document() {
    // Many marks of one note, and a note that is there many times.
    let mark = r#"<w:footnoteReference w:id="2"/>"#;
    let marks = format!("<w:p>{}</w:p>", mark.repeat(1_000));
    let long = "x".repeat(1 << 20);
    let note =
        format!(r#"<w:footnote w:id="2"><w:p><w:r><w:t>{long}</w:t></w:r></w:p></w:footnote>"#);
    let file = docx_with(&marks, &[("word/footnotes.xml", &note.repeat(3))]);
    let html = body(&file);
    assert!(html.len() < 2 << 20, "{}", html.len());
    // Notes and text share the limit.
    let mut text = String::new();
    let mut notes = String::new();
    for id in 0..12 {
        text.push_str(&format!(
            r#"<w:p><w:r><w:t>a</w:t><w:footnoteReference w:id="{id}"/></w:r></w:p>"#
        ));
        notes.push_str(&note.replace(r#"w:id="2""#, &format!(r#"w:id="{id}""#)));
    }
    let (html, notice) =
        convert(&docx_with(&text, &[("word/footnotes.xml", &notes)])).expect("a DOCX");
    assert!(html.len() < 10 << 20, "{}", html.len());
    assert!(notice.contains("8 MiB"), "{notice}");
    let notes = r#"<text:note><text:note-body>"#;
    let deep = format!("<text:p>{}", format!("{notes}<text:p>x").repeat(300));
    assert!(body(&odt(&deep)).len() < 1 << 20);
}
