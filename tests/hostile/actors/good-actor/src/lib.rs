//! Well-behaved: fetches `url` `n` times concurrently (twice by default), and returns the
//! sizes of the pages and what the role `good` extracts from the first page.

use hostile_support::futures_util::future::join_all;
use hostile_support::host::{extraction, http};
use hostile_support::{Error, get};

hostile_support::actor!(run);

async fn run(input: String) -> Result<String, Error> {
    let url = field(&input, "url").unwrap_or_default();
    let n: usize = field(&input, "n").and_then(|n| n.parse().ok()).unwrap_or(2);
    let pages = join_all((0..n).map(|i| http::fetch(get(&format!("{url}?{i}"))))).await;
    let mut sizes = Vec::new();
    let mut errors = 0;
    let mut first = "null".to_owned();
    for page in pages {
        match page {
            Ok(page) => {
                if sizes.is_empty() {
                    first = extraction::extract("good".to_owned(), &page, "{}".to_owned()).await?;
                }
                sizes.push(page.size().to_string());
            }
            Err(error) if n == 1 => return Err(error),
            Err(_) => errors += 1,
        }
    }
    Ok(format!(
        r#"{{"sizes":[{}],"errors":{errors},"good":{first}}}"#,
        sizes.join(",")
    ))
}

/// The text of a field of flat JSON; enough for the tests' inputs.
fn field(json: &str, name: &str) -> Option<String> {
    let (_, rest) = json.split_once(&format!("\"{name}\":"))?;
    Some(
        rest.split([',', '}'])
            .next()?
            .trim()
            .trim_matches('"')
            .to_owned(),
    )
}
