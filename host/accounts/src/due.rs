//! Waiting for work that the database holds: until it has changed, or the next piece is due.

use std::time::Duration;

use chrono::{DateTime, Utc};
use orbweaver_store::{ChangeWatch, Store};
use tokio::time::{Instant, sleep_until};

use crate::clock::Clock;

/// Between two looks, at least, however often the database changes.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// When a task should look for work again.
#[derive(Debug)]
pub struct Due {
    changes: ChangeWatch,
    clock: Clock,
    earliest: Instant,
    next: Option<DateTime<Utc>>,
}

impl Due {
    /// At once, to begin with.
    pub fn new(store: &Store, clock: &Clock) -> Self {
        Self {
            changes: store.watch_changes(),
            clock: clock.clone(),
            earliest: Instant::now(),
            next: Some(clock.now()),
        }
    }

    /// Notes a look, and when the next piece of work is due: `Ok(None)` where none is known.
    /// After a failure the next look follows soon.
    pub fn looked<E>(&mut self, next: &Result<Option<DateTime<Utc>>, E>) {
        self.earliest = Instant::now() + POLL_INTERVAL;
        self.next = match next {
            Ok(next) => *next,
            Err(_) => Some(self.clock.now()),
        };
    }

    /// Returns when it is time to look. May be dropped and called again.
    #[crate::boxed]
    pub async fn wait(&mut self) {
        sleep_until(self.earliest).await;
        tokio::select! {
            () = self.changes.changed() => {}
            () = self.clock.wait_until(self.next) => {}
        }
    }
}
