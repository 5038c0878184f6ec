//! Writes what the extractor finds in a folder's pages as one JSON object, id by id.
//!
//! ```text
//! cargo run --release -p orbweaver-content --example texts -- PREFIX FOLDER [PREFIX FOLDER…]
//! ```

use std::error::Error;
use std::io::Read;
use std::path::PathBuf;

use orbweaver_content::Content;
use orbweaver_sdk::testing::Document;
use serde_json::{Map, Value};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let mut out = Map::new();
    for pair in args.chunks_exact(2) {
        let folder = PathBuf::from(&pair[1]);
        let truth: Value =
            serde_json::from_slice(&std::fs::read(folder.join("ground-truth.json"))?)?;
        for (id, facts) in truth.as_object().into_iter().flatten() {
            let mut html = Vec::new();
            let file = std::fs::File::open(folder.join("html").join(format!("{id}.html.gz")))?;
            flate2::read::MultiGzDecoder::new(file).read_to_end(&mut html)?;
            let html = String::from_utf8_lossy(&html).into_owned();
            let url = facts["url"].as_str().unwrap_or("");
            let document = Document::new(url, &html);
            let page = document.page();
            let found = Content::of(page.view()?, page.final_url());
            out.insert(
                format!("{}/{id}", pair[0]),
                Value::String(found.text(page.view()?)),
            );
        }
    }
    println!("{}", Value::Object(out));
    Ok(())
}
