//! Turns of the calls that change the same value of a plugin. Without them, of many calls that read, change
//! and write it, one at a time succeeds, and the others start again until they give up.
//!
//! A write that expects a version waits for the turn of its key. A call that lost such a write gets the turn when it
//! reads the key again, and holds it until its next write, so that this one finds the version that was read.
//!
//! Each node has turns of its own: they only spare work. That no change is lost is the database's doing, which
//! takes one of two writes for a version, from whatever nodes they come.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use orbweaver_store::StateOwner;
use parking_lot::Mutex;
use tokio::sync::OwnedMutexGuard;
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};

/// Longest time from a read to the write for which a call holds the turn.
const MAX_HELD: Duration = Duration::from_secs(1);
/// Longest wait for a turn; then the call goes on without it.
const MAX_WAIT: Duration = Duration::from_secs(10);

type ValueKey = (StateOwner, String);

/// The turns of this process. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct StateTurns(Arc<Mutex<HashMap<ValueKey, Arc<tokio::sync::Mutex<()>>>>>);

impl StateTurns {
    /// Waits for the turn of a value: calls get it in the order in which they ask.
    async fn wait(&self, key: &ValueKey) -> Option<OwnedMutexGuard<()>> {
        let turn = {
            let mut turns = self.0.lock();
            turns.retain(|_, turn| Arc::strong_count(turn) > 1);
            Arc::clone(turns.entry(key.clone()).or_default())
        };
        timeout(MAX_WAIT, turn.lock_owned()).await.ok()
    }
}

/// The part of one call in the turns.
pub(super) struct CallTurns {
    turns: StateTurns,
    /// The key of the last write, if another version was current.
    lost: Mutex<Option<ValueKey>>,
    /// The turn for the next write; its time may end before.
    held: Arc<Mutex<Option<Held>>>,
}

struct Held {
    key: ValueKey,
    turn: OwnedMutexGuard<()>,
    end: AbortHandle,
}

impl CallTurns {
    pub fn new(turns: StateTurns) -> Self {
        Self {
            turns,
            lost: Mutex::default(),
            held: Arc::default(),
        }
    }

    /// Before a value is read: takes the turn if the call has lost a write of it.
    pub(crate) async fn before_read(&self, owner: &StateOwner, key: &str) {
        let key = (owner.clone(), key.to_owned());
        if self.lost.lock().take_if(|lost| *lost == key).is_none() {
            return;
        }
        self.release();
        if let Some(turn) = self.turns.wait(&key).await {
            let held = Arc::clone(&self.held);
            let end = tokio::spawn(async move {
                sleep(MAX_HELD).await;
                held.lock().take();
            });
            *self.held.lock() = Some(Held {
                key,
                turn,
                end: end.abort_handle(),
            });
        }
    }

    /// Before a write that expects a version: waits for the turn, unless the call holds it.
    pub(crate) async fn before_write(&self, owner: &StateOwner, key: &str) -> WriteTurn<'_> {
        let key = (owner.clone(), key.to_owned());
        // The turn of another value is given up before the wait: its holder may wait for that value's.
        let own = self.release().filter(|held| held.key == key);
        let turn = match own {
            Some(held) => Some(held.turn),
            None => self.turns.wait(&key).await,
        };
        WriteTurn {
            call: self,
            key,
            _turn: turn,
        }
    }

    /// Before a write that expects no version: it needs no turn, and ends the one that the call holds.
    pub(crate) fn before_any_write(&self) {
        self.release();
    }

    /// Gives up the turn that the call holds.
    fn release(&self) -> Option<Held> {
        let held = self.held.lock().take()?;
        held.end.abort();
        Some(held)
    }
}

/// The turn of a write.
pub(super) struct WriteTurn<'a> {
    call: &'a CallTurns,
    key: ValueKey,
    _turn: Option<OwnedMutexGuard<()>>,
}

impl WriteTurn<'_> {
    /// Ends it; `is_lost` says whether another version was current.
    pub fn end(self, is_lost: bool) {
        *self.call.lost.lock() = is_lost.then_some(self.key);
    }
}

impl Drop for CallTurns {
    fn drop(&mut self) {
        self.release();
    }
}

#[cfg(test)]
mod tests {
    use orbweaver_core::ids::ProjectId;

    use super::*;

    fn key() -> ValueKey {
        let owner = StateOwner {
            project: ProjectId::from(1),
            own: false,
            kind: "actor".to_owned(),
            name: "a".to_owned(),
        };
        (owner, "k".to_owned())
    }

    /// Loses a write.
    async fn lose(call: &CallTurns) {
        let (owner, key) = key();
        call.before_write(&owner, &key).await.end(true);
    }

    /// Increases a number by compare-and-swap; returns the attempts.
    async fn increase(call: CallTurns, value: Arc<Mutex<u64>>) -> u32 {
        let ((owner, _), key) = (key(), "number");
        let mut attempts = 0;
        loop {
            attempts += 1;
            call.before_read(&owner, key).await;
            let read = *value.lock();
            tokio::task::yield_now().await;
            let turn = call.before_write(&owner, key).await;
            let is_current = *value.lock() == read;
            *value.lock() += u64::from(is_current);
            turn.end(!is_current);
            if is_current {
                return attempts;
            }
        }
    }

    #[tokio::test]
    async fn each_of_many_writers_loses_once_at_most() {
        let (turns, value) = (StateTurns::default(), Arc::new(Mutex::new(0)));
        let mut writers = tokio::task::JoinSet::new();
        for _ in 0..200 {
            writers.spawn(increase(CallTurns::new(turns.clone()), Arc::clone(&value)));
        }
        let attempts = writers.join_all().await;
        assert_eq!(*value.lock(), 200);
        assert_eq!(attempts.into_iter().max(), Some(2));
    }

    #[tokio::test]
    async fn calls_that_hold_the_turns_of_two_values_do_not_wait_for_each_other() {
        let turns = StateTurns::default();
        let (owner, _) = key();
        let holder = async |name| {
            let call = CallTurns::new(turns.clone());
            call.before_write(&owner, name).await.end(true);
            call.before_read(&owner, name).await;
            call
        };
        let (one, other) = (holder("a").await, holder("b").await);
        let (first, second) = tokio::join!(
            one.before_write(&owner, "b"),
            other.before_write(&owner, "a"),
        );
        let held = turns
            .0
            .lock()
            .values()
            .map(|turn| turn.try_lock().is_err())
            .collect::<Vec<_>>();
        assert_eq!(held, [true, true]);
        first.end(false);
        second.end(false);
    }

    #[tokio::test]
    async fn a_call_that_does_not_write_again_gives_up_its_turn() {
        let turns = StateTurns::default();
        let (owner, name) = key();
        let idle = CallTurns::new(turns.clone());
        lose(&idle).await;
        idle.before_read(&owner, &name).await;
        assert!(idle.held.lock().is_some());
        assert!(turns.wait(&key()).await.is_some(), "its time has ended");
        lose(&idle).await;
        idle.before_read(&owner, &name).await;
        idle.before_any_write();
        assert!(idle.held.lock().is_none(), "it has written");
        lose(&idle).await;
        idle.before_read(&owner, &name).await;
        drop(idle);
        assert!(turns.0.lock().values().all(|turn| turn.try_lock().is_ok()));
    }
}
