//! Files that are damaged, encrypted or made to cost much.

use super::office::docx;
use super::pdf_file::{PdfFile, text};
use super::{convert, html, refusal};

fn small() -> Vec<u8> {
    let page = text("F1", 10.0, 50.0, 700.0, 12.0, &["Words of the page"]);
    PdfFile::default().page(&page).bytes()
}

#[test]
fn a_damaged_table_of_objects_is_made_anew() {
    let file = String::from_utf8(small()).expect("text");
    let start = file.find("xref\n0").expect("a table");
    for damaged in [
        file.get(..start).expect("the objects").to_owned(),
        file.replace("startxref\n", "startxref\n9"),
        file.replace("0000000", "0000009"),
    ] {
        assert!(
            html(damaged.as_bytes()).contains("Words of the page"),
            "{damaged}"
        );
    }
}

#[test]
fn what_cannot_be_read_is_refused_with_the_reason() {
    assert_eq!(
        refusal(b"%PDF-1.7\n\xff\xfe"),
        "the PDF is damaged: it has no pages that can be read"
    );
    let encrypted = String::from_utf8(small()).expect("text").replace(
        "/Root 1 0 R",
        "/Root 1 0 R/ID[<00><00>]/Encrypt<</Filter/Standard/V 1/R 2/P -4\
         /O<0000000000000000000000000000000000000000000000000000000000000000>\
         /U<0000000000000000000000000000000000000000000000000000000000000000>>>",
    );
    assert_eq!(
        refusal(encrypted.as_bytes()),
        "the PDF is encrypted and needs a password"
    );
    for (body, reason) in [
        (
            b"PK\x03\x04 and no directory".as_slice(),
            "the archive is damaged",
        ),
        (b"<html><p>a page", "the XML is no feed"),
        (b"", "the XML is no feed"),
        (b"{\"a\": 1}", "the JSON is no feed"),
        (b"{\"version\": ", "the JSON feed is damaged"),
    ] {
        assert!(refusal(body).starts_with(reason), "{}", refusal(body));
    }
}

#[test]
fn every_beginning_of_a_file_is_converted_or_refused() {
    let file = small();
    for end in (0..file.len()).step_by(7) {
        let _ = convert(file.get(..end).unwrap_or_default());
    }
}

#[test]
fn a_file_with_any_byte_changed_is_converted_or_refused() {
    let file = small();
    for at in (0..file.len()).step_by(3) {
        let mut changed = file.clone();
        if let Some(byte) = changed.get_mut(at) {
            *byte = byte.wrapping_add(1 + (at % 200) as u8);
        }
        let _ = convert(&changed);
    }
}

#[test]
fn pages_and_forms_that_have_themselves_end() {
    let file = String::from_utf8(small()).expect("text");
    let own_kid = file.replace("/Kids[7 0 R ]", "/Kids[2 0 R 7 0 R 2 0 R ]");
    let _ = convert(own_kid.as_bytes());
    let form = file
        .replace("/Font<<", "/XObject<</X 8 0 R>>/Font<<")
        .replace("<</Length", "<</Type/XObject/Subtype/Form/BBox[0 0 600 800]/Resources<</XObject<</X 8 0 R>>>>/Length")
        .replace("BT /F1", "/X Do /X Do BT /F1");
    let _ = convert(form.as_bytes());
}

#[test]
fn deep_and_unclosed_markup_ends() {
    let deep = format!("<rss>{}", "<channel>".repeat(100_000));
    let (_, notice) = convert(deep.as_bytes()).expect("a feed");
    assert!(notice.contains("damaged"), "{notice}");
}

/// Work on a glyph that grows with what is open around it needs minutes for this page.
#[test]
fn marked_content_may_be_open_any_number_of_times() {
    let count = 500_000;
    let marks = "/Span BMC\n".repeat(count);
    let text = format!(
        "BT /F1 10 Tf 50 700 Td\n{}ET\n",
        "0 0 Td (abcd) Tj\n".repeat(count)
    );
    let html = html(&PdfFile::default().page(&(marks + &text)).bytes());
    assert!(html.contains("abcd"));
}

#[test]
fn one_long_text_of_much_content_is_not_read_each_time() {
    let count = 5_000;
    let page = format!(
        "BT /F1 10 Tf 50 700 Td\n{}ET\n",
        "/Span /P BDC (a) Tj EMC\n".repeat(count)
    );
    let file = String::from_utf8(PdfFile::default().page(&page).bytes()).expect("text");
    let actual = "b".repeat(100_000);
    let property = format!("/Properties<</P<</ActualText({actual})>>>>/Font<<");
    let (html, _) = convert(file.replace("/Font<<", &property).as_bytes()).expect("a PDF");
    assert!(html.contains(&actual));
    assert!(html.len() < 7_000_000, "{}", html.len());
}

#[test]
fn a_wide_line_does_not_widen_every_row() {
    let cell = |x: f32, y: f32| format!("1 0 0 1 {x} {y} Tm (a) Tj\n");
    let mut page = "BT /F1 0.6 Tf\n".to_owned();
    page.extend((0..400).map(|at| cell(20.0 + 1.4 * at as f32, 790.0)));
    for row in 1..1_000 {
        let y = 790.0 - 0.7 * row as f32;
        page += &(cell(20.0, y) + &cell(30.0, y));
    }
    page += "ET\n";
    let html = html(&PdfFile::default().page(&page).bytes());
    assert!(html.matches('a').count() > 2_300);
    assert!(
        html.len() < 2 * page.len(),
        "{} of {}",
        html.len(),
        page.len()
    );
}

#[test]
fn one_paragraph_is_no_longer_than_a_document() {
    for content in [
        "<w:br/>".repeat(9 << 18),
        format!("<w:t>{}</w:t>", "a ".repeat(9 << 19)),
    ] {
        let paragraph = format!("<w:p><w:r><w:t>first</w:t>{content}</w:r></w:p>");
        let (html, notice) = convert(&docx(&paragraph)).expect("a document");
        assert!(html.contains("<p>first"));
        assert!(html.len() < 9 << 20, "{}", html.len());
        assert!(
            notice.ends_with("the text beyond 8 MiB was left out"),
            "{notice}"
        );
    }
}
