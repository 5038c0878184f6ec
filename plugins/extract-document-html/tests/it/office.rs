//! DOCX and ODT.

use std::io::Write as _;

use rawzip::ZipArchiveWriter;

use super::{convert, refusal};

fn archive(parts: &[(&str, &str)]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut archive = ZipArchiveWriter::new(&mut out);
    for (name, text) in parts {
        let (mut entry, config) = archive.new_file(name).start().expect("a file");
        let mut writer = config.wrap(&mut entry);
        writer.write_all(text.as_bytes()).expect("its text");
        let (_, descriptor) = writer.finish().expect("its end");
        entry.finish(descriptor).expect("its entry");
    }
    archive.finish().expect("an archive");
    out
}

const TYPES: (&str, &str) = ("[Content_Types].xml", "<Types/>");

pub(super) fn docx(body: &str) -> Vec<u8> {
    docx_with(body, &[])
}

/// A DOCX with further parts, before those that every one has: the first of a name counts.
pub(super) fn docx_with(body: &str, parts: &[(&str, &str)]) -> Vec<u8> {
    let document = format!("<w:document><w:body>{body}</w:body></w:document>");
    let parts = [
        parts,
        &[
            TYPES,
            (
                "_rels/.rels",
                r#"<Relationships><Relationship Id="r" Type="http://x/officeDocument" Target="word/document.xml"/></Relationships>"#,
            ),
            ("word/document.xml", &document),
            (
                "word/styles.xml",
                r#"<w:styles><w:style w:styleId="H2"><w:name w:val="heading 2"/></w:style>
               <w:style w:styleId="Own"><w:name w:val="Own"/><w:basedOn w:val="H2"/></w:style></w:styles>"#,
            ),
            (
                "word/numbering.xml",
                r#"<w:numbering><w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:numFmt w:val="decimal"/></w:lvl>
               <w:lvl w:ilvl="1"><w:numFmt w:val="bullet"/></w:lvl></w:abstractNum>
               <w:num w:numId="7"><w:abstractNumId w:val="0"/></w:num></w:numbering>"#,
            ),
            (
                "word/_rels/document.xml.rels",
                r#"<Relationships><Relationship Id="rId1" TargetMode="External" Target="https://e.org/?a=1&amp;b"/></Relationships>"#,
            ),
            (
                "docProps/core.xml",
                "<cp:coreProperties><dc:title>The T</dc:title><dc:creator>Eve</dc:creator>\
             <dcterms:created>2024-01-01T00:00:00Z</dcterms:created></cp:coreProperties>",
            ),
        ],
    ];
    archive(&parts.concat())
}

pub(super) fn odt(text: &str) -> Vec<u8> {
    let content = format!(
        "<office:document-content><office:body><office:text>{text}</office:text></office:body></office:document-content>"
    );
    archive(&[("content.xml", &content)])
}

/// The body of the HTML.
pub(super) fn body(file: &[u8]) -> String {
    let (html, _) = convert(file).expect("a document");
    let (_, body) = html.split_once("<body>\n").expect("a body");
    body.replace("</body></html>\n", "")
}

pub(super) fn paragraph(text: &str) -> String {
    format!("<w:p><w:r><w:t>{text}</w:t></w:r></w:p>")
}

pub(super) fn item(level: u8, text: &str) -> String {
    item_of(7, level, text)
}

pub(super) fn item_of(list: u32, level: u8, text: &str) -> String {
    format!(
        r#"<w:p><w:pPr><w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{list}"/></w:numPr></w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"#
    )
}

/// A cell of a DOCX with its properties.
pub(super) fn cell(properties: &str, text: &str) -> String {
    let paragraph = paragraph(text);
    format!("<w:tc><w:tcPr>{properties}</w:tcPr>{paragraph}</w:tc>")
}

#[test]
fn hidden_text_of_a_docx_is_left_out() {
    let run = |properties: &str, text: &str| {
        format!("<w:r><w:rPr>{properties}</w:rPr><w:t>{text}</w:t></w:r>")
    };
    let runs = [
        run("<w:vanish/>", "Draft"),
        run("<w:b/>", "Final"),
        run(r#"<w:vanish w:val="0"/>"#, " text"),
    ];
    // The end of the paragraph alone is hidden.
    let end = "<w:pPr><w:rPr><w:vanish/></w:rPr></w:pPr>";
    let html = body(&docx(&format!("<w:p>{end}{}</w:p>", runs.concat())));
    assert_eq!(html, "<p>Final text</p>\n");
}

/// Without them a number is another one.
#[test]
fn raised_and_lowered_text_of_a_docx_is_so() {
    let run = |at: &str, text: &str| {
        format!(r#"<w:r><w:rPr><w:vertAlign w:val="{at}"/></w:rPr><w:t>{text}</w:t></w:r>"#)
    };
    let plain = |text: &str| format!("<w:r><w:t>{text}</w:t></w:r>");
    let runs = [
        plain("10"),
        run("superscript", "3"),
        run("superscript", "4"),
        plain(" H"),
        run("subscript", "2"),
        run("baseline", "O"),
    ];
    // That of the paragraph's end says nothing of the text.
    let end = r#"<w:pPr><w:rPr><w:vertAlign w:val="superscript"/></w:rPr></w:pPr>"#;
    assert_eq!(
        body(&docx(&format!("<w:p>{end}{}</w:p>", runs.concat()))),
        "<p>10<sup>34</sup> H<sub>2</sub>O</p>\n"
    );
    let link = format!(
        r#"<w:p><w:hyperlink r:id="rId1">{}</w:hyperlink>{}</w:p>"#,
        run("superscript", "a"),
        run("superscript", "b")
    );
    assert_eq!(
        body(&docx(&link)),
        "<p><a href=\"https://e.org/?a=1&amp;b\"><sup>a</sup></a><sup>b</sup></p>\n"
    );
}

/// Word cuts the instruction of a field wherever it was edited.
#[test]
fn a_field_of_a_docx_is_a_link_however_it_is_cut() {
    let mark = |kind: &str| format!(r#"<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>"#);
    let piece = |text: &str| format!("<w:r><w:instrText>{text}</w:instrText></w:r>");
    for pieces in [
        vec![r#" HYPERLINK "https://e.org/a" "#],
        vec![" HYPER", "LINK ", r#""https://e"#, r#".org/a" \o "T""#],
    ] {
        let pieces: String = pieces.into_iter().map(piece).collect();
        let parts = [
            mark("begin"),
            pieces,
            mark("separate"),
            "<w:r><w:t>a</w:t></w:r>".to_owned(),
            mark("end"),
            "<w:r><w:t>b</w:t></w:r>".to_owned(),
        ];
        assert_eq!(
            body(&docx(&format!("<w:p>{}</w:p>", parts.concat()))),
            "<p><a href=\"https://e.org/a\">a</a>b</p>\n"
        );
    }
}

/// Where programs write them: named styles in a part of their own.
const ODT_STYLES: (&str, &str) = (
    "styles.xml",
    r#"<office:document-styles><office:styles><text:list-style style:name="N">
    <text:list-level-style-number text:level="1" style:num-format="1"/>
    <text:list-level-style-bullet text:level="2"/>
    <text:list-level-style-number text:level="3" style:num-format=""/></text:list-style>
    <style:style style:name="Up" style:family="text"><style:text-properties style:text-position="33% 58%"/></style:style>
    <style:style style:name="Down" style:family="text"><style:text-properties style:text-position="sub 58%"/></style:style>
    <style:style style:name="Gone" style:family="text"><style:text-properties text:display="none"/></style:style>
    </office:styles></office:document-styles>"#,
);

fn styled_odt(text: &str) -> String {
    let content = format!(
        "<office:document-content><office:body><office:text>{text}</office:text></office:body></office:document-content>"
    );
    body(&archive(&[ODT_STYLES, ("content.xml", &content)]))
}

#[test]
fn lists_of_an_odt_are_numbered_as_its_styles_say() {
    let item = |text: &str| format!("<text:list-item><text:p>{text}</text:p></text:list-item>");
    let list = |attributes: &str, items: &[String]| {
        let items = items.concat();
        format!(r#"<text:list text:style-name="N"{attributes}>{items}</text:list>"#)
    };
    assert_eq!(
        styled_odt(&list("", &[item("a"), item("b")])),
        "<ol>\n<li>a</li>\n<li>b</li>\n</ol>\n"
    );
    // A list within an item has the style of the one around it, at its own level.
    let inner = format!(
        "<text:list-item><text:p>a</text:p><text:list>{}</text:list></text:list-item>",
        item("b")
    );
    assert_eq!(
        styled_odt(&list("", &[inner, item("c")])),
        "<ol>\n<li>a</li>\n<ul>\n<li>b</li>\n</ul>\n<li>c</li>\n</ol>\n"
    );
    // A second paragraph is none of the items, which are counted over it.
    let two = "<text:list-item><text:p>a</text:p><text:p>more</text:p></text:list-item>".to_owned();
    assert_eq!(
        styled_odt(&list("", &[two, item("b")])),
        "<ol>\n<li>a</li>\n</ol>\n<p>more</p>\n<ol start=\"2\">\n<li>b</li>\n</ol>\n"
    );
    // Lists go on with others, or begin where they say.
    let first = list(r#" xml:id="l1""#, &[item("a"), item("b")]);
    let on = list(r#" text:continue-list="l1""#, &[item("c")]);
    let numbering = list(r#" text:continue-numbering="true""#, &[item("d")]);
    let five = list(
        "",
        &[item("e").replacen("item>", r#"item text:start-value="5">"#, 1)],
    );
    assert_eq!(
        styled_odt(&format!(
            "{first}<text:p>x</text:p>{on}<text:p>y</text:p>{numbering}<text:p>z</text:p>{five}"
        )),
        "<ol>\n<li>a</li>\n<li>b</li>\n</ol>\n<p>x</p>\n<ol start=\"3\">\n<li>c</li>\n</ol>\n<p>y</p>\n\
         <ol start=\"4\">\n<li>d</li>\n</ol>\n<p>z</p>\n<ol start=\"5\">\n<li>e</li>\n</ol>\n"
    );
}

#[test]
fn parts_of_text_of_an_odt_are_raised_lowered_or_hidden() {
    let span = |style: &str, text: &str| {
        format!(r#"<text:span text:style-name="{style}">{text}</text:span>"#)
    };
    let text = format!(
        "<text:p>10{} H{}O{} {}</text:p>",
        span("Up", "3"),
        span("Down", &span("None", "2")),
        span("Gone", "draft<text:line-break/>"),
        span("None", "end")
    );
    assert_eq!(
        styled_odt(&text),
        "<p>10<sup>3</sup> H<sub>2</sub>O end</p>\n"
    );
}

#[test]
fn a_docx_keeps_headings_lists_tables_and_links() {
    let body = [
        r#"<w:p><w:pPr><w:pStyle w:val="Own"/></w:pPr><w:r><w:t>A </w:t></w:r><w:r><w:t>heading</w:t></w:r></w:p>"#,
        r#"<w:p><w:r><w:t>See </w:t></w:r><w:hyperlink r:id="rId1"><w:r><w:t>this &amp; that</w:t></w:r></w:hyperlink><w:r><w:delText>gone</w:delText></w:r></w:p>"#,
        &item(0, "one"),
        &item(1, "inner"),
        &item(0, "two"),
        "<w:tbl><w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>b</w:t></w:r></w:p></w:tc></w:tr></w:tbl>",
        "<w:p><w:r><mc:AlternateContent><mc:Choice><w:t>once</w:t></mc:Choice><mc:Fallback><w:t>twice</w:t></mc:Fallback></mc:AlternateContent></w:r></w:p>",
    ]
    .concat();
    let (html, notice) = convert(&docx(&body)).expect("a DOCX");
    assert_eq!(notice, "converted from a DOCX document");
    for part in [
        "<title>The T</title>",
        r#"<meta name="author" content="Eve">"#,
        "<h2>A heading</h2>",
        r#"<p>See <a href="https://e.org/?a=1&amp;b">this &amp; that</a></p>"#,
        "<ol>\n<li>one</li>\n<ul>\n<li>inner</li>\n</ul>\n<li>two</li>\n</ol>",
        "<tr><td><p>a</p>\n</td><td><p>b</p>\n</td></tr>",
        "<p>once</p>",
    ] {
        assert!(html.contains(part), "{part}: {html}");
    }
    assert!(!html.contains("gone") && !html.contains("twice"), "{html}");
}

#[test]
fn an_odt_keeps_headings_lists_tables_and_links() {
    let content = r#"<office:document-content><office:automatic-styles><text:list-style style:name="L1">
        <text:list-level-style-number text:level="1"/></text:list-style></office:automatic-styles><office:body><office:text>
        <text:h text:outline-level="2">Head</text:h><text:p>A<text:s text:c="2"/>b <text:a xlink:href="https://e.org/">link</text:a></text:p>
        <text:list text:style-name="L1"><text:list-item><text:p>one</text:p></text:list-item></text:list>
        <table:table><table:table-row><table:table-cell><text:p>c</text:p></table:table-cell></table:table-row></table:table>
        </office:text></office:body></office:document-content>"#;
    let meta = "<office:meta><dc:title>T</dc:title><meta:initial-creator>Fred</meta:initial-creator><dc:language>it</dc:language></office:meta>";
    let file = archive(&[
        ("mimetype", "x"),
        ("content.xml", content),
        ("meta.xml", meta),
    ]);
    let (html, _) = convert(&file).expect("an ODT");
    for part in [
        r#"<html lang="it">"#,
        r#"<meta name="author" content="Fred">"#,
        "<h2>Head</h2>",
        r#"<p>A  b <a href="https://e.org/">link</a></p>"#,
        "<ol>\n<li>one</li>\n</ol>",
        "<td><p>c</p>\n</td>",
    ] {
        assert!(html.contains(part), "{part}: {html}");
    }
}

#[test]
fn other_archives_are_refused() {
    for (parts, reason) in [
        (vec![("a.txt", "x")], "neither a DOCX nor an ODT"),
        (vec![TYPES, ("xl/workbook.xml", "<x/>")], "no text document"),
        (
            vec![("content.xml", "<office:spreadsheet/>")],
            "no text document",
        ),
    ] {
        let why = refusal(&archive(&parts));
        assert!(why.contains(reason), "{why}");
    }
}
