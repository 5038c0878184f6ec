//! Facts are decided once for the roles that ask for them.

use std::rc::Rc;

use orbweaver_facts::{Facts, Sources};
use orbweaver_sdk::head::Head;
use orbweaver_sdk::testing::Document;

#[test]
fn facts_are_decided_once_for_each_language() {
    let url = "https://example.org/webs";
    let document = Document::new(url, "<h1>Webs</h1><p>Posted on 03/04/2024</p>");
    let page = document.page();
    let view = page.view().expect("view");
    let head = Head::of(&page).expect("head");
    let facts = |language: &str| {
        let sources = Sources {
            view,
            url,
            head: &head,
            objects: &[],
            language,
            answered: "",
        };
        Facts::shared(&page, &sources)
    };
    let british = facts("en-GB");
    assert_eq!(british.published.as_deref(), Some("2024-04-03"));
    assert!(Rc::ptr_eq(&british, &facts("en-GB")));
    // Another language reads the day in another way, and is not answered with that of the first.
    assert_eq!(facts("en-US").published.as_deref(), Some("2024-03-04"));
    assert_eq!(facts("en-GB"), british);
}
