//! The page's own text among those that its JSON-LD states.

use crate::{URL, facts};

const OTHER: &str = r#"{"@type":"NewsArticle","headline":"Other story","url":"https://www.orb-journal.example/other","author":{"name":"Otto Wrong"},"datePublished":"2001-01-01","dateModified":"2001-01-02","image":"/other.jpg"}"#;

fn told(own: &str, rest: &str) -> [String; 4] {
    let html = format!("<script type=application/ld+json>[{OTHER},{own},{OTHER}]</script>{rest}");
    let found = facts(&html);
    [found.author, found.published, found.modified, found.image].map(Option::unwrap_or_default)
}

#[test]
fn the_page_s_own_text_goes_before_teasers() {
    let facts_of = r#""author":{"name":"Ann Lee"},"datePublished":"2024-03-05","dateModified":"2024-03-07","image":"/own.jpg""#;
    let expected = ["Ann Lee", "2024-03-05", "2024-03-07", "/own.jpg"];
    let h1 = "<h1>Nine machines</h1>";
    for (stated, rest) in [
        (r#""headline":"Nine machines""#.to_owned(), h1),
        (r#""headline":"Nine machines | Orb Journal""#.to_owned(), h1),
        (
            r#""headline":"Nine machines""#.to_owned(),
            "<title>Nine machines - Orb Journal</title>",
        ),
        (
            r#""headline":"Nine machines""#.to_owned(),
            "<meta property=og:title content='Nine machines'>",
        ),
        (r#""name":"Nine machines""#.to_owned(), h1),
        (format!(r#""headline":"Long title","url":"{URL}""#), h1),
        (
            format!(r#""headline":"Long title","url":"{URL}/#main""#),
            h1,
        ),
        (r#""url":"/webs/1""#.to_owned(), h1),
        (
            r#""url":"http://orb-journal.example/webs/1/""#.to_owned(),
            h1,
        ),
        (format!(r#""mainEntityOfPage":"{URL}""#), h1),
        (
            format!(r#""mainEntityOfPage":{{"@type":"WebPage","@id":"{URL}"}}"#),
            h1,
        ),
        (format!(r#""@id":"{URL}#article""#), h1),
        (
            r#""url":"https://www.orb-journal.example/webs/nine""#.to_owned(),
            "<link rel=canonical href=/webs/nine><h1>9</h1>",
        ),
        (
            r#""url":"https://www.orb-journal.example/webs/nine""#.to_owned(),
            "<meta property=og:url content=https://www.orb-journal.example/webs/nine>",
        ),
    ] {
        let own = format!(r#"{{"@type":"NewsArticle",{stated},{facts_of}}}"#);
        assert_eq!(told(&own, rest), expected, "{stated} {rest}");
    }
}

#[test]
fn what_the_page_s_own_text_lacks_is_not_taken_from_a_teaser() {
    let own = r#"{"@type":"NewsArticle","headline":"Nine machines"}"#;
    let nothing = ["", "", "", ""];
    assert_eq!(told(own, "<h1>Nine machines</h1>"), nothing);
    // A second object without an address may tell of the same.
    let own = r#"{"@type":"NewsArticle","headline":"Nine machines"},{"@type":"Recipe","name":"Soup","author":"Ann Lee"}"#;
    assert_eq!(told(own, "<h1>Nine machines</h1>")[0], "Ann Lee");
}

#[test]
fn the_first_text_counts_where_none_is_known_to_be_the_page_s() {
    let own = r#"{"@type":"NewsArticle","headline":"Something else","author":{"name":"Ann Lee"}}"#;
    assert_eq!(told(own, "<h1>Nine machines</h1>")[0], "Otto Wrong");
}
