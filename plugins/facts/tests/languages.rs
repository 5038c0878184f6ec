//! Facts of pages in twelve languages that do not declare theirs.

use std::collections::BTreeMap;

use orbweaver_facts::{Facts, Sources, language};
use orbweaver_sdk::head::Head;
use orbweaver_sdk::testing::Document;
use serde_json::Value;

/// The texts that the pages are made of; the content's tests read them too.
const TEXTS: &str = include_str!("../../content/tests/fixtures/languages.json");

/// One page: a menu, a headline with byline and date, the text and a footer.
fn page(words: &Value) -> String {
    let text = |key: &str| words[key].as_str().unwrap_or_default().to_owned();
    let list = |key: &str, before: &str, behind: &str| -> String {
        let items = words[key].as_array().into_iter().flatten();
        items
            .filter_map(Value::as_str)
            .map(|item| format!("{before}{item}{behind}"))
            .collect()
    };
    let menu = list("menu", "<li><a href=/x>", "</a>");
    format!(
        "<title>{title} | Orb Journal</title><header><h1>Orb Journal</h1><ul>{menu}</ul></header>\
         <main><h2>{title}</h2><p class=author>{user}</p><time datetime=2024-03-14>14.3.</time>\
         {paragraphs}</main><footer><ul>{menu}</ul>{footer}</footer>",
        title = text("title"),
        user = text("user"),
        paragraphs = list("text", "<p>", "</p>"),
        footer = text("footer"),
    )
}

#[test]
fn facts_are_found_in_every_script() {
    let texts: BTreeMap<String, Value> = serde_json::from_str(TEXTS).expect("texts");
    assert_eq!(texts.len(), 12);
    let mut faults = Vec::new();
    for (lang, words) in &texts {
        let url = "https://www.orb-journal.example/webs/1";
        let document = Document::new(url, &page(words));
        let page = document.page();
        let view = page.view().expect("view");
        let head = Head::of(&page).expect("head");
        let detected = language::detect(view);
        let found = Facts::of(&Sources {
            view,
            url,
            head: &head,
            objects: &[],
            language: detected.unwrap_or(""),
            answered: "",
        });
        for (field, found, expected) in [
            ("language", detected, Some(lang.as_str())),
            ("title", found.title.as_deref(), words["title"].as_str()),
            (
                "headline",
                found.headline.as_deref(),
                words["title"].as_str(),
            ),
            ("author", found.author.as_deref(), words["user"].as_str()),
            ("published", found.published.as_deref(), Some("2024-03-14")),
        ] {
            if found != expected {
                faults.push(format!("{lang} {field}: {found:?} instead of {expected:?}"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
