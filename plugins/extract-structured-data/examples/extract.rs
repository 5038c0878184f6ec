//! The structured data of stored pages, one line of JSON each:
//! `cargo run --example extract -- URL FILE.html …`.

#![expect(clippy::expect_used, reason = "a tool fails by panicking")]

use orbweaver_sdk::testing::Document;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let url = arguments.next().expect("the pages' URL");
    for path in arguments {
        let bytes = std::fs::read(&path).expect("a file");
        let document = Document::new(&url, &String::from_utf8_lossy(&bytes));
        let found = orbweaver_extract_structured_data::extract(&document.page(), "{}");
        println!("{}", found.expect("structured data"));
    }
}
