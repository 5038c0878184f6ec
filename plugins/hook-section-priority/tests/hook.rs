//! Priorities of links by the start of their path.

use orbweaver_hook_section_priority::{Config, SectionPriority};
use orbweaver_sdk::hook::{FoundLink, Hook, LinkVerdict, Visit};
use orbweaver_sdk::serde_json::{from_value, json};
use orbweaver_sdk::testing::Document;

#[test]
fn the_longest_start_of_the_path_counts() {
    let config: Config = from_value(json!({
        "sections": [
            {"prefix": "/news/", "priority": 10},
            {"prefix": "/news/old/", "priority": -5},
        ],
        "skip": ["/search"],
    }))
    .expect("a configuration");
    let urls = [
        "https://example.org/news/today",
        "https://example.org/news/old/1999",
        "https://example.org/search?q=/news/",
        "https://news/about",
        "https://example.org",
    ];
    let links = urls.map(|url| FoundLink {
        url: url.to_owned(),
        ..FoundLink::default()
    });
    let document = Document::new("https://example.org/", "");
    let discovery = SectionPriority::discover(&config, &Visit::default(), &document.page(), &links)
        .expect("verdicts");
    assert!(discovery.added.is_empty());
    assert_eq!(
        discovery.verdicts,
        [
            LinkVerdict::Follow(10),
            LinkVerdict::Follow(-5),
            LinkVerdict::Skip("the section /search is left out".to_owned()),
            LinkVerdict::Follow(0),
            LinkVerdict::Follow(0),
        ]
    );
}
