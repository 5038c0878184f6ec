//! Conversion between US dollars, which are shown, and millionths of them, which are billed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use orbweaver_store::MAX_COST_MICROS;

/// What has been paid so far, in millionths of a US dollar, also for what failed in the end. Clones
/// count together.
#[derive(Clone, Debug, Default)]
pub struct Spent(Arc<Sum>);

#[derive(Debug, Default)]
struct Sum {
    micros: AtomicU64,
    /// What it is a part of.
    whole: Option<Spent>,
}

impl Spent {
    /// A part of it: what is paid there counts here, too.
    pub(super) fn part(&self) -> Self {
        Self(Arc::new(Sum {
            micros: AtomicU64::default(),
            whole: Some(self.clone()),
        }))
    }

    /// Counts what was paid.
    pub fn add(&self, micros: u64) {
        self.0.micros.fetch_add(micros, Ordering::Relaxed);
        if let Some(whole) = &self.0.whole {
            whole.add(micros);
        }
    }

    /// The sum.
    pub fn micros(&self) -> u64 {
        self.0.micros.load(Ordering::Relaxed)
    }

    /// Begins work of others that costs `price` if nobody waits for its end: they do it all the same.
    pub fn under_way<P: Fn() -> u64>(&self, price: P) -> UnderWay<'_, P> {
        UnderWay {
            spent: self,
            price: Some(price),
        }
    }
}

/// Work of others that has not ended. Its price is paid when it is dropped before [`end`](Self::end).
#[must_use = "work that is dropped is paid"]
pub struct UnderWay<'a, P: Fn() -> u64> {
    spent: &'a Spent,
    price: Option<P>,
}

impl<P: Fn() -> u64> UnderWay<'_, P> {
    /// It has ended, and what it costs is known.
    pub fn end(mut self) {
        self.price = None;
    }
}

impl<P: Fn() -> u64> Drop for UnderWay<'_, P> {
    fn drop(&mut self) {
        if let Some(price) = &self.price {
            self.spent.add(price());
        }
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
    fn work_that_nobody_waits_for_is_paid_and_counts_in_the_whole() {
        let whole = Spent::default();
        let (one, other) = (whole.part(), whole.part());
        one.under_way(|| 7).end();
        assert_eq!(whole.micros(), 0);
        drop(one.under_way(|| 7));
        other.add(5);
        let sums = [&whole, &one, &other].map(Spent::micros);
        assert_eq!(sums, [12, 7, 5]);
    }

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
