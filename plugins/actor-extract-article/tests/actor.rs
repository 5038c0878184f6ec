//! The actor's answers for an article; its roles are served by the built-in plugins.

use orbweaver_actor_extract_article::{Input, reading_time, run};
use orbweaver_sdk::Error;
use orbweaver_sdk::testing::{Document, Site, block_on, install};
use serde_json::{Value, json};

const URL: &str = "https://journal.example/tower-clock/";
const PAGE: &str = include_str!("../fixtures/wordpress.html");

fn site() -> Site {
    Site::default()
        .page(Document::new(URL, PAGE))
        .role("article", orbweaver_extract_article::extract)
        .role("markdown", orbweaver_extract_markdown::extract)
        .role("metadata", orbweaver_extract_metadata::extract)
}

fn answer(site: Site, input: Value) -> Result<Value, Error> {
    let _web = install(site);
    let input: Input = serde_json::from_value(input)?;
    Ok(serde_json::to_value(block_on(run(input))?)?)
}

#[test]
fn an_article_with_its_comments() {
    let found = answer(site(), json!({"url": URL, "include_comments": true})).expect("an answer");
    let expected: Value =
        serde_json::from_str(include_str!("../fixtures/wordpress.json")).expect("JSON");
    assert_eq!(found, expected, "{found:#}");
}

#[test]
fn plain_text_without_comments_can_be_requested() {
    let found =
        answer(site(), json!({"url": URL, "format": "text", "wpm": 60})).expect("an answer");
    assert_eq!(found["format"], "text");
    assert_eq!(found["comments"], json!([]));
    let content = found["content"].as_str().expect("a text");
    assert!(content.starts_with("For three winters"), "{content}");
    assert!(
        !content.contains('[') && !content.contains("jackdaws?"),
        "{content}"
    );
    assert_eq!(
        found["reading_time_seconds"], found["word_count"],
        "a word a second"
    );
}

#[test]
fn a_page_without_content_has_an_empty_one() {
    let empty = Site::default()
        .page(Document::new(URL, "<title>Nothing</title>"))
        .role("article", orbweaver_extract_article::extract)
        .role("markdown", orbweaver_extract_markdown::extract)
        .role("metadata", orbweaver_extract_metadata::extract);
    let found = answer(empty, json!({"url": URL, "include_comments": true})).expect("an answer");
    assert_eq!(found["content"], "");
    assert_eq!(found["word_count"], 0);
    assert_eq!(found["reading_time_seconds"], 0);
    assert_eq!(found["comments"], json!([]));
    assert_eq!(found["metadata"]["title"], "Nothing");
}

#[test]
fn the_opening_post_of_a_thread_is_no_comment() {
    for (forum, html) in [
        ("Invision", include_str!("../fixtures/invision.html")),
        ("NodeBB", include_str!("../fixtures/nodebb.html")),
    ] {
        let input = json!({"url": URL, "include_comments": true});
        let found = answer(site().page(Document::new(URL, html)), input).expect("an answer");
        let content = found["content"].as_str().expect("a text");
        assert!(
            content.contains("the same gearbox oil"),
            "{forum}: {content}"
        );
        let comments = found["comments"].as_array().expect("comments");
        let authors: Vec<&Value> = comments.iter().map(|one| &one["author"]).collect();
        assert_eq!(authors, ["bo", "cy"], "{forum}: {found:#}");
        assert_eq!(comments[0]["depth"], 0, "{forum}");
    }
}

#[test]
fn an_error_page_tells_its_status() {
    let page = Document::new(URL, PAGE).status(404);
    let found = answer(site().page(page), json!({"url": URL})).expect("an answer");
    assert_eq!(found["status_code"], 404);
}

#[test]
fn a_missing_grant_of_a_role_is_reported() {
    let bare = Site::default().page(Document::new(URL, PAGE));
    assert!(matches!(
        answer(bare, json!({"url": URL})),
        Err(ref error) if error.is_refusal()
    ));
}

#[test]
fn reading_time_is_rounded_up() {
    assert_eq!(reading_time(0, 200), 0);
    assert_eq!(reading_time(1, 200), 1);
    assert_eq!(reading_time(200, 200), 60);
    assert_eq!(reading_time(201, 200), 61);
    assert_eq!(
        reading_time(u64::MAX, 0),
        u64::MAX,
        "no overflow, no division by zero"
    );
}
