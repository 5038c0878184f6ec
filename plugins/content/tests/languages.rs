//! Pages in twelve languages and nine scripts, each in five shapes: sixty pages whose true
//! text is known because they are made of it.

#![expect(clippy::unwrap_used, reason = "a test's helpers fail the test")]

use std::collections::BTreeMap;

use orbweaver_content::Content;
use orbweaver_sdk::testing::Document;
use serde_json::Value;

/// One page: its URL, its HTML and the lines that are its content.
struct Made {
    name: String,
    url: &'static str,
    html: String,
    lines: Vec<String>,
}

fn text(words: &Value, key: &str) -> String {
    words[key].as_str().unwrap().to_owned()
}

fn list(words: &Value, key: &str) -> Vec<String> {
    words[key]
        .as_array()
        .unwrap()
        .iter()
        .map(|v| v.as_str().unwrap().to_owned())
        .collect()
}

/// The links as items of a list.
fn links(texts: &[String]) -> String {
    texts
        .iter()
        .map(|t| format!("<li><a href=\"/x\">{t}</a></li>"))
        .collect()
}

fn pages() -> Vec<Made> {
    let all: BTreeMap<String, Value> =
        serde_json::from_str(include_str!("fixtures/languages.json")).unwrap();
    all.iter()
        .flat_map(|(lang, words)| shapes(lang, words))
        .collect()
}

/// The same words as a news page, a blog of plain boxes, a thread, a manual and a text with
/// line breaks.
fn shapes(lang: &str, words: &Value) -> [Made; 5] {
    let title = text(words, "title");
    let lines = list(words, "text");
    let menu = links(&list(words, "menu"));
    let others = links(&list(words, "links"));
    let (related, cookie) = (text(words, "related"), text(words, "cookie"));
    let (footer, user) = (text(words, "footer"), text(words, "user"));
    let head = format!("<html lang={lang}><head><title>{title} | Example</title></head>");
    let top = format!(
        "<header><a href=/>Example</a><nav><ul>{menu}</ul></nav></header><div class=cookie-banner>{cookie}</div>"
    );
    let bottom = format!("<footer><ul>{menu}</ul><p>© 2026 Example. {footer}</p></footer>");
    let paragraphs: String = lines.iter().map(|l| format!("<p>{l}</p>")).collect();
    let boxes: String = lines.iter().map(|l| format!("<div>{l}</div>")).collect();
    let posts: String = lines
        .iter()
        .map(|l| format!("<div class=post><div class=username>{user}</div><div class=post-body><p>{l}</p></div></div>"))
        .collect();
    let made = |shape: &str, url, body: String| Made {
        name: format!("{lang} {shape}"),
        url,
        html: format!("{head}<body>{body}</body></html>"),
        lines: lines.clone(),
    };
    [
        made(
            "news",
            "https://news.example.org/news/2026/bridge.html",
            format!(
                "{top}<main><article><h1>{title}</h1>{paragraphs}</article><aside><h3>{related}</h3><ul>{others}</ul></aside></main>{bottom}"
            ),
        ),
        made(
            "blog",
            "https://example.org/blog/bridge",
            format!(
                "<div class=top><ul>{menu}</ul></div><div class=wrap><h1>{title}</h1>{boxes}<div class=more><h3>{related}</h3><ul>{others}</ul></div></div><div class=bottom><ul>{menu}</ul>© {footer}</div>"
            ),
        ),
        made(
            "thread",
            "https://forum.example.org/t/bridge/12",
            format!("{top}<h1>{title}</h1><div class=posts>{posts}</div>{bottom}"),
        ),
        made(
            "manual",
            "https://docs.example.org/docs/bridge",
            format!(
                "{top}<div class=sidebar><ul>{menu}{others}</ul></div><main><h1>{title}</h1>{paragraphs}<pre><code>bridge --keep</code></pre></main>{bottom}"
            ),
        ),
        made(
            "breaks",
            "https://example.org/story/bridge",
            format!(
                "<table><tr><td><ul>{menu}</ul></td><td><h1>{title}</h1>{}</td></tr></table>{bottom}",
                lines.join("<br><br>")
            ),
        ),
    ]
}

/// Characters of letters and digits in a text.
fn letters(text: &str) -> usize {
    text.chars().filter(|c| c.is_alphanumeric()).count()
}

#[test]
fn the_text_of_sixty_pages_in_twelve_languages() {
    let pages = pages();
    assert_eq!(pages.len(), 60);
    let mut faults = Vec::new();
    for page in &pages {
        let document = Document::new(page.url, &page.html);
        let document = document.page();
        let view = document.view().unwrap();
        let found = Content::of(view, page.url).text(view);
        for line in page.lines.iter().filter(|l| !found.contains(l.as_str())) {
            faults.push(format!("{}: lost {line}", page.name));
        }
        let wanted: usize = page.lines.iter().map(|l| letters(l)).sum();
        // Names of posters, the headline and the manual's code may stand beside the text.
        let more = letters(&found).saturating_sub(wanted);
        if more * 8 > wanted {
            faults.push(format!(
                "{}: {more} letters too many in {found:?}",
                page.name
            ));
        }
    }
    assert!(
        faults.is_empty(),
        "{} faults:\n{}",
        faults.len(),
        faults.join("\n")
    );
}
