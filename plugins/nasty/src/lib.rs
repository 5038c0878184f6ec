//! Hostile documents: each is one pattern, repeated until the document has the wanted size.
//!
//! Work on a page must grow linearly with its size. A test builds each document at size n and
//! at 2n, counts the work (wasm fuel, node visits, allocated bytes), and requires a ratio
//! below [`MAX_GROWTH`].

macro_rules! pattern {
    ($name:literal, $head:literal, $unit:literal, $tail:literal) => {
        Pattern::flat($name, $head, $unit, $tail)
    };
    ($name:literal, $head:literal, $open:literal, $middle:literal, $close:literal, $tail:literal) => {
        Pattern::nested($name, $head, $open, $middle, $close, $tail)
    };
}

/// A constant `PATTERNS` of lines: `name: head, unit, tail;` for repeated text and
/// `name: head, open, middle, close, tail;` for nested text.
macro_rules! patterns {
    ($($name:literal: $($part:literal),+;)+) => {
        pub(crate) const PATTERNS: &[Pattern] = &[$(pattern!($name, $($part),+)),+];
    };
}

mod html;
mod markdown;

pub use html::html;
pub use markdown::markdown;

/// Highest accepted ratio of the work at size 2n to the work at size n. A linear algorithm
/// has 2, one with a sort about 2.1, a quadratic one 4.
pub const MAX_GROWTH: f64 = 2.6;

/// A document's pattern: `head`, `open` n times, `middle`, `close` n times, `tail`.
///
/// `{300*text}` means the text 300 times. In `open` and `close`, `{i}` means the number of the
/// repetition, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// Unique name, in kebab case.
    pub name: &'static str,
    /// Text before all repetitions.
    pub head: &'static str,
    /// Text that is repeated.
    pub open: &'static str,
    /// Text after the repetitions of `open`.
    pub middle: &'static str,
    /// Text that is repeated as often as `open`, in descending order of `{i}`; may be empty.
    pub close: &'static str,
    /// Text after all repetitions.
    pub tail: &'static str,
}

impl Pattern {
    /// A pattern that repeats `unit` between `head` and `tail`.
    pub(crate) const fn flat(
        name: &'static str,
        head: &'static str,
        unit: &'static str,
        tail: &'static str,
    ) -> Self {
        Self {
            name,
            head,
            open: unit,
            middle: "",
            close: "",
            tail,
        }
    }

    /// A pattern that repeats `open` before and `close` after `middle`.
    pub(crate) const fn nested(
        name: &'static str,
        head: &'static str,
        open: &'static str,
        middle: &'static str,
        close: &'static str,
        tail: &'static str,
    ) -> Self {
        Self {
            name,
            head,
            open,
            middle,
            close,
            tail,
        }
    }

    /// The document with `count` repetitions.
    pub fn repeated(&self, count: usize) -> String {
        let mut out = String::new();
        push(self.head, 0, &mut out);
        for index in 0..count {
            push(self.open, index, &mut out);
        }
        push(self.middle, 0, &mut out);
        for index in (0..count).rev() {
            push(self.close, index, &mut out);
        }
        push(self.tail, 0, &mut out);
        out
    }

    /// The document whose repetitions have about `bytes` bytes; one at least.
    pub fn sized(&self, bytes: usize) -> String {
        // The typical length of a number in `{i}`.
        const TYPICAL: usize = 10_000;
        let mut unit = String::new();
        push(self.open, TYPICAL, &mut unit);
        push(self.close, TYPICAL, &mut unit);
        self.repeated((bytes / unit.len().max(1)).max(1))
    }
}

/// Appends a part of a pattern with its placeholders filled in.
fn push(part: &str, index: usize, out: &mut String) {
    let mut rest = part;
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        let end = after.find('}').unwrap_or(0);
        let placeholder = after.get(..end).unwrap_or_default();
        let text = match placeholder.split_once('*') {
            _ if placeholder == "i" => Some(index.to_string()),
            Some((times, text)) => times.parse().ok().map(|times| text.repeat(times)),
            None => None,
        };
        match text {
            Some(text) => {
                out.push_str(&text);
                rest = after.get(end + 1..).unwrap_or_default();
            }
            None => {
                out.push('{');
                rest = after;
            }
        }
    }
    out.push_str(rest);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique() {
        let patterns = || html().chain(markdown());
        let names: BTreeSet<_> = patterns().map(|pattern| pattern.name).collect();
        assert_eq!(names.len(), patterns().count());
        assert!(html().count() >= 150, "{} documents", html().count());
    }

    #[test]
    fn placeholders_are_filled_in() {
        let pattern = Pattern::nested("p", "(", "<{i}{", "|", "{i}>", ")");
        assert_eq!(pattern.repeated(2), "(<0{<1{|1>0>)");
        assert_eq!(
            Pattern::flat("p", "{3*ab}", "{1000*x}", "")
                .repeated(2)
                .len(),
            2_006
        );
    }

    #[test]
    fn documents_have_about_the_wanted_size() {
        for pattern in html().chain(markdown()) {
            let fixed = pattern.repeated(0).len();
            for bytes in [20_000, 40_000] {
                let len = pattern.sized(bytes).len() - fixed;
                assert!(
                    len > bytes / 2 && len < bytes + bytes / 4,
                    "{}: {len} of {bytes}",
                    pattern.name
                );
            }
        }
    }
}
