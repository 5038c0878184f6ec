//! Measures the extractor natively: `cargo run --release --example speed`.

use std::time::Instant;

use orbweaver_extract_selectors::extract;
use orbweaver_sdk::testing::Document;

fn main() {
    let item = "<li class=item><a class=name href=/p/1>A product of some length</a><p class=text>What \
                it is like, in a few words that nobody reads.</p><span class=price>1,299.00 €</span></li>";
    let html = format!(
        "<title>T</title><meta name=sku content=1><nav>{}</nav><h1>List</h1><ul>{}</ul>",
        "<a href=/x>menu</a>".repeat(100),
        item.repeat(150)
    );
    let options = r#"{"schema":{"type":"object","properties":{"items":{"type":"array","items":{
        "type":"object","properties":{"price":{"type":"number"},"url":{"type":"string","format":"uri"}}}}}},
        "selectors":{"title":"title","h1":"h1","sku":"meta[name=sku]","menu":{"selector":"nav a","list":true},
        "items":{"selector":".item","fields":{"name":".name","url":"a.name","price":".price",
        "text":{"selector":".text","regex":"few (\\w+)"}}}}}"#;
    let document = Document::new("https://example.org/", &html);
    let page = document.page();
    let rounds = 1_000;
    let begin = Instant::now();
    let mut bytes = 0;
    for _ in 0..rounds {
        bytes = extract(&page, options).map_or(0, |answer| answer.len());
    }
    let each = begin.elapsed() / rounds;
    println!(
        "{} bytes of HTML, {bytes} bytes of answer: {each:?}",
        html.len()
    );
}
