//! Tables of DOCX and ODT.

use super::convert;
use super::office::{body, cell, docx, odt, paragraph};

#[test]
fn cells_of_a_docx_keep_their_spans() {
    let table = [
        "<w:tbl><w:tr><w:trPr><w:tblHeader/></w:trPr>",
        &cell(r#"<w:gridSpan w:val="2"/>"#, "wide"),
        &cell("", "c"),
        "</w:tr><w:tr>",
        &cell(r#"<w:vMerge w:val="restart"/>"#, "deep"),
        &cell("", "1"),
        &cell(r#"<w:vMerge w:val="restart"/>"#, "two"),
        "</w:tr><w:tr>",
        &cell("<w:vMerge/>", ""),
        &cell("", "2"),
        &cell(r#"<w:vMerge w:val="continue"/>"#, ""),
        "</w:tr><w:tr>",
        &cell("<w:vMerge/>", ""),
        &cell("", "3"),
        &cell("", "end"),
        "</w:tr></w:tbl>",
    ];
    assert_eq!(
        body(&docx(&table.concat())),
        "<table>\n\
         <tr><th colspan=\"2\"><p>wide</p>\n</th><th><p>c</p>\n</th></tr>\n\
         <tr><td rowspan=\"3\"><p>deep</p>\n</td><td><p>1</p>\n</td><td rowspan=\"2\"><p>two</p>\n</td></tr>\n\
         <tr><td><p>2</p>\n</td></tr>\n\
         <tr><td><p>3</p>\n</td><td><p>end</p>\n</td></tr>\n\
         </table>\n"
    );
}

#[test]
fn merges_of_a_docx_that_do_not_fit_lose_no_cell() {
    let table = [
        "<w:tbl><w:tr>",
        // None above, and columns that are left out.
        r#"<w:trPr><w:gridBefore w:val="2"/><w:tblHeader w:val="0"/></w:trPr>"#,
        &cell("<w:vMerge/>", ""),
        "</w:tr><w:tr>",
        &cell(r#"<w:vMerge w:val="restart"/>"#, "a"),
        "</w:tr><w:tr>",
        // Text of its own, a row without the cell, and spans as they were before a change.
        &cell("<w:vMerge/>", "own"),
        "</w:tr><w:tr></w:tr><w:tr>",
        &cell(
            r#"<w:vMerge/><w:tcPrChange><w:tcPr><w:gridSpan w:val="5"/></w:tcPr></w:tcPrChange>"#,
            "",
        ),
        "</w:tr></w:tbl>",
        &paragraph("after"),
    ];
    assert_eq!(
        body(&docx(&table.concat())),
        "<table>\n\
         <tr><td colspan=\"2\"></td><td></td></tr>\n\
         <tr><td><p>a</p>\n</td></tr>\n\
         <tr><td><p>own</p>\n</td></tr>\n\
         <tr></tr>\n\
         <tr><td></td></tr>\n\
         </table>\n\
         <p>after</p>\n"
    );
}

#[test]
fn tables_in_cells_keep_their_own_spans() {
    let inner = [
        "<w:tbl><w:tr>",
        &cell(r#"<w:gridSpan w:val="3"/>"#, "in"),
        "</w:tr></w:tbl>",
    ]
    .concat();
    let table = format!(
        r#"<w:tbl><w:tr><w:trPr><w:tblHeader/></w:trPr><w:tc><w:tcPr><w:gridSpan w:val="2"/></w:tcPr>{inner}</w:tc></w:tr></w:tbl>"#
    );
    assert_eq!(
        body(&docx(&table)),
        "<table>\n<tr><th colspan=\"2\"><table>\n<tr><td colspan=\"3\"><p>in</p>\n</td></tr>\n</table>\n</th></tr>\n</table>\n"
    );
}

#[test]
fn cells_of_an_odt_keep_their_spans_and_repeats() {
    let table = r#"<table:table><table:table-header-rows><table:table-row>
        <table:table-cell table:number-columns-spanned="2"><text:p>wide</text:p></table:table-cell><table:covered-table-cell><text:p>hidden</text:p></table:covered-table-cell>
        </table:table-row></table:table-header-rows>
        <table:table-row><table:table-cell table:number-rows-spanned="2"><text:p>deep</text:p></table:table-cell><table:table-cell/></table:table-row>
        <table:table-row><table:covered-table-cell/><table:table-cell><text:p>b</text:p></table:table-cell></table:table-row>
        <table:table-row table:number-rows-repeated="2"><table:table-cell table:number-columns-repeated="2"><text:p>same</text:p></table:table-cell></table:table-row>
        <table:table-row table:number-rows-repeated="9"><table:table-cell table:number-columns-repeated="16384"/></table:table-row>
        </table:table>"#;
    assert_eq!(
        body(&odt(table)),
        "<table>\n\
         <tr><th colspan=\"2\"><p>wide</p>\n</th></tr>\n\
         <tr><td rowspan=\"2\"><p>deep</p>\n</td><td></td></tr>\n\
         <tr><td><p>b</p>\n</td></tr>\n\
         <tr><td><p>same</p>\n</td><td><p>same</p>\n</td></tr>\n\
         <tr><td><p>same</p>\n</td><td><p>same</p>\n</td></tr>\n\
         <tr><td></td></tr>\n\
         </table>\n"
    );
}

#[test]
fn spans_and_repeats_are_bounded() {
    let many = "99999999999";
    for count in ["0", "-1", "x", many, "4294967295"] {
        let spans = format!(r#"<w:gridSpan w:val="{count}"/><w:vMerge w:val="restart"/>"#);
        let before = format!(r#"<w:trPr><w:gridBefore w:val="{count}"/></w:trPr>"#);
        let row = [before.clone(), cell(&spans, "a"), cell(&spans, "b")].concat();
        let html = body(&docx(&format!("<w:tbl><w:tr>{row}</w:tr></w:tbl>")));
        assert!(html.contains("<p>b</p>") && !html.contains(count), "{html}");
    }
    // Tables within each other, whose cells and rows are all repeated.
    let open = r#"<table:table><table:table-row table:number-rows-repeated="64"><table:table-cell table:number-columns-repeated="64">"#;
    let close = "</table:table-cell></table:table-row></table:table>";
    let nested = format!("{}<text:p>a</text:p>{}", open.repeat(50), close.repeat(50));
    assert!(body(&odt(&nested)).len() < 2 << 20);
    // End tags of other elements hide how deep the tables are.
    let deep = "<w:tbl></w:x>".repeat(100_000);
    assert!(body(&docx(&deep)).len() < 1 << 20);
    // Rows without text have a limit, too.
    let rows = format!("<w:tbl>{}</w:tbl>", "<w:tr/>".repeat(1_500_000));
    let (html, notice) = convert(&docx(&rows)).expect("a DOCX");
    assert!(html.len() < 9 << 20 && notice.contains("8 MiB"), "{notice}");
    assert!(html.ends_with("</table>\n</body></html>\n"));
}
