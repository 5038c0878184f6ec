//! Quota and billing: every statement on `usage_events`, `usage_days`, `usage_calls` and
//! `quota_reservations`.

pub(crate) mod reservations;
pub(crate) mod usage;

pub use reservations::{
    Amount, PageCap, PageCaps, ReachedCap, ReservationRequest, ReservationResult,
};
pub use usage::{MAX_COST_MICROS, NewUsage, UsageCall, UsageDay};
