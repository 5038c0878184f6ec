//! In a run, or in a call that is none, does what its input says: emits and reports progress as it
//! should, or floods, ignores that it is cancelled, or does a bad deed.

use hostile_support::host::{http, job};
use hostile_support::{Error, deeds, error, get};

hostile_support::actor!(run);

async fn run(input: String) -> Result<String, Error> {
    let what = field(&input, "do").unwrap_or_default();
    let n: u64 = field(&input, "n").and_then(|n| n.parse().ok()).unwrap_or(3);
    let url = field(&input, "url").unwrap_or_default();
    match what.as_str() {
        "context" => {
            let context = job::context();
            Ok(format!(
                r#"{{"request_id":"{}","run_id":{},"deadline_ms":{},"attempts":{},"cancelled":{}}}"#,
                context.request_id,
                context
                    .run_id
                    .map_or("null".to_owned(), |id| id.to_string()),
                context.deadline_ms,
                context.attempts,
                job::cancelled(),
            ))
        }
        // Emits and reports `n` times.
        "emit" => {
            for i in 0..n {
                job::emit(&format!(r#"{{"n":{i},"name":"ä, \"{i}\""}}"#))?;
                job::progress(i + 1, Some(n), "emitting");
            }
            Ok(format!(r#"{{"emitted":{n}}}"#))
        }
        // Fetches `n` URLs one after the other, and emits each.
        "fetch" => {
            let attempt = job::context().attempts;
            for i in 0..n {
                let page = http::fetch(get(&format!("{url}?{i}"))).await?;
                let status = page.status().unwrap_or_default();
                job::emit(&format!(
                    r#"{{"n":{i},"attempt":{attempt},"status":{status}}}"#
                ))?;
                job::progress(i + 1, Some(n), "fetching");
            }
            Ok(format!(r#"{{"fetched":{n}}}"#))
        }
        // Works until it is cancelled.
        "wait" => {
            job::emit("1")?;
            while !job::cancelled() {
                http::fetch(get(&url)).await?;
            }
            Ok(r#"{"noticed":true}"#.to_owned())
        }
        // Works for ever, whatever its caller wants.
        "ignore" => {
            job::emit("1")?;
            loop {
                drop(http::fetch(get(&url)).await);
            }
        }
        // Emits until it is refused, and then as often again.
        "flood" => {
            let mut emitted = 0_u64;
            let mut refused = 0_u64;
            let mut why = String::new();
            while refused <= emitted {
                match job::emit(r#""x""#) {
                    Ok(()) => emitted += 1,
                    Err(error) if error.code == "budget" => {
                        refused += 1;
                        why = error.message;
                    }
                    Err(error) => return Err(error),
                }
            }
            Ok(format!(r#"{{"emitted":{emitted},"why":"{why}"}}"#))
        }
        // Emits what is no item.
        "bad-items" => {
            let large = format!("\"{}\"", "x".repeat(1 << 20));
            let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
            let texts = ["", "{", "NaN", "1 2", &large, &deep];
            let mut errors = Vec::new();
            for text in texts {
                match job::emit(text) {
                    Ok(()) => errors.push("\"taken\"".to_owned()),
                    Err(error) => errors.push(format!("{:?}", error.code)),
                }
            }
            Ok(format!("[{}]", errors.join(",")))
        }
        // Reports progress for ever.
        "progress-flood" => {
            let long = "\u{1b}[2J".repeat(20_000);
            loop {
                job::progress(u64::MAX, Some(0), &long);
            }
        }
        "huge-item" => {
            let huge = format!("\"{}\"", "x".repeat(48 << 20));
            job::emit(&huge)?;
            Ok("1".to_owned())
        }
        other => deeds::act_with_pages(other)
            .unwrap_or_else(|| Err(error("invalid-input", format!("do: {other} is unknown")))),
    }
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
