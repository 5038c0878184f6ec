//! How many values a JSON body has, and how long those of its members are that have a bound: counted
//! before it is parsed, because a value in memory takes many times the bytes of its text.

use crate::error::ApiError;

/// Most values of a body.
const MAX_VALUES: usize = 250_000;
/// Most values of a body below the items of its members: there are lists, trees are deeper.
const MOST_NESTED: usize = 50_000;
/// The deepest level that is not nested: the body, its members, their items.
const FLAT_LEVELS: usize = 2;
/// About what a value takes that is an item of a list, in bytes, besides its text.
const FLAT_BYTES: u64 = 64;
/// About what a value takes in a tree, in bytes, besides its text.
const NESTED_BYTES: u64 = 512;

/// How long a member of a body may be.
#[derive(Debug)]
pub struct MemberBound {
    /// Its name.
    pub name: &'static str,
    /// Whether the bound is that of each of its own members, not of the whole.
    pub is_of_each: bool,
    /// The bound in bytes, as a message names it.
    pub most: usize,
    /// Bytes that it may have besides, for a part that has a rule of its own.
    pub besides: usize,
}

/// Counts the values of a body, in one pass that knows only as much of JSON as it needs. Returns about
/// how many bytes of memory they take. What is not JSON is counted somehow: the parser refuses it. A
/// member's bytes are those of its shortest text: without white space, an escape as one byte.
///
/// # Errors
/// 422 for too many values, with the member that has them, and for a member that is too long.
pub(super) fn check_values(raw: &[u8], members: &'static [MemberBound]) -> Result<u64, ApiError> {
    let mut scan = Scan::new(
        raw,
        Some(Bounds {
            all: MAX_VALUES,
            nested: MOST_NESTED,
        }),
    );
    scan.members = members;
    scan.run()?;
    Ok(scan.bytes())
}

/// About how many bytes of memory the values of JSON take that this program has made itself.
pub(crate) fn memory_of_values(raw: &[u8]) -> u64 {
    let mut scan = Scan::new(raw, None);
    // Without bounds there is nothing to break.
    let _ = scan.run();
    scan.bytes()
}

/// Most values.
struct Bounds {
    all: usize,
    nested: usize,
}

struct Scan<'a> {
    raw: &'a [u8],
    at: usize,
    /// Objects and arrays that are open.
    level: usize,
    /// The name of the body's member that is being read.
    member: &'a [u8],
    members: &'static [MemberBound],
    /// The bound of that member.
    bound: Option<&'static MemberBound>,
    /// The name of the member's own member that is being read, if the bound is of each.
    inner: &'a [u8],
    /// Bytes so far of what has the bound.
    size: usize,
    flat: usize,
    nested: usize,
    bounds: Option<Bounds>,
}

impl<'a> Scan<'a> {
    fn new(raw: &'a [u8], bounds: Option<Bounds>) -> Self {
        Self {
            raw,
            at: 0,
            level: 0,
            member: b"",
            members: &[],
            bound: None,
            inner: b"",
            size: 0,
            flat: 0,
            nested: 0,
            bounds,
        }
    }

    fn bytes(&self) -> u64 {
        let flat = (self.flat as u64).saturating_mul(FLAT_BYTES);
        flat.saturating_add((self.nested as u64).saturating_mul(NESTED_BYTES))
    }

    fn run(&mut self) -> Result<(), ApiError> {
        while let Some(&byte) = self.raw.get(self.at) {
            match byte {
                b'"' => self.string()?,
                b'{' | b'[' => {
                    self.count()?;
                    self.grow(self.level, 1)?;
                    self.level += 1;
                    self.at += 1;
                }
                b'}' | b']' => {
                    self.level = self.level.saturating_sub(1);
                    self.grow(self.level, 1)?;
                    self.at += 1;
                }
                b',' | b':' => {
                    // Between members they belong to none of them.
                    self.grow(self.level.saturating_sub(1), 1)?;
                    self.at += 1;
                }
                b' ' | b'\t' | b'\n' | b'\r' => self.at += 1,
                _ => {
                    self.count()?;
                    let start = self.at;
                    self.pass(|byte| !b"\"{}[],: \t\n\r".contains(&byte));
                    self.grow(self.level, self.at - start)?;
                }
            }
        }
        Ok(())
    }

    /// Passes a string, which is a value unless a colon follows.
    fn string(&mut self) -> Result<(), ApiError> {
        self.at += 1;
        let start = self.at;
        // Bytes of escapes beyond one for each.
        let mut longer = 0;
        loop {
            self.pass(|byte| byte != b'"' && byte != b'\\');
            if self.raw.get(self.at) != Some(&b'\\') {
                break;
            }
            let length = match self.raw.get(self.at + 1) {
                Some(b'u') => 6,
                _ => 2,
            };
            self.at += length;
            longer += length - 1;
        }
        let text = self.raw.get(start..self.at).unwrap_or_default();
        self.at += 1;
        let size = (text.len() + 2).saturating_sub(longer);
        self.pass(|byte| byte.is_ascii_whitespace());
        if self.raw.get(self.at) != Some(&b':') {
            self.count()?;
            return self.grow(self.level, size);
        }
        if self.level == 1 {
            self.member = text;
            let mut members = self.members.iter();
            self.bound = members.find(|bound| bound.name.as_bytes() == text);
            self.inner = b"";
            self.size = 0;
            return Ok(());
        }
        if self.level == 2 && self.bound.is_some_and(|bound| bound.is_of_each) {
            self.inner = text;
            self.size = 0;
            return Ok(());
        }
        self.grow(self.level, size)
    }

    /// Counts bytes at this level as those of the member that has a bound.
    fn grow(&mut self, level: usize, bytes: usize) -> Result<(), ApiError> {
        let Some(bound) = self.bound else {
            return Ok(());
        };
        let least = if bound.is_of_each { 2 } else { 1 };
        if level < least {
            return Ok(());
        }
        self.size += bytes;
        if self.size <= bound.most + bound.besides {
            return Ok(());
        }
        let rule = format!("must be at most {} bytes of JSON", bound.most);
        let field = match self.inner {
            b"" => bound.name.to_owned(),
            inner => format!("{}.{}", bound.name, shown(inner)),
        };
        Err(ApiError::invalid(&field, rule))
    }

    fn pass(&mut self, is_passed: impl Fn(u8) -> bool) {
        let rest = self.raw.get(self.at..).unwrap_or_default();
        let passed = rest.iter().position(|byte| !is_passed(*byte));
        self.at += passed.unwrap_or(rest.len());
    }

    fn count(&mut self) -> Result<(), ApiError> {
        if self.level <= FLAT_LEVELS {
            self.flat += 1;
        } else {
            self.nested += 1;
        }
        let Some(bounds) = &self.bounds else {
            return Ok(());
        };
        if self.nested > bounds.nested {
            let most = bounds.nested;
            let rule = format!("must have at most {most} values below its own items");
            return Err(ApiError::invalid(&self.name(), rule));
        }
        if self.flat + self.nested > bounds.all {
            let most = bounds.all;
            let rule = format!("must leave the body at most {most} values");
            return Err(ApiError::invalid(&self.name(), rule));
        }
        Ok(())
    }

    fn name(&self) -> String {
        match self.member {
            b"" => "body".to_owned(),
            name => shown(name),
        }
    }
}

fn shown(name: &[u8]) -> String {
    crate::validate::shown(&String::from_utf8_lossy(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of flat and of nested values.
    fn counted(raw: &str) -> (u64, u64) {
        let bytes = check_values(raw.as_bytes(), &[]).expect("few values");
        (bytes % NESTED_BYTES / FLAT_BYTES, bytes / NESTED_BYTES)
    }

    fn refused(raw: &str) -> String {
        let error = check_values(raw.as_bytes(), &[]).expect_err("too many values");
        assert_eq!(error.status().as_u16(), 422);
        error.message().to_owned()
    }

    #[test]
    fn values_are_counted_by_their_level() {
        for (raw, expected) in [
            ("", (0, 0)),
            ("{}", (1, 0)),
            (r#"{"a": 1, "b" : [ "x\\"],"c": -1.5e3}"#, (5, 0)),
            (r#"{"a":["}{][\",:"]}"#, (3, 0)),
            (r#"{"a":{"b":{"c":1,"d":[null,true]}}}"#, (3, 4)),
            (r#"{"a":{"\"b":"c\"d"}}"#, (3, 0)),
        ] {
            assert_eq!(counted(raw), expected, "{raw}");
        }
    }

    #[test]
    fn what_is_not_json_is_passed_to_its_end() {
        for raw in [
            "\"",
            "\"\\",
            "]]]]",
            "{\"a",
            "\u{0}\u{1}",
            "[[[[\"\\\"",
            "nul",
            "{:,:}",
        ] {
            check_values(raw.as_bytes(), MEMBERS).expect("few values");
        }
    }

    const MEMBERS: &[MemberBound] = &[
        MemberBound {
            name: "rules",
            is_of_each: false,
            most: 16,
            besides: 4,
        },
        MemberBound {
            name: "options",
            is_of_each: true,
            most: 8,
            besides: 0,
        },
    ];

    #[test]
    fn members_have_bounds_in_bytes_of_their_shortest_text() {
        let checked = |raw: &str| match check_values(raw.as_bytes(), MEMBERS) {
            Ok(_) => String::new(),
            Err(error) => {
                assert_eq!(error.status().as_u16(), 422);
                error.message().to_owned()
            }
        };
        let rules = "rules: must be at most 16 bytes of JSON";
        let b = "options.b: must be at most 8 bytes of JSON";
        for (raw, expected) in [
            // Twenty bytes, and twenty-one.
            (r#"{"rules":{"a":[1,2,34,"567"]}}"#, ""),
            (r#"{"rules":{"a":[1,2,34,"5678"]}}"#, rules),
            (
                r#"{ "rules" : { "a" : [ 1 , 2 , 34 , "567" ] } , "x": 1 }"#,
                "",
            ),
            (r#"{"rules":{"a":[1,2,34,"\u00e4\\\n"]}}"#, ""),
            (r#"{"rules":"123456789012345678"}"#, ""),
            (r#"{"rules":"1234567890123456789"}"#, rules),
            (r#"{"rules":true,"other":"1234567890123456789012345"}"#, ""),
            (
                r#"{"other":{"rules":"123456789012345678901234567890"}}"#,
                "",
            ),
            (r#"{"options":{"a":{"x":12},"b":{"x":12}}}"#, ""),
            (r#"{"options":{"a":{"x":12},"b":{"x":123}}}"#, b),
            (r#"{"options":{"a":"123456","b":"1234567"}}"#, b),
            (
                r#"{"options":["1234567"],"b":[]}"#,
                "options: must be at most 8 bytes of JSON",
            ),
        ] {
            assert_eq!(checked(raw), expected, "{raw}");
        }
        // Nothing after the bound is read.
        assert_eq!(
            checked(&format!(r#"{{"rules":{}"#, "[".repeat(60_000))),
            rules
        );
    }

    #[test]
    fn a_long_list_is_no_tree() {
        let list = |items: usize| format!(r#"{{"urls":["x"{}]}}"#, r#","x""#.repeat(items - 1));
        check_values(list(100_001).as_bytes(), &[]).expect("a long list");
        let why = refused(&list(MAX_VALUES));
        assert_eq!(why, "urls: must leave the body at most 250000 values");
        let tree = format!(
            r#"{{"few":[1],"deep":{{"a":[{}0]}}}}"#,
            r#"{"":0},"#.repeat(25_000)
        );
        let why = refused(&tree);
        assert_eq!(
            why,
            "deep: must have at most 50000 values below its own items"
        );
        assert!(refused(&"[".repeat(60_000)).starts_with("body: must have at most"));
    }
}
