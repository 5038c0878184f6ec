//! Several ways to the same server, of which the first that works is taken.

use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;

/// The first attempt that succeeds. One that takes longer than the head start does not keep the next from
/// being tried beside it (RFC 8305, section 5). Else the first failure, or a final one, after which no other
/// can succeed; nothing if there is no way.
pub(crate) async fn first<W, T, E, F>(
    ways: &[W],
    head_start: Duration,
    attempt: impl Fn(W) -> F,
    is_final: impl Fn(&E) -> bool,
) -> Result<T, Option<E>>
where
    W: Copy,
    F: Future<Output = Result<T, E>>,
{
    let mut failure = None;
    let mut waiting = ways.iter();
    let mut attempts = FuturesUnordered::new();
    loop {
        if let Some(&way) = waiting.next() {
            attempts.push(attempt(way));
        }
        let next = async {
            match waiting.len() {
                0 => std::future::pending().await,
                _ => tokio::time::sleep(head_start).await,
            }
        };
        tokio::select! {
            ended = attempts.next() => match ended {
                Some(Ok(reached)) => return Ok(reached),
                Some(Err(error)) if is_final(&error) => return Err(Some(error)),
                Some(Err(error)) => {
                    failure.get_or_insert(error);
                }
                None => return Err(failure),
            },
            () = next => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    const HOUR: Duration = Duration::from_secs(3_600);

    #[tokio::test]
    async fn failures_are_followed_by_the_next_way_until_a_final_one() {
        for (is_final, expected, tried) in [
            (false, Ok("c"), vec!["a", "b", "c"]),
            (true, Err(Some("no b")), vec!["a", "b"]),
        ] {
            let log = RefCell::new(Vec::new());
            let attempt = |way| {
                log.borrow_mut().push(way);
                async move {
                    match way {
                        "a" => Err("no a"),
                        "b" => Err("no b"),
                        _ => Ok(way),
                    }
                }
            };
            let ends = |error: &&str| is_final && *error == "no b";
            let reached = first(&["a", "b", "c"], HOUR, attempt, ends).await;
            assert_eq!((reached, log.into_inner()), (expected, tried));
        }
    }

    #[tokio::test]
    async fn without_a_way_that_works_the_first_failure_is_told() {
        let attempt = |way: &'static str| async move { Err::<(), _>(way) };
        let reached = first(&["a", "b"], HOUR, attempt, |_| false).await;
        assert_eq!(reached, Err(Some("a")));
        assert_eq!(first(&[], HOUR, attempt, |_| false).await, Err(None));
    }

    #[tokio::test]
    async fn a_way_without_end_does_not_keep_the_next_waiting() {
        let attempt = |way: u8| async move {
            match way {
                0 => std::future::pending::<Result<u8, ()>>().await,
                way => Ok(way),
            }
        };
        let reached = first(&[0, 1], Duration::ZERO, attempt, |()| false).await;
        assert_eq!(reached, Ok(1));
    }
}
