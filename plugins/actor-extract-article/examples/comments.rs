//! The comments of stored pages: `cargo run --example comments -- FILE.html …`.

#![expect(clippy::expect_used, reason = "a tool fails by panicking")]

use orbweaver_actor_extract_article::comments;
use orbweaver_sdk::testing::Document;

fn main() {
    for path in std::env::args().skip(1) {
        let bytes = std::fs::read(&path).expect("a file");
        let document = Document::new("https://example.org/", &String::from_utf8_lossy(&bytes));
        let found = comments::of(&document.page(), "").expect("comments");
        println!("{path}: {}", found.len());
        for comment in found {
            let start: String = comment.text.chars().take(100).collect();
            println!(
                "  {} {:?} {:?} {start:?}",
                comment.depth, comment.author, comment.published
            );
        }
    }
}
