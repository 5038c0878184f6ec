//! Random numbers of a simulation: the same seed gives the same numbers.

/// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
pub struct Random(u64);

impl Random {
    /// A sequence.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Above 0 and below 1, evenly.
    pub fn unit(&mut self) -> f64 {
        ((self.next() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// Log-normal: `median`, and `spread` as the standard deviation of the logarithm.
    pub fn log_normal(&mut self, median: f64, spread: f64) -> f64 {
        if spread == 0.0 {
            return median;
        }
        // Box and Muller, "A note on the generation of random normal deviates", 1958.
        let radius = (-2.0 * self.unit().ln()).sqrt();
        let normal = radius * (std::f64::consts::TAU * self.unit()).cos();
        median * (spread * normal).exp()
    }

    /// Pareto: at least `least`, with this exponent.
    pub fn pareto(&mut self, least: f64, exponent: f64) -> f64 {
        least * self.unit().powf(-1.0 / exponent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_and_the_least_hold() {
        let mut random = Random::new(7);
        let count = 100_000;
        let below = (0..count)
            .filter(|_| random.log_normal(3.0, 0.8) < 3.0)
            .count();
        assert!(
            (below as f64 / f64::from(count) - 0.5).abs() < 0.01,
            "{below}"
        );
        assert!((0..count).all(|_| random.pareto(2.0, 1.2) >= 2.0));
        assert_eq!(random.log_normal(3.0, 0.0), 3.0);
    }
}
