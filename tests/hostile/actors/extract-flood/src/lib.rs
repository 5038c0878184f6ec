//! Lets the host and its extractors work instead of itself. The input says how:
//!
//! - `trees`: 300 extractions at once, whose options are many small values; `long`: one with options of
//!   100 KB;
//! - `each`: extractions of pages that it makes, one after the other, until one is refused;
//! - `at-once`: 200 of them at the same time;
//! - `spin` and `wait`: begins extractions and fetches, and lets none of them go on: it computes until it is
//!   asked to end, or waits for the role `wait`. Then it takes the answers.
//!
//! The output says how many had an answer, and how many were refused with `budget`.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use hostile_support::futures_util::future::{join, join_all};
use hostile_support::host::parsing::from_html;
use hostile_support::host::{extraction, extraction_sync, http, job};
use hostile_support::{Error, error, get};

hostile_support::actor!(run);

const URL: &str = "https://flood.example/";

async fn run(input: String) -> Result<String, Error> {
    let answers = match input.trim_matches('"') {
        "trees" => {
            let page = from_html(URL, "<p>x");
            let options = format!("{{\"a\":[{}0]}}", "{\"\":0},".repeat(8_000));
            let begin = |_| extraction::extract("good".to_owned(), &page, options.clone());
            join_all((0..300).map(begin)).await
        }
        "long" => {
            let page = from_html(URL, "<p>x");
            let options = format!("{{\"a\":\"{}\"}}", "x".repeat(100_000));
            vec![extraction::extract("good".to_owned(), &page, options).await]
        }
        "each" => {
            let mut answers = Vec::new();
            loop {
                answers.push(one().await);
                if answers.last().is_some_and(Result::is_err) {
                    break answers;
                }
            }
        }
        "at-once" => join_all((0..200).map(|_| one())).await,
        how @ ("spin" | "wait") => stall(how == "spin").await,
        _ => return Err(error("invalid-input", "unknown attack")),
    };
    let refused = |answer: &&Result<String, Error>| matches!(answer, Err(e) if e.code == "budget");
    let answered = answers.iter().filter(|answer| answer.is_ok()).count();
    let refused = answers.iter().filter(refused).count();
    match answers
        .into_iter()
        .find_map(|answer| answer.err().filter(|e| e.code != "budget"))
    {
        Some(error) => Err(error),
        None => Ok(format!(r#"{{"answered":{answered},"refused":{refused}}}"#)),
    }
}

/// An extraction of a page that it makes.
async fn one() -> Result<String, Error> {
    let page = from_html(URL, &"<p>x".repeat(100));
    extraction::extract("good".to_owned(), &page, "{}".to_owned()).await
}

/// Begins extractions by an interpreter and fetches, stands still, and returns all answers.
async fn stall(spins: bool) -> Vec<Result<String, Error>> {
    const EACH: usize = 8;
    let pages: Vec<_> = (0..EACH).map(|_| from_html(URL, "<p>x")).collect();
    for page in &pages {
        // Parsed, so that the extractions need no more than an extractor.
        page.snapshot();
    }
    let extract = |page| extraction::extract("clock".to_owned(), page, "{}".to_owned());
    let fetch = async || Ok(http::fetch(get(URL)).await?.url());
    let mut begun = pin!(join(
        join_all(pages.iter().map(extract)),
        join_all((0..EACH).map(|_| fetch())),
    ));
    poll_fn(|cx| {
        // Not even the first has ended.
        assert!(begun.as_mut().poll(cx).is_pending());
        Poll::Ready(())
    })
    .await;
    let mut answers = Vec::new();
    if spins {
        while !job::cancelled() {}
    } else {
        let page = from_html(URL, "<p>y");
        answers.push(extraction_sync::extract("wait", &page, "{}"));
    }
    let (extracted, fetched) = begun.await;
    answers.extend(extracted);
    answers.extend(fetched);
    answers
}
