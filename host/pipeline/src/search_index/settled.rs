//! Up to which id no further page will be stored, where several nodes write.
//!
//! Ids are drawn in order, but transactions end in any order: a page may become visible long after
//! one with a higher id. What may be indexed are therefore the pages up to an id that was the newest
//! when every transaction that was writing pages then has ended.
//!
//! Transactions are told by their locks on the table. `pg_snapshot_xmin` would be simpler, but it
//! counts every writing transaction of the server, those of other databases, too: one that takes
//! hours would keep pages from the index for hours.

use std::collections::HashSet;
use std::time::Duration;

use tokio::time::Instant;

/// How long a transaction is waited for. One that takes longer is not a commit of ours: it belongs
/// to a person, or to a node that is gone, whose transaction will be rolled back.
const PATIENCE: Duration = Duration::from_secs(600);

/// What is known of the transactions that write pages.
#[derive(Debug, Default)]
pub(super) struct Settled {
    through: i64,
    mark: Option<Mark>,
    /// Transactions that are not waited for any more.
    given_up: HashSet<String>,
}

/// An id, and the transactions that may store pages before it.
#[derive(Debug)]
struct Mark {
    newest: i64,
    writers: Vec<String>,
    until: Instant,
}

impl Settled {
    /// The id up to which no further page will be stored.
    pub(super) const fn through(&self) -> i64 {
        self.through
    }

    /// Notes the newest page and, as they were found after it, the transactions that write pages.
    pub(super) fn note(&mut self, newest: i64, writers: &[String], now: Instant) {
        self.given_up.retain(|known| writers.contains(known));
        if let Some(mark) = &mut self.mark {
            mark.writers.retain(|known| writers.contains(known));
            if now >= mark.until && !mark.writers.is_empty() {
                let transactions = mark.writers.join(", ");
                tracing::warn!(
                    transactions,
                    "transactions that write pages do not end; search will not find what they store"
                );
                self.given_up.extend(mark.writers.drain(..));
            }
            if mark.writers.is_empty() {
                self.through = mark.newest;
                self.mark = None;
            }
        }
        if self.mark.is_some() || newest <= self.through {
            return;
        }
        let open = writers
            .iter()
            .filter(|writer| !self.given_up.contains(*writer));
        let writers: Vec<String> = open.cloned().collect();
        if writers.is_empty() {
            self.through = newest;
        } else {
            self.mark = Some(Mark {
                newest,
                writers,
                until: now + PATIENCE,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(writers: &[&str]) -> Vec<String> {
        writers.iter().map(|name| (*name).to_owned()).collect()
    }

    fn noted(settled: &mut Settled, newest: i64, writers: &[&str], now: Instant) -> i64 {
        settled.note(newest, &names(writers), now);
        settled.through()
    }

    #[test]
    fn a_page_waits_for_the_transactions_that_may_store_one_before_it() {
        let (mut settled, now) = (Settled::default(), Instant::now());
        assert_eq!(noted(&mut settled, 5, &[], now), 5);
        assert_eq!(noted(&mut settled, 7, &["a", "b"], now), 5);
        // What began later stores later pages.
        assert_eq!(noted(&mut settled, 9, &["b", "c"], now), 5);
        assert_eq!(noted(&mut settled, 9, &["c"], now), 7);
        assert_eq!(noted(&mut settled, 9, &[], now), 9);
    }

    #[test]
    fn a_transaction_that_never_ends_holds_pages_back_once() {
        let (mut settled, now) = (Settled::default(), Instant::now());
        assert_eq!(noted(&mut settled, 7, &["stuck"], now), 0);
        assert_eq!(noted(&mut settled, 8, &["stuck", "a"], now), 0);
        let later = now + PATIENCE;
        assert_eq!(noted(&mut settled, 8, &["stuck", "a"], later), 7);
        assert_eq!(noted(&mut settled, 8, &["stuck"], later), 8);
        assert_eq!(noted(&mut settled, 9, &["stuck"], later), 9);
        // Another one of the same name is another one.
        assert_eq!(noted(&mut settled, 9, &[], later), 9);
        assert_eq!(noted(&mut settled, 10, &["stuck"], later), 9);
    }
}
