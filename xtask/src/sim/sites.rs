//! The sites of a crawl: how many pages each has.

use super::random::Random;

/// Most pages of a run (the API's limit of `max_pages`).
const LARGEST: f64 = 100_000.0;
/// Most sites that are simulated one by one; beyond it each stands for several.
const MAX_SITES: f64 = 40_000.0;

/// Sites, each crawled by a run of its own.
pub struct Sites {
    /// Pages of each site that is simulated.
    pub pages: Vec<f64>,
    /// How many real sites each of them stands for.
    pub weight: f64,
}

impl Sites {
    /// Sites with so many pages in all. Their sizes follow a Pareto distribution, as the sizes
    /// of sites in the web do (Adamic and Huberman, "Zipf's law and the Internet", 2002), cut
    /// at the largest run; its mean is `mean`.
    pub fn draw(total: f64, mean: f64, tail: f64, seed: u64) -> Self {
        let count = (total / mean).max(1.0);
        let weight = (count / MAX_SITES).max(1.0);
        let pages = Self::sizes((count / weight).round(), total / weight, tail, seed);
        Self { pages, weight }
    }

    /// Pages of each of so many sites, with so many in all.
    pub fn sizes(count: f64, total: f64, tail: f64, seed: u64) -> Vec<f64> {
        let mut random = Random::new(seed);
        let mut pages: Vec<f64> = (0..count as usize)
            .map(|_| random.pareto(1.0, tail).min(LARGEST))
            .collect();
        // The sum of a sample varies a lot with such a tail: it is scaled to the total, which
        // the cut at both ends changes again.
        for _ in 0..50 {
            let scale = total / pages.iter().sum::<f64>();
            for size in &mut pages {
                *size = (*size * scale).clamp(1.0, LARGEST);
            }
        }
        pages
    }

    /// Sites of the same size.
    pub fn even(sites: f64, total: f64) -> Self {
        Self {
            pages: vec![total / sites; sites as usize],
            weight: 1.0,
        }
    }

    /// Number of real sites.
    pub fn count(&self) -> f64 {
        self.pages.len() as f64 * self.weight
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sites_have_the_pages_that_are_asked_for() {
        for total in [1e4, 1e6, 1e8] {
            let sites = Sites::draw(total, 60.0, 1.2, 1);
            let sum: f64 = sites.pages.iter().sum::<f64>() * sites.weight;
            assert!((sum / total - 1.0).abs() < 0.05, "{sum} of {total}");
            assert!((sites.count() / (total / 60.0) - 1.0).abs() < 0.01);
            assert!(sites.pages.iter().all(|&pages| pages <= LARGEST));
        }
    }
}
