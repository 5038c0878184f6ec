//! A host of a run.

use std::sync::Arc;

use orbweaver_fetch::RobotsAnswer;
use tokio::time::Instant;

use crate::politeness::Turn;

/// A host of the run.
pub(super) struct Host {
    pub(super) turn: Arc<Turn>,
    pub(super) robots: Robots,
}

/// What is known of a host's robots.txt.
pub(super) enum Robots {
    Unknown,
    Loading,
    Known(Arc<RobotsAnswer>, Instant),
}
