//! Patterns as far as they concern ASCII. URLs are ASCII, so what else a pattern matches only makes
//! its automaton larger: `\w` is 63 characters of 140,000.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, ClassBytes, ClassBytesRange, Hir, HirKind, Look, Repetition};

/// Parses a pattern, and leaves out of it what matches no ASCII text.
///
/// # Errors
/// Why it is invalid.
pub(super) fn parse(pattern: &str, unicode: bool, nesting: u32) -> Result<Hir, String> {
    let parsed = ParserBuilder::new()
        .unicode(unicode)
        .utf8(false)
        .nest_limit(nesting)
        .build()
        .parse(pattern);
    match parsed {
        Ok(hir) => Ok(reduced(&hir)),
        Err(error) => Err(error.to_string()),
    }
}

/// The recursion is as deep as the pattern, whose nesting is limited.
fn reduced(hir: &Hir) -> Hir {
    match hir.kind() {
        HirKind::Empty => Hir::empty(),
        HirKind::Literal(literal) if literal.0.is_ascii() => Hir::literal(literal.0.clone()),
        HirKind::Literal(_) => Hir::fail(),
        HirKind::Class(class) => Hir::class(Class::Bytes(ascii(class))),
        HirKind::Look(look) => Hir::look(of_ascii(*look)),
        HirKind::Repetition(repetition) => Hir::repetition(Repetition {
            sub: Box::new(reduced(&repetition.sub)),
            ..*repetition
        }),
        HirKind::Capture(capture) => reduced(&capture.sub),
        HirKind::Concat(parts) => Hir::concat(parts.iter().map(reduced).collect()),
        HirKind::Alternation(parts) => Hir::alternation(parts.iter().map(reduced).collect()),
    }
}

fn ascii(class: &Class) -> ClassBytes {
    let range = |start: u32, end: u32| {
        let start = u8::try_from(start).ok().filter(u8::is_ascii)?;
        let end = u8::try_from(end.min(0x7f)).ok()?;
        Some(ClassBytesRange::new(start, end))
    };
    match class {
        Class::Unicode(class) => ClassBytes::new(
            class
                .iter()
                .filter_map(|part| range(part.start().into(), part.end().into())),
        ),
        Class::Bytes(class) => ClassBytes::new(
            class
                .iter()
                .filter_map(|part| range(part.start().into(), part.end().into())),
        ),
    }
}

/// Between ASCII characters, a word begins and ends where it does for Unicode.
const fn of_ascii(look: Look) -> Look {
    match look {
        Look::WordUnicode => Look::WordAscii,
        Look::WordUnicodeNegate => Look::WordAsciiNegate,
        Look::WordStartUnicode => Look::WordStartAscii,
        Look::WordEndUnicode => Look::WordEndAscii,
        Look::WordStartHalfUnicode => Look::WordStartHalfAscii,
        Look::WordEndHalfUnicode => Look::WordEndHalfAscii,
        other => other,
    }
}
