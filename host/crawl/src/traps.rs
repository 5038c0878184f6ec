//! Limits against sites that never end: calendars, facets, repeating paths.
//!
//! Depth and `max_pages` limit every run; these limits keep a trap from using them up.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use orbweaver_urls::Resolved;

/// Maximum repeats in a row of a sequence of path segments: `/a/b/a/b/a/b` is three.
const MAX_REPEATS: usize = 2;
/// The same for a single segment, which dates repeat legitimately: `/11/11/11`.
const MAX_SINGLE_REPEATS: usize = 3;
/// Longest sequence that is checked, in segments.
const MAX_UNIT: usize = 6;
/// How often one segment may appear in a path.
const MAX_SAME_SEGMENT: usize = 6;
/// Maximum number of segments of a path.
const MAX_SEGMENTS: usize = 64;
/// How many orders of the same parameters are fetched.
const MAX_ORDERS: u32 = 2;

/// The URLs that a run has admitted so far, counted by template.
#[derive(Debug)]
pub struct Traps {
    /// URLs per template: host, path with its numbers replaced, names of parameters.
    templates: HashMap<u64, u32>,
    /// Orders per path and set of parameters.
    orders: HashMap<u64, u32>,
    budget: u32,
}

impl Traps {
    /// Allows at most `budget` URLs per template.
    pub fn new(budget: u32) -> Self {
        Self {
            templates: HashMap::new(),
            orders: HashMap::new(),
            budget,
        }
    }

    /// Whether a new URL is to be fetched; counts it if so.
    pub fn admit(&mut self, url: &Resolved) -> bool {
        let path = url.path();
        if repeats(path) {
            return false;
        }
        // Sites may number pages in paths without limit and legitimately; endless generated pages
        // have queries and dates.
        let query = url.query().filter(|query| !query.is_empty());
        if query.is_none() && !has_date(path) {
            return true;
        }
        let mut template = DefaultHasher::new();
        url.host().hash(&mut template);
        hash_folded(path, &mut template);
        let mut order = None;
        if let Some(query) = query {
            let mut parameters: Vec<&str> = query.split('&').collect();
            parameters.sort_unstable();
            let mut names: Vec<&str> = parameters
                .iter()
                .map(|parameter| parameter.split('=').next().unwrap_or(""))
                .collect();
            names.sort_unstable();
            names.hash(&mut template);
            if parameters.len() > 1 {
                let mut set = DefaultHasher::new();
                url.host().hash(&mut set);
                path.hash(&mut set);
                parameters.hash(&mut set);
                order = Some(set.finish());
            }
        }
        let template = template.finish();
        let used = self.templates.get(&template).copied().unwrap_or(0);
        let orders = order.map_or(0, |order| self.orders.get(&order).copied().unwrap_or(0));
        if used >= self.budget || orders >= MAX_ORDERS {
            return false;
        }
        self.templates.insert(template, used + 1);
        if let Some(order) = order {
            self.orders.insert(order, orders + 1);
        }
        true
    }
}

/// Whether a path repeats itself, as broken relative links make it.
fn repeats(path: &str) -> bool {
    let segments: Vec<&str> = path
        .split('/')
        .filter(|segment| !segment.is_empty())
        .collect();
    if segments.len() > MAX_SEGMENTS {
        return true;
    }
    for (at, segment) in segments.iter().enumerate() {
        let rest = segments.get(at..).unwrap_or_default();
        if rest.iter().filter(|other| *other == segment).count() > MAX_SAME_SEGMENT {
            return true;
        }
        for unit in 1..=MAX_UNIT.min(rest.len()) {
            let max = if unit == 1 {
                MAX_SINGLE_REPEATS
            } else {
                MAX_REPEATS
            };
            let mut pieces = rest.chunks_exact(unit);
            let first = pieces.next();
            let same = 1 + pieces.take_while(|piece| Some(*piece) == first).count();
            if same > max {
                return true;
            }
        }
    }
    false
}

/// Whether a path has a year and a number after it, as calendars have.
fn has_date(path: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let is_year = |text: &str| text.len() == 4 && is_number(text);
    let mut segments = path.split('/').peekable();
    while let Some(segment) = segments.next() {
        if is_year(segment) && segments.peek().is_some_and(|next| is_number(next)) {
            return true;
        }
        let mut parts = segment.split('-');
        if parts.next().is_some_and(is_year) && parts.next().is_some_and(is_number) {
            return true;
        }
    }
    false
}

/// Hashes a path with each run of digits replaced by one mark.
fn hash_folded(path: &str, hasher: &mut DefaultHasher) {
    let mut in_number = false;
    for byte in path.bytes() {
        let digit = byte.is_ascii_digit();
        if !digit {
            hasher.write_u8(byte);
        } else if !in_number {
            hasher.write_u8(b'0');
        }
        in_number = digit;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admitted(budget: u32, urls: impl IntoIterator<Item = String>) -> usize {
        let mut traps = Traps::new(budget);
        urls.into_iter()
            .filter(|url| traps.admit(&Resolved::parse(url).unwrap()))
            .count()
    }

    #[test]
    fn repeating_paths_are_skipped() {
        for bad in ["/a/b/a/b/a/b", "/x/a/a/a/a", "/a/b/c/a/b/c/a/b/c/d"] {
            assert!(repeats(bad), "{bad}");
        }
        for good in [
            "/",
            "/a/b/a/b",
            "/2011/11/11/11",
            "/a/a/b/a/a/b",
            "/docs/a/docs",
        ] {
            assert!(!repeats(good), "{good}");
        }
    }

    #[test]
    fn calendars_are_limited_and_numbered_pages_are_not() {
        let days =
            (0..1_000).map(|day| format!("http://e.org/cal/{}/{}", 2000 + day / 12, day % 12));
        assert_eq!(admitted(50, days), 50);
        let months = (0..1_000).map(|month| format!("http://e.org/cal?month={month}"));
        assert_eq!(admitted(50, months), 50);
        let pages = (0..1_000).map(|page| format!("http://e.org/p/{page}.html"));
        assert_eq!(admitted(50, pages), 1_000);
    }

    #[test]
    fn orders_of_the_same_parameters_are_limited() {
        let orders = [
            "a=1&b=2&c=3",
            "b=2&a=1&c=3",
            "c=3&a=1&b=2",
            "c=3&b=2&a=1",
            "a=1&b=2&c=4",
        ];
        let urls = orders.map(|query| format!("http://e.org/?{query}"));
        assert_eq!(admitted(50, urls), 3);
    }
}
