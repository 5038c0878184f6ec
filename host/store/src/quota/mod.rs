//! What projects may use and what they are billed: every statement on `usage_events`,
//! `usage_days` and `quota_reservations`.

pub(crate) mod reservations;
pub(crate) mod usage;

pub use reservations::{Amount, Ask, Granted, PageCap, PageCaps};
pub use usage::{NewUsage, UsageDay};
