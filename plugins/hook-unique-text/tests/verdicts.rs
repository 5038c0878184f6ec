//! One page of those with the same text is kept.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use std::cell::Cell;
use std::rc::Rc;

use orbweaver_hook_unique_text::{Config, UniqueText};
use orbweaver_sdk::Error;
use orbweaver_sdk::hook::{Hook, Made, RecordVerdict, Visit};
use orbweaver_sdk::testing::{self, Document};

const TEXT: &str = "A text that is long enough to be compared with that of other pages.";

/// A crawl whose role `article` finds the text of `<main>`, if there is one.
struct Crawl {
    run: Rc<Cell<i64>>,
    article: Rc<Cell<Option<&'static str>>>,
}

impl testing::Host for Crawl {
    fn crawl_run(&self) -> Option<i64> {
        Some(self.run.get())
    }

    fn input(&self, role: &str) -> Result<String, Error> {
        assert_eq!(role, "article");
        let text = self.article.get();
        Ok(orbweaver_sdk::serde_json::json!({ "text": text }).to_string())
    }
}

struct Site {
    run: Rc<Cell<i64>>,
    article: Rc<Cell<Option<&'static str>>>,
    _installed: testing::Installed,
}

fn site() -> Site {
    let (run, article) = (Rc::new(Cell::new(7)), Rc::new(Cell::new(None)));
    let crawl = Crawl {
        run: Rc::clone(&run),
        article: Rc::clone(&article),
    };
    Site {
        run,
        article,
        _installed: testing::install(crawl),
    }
}

fn verdict(url: &str, status: u16, html: &str) -> RecordVerdict {
    let document = Document::new(url, html);
    let visit = Visit {
        url: url.to_owned(),
        status,
        ..Visit::default()
    };
    let config = Config { min_chars: 20 };
    UniqueText::record(&config, &visit, &document.page(), &Made::default()).expect("a verdict")
}

#[test]
fn the_second_page_with_a_text_is_dropped_and_the_first_stays() {
    let _site = site();
    let page = |title: &str| format!("<title>{title}</title><p>{TEXT}");
    assert_eq!(
        verdict("https://a.org/1", 200, &page("1")),
        RecordVerdict::Keep
    );
    let dropped = RecordVerdict::Drop("its text is that of https://a.org/1".to_owned());
    let shouted = page("2").to_uppercase();
    assert_eq!(verdict("https://a.org/2", 200, &shouted), dropped);
    // The same page again, as after a crash.
    assert_eq!(
        verdict("https://a.org/1", 200, &page("1")),
        RecordVerdict::Keep
    );
    let other = format!("<p>{TEXT} And more.");
    assert_eq!(verdict("https://a.org/3", 200, &other), RecordVerdict::Keep);
}

#[test]
fn the_main_text_counts_where_there_is_one() {
    let site = site();
    site.article.set(Some(TEXT));
    assert_eq!(
        verdict("https://a.org/1", 200, "<p>menu one"),
        RecordVerdict::Keep
    );
    let second = verdict("https://a.org/2", 200, "<p>menu two");
    assert!(matches!(second, RecordVerdict::Drop(_)), "{second:?}");
}

#[test]
fn the_headline_does_not_count() {
    let site = site();
    let html = "<h1>The  headline</h1><p>menu";
    site.article.set(Some(TEXT));
    let first = verdict("https://a.org/1", 200, html);
    assert_eq!(first, RecordVerdict::Keep);
    site.article.set(Some(
        "The headline\nA text that is long enough to be compared with that of other pages.",
    ));
    let second = verdict("https://a.org/2", 200, html);
    assert!(matches!(second, RecordVerdict::Drop(_)), "{second:?}");
    // Another first line is a part of the text.
    let third = verdict("https://a.org/3", 200, "<h1>Another</h1>");
    assert_eq!(third, RecordVerdict::Keep);
}

#[test]
fn each_run_has_its_own_texts() {
    let site = site();
    let html = format!("<p>{TEXT}");
    assert_eq!(verdict("https://a.org/1", 200, &html), RecordVerdict::Keep);
    site.run.set(8);
    assert_eq!(verdict("https://a.org/2", 200, &html), RecordVerdict::Keep);
}

#[test]
fn short_texts_and_errors_are_not_compared() {
    let _site = site();
    for url in ["https://a.org/1", "https://a.org/2"] {
        assert_eq!(verdict(url, 200, "<p>Short"), RecordVerdict::Keep);
        let html = format!("<p>{TEXT}");
        assert_eq!(verdict(url, 404, &html), RecordVerdict::Keep);
    }
}

#[test]
fn many_texts_of_long_urls_are_told_apart() {
    let _site = site();
    let path = "x".repeat(400);
    for number in 0..3_000 {
        let html = format!("<p>{TEXT} Number {number}.");
        let url = format!("https://a.org/{path}/{number}");
        assert_eq!(verdict(&url, 200, &html), RecordVerdict::Keep, "{number}");
        let copy = verdict(&format!("{url}/copy"), 200, &html);
        assert!(matches!(copy, RecordVerdict::Drop(_)), "{number}: {copy:?}");
    }
}
