//! Pages of one site resemble one another, so error bars are drawn over sites.

use std::collections::BTreeMap;

use url::Url;

/// How often sites are drawn anew.
const DRAWS: u64 = 500;
/// Folds by site that are shown.
pub const FOLDS: u64 = 5;

/// The registrable domain of a URL (Public Suffix List), or its host where that has none.
pub fn site_of(url: &str) -> Option<String> {
    let url = Url::parse(url).ok()?;
    let host = url.host_str()?;
    // An address of numbers has no registrable part.
    let named = matches!(url.host(), Some(url::Host::Domain(_)));
    let domain = psl::domain_str(host).filter(|_| named);
    Some(domain.unwrap_or(host).to_owned())
}

/// A figure of a set of pages with its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The figure of all pages.
    pub value: f64,
    /// Standard error, by drawing sites with replacement (bootstrap).
    pub error: f64,
}

/// The figure of the pages `0..sites.len()` and its standard error. `figure` gets indices of
/// pages, of which some may occur more than once.
pub fn estimate(sites: &[&str], figure: impl Fn(&[usize]) -> f64) -> Estimate {
    let all: Vec<usize> = (0..sites.len()).collect();
    let groups = groups(sites);
    let mut random = 0x0b5e_55ed;
    let mut drawn = Vec::new();
    let values: Vec<f64> = (0..DRAWS)
        .map(|_| {
            drawn.clear();
            for _ in 0..groups.len() {
                let at = (split_mix(&mut random) % groups.len().max(1) as u64) as usize;
                drawn.extend_from_slice(groups.get(at).map_or(&[], Vec::as_slice));
            }
            figure(&drawn)
        })
        .collect();
    let mean = values.iter().sum::<f64>() / DRAWS as f64;
    let spread = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (DRAWS - 1) as f64;
    Estimate {
        value: figure(&all),
        error: spread.sqrt(),
    }
}

/// The figure of each fold of [`FOLDS`]; a site is whole in one fold, the same in every run.
pub fn folds(sites: &[&str], figure: impl Fn(&[usize]) -> f64) -> Vec<f64> {
    (0..FOLDS)
        .map(|fold| {
            let pages: Vec<usize> = (0..sites.len())
                .filter(|at| {
                    sites
                        .get(*at)
                        .is_some_and(|site| hash(site) % FOLDS == fold)
                })
                .collect();
            figure(&pages)
        })
        .collect()
}

fn groups(sites: &[&str]) -> Vec<Vec<usize>> {
    let mut groups: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, site) in sites.iter().enumerate() {
        groups.entry(site).or_default().push(at);
    }
    groups.into_values().collect()
}

/// SplitMix64.
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mix(*state)
}

fn mix(x: u64) -> u64 {
    let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// FNV-1a, mixed: its low bits alone are uneven.
fn hash(text: &str) -> u64 {
    let folded = text.bytes().fold(0xcbf2_9ce4_8422_2325, |h: u64, b| {
        (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3)
    });
    mix(folded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_is_the_registrable_domain() {
        for (url, site) in [
            ("https://www.news.example.co.uk/a", "example.co.uk"),
            ("http://a.github.io/x", "a.github.io"),
            ("https://127.0.0.1:80/", "127.0.0.1"),
        ] {
            assert_eq!(site_of(url).as_deref(), Some(site), "{url}");
        }
        assert_eq!(site_of("no url"), None);
    }

    #[test]
    fn the_error_counts_sites_and_not_pages() {
        let mean = |values: [f64; 8]| {
            move |pages: &[usize]| {
                pages.iter().map(|p| values[*p]).sum::<f64>() / pages.len() as f64
            }
        };
        let values = [0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0];
        let apart = ["a", "b", "c", "d", "e", "f", "g", "h"];
        let two = ["a", "a", "a", "a", "b", "b", "b", "b"];
        let many = estimate(&apart, mean(values));
        let few = estimate(&two, mean(values));
        assert_eq!(many.value, 0.5);
        // The standard error of n draws of a fair coin is 0.5 / √n.
        assert!((many.error - 0.177).abs() < 0.03, "{many:?}");
        assert!((few.error - 0.354).abs() < 0.05, "{few:?}");
    }

    #[test]
    fn a_site_is_whole_in_one_fold() {
        let sites: Vec<String> = (0..100).map(|i| format!("s{}.example", i / 2)).collect();
        let sites: Vec<&str> = sites.iter().map(String::as_str).collect();
        let sizes = folds(&sites, |pages| pages.len() as f64);
        assert_eq!(sizes.iter().sum::<f64>(), 100.0);
        assert!(
            sizes.iter().all(|n| n % 2.0 == 0.0 && *n > 0.0),
            "{sizes:?}"
        );
    }
}
