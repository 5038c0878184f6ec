//! Writes what the models read of a folder's pages, for the trainer: a line of JSON a page
//! with its blocks' texts, and their features as bytes in a second file.
//!
//! ```text
//! cargo run --release -p orbweaver-content --example dump -- PREFIX FOLDER OUT
//! ```

use std::error::Error;
use std::io::{BufWriter, Read, Write};
use std::path::PathBuf;

use orbweaver_content::Content;
use orbweaver_content::apart::are_apart;
use orbweaver_content::features;
use orbweaver_content::measure::get;
use orbweaver_sdk::dom::tag;
use orbweaver_sdk::testing::Document;
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [prefix, folder, out] = args.as_slice() else {
        return Err("usage: dump PREFIX FOLDER OUT".into());
    };
    let folder = PathBuf::from(folder);
    let pages_of: Value =
        serde_json::from_slice(&std::fs::read(folder.join("ground-truth.json"))?)?;
    let mut pages = BufWriter::new(std::fs::File::create(format!("{out}.jsonl"))?);
    let mut bytes = BufWriter::new(std::fs::File::create(format!("{out}.bin"))?);
    writeln!(pages, "{}", json!({"names": features::names()}))?;
    for (id, facts) in pages_of.as_object().into_iter().flatten() {
        let mut html = Vec::new();
        let file = std::fs::File::open(folder.join("html").join(format!("{id}.html.gz")))?;
        flate2::read::MultiGzDecoder::new(file).read_to_end(&mut html)?;
        let html = String::from_utf8_lossy(&html).into_owned();
        let url = facts["url"].as_str().unwrap_or("");
        let kind = facts["page_type"].as_str().unwrap_or("article");
        let truth = ["main_content", "articleBody"]
            .iter()
            .find_map(|key| facts[*key].as_str())
            .unwrap_or("");
        let document = Document::new(url, &html);
        let page = document.page();
        let line = Content::survey(page.view()?, url, |view, selection, survey, matrix| {
            let mut texts = vec![String::new(); survey.blocks.list.len()];
            // Between inline elements that are apart on the screen.
            let mut apart = false;
            for node in view.nodes() {
                if !node.is_text() {
                    apart |= are_apart(node);
                    continue;
                }
                let apart = std::mem::take(&mut apart);
                let owner = get(&selection.info, node.id()).owner;
                let block = survey.blocks.of.get(owner as usize).copied().unwrap_or(0);
                let at = (block as usize).wrapping_sub(1);
                let first = survey.blocks.list.get(at);
                if let Some(text) = texts.get_mut(at)
                    && first.is_some_and(|b| b.first <= node.id())
                {
                    if apart || node.prev_sibling().is_some_and(|p| p.tag() == tag::BR) {
                        text.push(' ');
                    }
                    text.push_str(node.text());
                }
            }
            for block in 0..texts.len() {
                let row: Vec<u8> = (0..features::COUNT).map(|f| matrix.at(f, block)).collect();
                bytes.write_all(&row)?;
            }
            let text = selection.text(view);
            Ok::<_, std::io::Error>(
                json!({"id": format!("{prefix}/{id}"), "url": url, "truth": truth, "type": kind,
                "texts": texts, "rules": text, "kept": survey.kept, "page": survey.page.to_vec()}),
            )
        })?;
        writeln!(pages, "{line}")?;
    }
    Ok(())
}
