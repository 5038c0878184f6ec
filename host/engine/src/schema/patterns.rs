//! Regular expressions of schemas: how long each takes.
//!
//! An expression is searched in time linear in the text, times its states where the text makes it
//! leave the fast path. Compiling it takes memory and time by its repeats and Unicode classes, not
//! by its length. So each is compiled once within limits of its size, and its size is its cost.

use std::collections::HashMap;

use regex::RegexBuilder;

/// Different patterns of a schema.
const MAX_PATTERNS: usize = 128;
/// Bytes of one pattern: a class of two bytes is hundreds of ranges while it is parsed.
pub(super) const MAX_BYTES: usize = 2_000;
/// Groups and classes within each other.
const MAX_NESTING: u32 = 64;
/// Bytes of a compiled pattern for each unit of its cost.
const UNIT: usize = 4 << 10;
/// Units that are tried, the last of which is the most that a pattern may have.
const UNITS: [u64; 6] = [1, 4, 16, 64, 512, MAX_UNITS_OF_ONE];
const MAX_UNITS_OF_ONE: u64 = 2_560;
/// The most of all patterns of a schema together: 16 MiB.
const MAX_UNITS: u64 = 4_096;
/// Bytes of a compiled pattern: a hundred letters of any script take half of it.
pub(super) const MAX_COMPILED: usize = UNIT * MAX_UNITS_OF_ONE as usize;
/// Bytes of the cache that a search with one pattern fills, and that stays.
pub(super) const MAX_CACHE: usize = 256 << 10;

/// The patterns of a schema.
#[derive(Debug, Default)]
pub(super) struct Patterns<'a> {
    known: HashMap<&'a str, u64>,
    sum: u64,
}

impl<'a> Patterns<'a> {
    /// The units that a pattern costs for each byte of text.
    ///
    /// # Errors
    /// Why it is refused, or all of them together.
    pub(super) fn units(&mut self, pattern: &'a str) -> Result<u64, String> {
        if let Some(known) = self.known.get(pattern) {
            return Ok(*known);
        }
        if pattern.len() > MAX_BYTES {
            return Err(format!("a pattern has more than {MAX_BYTES} bytes"));
        }
        if self.known.len() >= MAX_PATTERNS {
            return Err(format!("it has more than {MAX_PATTERNS} patterns"));
        }
        let units = measured(pattern).ok_or_else(|| {
            format!(
                "a pattern takes more than {} MiB when compiled: shorten repeats such as {{1000}}, \
                 and Unicode classes such as \\p{{L}}",
                MAX_COMPILED >> 20
            )
        })?;
        self.sum += units;
        if self.sum > MAX_UNITS {
            return Err(format!(
                "its patterns take more than {} MiB together when compiled",
                (MAX_UNITS as usize * UNIT) >> 20
            ));
        }
        self.known.insert(pattern, units);
        Ok(units)
    }
}

/// The smallest size within which a pattern compiles; none if there is none.
fn measured(pattern: &str) -> Option<u64> {
    UNITS.into_iter().find(|units| {
        let built = RegexBuilder::new(pattern)
            .size_limit(UNIT * *units as usize)
            .nest_limit(MAX_NESTING)
            .build();
        match built {
            Ok(_) => true,
            Err(regex::Error::CompiledTooBig(_)) => false,
            // Something that ECMAScript has and this syntax has not: the most that it may be, which
            // holds when the schema is compiled.
            Err(_) => *units == MAX_UNITS_OF_ONE,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_cost_what_they_take_when_compiled() {
        let mut patterns = Patterns::default();
        assert_eq!(patterns.units("^https?://"), Ok(1));
        assert_eq!(patterns.units("^[a-z]{1,200}$"), Ok(16));
        // Names of people are checked so.
        assert_eq!(patterns.units(r"^[\p{L} '-]{1,100}$"), Ok(MAX_UNITS_OF_ONE));
        let unknown = Patterns::default().units("(?!x)y");
        assert_eq!(unknown, Ok(MAX_UNITS_OF_ONE));
    }

    #[test]
    fn large_patterns_are_refused_alone_and_together() {
        let error = Patterns::default().units(r"\p{L}{1000}").unwrap_err();
        assert!(error.contains("10 MiB"), "{error}");
        let error = Patterns::default()
            .units(&r"\pL".repeat(1_000))
            .unwrap_err();
        assert!(error.contains("2000 bytes"), "{error}");
        let many: Vec<String> = (0..40).map(|n| format!(r"\p{{L}}{{12}}{n}")).collect();
        let mut patterns = Patterns::default();
        let error = many.iter().find_map(|one| patterns.units(one).err());
        assert!(error.is_some_and(|error| error.contains("together")));
        let many: Vec<String> = (0..300).map(|n| format!("^{n}$")).collect();
        let mut patterns = Patterns::default();
        let error = many.iter().find_map(|one| patterns.units(one).err());
        assert!(error.is_some_and(|error| error.contains("more than 128 patterns")));
    }
}
