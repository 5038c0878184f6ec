//! Checks that no document makes a role's answer, or the snapshot, grow faster than the document.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use orbweaver_nasty::{MAX_GROWTH, html};
use orbweaver_sdk::testing::Document;
use orbweaver_sdk::{Error, Page};

const URL: &str = "https://example.org/a/page.html?q=1";
const BYTES: usize = 60_000;
/// Answers may be this long for any page: the budgets for URLs and texts.
const BUDGET: usize = 40 << 20;

type Role = fn(&Page<'_>, &str) -> Result<String, Error>;

const ROLES: [(&str, Role, &str); 7] = [
    ("markdown", orbweaver_extract_markdown::extract, ""),
    (
        "main content",
        orbweaver_extract_markdown::extract,
        r#"{"only_main_content":true}"#,
    ),
    ("article", orbweaver_extract_article::extract, ""),
    ("metadata", orbweaver_extract_metadata::extract, ""),
    ("signals", orbweaver_extract_signals::extract, ""),
    (
        "structured-data",
        orbweaver_extract_structured_data::extract,
        "",
    ),
    ("links", orbweaver_extract_links::extract, ""),
];

/// Bytes of each role's answer.
fn answers(html: &str) -> [usize; ROLES.len()] {
    let document = Document::new(URL, html);
    let page = document.page();
    ROLES.map(|(_, extract, options)| extract(&page, options).expect("an answer").len())
}

#[test]
fn answers_grow_linearly_with_the_page() {
    for pattern in html() {
        let small = answers(&pattern.sized(BYTES));
        let html = pattern.sized(2 * BYTES);
        let large = answers(&html);
        for (((role, ..), small), large) in ROLES.into_iter().zip(small).zip(large) {
            let name = pattern.name;
            assert!(
                large as f64 <= small as f64 * MAX_GROWTH + 4_096.0,
                "{name}, {role}: {small} bytes at n, {large} at 2n"
            );
            assert!(
                large <= BUDGET.max(64 * html.len()),
                "{name}, {role}: {large} bytes of {}",
                html.len()
            );
        }
    }
}
