//! The fetcher on answers in the shape that the site documents.

use orbweaver_sdk::Code;
use orbweaver_site_stackoverflow::fetch;
use orbweaver_sites::testing::call;
use serde_json::json;

#[test]
fn unknown_paths_are_named_with_the_known_ones() {
    let error = call(fetch, DOMAIN, &[], "no/such/path/at/all", json!({})).unwrap_err();
    assert!(
        error.is_invalid() && error.message().starts_with("path: `no/such"),
        "{error}"
    );
}

const DOMAIN: &str = "stackoverflow.com";
const QUESTION: &str =
    "https://api.stackexchange.com/2.3/questions/5001?site=stackoverflow&filter=withbody";
const ANSWERS: &str = "https://api.stackexchange.com/2.3/questions/5001/answers?order=desc&sort=votes&pagesize=30&page=1&site=stackoverflow&filter=withbody";

#[test]
fn a_question_comes_with_its_answers() {
    let web = [
        (QUESTION, include_str!("../fixtures/questions.json")),
        (ANSWERS, include_str!("../fixtures/answers.json")),
    ];
    let found = call(
        fetch,
        DOMAIN,
        &web,
        "questions/5001/how-to-weave",
        json!({}),
    )
    .unwrap();
    assert_eq!(
        found[0],
        json!({
            "type": "question", "id": 5001, "title": "How to weave a \"web\"?",
            "url": "https://stackoverflow.com/questions/5001/how-to-weave",
            "text": "In Rust & wasm?", "html": "<p>In <code>Rust</code> &amp; wasm?</p>",
            "author": "Orb & Co", "score": 12, "tags": ["rust", "wasm"], "answers": 1,
            "views": 1200, "accepted": true, "created_at": "2024-02-29T09:46:40Z",
            "active_at": "2024-02-29T12:34:56Z",
        })
    );
    assert_eq!(
        (&found[1]["type"], &found[1]["accepted"]),
        (&json!("answer"), &json!(true))
    );
    assert_eq!(
        found[1]["url"],
        "https://stackoverflow.com/questions/5001#5002"
    );
}

#[test]
fn lists_people_and_searches_are_found() {
    let tagged = "https://api.stackexchange.com/2.3/questions?tagged=c%2B%2B&order=desc&sort=activity&pagesize=5&page=1&site=stackoverflow&filter=withbody";
    let search = "https://api.stackexchange.com/2.3/search/advanced?q=web&order=desc&sort=relevance&pagesize=30&page=1&site=stackoverflow&filter=withbody";
    let questions = include_str!("../fixtures/questions.json");
    let web = [
        (tagged, questions),
        (search, questions),
        (
            "https://api.stackexchange.com/2.3/users/77?site=stackoverflow",
            include_str!("../fixtures/users.json"),
        ),
    ];
    assert_eq!(
        call(
            fetch,
            DOMAIN,
            &web,
            "questions/tagged/c++",
            json!({"limit": 5})
        )
        .unwrap()[0]["id"],
        5001
    );
    assert_eq!(
        call(fetch, DOMAIN, &web, "search", json!({"query": "web"})).unwrap()[0]["id"],
        5001
    );
    let user = call(fetch, DOMAIN, &web, "users/77", json!({})).unwrap();
    assert_eq!(
        (&user[0]["author"], &user[0]["score"]),
        (&json!("Orb & Co"), &json!(501))
    );
}

#[test]
fn missing_items_and_answers_of_another_shape_are_reported() {
    let none = call(
        fetch,
        DOMAIN,
        &[(QUESTION, include_str!("../fixtures/none.json"))],
        "questions/5001",
        json!({}),
    );
    assert!(matches!(none, Err(ref error) if error.is_invalid()));
    let error = call(
        fetch,
        DOMAIN,
        &[(QUESTION, r#"{"items": [{}]}"#)],
        "questions/5001",
        json!({}),
    )
    .unwrap_err();
    assert!(
        error.code() == Code::Failed && error.message().contains("has an unknown form"),
        "{error}"
    );
}
