//! PDF: text in the order of reading, its structure, links and metadata.

use super::pdf_file::{PdfFile, text};
use super::{convert, html};

const LOREM: [&str; 6] = [
    "A long line of ordinary text that fills the whole column, up to its",
    "edge, so that nobody would take its end for that of a paragraph; the",
    "third line goes on in the same manner and ends in a divided compu-",
    "tation, and after it the sentence goes on until it comes to the very",
    "end of what has to be said here, in a line that is long enough, too,",
    "which is here.",
];

fn body(file: &PdfFile) -> String {
    let html = html(&file.bytes());
    let body = html.split_once("<body>").expect("a body").1;
    body.split_once("</body>")
        .expect("its end")
        .0
        .trim()
        .to_owned()
}

#[test]
fn lines_are_joined_to_paragraphs_without_the_hyphen_that_divides_a_word() {
    let mut page = text("F1", 10.0, 50.0, 700.0, 12.0, &LOREM);
    page += &text("F1", 10.0, 50.0, 616.0, 12.0, &LOREM);
    let body = body(&PdfFile::default().page(&page));
    assert_eq!(body.matches("<p>").count(), 2, "{body}");
    assert!(body.contains("divided computation, and after it"), "{body}");
    assert!(body.contains("up to its edge, so"), "{body}");
}

#[test]
fn larger_lines_are_headings() {
    let mut page = text("F2", 24.0, 50.0, 750.0, 28.0, &["The Title"]);
    page += &text("F2", 15.0, 50.0, 720.0, 18.0, &["First Part"]);
    page += &text("F1", 10.0, 50.0, 700.0, 12.0, &LOREM);
    page += &text("F2", 10.0, 50.0, 610.0, 12.0, &["1.2.3 A Numbered Line"]);
    let file = PdfFile::default().page(&page);
    let body = body(&file);
    for heading in [
        "<h1>The Title</h1>",
        "<h2>First Part</h2>",
        "<h3>1.2.3 A Numbered Line</h3>",
    ] {
        assert!(body.contains(heading), "{heading}: {body}");
    }
    assert!(html(&file.bytes()).contains("<title>The Title</title>"));
}

#[test]
fn columns_are_read_one_after_the_other() {
    let column = |word: &str| -> Vec<String> {
        (0..12)
            .map(|n| format!("{word}{n} words of a column that is full"))
            .collect()
    };
    let (left, right) = (column("left"), column("right"));
    let lines = |column: &[String], x| {
        let lines: Vec<&str> = column.iter().map(String::as_str).collect();
        text("F1", 10.0, x, 650.0, 12.0, &lines)
    };
    let title = "A title that stands above both of the columns of this page, and crosses them";
    let mut page = text("F1", 12.0, 50.0, 700.0, 14.0, &[title]);
    // Row by row, as some programs write it.
    page += &lines(&right, 310.0);
    page += &lines(&left, 50.0);
    let body = body(&PdfFile::default().page(&page));
    let places: Vec<usize> = ["A title", "left0", "left11", "right0", "right11"]
        .iter()
        .map(|word| body.find(word).expect(word))
        .collect();
    assert!(places.is_sorted(), "{body}");
}

#[test]
fn lists_tables_and_code_keep_their_form() {
    let mut page = text("F1", 10.0, 50.0, 750.0, 12.0, &LOREM);
    page += &text(
        "F1",
        10.0,
        50.0,
        660.0,
        12.0,
        &[
            "\u{2022} first item",
            "\u{2022} second item",
            "1. one",
            "2. two",
            "7. seven",
        ],
    )
    .replace('\u{2022}', "\\225");
    for (row, y) in [("Name", 600), ("Anna", 588), ("Berta", 576)] {
        let y = y as f32;
        page += &text("F1", 10.0, 50.0, y, 12.0, &[row]);
        page += &text("F1", 10.0, 200.0, y, 12.0, &[&format!("{row} cell")]);
        page += &text("F1", 10.0, 350.0, y, 12.0, &["42"]);
    }
    page += &text(
        "F3",
        9.0,
        50.0,
        540.0,
        11.0,
        &["fn main() {", "    print(\"hello\");", "}"],
    );
    let body = body(&PdfFile::default().page(&page));
    assert!(
        body.contains("<ul>\n<li>first item</li>\n<li>second item</li>\n</ul>"),
        "{body}"
    );
    assert!(
        body.contains(
            "<ol>\n<li>one</li>\n<li>two</li>\n</ol>\n<ol start=\"7\">\n<li>seven</li>\n</ol>"
        ),
        "{body}"
    );
    let row = "<tr><td>Anna</td><td>Anna cell</td><td>42</td></tr>";
    assert!(body.contains(row), "{body}");
    let code = "<pre><code>fn main() {\n    print(&quot;hello&quot;);\n}\n</code></pre>";
    assert!(body.contains(code), "{body}");
}

#[test]
fn links_have_the_text_that_they_cover() {
    let page = text("F1", 10.0, 50.0, 700.0, 12.0, &["See the manual for more."]);
    let link = |url| {
        PdfFile::default()
            .page(&page)
            // Helvetica: `See the ` is 37 points wide, `manual` 33.
            .link("87 695 121 712", url)
    };
    let found = body(&link("https://example.org/a?b=1&c"));
    let expected = r#"See the <a href="https://example.org/a?b=1&amp;c">manual</a> for more."#;
    assert!(found.contains(expected), "{found}");
    let found = body(&link("javascript:alert(1)"));
    assert!(!found.contains("<a "), "{found}");
}

#[test]
fn headers_footers_and_page_numbers_are_left_out() {
    let mut file = PdfFile::default();
    for n in 1..=5 {
        let mut page = text("F1", 9.0, 50.0, 780.0, 11.0, &["The Handbook of Tests"]);
        page += &text("F1", 10.0, 50.0, 700.0, 12.0, &LOREM);
        page += &text("F1", 9.0, 290.0, 20.0, 11.0, &[&format!("Page {n} of 5")]);
        file = file.page(&page);
    }
    let body = body(&file);
    assert!(
        !body.contains("Handbook") && !body.contains("of 5"),
        "{body}"
    );
    assert_eq!(body.matches("A long line").count(), 5);
}

#[test]
fn a_paragraph_goes_on_over_the_page_break() {
    let file = PdfFile::default()
        .page(&text("F1", 10.0, 50.0, 700.0, 12.0, &LOREM[..5]))
        .page(&text("F1", 10.0, 50.0, 700.0, 12.0, &["where it ends."]));
    let body = body(&file);
    assert!(
        body.contains("long enough, too, where it ends.</p>"),
        "{body}"
    );
}

#[test]
fn the_head_has_what_the_file_says_of_itself() {
    let file = PdfFile::default()
        .page(&text("F1", 10.0, 50.0, 700.0, 12.0, &LOREM))
        .info(
            "/Title<FEFF00DC006200650072>/Author(A. Writer)/Subject(On things)\
             /CreationDate(D:20240229123456+01'00')/ModDate(D:20240301000000Z)",
        )
        .catalog("/Lang(de-CH)");
    let (html, notice) = convert(&file.bytes()).expect("a PDF");
    for part in [
        r#"<html lang="de-CH">"#,
        "<title>Über</title>",
        r#"<meta name="author" content="A. Writer">"#,
        r#"<meta name="description" content="On things">"#,
        r#"<meta property="article:published_time" content="2024-02-29T12:34:56+01:00">"#,
        r#"<meta property="article:modified_time" content="2024-03-01T00:00:00Z">"#,
    ] {
        assert!(html.contains(part), "{part}: {html}");
    }
    assert_eq!(notice, "converted from a PDF of 1 page");
}

#[test]
fn a_title_that_is_the_name_of_a_file_is_none() {
    let file = PdfFile::default()
        .page(&text("F1", 10.0, 50.0, 700.0, 12.0, &LOREM))
        .info("/Title(Microsoft Word - report_final.doc)");
    assert!(!html(&file.bytes()).contains("<title>"));
}

/// Programs state something where they were told nothing.
#[test]
fn what_stands_in_place_of_a_text_is_none() {
    let file = PdfFile::default()
        .page(&text("F1", 10.0, 50.0, 700.0, 12.0, &LOREM))
        .info("/Title(\\(anonymous\\))/Author(anonymous)/Subject(\\(unspecified\\))");
    let html = html(&file.bytes());
    for absent in ["<title>", "author", "description"] {
        assert!(!html.contains(absent), "{absent}: {html}");
    }
}

#[test]
fn pages_without_text_are_named() {
    let (_, notice) = convert(&PdfFile::default().page("0 0 10 10 re f").bytes()).expect("a PDF");
    assert_eq!(
        notice,
        "converted from a PDF of 1 page, which has no text: its pages are images"
    );
}

#[test]
fn text_is_no_markup() {
    let page = text(
        "F1",
        10.0,
        50.0,
        700.0,
        12.0,
        &["<script>alert('x')</script> & more"],
    );
    let body = body(&PdfFile::default().page(&page));
    assert!(
        body.contains("&lt;script&gt;alert") && !body.contains("<script"),
        "{body}"
    );
}

#[test]
fn turned_pages_are_read_as_they_are_shown() {
    let lines = text("F1", 10.0, 50.0, 700.0, 12.0, &LOREM);
    let bytes = PdfFile::default().page(&lines).bytes();
    let turned = String::from_utf8(bytes)
        .expect("text")
        .replace("/MediaBox[0 0 600 800]", "/Rotate 90/MediaBox[0 0 600 800]");
    assert!(html(turned.as_bytes()).contains("up to its edge, so that"));
}

/// Word processors write bullets with the codes of their symbol font.
#[test]
fn bullets_of_symbol_fonts_begin_items() {
    let page = text(
        "F1",
        10.0,
        50.0,
        700.0,
        12.0,
        &["~ one", "~ two", "^ three"],
    );
    let map = "/CIDInit /ProcSet findresource begin begincmap 1 begincodespacerange <00> <FF> \
               endcodespacerange 2 beginbfchar <7E> <F0B7> <5E> <F0A7> endbfchar endcmap";
    let body = body(&PdfFile::default().page(&page).into_unicode(map));
    for item in ["<li>one</li>", "<li>two</li>", "<li>three</li>"] {
        assert!(body.contains(item), "{body}");
    }
}

/// Half of the size is what style sheets and report generators raise them by.
#[test]
fn raised_and_lowered_characters_stay_in_their_line() {
    for (size, by) in [(8.3, 5.0), (7.0, 3.3), (5.8, 5.0)] {
        let down = -by;
        let page = format!(
            "BT /F1 10 Tf 12 TL 50 700 Td (A line before it that is long.) Tj T* (Of 10) Tj \
             /F1 {size} Tf {by} Ts (3) Tj /F1 10 Tf 0 Ts ( kg H) Tj /F1 {size} Tf {down} Ts (2) Tj \
             /F1 10 Tf 0 Ts (O it has) Tj T* (a part, and a line after it.) Tj ET"
        );
        let body = body(&PdfFile::default().page(&page));
        assert!(body.contains("Of 103 kg H2O it has a part"), "{body}");
    }
}

#[test]
fn chapters_that_begin_pages_keep_their_headings() {
    let mut file = PdfFile::default();
    for n in 1..=5 {
        let mut page = text("F1", 9.0, 50.0, 780.0, 11.0, &["The Handbook of Tests"]);
        page += &text("F2", 16.0, 50.0, 750.0, 20.0, &[&format!("Chapter {n}")]);
        page += &text("F1", 10.0, 50.0, 720.0, 12.0, &LOREM);
        page += &text("F1", 9.0, 290.0, 20.0, 11.0, &[&format!("Page {n} of 5")]);
        file = file.page(&page);
    }
    let body = body(&file);
    for n in 1..=5 {
        assert!(body.contains(&format!(">Chapter {n}</h")), "{body}");
    }
    assert!(
        !body.contains("Handbook") && !body.contains("of 5"),
        "{body}"
    );
}

/// What a viewer shows from left to right is read from right to left.
#[test]
fn hebrew_is_read_in_its_own_direction() {
    // `abc` and `de` stand for letters, by a map from codes to characters. Brackets are named as they
    // are shown, or as they are read.
    for (left, right) in [("\\(", "\\)"), ("\\)", "\\(")] {
        hebrew(left, right);
    }
}

fn hebrew(left: &str, right: &str) {
    let page = &format!(
        "BT /F1 10 Tf 50 700 Td [(e) -60 (d) -400 ({left}) 0 (x1) 0 ({right}) -400 (c) 0 (b) 0 (a)] TJ ET"
    );
    let map = "/CIDInit /ProcSet findresource begin begincmap 1 begincodespacerange <00> <FF> \
               endcodespacerange 5 beginbfchar <61> <05D0> <62> <05D1> <63> <05D2> <64> <05D3> \
               <65> <05D4> endbfchar endcmap";
    let file = PdfFile::default().page(page).into_unicode(map);
    let body = body(&file);
    assert!(body.contains("אבג (x1) דה"), "{body}");
}
