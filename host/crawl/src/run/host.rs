//! A host of a run.

use std::sync::Arc;

use orbweaver_fetch::RobotsAnswer;
use tokio::time::Instant;

use crate::politeness::Turn;

/// A host of the run.
pub(super) struct Host {
    pub(super) turn: Arc<Turn>,
    pub(super) robots: Robots,
    /// The next entry, if that file was seen to allow it: it may wait for its turn for long.
    pub(super) allowed: Option<i64>,
    /// Which node crawls it.
    pub(super) place: Place,
    /// Its URLs that are being fetched, here or elsewhere.
    pub(super) under_way: u32,
}

/// Which node crawls a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// None yet.
    Nowhere,
    /// This one.
    Here,
    /// The one that leases this part of the run.
    Part(i64),
}

/// What is known of a host's robots.txt.
pub(super) enum Robots {
    Unknown,
    /// It is being asked for, after so many tries that failed.
    Loading(u32),
    /// It could not be had, so many times, and is asked for again then.
    PutOff(u32, Instant),
    Known(Arc<RobotsAnswer>, Instant),
}
