//! Monitors, which are recurring crawls: every statement on the table `monitors`.

mod fire;
pub(crate) mod rows;

pub use fire::{DueMonitor, DueProject, Fired};
pub use rows::{CreatedMonitor, Monitor, MonitorChange, NewMonitor, NextFire};
