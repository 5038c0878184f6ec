//! Markdown fidelity probes: each gives a piece of HTML, patterns that its Markdown must
//! match, and patterns that it must not.

use fancy_regex::Regex;
use orbweaver_extract_markdown::{Options, markdown};
use serde_json::Value;

#[test]
fn every_probe_passes() {
    let probes: Vec<Value> =
        serde_json::from_str(include_str!("../fixtures/probes.json")).expect("JSON");
    let mut failures = Vec::new();
    for probe in &probes {
        let html = probe["html"].as_str().expect("html");
        let snapshot = orbweaver_sdk::dom::parse(html);
        let view = snapshot.view().expect("view");
        let markdown = markdown(&view, "https://host.example/page", &Options::default());
        let matches = |pattern: &Value| {
            let regex = Regex::new(pattern.as_str().expect("pattern")).expect("regex");
            regex.is_match(&markdown).expect("match")
        };
        let list = |key: &str| probe[key].as_array().expect("patterns").clone();
        for pattern in list("need").iter().filter(|p| !matches(p)) {
            failures.push(format!("{}: needs {pattern} in {markdown:?}", probe["id"]));
        }
        for pattern in list("no").iter().filter(|p| matches(p)) {
            failures.push(format!("{}: has {pattern} in {markdown:?}", probe["id"]));
        }
    }
    assert_eq!(probes.len(), 24);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
