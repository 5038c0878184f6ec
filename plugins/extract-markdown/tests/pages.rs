//! Whole pages, each with the Markdown that a person found right: `page.md` of the page,
//! `page.main.md` of its main content.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a helper that cannot do its work fails its test"
)]

use std::path::Path;

use orbweaver_extract_markdown::{Options, markdown};

fn check(page: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/pages");
    let read = |name: String| std::fs::read_to_string(folder.join(&name)).expect(&name);
    let snapshot = orbweaver_sdk::dom::parse(&read(format!("{page}.html")));
    let view = snapshot.view().expect("view");
    for (only_main_content, ending) in [(false, "md"), (true, "main.md")] {
        let markdown = markdown(
            &view,
            "https://host.example/dir/page",
            &Options { only_main_content },
        );
        let expected = read(format!("{page}.{ending}"));
        assert_eq!(markdown, expected.trim_end(), "{page}.{ending}");
    }
}

#[test]
fn an_article() {
    check("article");
}

#[test]
fn a_manual() {
    check("manual");
}

#[test]
fn a_shop() {
    check("shop");
}

#[test]
fn a_forum_that_needs_scripts() {
    check("forum");
}
