//! Standard output. `println!` panics if the reader has closed the pipe (`orbweaver … | head`);
//! [`out!`] returns an error instead, which `main` treats as success.

use std::fmt::Arguments;
use std::io::{self, Write as _};

/// Like `println!`, but returns an [`io::Error`] instead of panicking.
macro_rules! out {
    () => { $crate::cli::out::line(format_args!("")) };
    ($($text:tt)+) => { $crate::cli::out::line(format_args!($($text)+)) };
}
pub(super) use out;

/// Writes a line.
pub(super) fn line(text: Arguments<'_>) -> io::Result<()> {
    writeln!(io::stdout().lock(), "{text}")
}

/// Writes text that already has line ends.
pub(super) fn out_bytes(text: &[u8]) -> io::Result<()> {
    io::stdout().lock().write_all(text)
}

/// A stranger's text for a terminal: what would control it, or turn the direction of the text, is escaped.
pub(super) fn shown(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        let turns = matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if c.is_control() || turns {
            shown.extend(c.escape_unicode());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// Whether a command failed only because the reader closed its output.
pub(super) fn nobody_reads(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_does_not_control_the_terminal() {
        assert_eq!(shown("Größe \"1\" 雨"), "Größe \"1\" 雨");
        assert_eq!(
            shown("\u{1b}[8m1.0\n\u{202e}\u{9b}2J"),
            r"\u{1b}[8m1.0\u{a}\u{202e}\u{9b}2J"
        );
    }
}
