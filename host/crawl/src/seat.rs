//! Waiting for the worker's seat: a SQLite file has one process that works, and another one
//! stands by to follow it.

use std::time::Duration;

use orbweaver_store::{Seating, Store, WorkerSeat};

use crate::live::LiveRuns;

/// How often a process that stands by looks for the seat.
const LOOK: Duration = Duration::from_millis(500);

/// What a process hears of the seat while it waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seat {
    /// It is ours.
    Ours,
    /// It stands by: the process that works, where it is known.
    Others(Option<u32>),
}

/// Takes the worker's seat, waiting until it is free; none when the process stops before.
/// `told` hears who has it: once where we stand by, then that it is ours.
pub async fn seat(
    store: &Store,
    live: &LiveRuns,
    told: impl Fn(Seat) + Send,
) -> Option<WorkerSeat> {
    let mut known = None;
    loop {
        match store.take_seat().await {
            Ok(Seating::Ours(seat)) => {
                told(Seat::Ours);
                return Some(seat);
            }
            Ok(Seating::Taken(process)) => {
                if known != Some(process) {
                    told(Seat::Others(process));
                }
                known = Some(process);
            }
            Err(error) => tracing::warn!(%error, "cannot begin to work"),
        }
        tokio::select! {
            () = live.stopped() => return None,
            () = tokio::time::sleep(LOOK) => {}
        }
    }
}
