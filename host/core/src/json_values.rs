//! How many values a JSON text has, and how long those of its members are that have a bound: counted
//! before it is parsed, because a value in memory takes many times the bytes of its text.

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

/// Most values of a text.
#[derive(Clone, Copy, Debug)]
pub struct MostValues {
    /// All of them.
    pub all: usize,
    /// Those below the items of its members: there are lists, trees are deeper.
    pub nested: usize,
}

/// What a text has too much of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Excess<'a> {
    /// Values. `member`: the name of the member that has them, as it is written; empty: the text itself.
    Values {
        /// The member.
        member: &'a [u8],
        /// The bound.
        most: usize,
    },
    /// Values below its own items.
    Nested {
        /// The member.
        member: &'a [u8],
        /// The bound.
        most: usize,
    },
    /// Bytes of a member that has a bound. `inner`: the name of the member's own member, if the bound is
    /// of each.
    Bytes {
        /// The member.
        member: &'static str,
        /// Its own member, else empty.
        inner: &'a [u8],
        /// The bound.
        most: usize,
    },
}

/// Counts the values of a text, in one pass that knows only as much of JSON as it needs. Returns about
/// how many bytes of memory they take. What is not JSON is counted somehow: the parser refuses it. A
/// member's bytes are those of its shortest text: without white space, an escape as one byte.
///
/// # Errors
/// Too many values, or a member that is too long.
pub fn check<'a>(
    raw: &'a [u8],
    most: MostValues,
    members: &'static [MemberBound],
) -> Result<u64, Excess<'a>> {
    let mut scan = Scan::new(raw, Some(most));
    scan.members = members;
    scan.run()?;
    Ok(scan.bytes())
}

/// About how many bytes of memory the values of a text take, besides the text.
pub fn memory(raw: &[u8]) -> u64 {
    let mut scan = Scan::new(raw, None);
    // Without bounds there is nothing to break.
    let _ = scan.run();
    scan.bytes()
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
    bounds: Option<MostValues>,
}

impl<'a> Scan<'a> {
    fn new(raw: &'a [u8], bounds: Option<MostValues>) -> Self {
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

    fn run(&mut self) -> Result<(), Excess<'a>> {
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
    fn string(&mut self) -> Result<(), Excess<'a>> {
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
    fn grow(&mut self, level: usize, bytes: usize) -> Result<(), Excess<'a>> {
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
        Err(Excess::Bytes {
            member: bound.name,
            inner: self.inner,
            most: bound.most,
        })
    }

    fn pass(&mut self, is_passed: impl Fn(u8) -> bool) {
        let rest = self.raw.get(self.at..).unwrap_or_default();
        let passed = rest.iter().position(|byte| !is_passed(*byte));
        self.at += passed.unwrap_or(rest.len());
    }

    fn count(&mut self) -> Result<(), Excess<'a>> {
        if self.level <= FLAT_LEVELS {
            self.flat += 1;
        } else {
            self.nested += 1;
        }
        let Some(bounds) = &self.bounds else {
            return Ok(());
        };
        let member = self.member;
        if self.nested > bounds.nested {
            let most = bounds.nested;
            return Err(Excess::Nested { member, most });
        }
        if self.flat + self.nested > bounds.all {
            let most = bounds.all;
            return Err(Excess::Values { member, most });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of flat and of nested values.
    fn counted(raw: &str) -> (u64, u64) {
        let bytes = memory(raw.as_bytes());
        (bytes % NESTED_BYTES / FLAT_BYTES, bytes / NESTED_BYTES)
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
    fn too_many_values_are_told_with_their_member() {
        let most = MostValues { all: 6, nested: 2 };
        let checked = |raw: &'static str| check(raw.as_bytes(), most, &[]);
        assert!(checked(r#"{"a":[1,2,3,4]}"#).is_ok());
        let (member, most) = (&b"a"[..], 6);
        assert_eq!(
            checked(r#"{"a":[1,2,3,4,5]}"#),
            Err(Excess::Values { member, most })
        );
        let most = 2;
        assert_eq!(
            checked(r#"{"a":[[1,2,3]]}"#),
            Err(Excess::Nested { member, most })
        );
    }

    #[test]
    fn the_memory_of_a_tree_is_about_what_its_parser_takes() {
        let options = format!(r#"{{"a":[{}0]}}"#, r#"{"":0},"#.repeat(1_000));
        // A list of a thousand objects of one member each: nodes of a map, or an index and its entries.
        let memory = memory(options.as_bytes());
        assert!(
            (50..100).contains(&(memory / options.len() as u64)),
            "{memory}"
        );
    }
}
