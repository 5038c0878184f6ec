//! Lets the host and its extractors work instead of itself. The input says how:
//!
//! - `trees`: 300 extractions at once, whose options are many small values; `long`: one with options of
//!   100 KB;
//! - `each`: extractions of pages that it makes, one after the other, until one is refused;
//! - `at-once`: 200 of them at the same time.
//!
//! The output says how many had an answer, and how many were refused with `budget`.

use hostile_support::futures_util::future::join_all;
use hostile_support::host::extraction;
use hostile_support::host::parsing::from_html;
use hostile_support::{Error, error};

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
