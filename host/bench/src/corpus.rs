//! Pages to measure on: made up by default, or real ones from a folder.

use std::fmt::Write as _;
use std::io::Read as _;
use std::path::Path;

use anyhow::{Context as _, Result};

/// A page and what to call it in the table.
pub struct Sample {
    pub name: String,
    pub html: String,
}

/// The sizes that every extraction benchmark reports, in bytes.
pub const SIZES: [usize; 4] = [20_000, 100_000, 500_000, 1_000_000];

/// One made-up page of about each size.
pub fn generated() -> Vec<Sample> {
    SIZES
        .iter()
        .map(|&size| Sample {
            name: label(size),
            html: page(size),
        })
        .collect()
}

/// From a folder of `.html` and `.html.gz`: for each size the page nearest to it.
pub fn from_folder(dir: &Path) -> Result<Vec<Sample>> {
    let pages = pages(dir)?;
    SIZES
        .iter()
        .map(|&size| {
            let html = pages
                .iter()
                .min_by_key(|page| page.len().abs_diff(size))
                .with_context(|| format!("{}: no pages", dir.display()))?;
            Ok(Sample {
                name: format!("{} real", label(html.len())),
                html: html.clone(),
            })
        })
        .collect()
}

/// Every `.html` and `.html.gz` of a folder.
pub fn pages(dir: &Path) -> Result<Vec<String>> {
    let mut pages = Vec::new();
    for entry in std::fs::read_dir(dir).with_context(|| dir.display().to_string())? {
        let path = entry?.path();
        let bytes = std::fs::read(&path)?;
        let mut html = Vec::new();
        if path.extension().is_some_and(|e| e == "gz") {
            flate2::read::GzDecoder::new(bytes.as_slice()).read_to_end(&mut html)?;
        } else {
            html = bytes;
        }
        pages.push(String::from_utf8_lossy(&html).into_owned());
    }
    Ok(pages)
}

fn label(bytes: usize) -> String {
    format!("{} KB", bytes / 1000)
}

/// A page as sites have them: head with metadata and JSON-LD, navigation, an article with
/// headings, paragraphs with inline markup and links, lists, tables, code and figures,
/// a comment thread, a sidebar, inline CSS and scripts. Deterministic.
pub fn page(bytes: usize) -> String {
    let mut random = Lcg(42);
    let mut html = String::with_capacity(bytes + 4096);
    html.push_str(HEAD);
    html.push_str(
        "<body class=\"post-template single\"><header id=\"top\"><nav class=\"main-nav\"><ul>",
    );
    for i in 0..24 {
        let _ = write!(
            html,
            "<li class=\"menu-item item-{i}\"><a href=\"/section/{i}/\" title=\"Section {i}\">Section {i}</a></li>"
        );
    }
    html.push_str("</ul></nav></header><main><article itemscope itemtype=\"https://schema.org/Article\"><h1 itemprop=\"headline\">How orb weavers build</h1>");
    let mut section = 0;
    while html.len() + 3_000 < bytes {
        section += 1;
        let _ = write!(
            html,
            "<h2 id=\"s{section}\">Section {section}: {}</h2>",
            sentence(&mut random, 5)
        );
        for _ in 0..4 {
            html.push_str("<p>");
            for _ in 0..4 {
                html.push_str(&sentence(&mut random, 14));
                match random.below(5) {
                    0 => {
                        let _ = write!(
                            html,
                            " <a href=\"/page/{}?ref=body#part\">{}</a>. ",
                            random.below(9999),
                            sentence(&mut random, 3)
                        );
                    }
                    1 => {
                        let _ = write!(
                            html,
                            " <em>{}</em> &amp; <code>x_{}</code>. ",
                            sentence(&mut random, 2),
                            random.below(99)
                        );
                    }
                    2 => {
                        let _ = write!(html, " <strong>{}</strong>, ", sentence(&mut random, 2));
                    }
                    _ => html.push_str(". "),
                }
            }
            html.push_str("</p>\n");
        }
        match section % 4 {
            0 => {
                html.push_str("<table class=\"data\"><thead><tr><th>Name</th><th>Value</th><th>Note</th></tr></thead><tbody>");
                for _ in 0..6 {
                    let _ = write!(html, "<tr><td>{}</td><td>{}</td><td>{}</td></tr>", sentence(&mut random, 2), random.below(1000), sentence(&mut random, 4));
                }
                html.push_str("</tbody></table>");
            }
            1 => {
                html.push_str("<ul>");
                for _ in 0..6 {
                    let _ = write!(html, "<li>{}</li>", sentence(&mut random, 8));
                }
                html.push_str("</ul>");
            }
            2 => {
                let _ = write!(html, "<figure><img src=\"/img/{section}.jpg\" alt=\"{}\" loading=\"lazy\" width=\"640\" height=\"480\"><figcaption>{}</figcaption></figure>", sentence(&mut random, 4), sentence(&mut random, 9));
            }
            _ => html.push_str("<pre><code class=\"language-rust\">fn main() {\n    let web = Web::new();\n    println!(\"{web:?}\");\n}\n</code></pre>"),
        }
    }
    html.push_str("</article><section class=\"comments\">");
    for i in 0..6 {
        let _ = write!(
            html,
            "<div class=\"comment\" id=\"c{i}\"><span class=\"author\">Reader {i}</span><p>{}</p></div>",
            sentence(&mut random, 20)
        );
    }
    html.push_str("</section></main><aside class=\"sidebar\"><ul>");
    for i in 0..15 {
        let _ = write!(
            html,
            "<li><a href=\"/related/{i}\">{}</a></li>",
            sentence(&mut random, 5)
        );
    }
    html.push_str("</ul></aside><footer><p>&copy; Example</p></footer><script>window.dataLayer=window.dataLayer||[];function track(e){dataLayer.push(e)}</script></body></html>");
    html
}

const HEAD: &str = r#"<!doctype html><html lang="en"><head><meta charset="utf-8"><title>How orb weavers build | Example</title>
<meta name="description" content="What a web is made of, and how it is built."><link rel="canonical" href="https://example.com/weavers">
<meta name="viewport" content="width=device-width"><meta property="og:title" content="How orb weavers build"><meta property="og:type" content="article">
<meta property="og:image" content="https://example.com/web.jpg"><meta name="twitter:card" content="summary_large_image">
<link rel="alternate" hreflang="de" href="https://example.com/de/weavers"><link rel="stylesheet" href="/style.css">
<style>body{margin:0;font:16px/1.5 serif}.main-nav li{display:inline-block;padding:0 1em}.sidebar{float:right;width:20em}</style>
<script type="application/ld+json">{"@context":"https://schema.org","@type":"Article","headline":"How orb weavers build","author":{"@type":"Person","name":"A. Weaver"},"datePublished":"2026-05-01"}</script></head>"#;

const WORDS: [&str; 32] = [
    "spider", "web", "silk", "thread", "radius", "spiral", "anchor", "frame", "the", "a", "of",
    "and", "to", "in", "builds", "catches", "holds", "between", "branches", "morning", "wind",
    "tension", "sticky", "dry", "centre", "signal", "leg", "waits", "repairs", "every", "night",
    "quickly",
];

fn sentence(random: &mut Lcg, words: usize) -> String {
    let mut out = String::with_capacity(words * 7);
    for i in 0..words {
        if i > 0 {
            out.push(' ');
        }
        out.push_str(WORDS[random.below(WORDS.len() as u32) as usize]);
    }
    out
}

/// Knuth's MMIX generator: reproducible pages without a dependency.
struct Lcg(u64);

impl Lcg {
    fn below(&mut self, n: u32) -> u32 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % u64::from(n)) as u32
    }
}
