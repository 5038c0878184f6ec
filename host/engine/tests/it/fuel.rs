//! Checks that every role of every built-in extractor takes time linear in its page: a document of
//! twice the size costs less than 2.6 times the fuel. Fuel counts executed instructions, so the
//! result is the same on every machine. It counts a memory copy of any length as one instruction.

use std::sync::Arc;

use orbweaver_engine::{Engine, EngineConfig, Kind, Page, PluginInfo, RoleCall};

use crate::support::{config, load_bytes};

/// Most growth allowed from one size to twice that size.
const MAX_GROWTH: f64 = 2.6;
/// Size of the smaller document, in bytes.
const SIZE: usize = 64 << 10;

/// A difficult document of about the requested size in bytes.
struct Document {
    name: &'static str,
    html: Box<dyn Fn(usize) -> String>,
}

/// Builds a document from `head`, then `part` repeated until the size is reached.
fn repeated(name: &'static str, head: &'static str, part: &'static str) -> Document {
    Document {
        name,
        html: Box::new(move |bytes| format!("{head}{}", part.repeat(bytes / part.len()))),
    }
}

/// The documents; add a generator here, one [`Document`] per pattern.
fn documents() -> Vec<Document> {
    vec![
        repeated(
            "paragraphs",
            "<title>x</title>",
            "<p>Some words, and more.</p>\n",
        ),
        repeated("one text", "<p>", "word "),
        repeated("nested", "", "<div class=a>"),
        repeated("headings", "", "<h2>Heading</h2>"),
        repeated("links", "<base href=https://a.test/b/>", "<a href=c>d</a> "),
        repeated("tables in links", "", "<a href=x><table>"),
        repeated("unclosed formatting", "", "<b><i><p>x"),
        repeated("lists", "<ul>", "<li>x<ul><li>y</ul>"),
        repeated("attributes", "<p ", "data-a=b "),
        repeated(
            "structured data",
            "",
            "<div itemscope itemtype=https://schema.org/Thing><b itemprop=name>x</b></div>",
        ),
        repeated(
            "images without scripts",
            "",
            "<noscript><img src=a.png></noscript>",
        ),
        repeated("markdown's characters", "<p>", "![*_`<br>"),
    ]
}

async fn shipped() -> (Engine, Vec<PluginInfo>) {
    let engine = Engine::new(EngineConfig {
        count_fuel: true,
        ..config()
    })
    .unwrap();
    let mut extractors = Vec::new();
    for file in std::fs::read_dir(crate::shipped::plugin_dir()).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.starts_with("extract-") {
            extractors.push(load_bytes(&engine, std::fs::read(path).unwrap()).await);
        }
    }
    assert!(extractors.len() >= 5, "`cargo xtask plugins` builds them");
    (engine, extractors)
}

/// Fuel of one role on one document.
async fn fuel(engine: &Engine, extractor: &str, role: &str, html: &str) -> u64 {
    let spent = || engine.plugin(Kind::Extractor, extractor).unwrap().fuel;
    let before = spent();
    let call = RoleCall {
        role: role.to_owned(),
        options: "{}".to_owned(),
    };
    let page: Arc<Page> = Page::from_html("https://example.com/a", html);
    let answer = engine.extract(&page, vec![call]).await.pop().unwrap();
    // A plugin may refuse a page, but must not exceed a limit.
    if let Err(error) = answer {
        assert!(
            matches!(error.kind(), "failed" | "invalid-input"),
            "{role}: {error}"
        );
    }
    spent() - before
}

#[tokio::test]
async fn every_role_takes_linear_time() {
    let (engine, extractors) = shipped().await;
    let mut too_steep = Vec::new();
    for document in documents() {
        let (small, large) = ((document.html)(SIZE), (document.html)(2 * SIZE));
        for extractor in &extractors {
            for role in &extractor.roles {
                let small = fuel(&engine, &extractor.name, role, &small).await;
                let large = fuel(&engine, &extractor.name, role, &large).await;
                assert!(small > 0, "{role}: no fuel was counted");
                let growth = large as f64 / small as f64;
                if growth >= MAX_GROWTH {
                    too_steep.push(format!("{role} on {}: {growth:.2}", document.name));
                }
            }
        }
    }
    assert!(too_steep.is_empty(), "{too_steep:#?}");
}

#[tokio::test]
async fn the_same_page_costs_the_same_fuel() {
    let (engine, _) = shipped().await;
    let html = "<title>x</title><p>Some words.".repeat(100);
    let first = fuel(&engine, "markdown", "markdown", &html).await;
    let second = fuel(&engine, "markdown", "markdown", &html).await;
    assert_eq!(first, second);
}
