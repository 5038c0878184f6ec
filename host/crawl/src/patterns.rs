//! `include_paths` and `exclude_paths`: clients' regular expressions, with one budget for all
//! of a request.
//!
//! Patterns are parsed first, which is linear, and their compiled size is estimated before anything
//! is compiled. Then they become tables, so that matching takes a step for each byte of a URL and
//! each table. Some patterns have no small table, such as `/id.{1,40}/x`: few states of such patterns
//! are matched one by one, and requests with more are refused.

mod ascii;
mod estimate;
mod states;
mod table;

use std::sync::Arc;

use orbweaver_pipeline::rules::InvalidField;
use regex_syntax::hir::Hir;

use estimate::estimate;
use states::{States, Walk};
use table::{Budget, Table};

/// Maximum number of patterns in one list.
const MAX_PATTERNS: usize = 100;
/// Maximum bytes of one pattern.
const MAX_PATTERN_BYTES: usize = 1_024;
/// Maximum nesting of groups and classes.
const MAX_NESTING: u32 = 32;
/// Maximum number of estimated states of all patterns of a request. A path pattern such as
/// `^/blog/[0-9]{4}/[a-z-]+$` takes about 25.
const MAX_STATES: u64 = 14_000;
/// Maximum memory of the states of patterns that are compiled together.
const STATES_BYTES: usize = 4 << 20;
/// What the tables of a request may take: 4 MiB, and up to 100 ms.
const TABLES: Budget = Budget {
    steps: 16 << 20,
    entries: 1 << 20,
};
/// What the table of one pattern may take of it.
const ONE_TABLE: Budget = Budget {
    steps: 8 << 20,
    entries: 1 << 17,
};
/// What tables of several patterns may take besides, and one of them.
const SHARED_TABLES: Budget = Budget {
    steps: 4 << 20,
    entries: 1 << 18,
};
const ONE_SHARED: Budget = Budget {
    steps: 1 << 20,
    entries: 1 << 16,
};
/// Maximum states of all patterns of a request that have no table.
const MAX_SLOW_STATES: usize = 256;
/// Steps of a table in the time of one step by states.
const SLOW_COST: u64 = 4;

/// Both lists of patterns, compiled. Cheap to clone.
#[derive(Clone, Debug)]
pub struct PathPatterns {
    include: Arc<Matcher>,
    exclude: Arc<Matcher>,
}

/// A byte of a pattern takes as long as so many bytes of a page, times the longest repeat.
const COMPILE_COST: usize = 64;
/// The longest repeat of a pattern that has none: a pattern leads to as many places as it is long.
const NO_REPEAT: usize = 8;

impl PathPatterns {
    /// The work of [`compile`](Self::compile), in bytes of a page that take as long.
    pub fn work(include: &[String], exclude: &[String]) -> usize {
        let patterns = include.iter().chain(exclude);
        let work = patterns.map(|pattern| {
            let numbers = pattern.split(['{', ',', '}']);
            let repeats = numbers.filter_map(|part| part.trim().parse().ok());
            let repeat = repeats.fold(NO_REPEAT, usize::max);
            pattern
                .len()
                .saturating_mul(COMPILE_COST)
                .saturating_mul(repeat)
        });
        work.fold(0, usize::saturating_add)
    }

    /// Compiles patterns. CPU-bound: up to 200 ms.
    ///
    /// # Errors
    /// The first invalid pattern, as `include_paths[3]`, one that makes the patterns too large
    /// together, or one that would take long to match.
    pub fn compile(include: &[String], exclude: &[String]) -> Result<Self, InvalidField> {
        let mut states = 0;
        let mut lists = [Vec::new(), Vec::new()];
        let named = [("exclude_paths", exclude), ("include_paths", include)];
        for ((field, patterns), list) in named.into_iter().zip(&mut lists) {
            if patterns.len() > MAX_PATTERNS {
                return Err(InvalidField::new(field, "must be at most 100 patterns"));
            }
            for (index, pattern) in patterns.iter().enumerate() {
                let field = format!("{field}[{index}]");
                if pattern.len() > MAX_PATTERN_BYTES {
                    return Err(InvalidField::new(&field, "must be at most 1024 bytes"));
                }
                let unicode = is_unicode(pattern);
                states +=
                    estimate(pattern, unicode).map_err(|why| InvalidField::new(&field, why))?;
                if states > MAX_STATES {
                    return Err(InvalidField::new(
                        &field,
                        "makes the patterns of this request too large together: shorten \
                         repeats such as {1000}, and replace \\w, \\d and \\p{…} by [a-z0-9]",
                    ));
                }
                list.push((field, pattern, unicode));
            }
        }
        let mut compiler = Compiler::default();
        let [exclude, include] = lists;
        Ok(Self {
            exclude: compiler.list(&parsed(exclude)?)?,
            include: compiler.list(&parsed(include)?)?,
        })
    }

    /// Whether there are no patterns.
    pub fn is_empty(&self) -> bool {
        self.include.is_empty() && self.exclude.is_empty()
    }

    /// The most steps that a byte of a URL takes.
    pub fn steps_per_byte(&self) -> usize {
        self.include.steps_per_byte() + self.exclude.steps_per_byte()
    }

    /// Whether a path with its query passes the patterns. Adds the work to `steps`: about a
    /// nanosecond each.
    pub fn allow(&self, path: &str, steps: &mut u64) -> bool {
        let path = path.as_bytes();
        !self.exclude.is_match(path, steps)
            && (self.include.is_empty() || self.include.is_match(path, steps))
    }
}

/// Parses patterns, each with its field and whether it is Unicode.
fn parsed(patterns: Vec<(String, &String, bool)>) -> Result<Vec<(String, Hir)>, InvalidField> {
    let each = patterns.into_iter().map(|(field, pattern, unicode)| {
        match ascii::parse(pattern, unicode, MAX_NESTING) {
            Ok(hir) => Ok((field, hir)),
            Err(why) => Err(InvalidField::new(&field, fault(&why))),
        }
    });
    each.collect()
}

/// A list of patterns.
#[derive(Debug, Default)]
struct Matcher {
    tables: Vec<Table>,
    /// Patterns without a table.
    slow: Vec<States>,
}

impl Matcher {
    fn is_empty(&self) -> bool {
        self.tables.is_empty() && self.slow.is_empty()
    }

    fn steps_per_byte(&self) -> usize {
        let slow: usize = self.slow.iter().map(States::len).sum();
        self.tables.len() + slow * SLOW_COST as usize
    }

    fn is_match(&self, text: &[u8], steps: &mut u64) -> bool {
        self.tables.iter().any(|table| table.is_match(text, steps))
            || self.slow.iter().any(|states| {
                let mut walk = Walk::default();
                let found = states.is_match(text, &mut walk);
                *steps += walk.steps * SLOW_COST;
                found
            })
    }
}

/// Makes the tables of a request.
struct Compiler {
    left: Budget,
    shared: Budget,
    slow: usize,
}

impl Default for Compiler {
    fn default() -> Self {
        Self {
            left: TABLES,
            shared: SHARED_TABLES,
            slow: 0,
        }
    }
}

impl Compiler {
    /// Compiles a list: all patterns to one table if that is small, else halves of them, and so on.
    fn list(&mut self, patterns: &[(String, Hir)]) -> Result<Arc<Matcher>, InvalidField> {
        let mut matcher = Matcher::default();
        let mut waiting = vec![patterns];
        while let Some(part) = waiting.pop() {
            match part {
                [] => {}
                [(field, hir)] => self.one(field, hir, &mut matcher)?,
                many => {
                    if let Some(table) = self.together(many) {
                        matcher.tables.push(table);
                    } else {
                        let (first, second) = many.split_at(many.len() / 2);
                        waiting.extend([second, first]);
                    }
                }
            }
        }
        Ok(Arc::new(matcher))
    }

    fn together(&mut self, patterns: &[(String, Hir)]) -> Option<Table> {
        let hirs: Vec<&Hir> = patterns.iter().map(|(_, hir)| hir).collect();
        if self.shared.steps == 0 {
            return None;
        }
        let states = States::compile(&hirs, STATES_BYTES)?;
        Table::of(&states, ONE_SHARED, &mut self.shared)
    }

    fn one(&mut self, field: &str, hir: &Hir, matcher: &mut Matcher) -> Result<(), InvalidField> {
        let Some(states) = States::compile(&[hir], STATES_BYTES) else {
            return Err(InvalidField::new(field, "is too large"));
        };
        if let Some(table) = Table::of(&states, ONE_TABLE, &mut self.left) {
            matcher.tables.push(table);
            return Ok(());
        }
        self.slow += states.len();
        if self.slow > MAX_SLOW_STATES {
            return Err(InvalidField::new(
                field,
                "would take long to match: anchor the pattern with ^, shorten repeats such as \
                 {1,100}, or take a character out of what is repeated, as in /[^/]{1,100}/",
            ));
        }
        matcher.slow.push(states);
        Ok(())
    }
}

/// The cause from the parser's message, which shows the pattern first and the cause last.
fn fault(message: &str) -> String {
    let why = message.lines().last().unwrap_or_default();
    let why = why.strip_prefix("error: ").unwrap_or(why);
    format!("is not a valid regular expression: {why}")
}

/// Whether a pattern may match more than ASCII: by a character, an escape or a flag.
fn is_unicode(pattern: &str) -> bool {
    let escapes = ["\\p", "\\P", "\\x{", "\\u", "\\U"];
    let flags = |group: &str| {
        group
            .split([')', ':'])
            .next()
            .is_some_and(|it| it.contains('u'))
    };
    !pattern.is_ascii()
        || escapes.iter().any(|escape| pattern.contains(escape))
        || pattern.split("(?").skip(1).any(flags)
}

#[cfg(test)]
mod tests;
