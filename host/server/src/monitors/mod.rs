//! Monitors: crawls that recur by a schedule.

pub mod scheduler;
