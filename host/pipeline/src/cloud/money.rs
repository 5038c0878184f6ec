//! Conversion between US dollars, which are shown, and millionths of them, which are billed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use orbweaver_store::MAX_COST_MICROS;

/// What has been paid so far, in millionths of a US dollar, also for what failed in the end. Clones
/// count together.
#[derive(Clone, Debug, Default)]
pub struct Spent(Arc<AtomicU64>);

impl Spent {
    /// Counts what was paid.
    pub fn add(&self, micros: u64) {
        self.0.fetch_add(micros, Ordering::Relaxed);
    }

    /// The sum.
    pub fn micros(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Converts the cost of a call from dollars to millionths, rounded. An invalid one becomes 0, one above
/// [`MAX_COST_MICROS`] that; both are logged.
pub fn micros(usd: f64) -> u64 {
    if !usd.is_finite() || usd < 0.0 {
        tracing::warn!(
            cost_usd = usd,
            "cost is negative or not finite; counted as 0"
        );
        return 0;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "not negative, and a cast of what is above the type's range gives its greatest number"
    )]
    let micros = (usd * 1e6).round() as u64;
    if micros > MAX_COST_MICROS {
        tracing::warn!(
            cost_usd = usd,
            "cost exceeds the billing maximum of a call; capped"
        );
    }
    micros.min(MAX_COST_MICROS)
}

/// Converts millionths to dollars.
pub fn usd(micros: u64) -> f64 {
    #[expect(
        clippy::cast_precision_loss,
        reason = "exact up to nine billion dollars"
    )]
    let usd = micros as f64 / 1e6;
    usd
}

/// Price in millionths of `bytes` bytes at `usd_per_gb` dollars per 10^9 bytes.
pub fn traffic_micros(bytes: u64, usd_per_gb: f64) -> u64 {
    #[expect(clippy::cast_precision_loss, reason = "exact up to 9 PB")]
    let bytes = bytes as f64;
    micros(bytes / 1e9 * usd_per_gb)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dollars_and_millionths_agree() {
        assert_eq!(micros(0.0015), 1_500);
        assert_eq!(micros(f64::NAN), 0);
        assert_eq!(micros(-1.0), 0);
        assert_eq!(micros(1e30), 10_000_000_000);
        assert_eq!(micros(10_000.0), 10_000_000_000);
        assert!((usd(1_500) - 0.0015).abs() < 1e-12);
        assert_eq!(traffic_micros(500_000_000, 2.0), 1_000_000);
    }
}
