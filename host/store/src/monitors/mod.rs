//! Monitors: recurring crawls.

mod fire;
mod rows;

pub(crate) use fire::unreliable;
pub use fire::{DueMonitor, DueProject, Fired};
pub use rows::{CreatedMonitor, Monitor, MonitorChange, NewMonitor};
