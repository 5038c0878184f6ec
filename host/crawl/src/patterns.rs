//! `include_paths` and `exclude_paths`: clients' regular expressions, with one budget for all
//! of a request.
//!
//! Matching takes time linear in the text for every pattern. Compiling does not: repeats
//! multiply, and a Unicode class is hundreds of ranges. So patterns are parsed first, which
//! is linear, and their compiled size is estimated before anything is compiled.

use orbweaver_pipeline::rules::InvalidField;
use regex::bytes::{RegexSet, RegexSetBuilder};
use regex_syntax::ast::parse::ParserBuilder;
use regex_syntax::ast::{
    self, Ast, ClassPerl, ClassPerlKind, ClassSetItem, RepetitionKind, RepetitionRange,
};

/// Maximum number of patterns in one list.
const MAX_PATTERNS: usize = 100;
/// Maximum bytes of one pattern.
const MAX_PATTERN_BYTES: usize = 1_024;
/// Maximum nesting of groups and classes.
const MAX_NESTING: u32 = 32;
/// Maximum number of estimated states of all patterns of a request. A path pattern such as
/// `^/blog/[0-9]{4}/[a-z-]+$` takes about 25.
const MAX_STATES: u64 = 14_000;
/// Maximum memory of the compiled patterns of one list, and of the cache used for matching.
const REGEX_BYTES: usize = 4 << 20;

/// Estimated states of Unicode classes: the time to compile each, in units of a literal's.
/// URLs are ASCII, so classes are ASCII in patterns that name no other character.
const DIGIT: u64 = 100;
const SPACE: u64 = 20;
const WORD: u64 = 300;
const PROPERTY: u64 = 300;
const DOT: u64 = 10;
/// Estimated states of a repeat itself.
const REPEAT: u64 = 4;

/// Both lists of patterns, compiled.
#[derive(Clone, Debug)]
pub struct PathPatterns {
    include: RegexSet,
    exclude: RegexSet,
}

/// A byte of a pattern takes as long as so many bytes of a page, where it has classes and repeats.
const COMPILE_COST: usize = 64;

impl PathPatterns {
    /// The work of [`compile`](Self::compile), in bytes of a page that take as long.
    pub fn work(include: &[String], exclude: &[String]) -> usize {
        let patterns = include.iter().chain(exclude);
        patterns
            .map(String::len)
            .sum::<usize>()
            .saturating_mul(COMPILE_COST)
    }

    /// Compiles patterns. CPU-bound: up to 100 ms.
    ///
    /// # Errors
    /// The first invalid pattern, as `include_paths[3]`, or the list that is too large as a
    /// whole.
    pub fn compile(include: &[String], exclude: &[String]) -> Result<Self, InvalidField> {
        let mut states = 0;
        for (field, patterns) in [("exclude_paths", exclude), ("include_paths", include)] {
            if patterns.len() > MAX_PATTERNS {
                return Err(InvalidField::new(field, "must be at most 100 patterns"));
            }
            let unicode = patterns.iter().any(|pattern| is_unicode(pattern));
            for (index, pattern) in patterns.iter().enumerate() {
                let field = format!("{field}[{index}]");
                if pattern.len() > MAX_PATTERN_BYTES {
                    return Err(InvalidField::new(&field, "must be at most 1024 bytes"));
                }
                states +=
                    estimate(pattern, unicode).map_err(|why| InvalidField::new(&field, why))?;
                if states > MAX_STATES {
                    return Err(InvalidField::new(
                        &field,
                        "makes the patterns of this request too large together: shorten \
                         repeats such as {1000}, and replace \\w, \\d and \\p{…} by [a-z0-9]",
                    ));
                }
            }
        }
        Ok(Self {
            exclude: set("exclude_paths", exclude)?,
            include: set("include_paths", include)?,
        })
    }

    /// Whether there are no patterns.
    pub fn is_empty(&self) -> bool {
        self.include.is_empty() && self.exclude.is_empty()
    }

    /// Whether a path with its query passes the patterns.
    pub fn allow(&self, path: &str) -> bool {
        let path = path.as_bytes();
        !self.exclude.is_match(path) && (self.include.is_empty() || self.include.is_match(path))
    }
}

fn set(field: &str, patterns: &[String]) -> Result<RegexSet, InvalidField> {
    RegexSetBuilder::new(patterns)
        .unicode(patterns.iter().any(|pattern| is_unicode(pattern)))
        .size_limit(REGEX_BYTES)
        .dfa_size_limit(REGEX_BYTES)
        .nest_limit(MAX_NESTING)
        .build()
        .map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => {
                InvalidField::new(field, "the patterns are too large together")
            }
            error => InvalidField::new(field, fault(&error.to_string())),
        })
}

/// The estimated number of compiled states, or why the pattern is invalid. Linear time.
fn estimate(pattern: &str, unicode: bool) -> Result<u64, String> {
    let parsed = ParserBuilder::new()
        .nest_limit(MAX_NESTING)
        .build()
        .parse(pattern);
    let ast = parsed.map_err(|error| fault(&error.to_string()))?;
    ast::visit(
        &ast,
        Estimate {
            unicode,
            states: 0,
            optional: 0,
            open: Vec::new(),
        },
    )
    .map_err(str::to_owned)
}

/// The cause from the parser's message, which shows the pattern first and the cause last.
fn fault(message: &str) -> String {
    let why = message.lines().last().unwrap_or_default();
    let why = why.strip_prefix("error: ").unwrap_or(why);
    format!("is not a valid regular expression: {why}")
}

/// Sums states: the content of a repeat is counted as often as it is repeated.
struct Estimate {
    /// Classes are Unicode.
    unicode: bool,
    states: u64,
    /// Optional parts: the state of each leads to those of all that follow.
    optional: u64,
    /// States and optional parts before each open repeat.
    open: Vec<(u64, u64)>,
}

impl ast::Visitor for Estimate {
    type Output = u64;
    type Err = &'static str;

    fn finish(self) -> Result<u64, &'static str> {
        let leads = self.optional.saturating_mul(self.optional) / 2;
        Ok(self.states.saturating_add(leads))
    }

    fn visit_pre(&mut self, ast: &Ast) -> Result<(), &'static str> {
        let states = match ast {
            Ast::Dot(_) => DOT,
            Ast::ClassUnicode(_) => PROPERTY,
            Ast::ClassPerl(class) => self.perl(class),
            // Its items follow; a negated class is everything else.
            Ast::ClassBracketed(class) if class.negated => DOT,
            Ast::Repetition(_) => REPEAT,
            _ => 1,
        };
        self.states = self.states.saturating_add(states);
        if matches!(ast, Ast::Repetition(_)) {
            self.open.push((self.states, self.optional));
        }
        Ok(())
    }

    fn visit_post(&mut self, ast: &Ast) -> Result<(), &'static str> {
        if let Ast::Repetition(repetition) = ast {
            let times = match &repetition.op.kind {
                RepetitionKind::Range(
                    RepetitionRange::Exactly(n)
                    | RepetitionRange::AtLeast(n)
                    | RepetitionRange::Bounded(_, n),
                ) => u64::from(*n).max(1),
                RepetitionKind::ZeroOrOne | RepetitionKind::ZeroOrMore => {
                    self.optional = self.optional.saturating_add(1);
                    1
                }
                RepetitionKind::OneOrMore => 1,
            };
            let (states, optional) = self.open.pop().unwrap_or_default();
            let repeated = |all: u64, before: u64| {
                let inner = all.saturating_sub(before);
                before.saturating_add(inner.saturating_mul(times))
            };
            self.states = repeated(self.states, states);
            self.optional = repeated(self.optional, optional);
        }
        Ok(())
    }

    fn visit_class_set_item_pre(&mut self, item: &ClassSetItem) -> Result<(), &'static str> {
        let states = match item {
            ClassSetItem::Unicode(_) => PROPERTY,
            ClassSetItem::Perl(class) => self.perl(class),
            ClassSetItem::Range(range) if !range.end.c.is_ascii() => PROPERTY,
            // ASCII: included in the state of the class.
            _ => 0,
        };
        self.states = self.states.saturating_add(states);
        Ok(())
    }
}

impl Estimate {
    fn perl(&self, class: &ClassPerl) -> u64 {
        match class.kind {
            _ if !self.unicode => 2,
            ClassPerlKind::Digit => DIGIT,
            ClassPerlKind::Space => SPACE,
            ClassPerlKind::Word => WORD,
        }
    }
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
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    fn compile(include: &[&str]) -> Result<PathPatterns, String> {
        let include: Vec<String> = include.iter().map(|one| (*one).to_owned()).collect();
        PathPatterns::compile(&include, &[]).map_err(|error| error.to_string())
    }

    #[test]
    fn patterns_are_limited_and_linear() {
        let blog = compile(&["^/blog/"]).unwrap();
        assert!(blog.allow("/blog/x?y") && !blog.allow("/about"));
        assert!(compile(&[]).unwrap().is_empty());
        for bad in ["(", "a{100000000}", "(?=x)", r"(a)\1", "(a{1000}){1000}"] {
            let error = compile(&["/ok", bad]).unwrap_err();
            assert!(error.starts_with("include_paths[1]: "), "{bad}: {error}");
        }
        assert!(compile(&[&"(".repeat(200)]).is_err());
        let deep = format!("{}a{}", "(".repeat(100), ")".repeat(100));
        assert!(compile(&[&deep]).is_err());
    }

    #[test]
    fn ascii_and_unicode_classes_match_alike() {
        let ascii = compile(&[r"^/\w+/\d+$", r"[^/]{3}\?.=\W$"]).unwrap();
        assert!(ascii.allow("/Ab_9/12") && ascii.allow("/abc?q=%"));
        assert!(!ascii.allow("/a-b/12") && !ascii.allow("/abc?q=x"));
        let unicode = compile(&[r"^/\p{Lu}+$", "(?iu)^/é$"]).unwrap();
        assert!(unicode.allow("/AB") && !unicode.allow("/ab"));
    }

    #[test]
    fn ordinary_lists_are_accepted() {
        let patterns: Vec<String> = (0..100)
            .map(|n| format!(r"^/section-{n}/\d+/[a-z0-9-]{{1,40}}(\.html?)?$"))
            .collect();
        let set = PathPatterns::compile(&patterns, &patterns[..40]).unwrap();
        assert!(set.allow("/section-77/12/a-page.html"));
        assert!(!set.allow("/section-7/12/a-page.html"));
    }

    /// The worst pattern lists, accepted or refused. A release build takes up to 70 ms on an idle
    /// core; builds for tests and busy machines are slower.
    #[test]
    fn the_worst_patterns_compile_in_limited_time() {
        let most = if cfg!(debug_assertions) { 3_000 } else { 500 };
        let long = |unit: &str| unit.repeat(1_024 / unit.len());
        let mut units: Vec<String> = [
            "a",
            r"\w",
            r"\W",
            r"\d",
            r"(?u)\w",
            r"(?u)\d",
            r"\s(?u)",
            ".",
            "(?i)k",
            r"\pL",
            "[^a]",
            "(?i)[^a]",
            "a?",
            "(a|b)",
            r"[\x{80}-\x{10FFFF}]",
            r"(?i)[\x{80}-\x{10FFFF}]",
            "[a-zé-ü]",
            "(?i:[a-é])",
        ]
        .map(long)
        .into();
        units.extend(
            [
                "a{200}",
                r"\w{45}",
                r"\d{450}",
                "(a?b?c?){45}",
                "(a*b?){60}",
                "((a|)?){140}",
                "(a{1,40}b?){50}",
                ".{1900}",
                "(?i)[a-z]{9000}",
                "((a{10}){10}){10}",
                r"(?i)\w{49}",
                r"(?i)(\w\pL){24}",
                "[^é]{1800}",
            ]
            .map(str::to_owned),
        );
        for unit in units {
            for count in [1, 2, 10, 100] {
                let patterns = vec![unit.clone(); count];
                let mut taken = false;
                let times = (0..3).map(|_| {
                    let started = Instant::now();
                    taken = PathPatterns::compile(&patterns, &patterns).is_ok();
                    started.elapsed()
                });
                // The minimum, because other processes use the machine, too.
                let took = times.min().unwrap();
                println!("{took:?} {taken} {count} × {unit:.30}");
                assert!(
                    took < Duration::from_millis(most),
                    "{unit} × {count}: {took:?}"
                );
            }
        }
    }
}
