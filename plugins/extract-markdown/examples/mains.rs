//! Writes the main content of a folder's pages as Markdown, as one JSON object, id by id, and
//! to the standard error output where its words differ from those of the article's text.
//!
//! ```text
//! cargo run --release -p orbweaver-extract-markdown --example mains -- PREFIX FOLDER [PREFIX FOLDER…]
//! ```

use std::error::Error;
use std::io::Read;
use std::path::PathBuf;

use orbweaver_content::Content;
use orbweaver_extract_markdown::{Options, markdown};
use pulldown_cmark::{Event, Parser, Tag, TagEnd};
use serde_json::{Map, Value};

/// The words of a text.
fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

/// The words that a reader of the Markdown sees; descriptions of pictures aside.
fn read(markdown: &str) -> Vec<String> {
    let options =
        pulldown_cmark::Options::ENABLE_TABLES | pulldown_cmark::Options::ENABLE_STRIKETHROUGH;
    let (mut text, mut pictures) = (String::new(), 0);
    for event in Parser::new_ext(markdown, options) {
        match event {
            Event::Start(Tag::Image { .. }) => pictures += 1,
            Event::End(TagEnd::Image) => pictures -= 1,
            Event::Text(more) | Event::Code(more) if pictures == 0 => text.push_str(&more),
            Event::SoftBreak | Event::HardBreak => text.push('\n'),
            Event::End(
                TagEnd::Paragraph
                | TagEnd::Heading(_)
                | TagEnd::Item
                | TagEnd::TableCell
                | TagEnd::CodeBlock
                | TagEnd::BlockQuote(_),
            )
            | Event::Start(Tag::List(_)) => text.push('\n'),
            _ => {}
        }
    }
    words(&text)
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let mut out = Map::new();
    let options = Options {
        only_main_content: true,
    };
    for pair in args.chunks_exact(2) {
        let folder = PathBuf::from(&pair[1]);
        let truth: Value =
            serde_json::from_slice(&std::fs::read(folder.join("ground-truth.json"))?)?;
        for (id, facts) in truth.as_object().into_iter().flatten() {
            let mut html = Vec::new();
            let file = std::fs::File::open(folder.join("html").join(format!("{id}.html.gz")))?;
            flate2::read::MultiGzDecoder::new(file).read_to_end(&mut html)?;
            let snapshot = orbweaver_sdk::dom::parse(&String::from_utf8_lossy(&html));
            let (view, url) = (snapshot.view()?, facts["url"].as_str().unwrap_or(""));
            let text = markdown(&view, url, &options);
            let (read, article) = (read(&text), words(&Content::of(&view, url).text(&view)));
            if read != article {
                let same = read
                    .iter()
                    .zip(&article)
                    .take_while(|(a, b)| a == b)
                    .count();
                let near = |words: &[String]| {
                    let from = same.saturating_sub(3).min(words.len());
                    let to = (from + 9).min(words.len());
                    words[from..to].join(" ")
                };
                let (left, right) = (near(&read), near(&article));
                eprintln!(
                    "{id}: {} words for {}; {left:?} for {right:?}",
                    read.len(),
                    article.len()
                );
            }
            out.insert(format!("{}/{id}", pair[0]), Value::String(text));
        }
    }
    println!("{}", Value::Object(out));
    Ok(())
}
