//! Standard output. `println!` panics if the reader has closed the pipe (`orbweaver … | head`);
//! [`out!`] returns an error instead, which `main` treats as success.

use std::fmt::Arguments;
use std::io::{self, Write as _};

/// Why standard output takes nothing.
#[derive(Debug, thiserror::Error)]
pub(super) enum OutError {
    /// The reader has closed the pipe. An error of its own: a broken pipe of a database or a file is a
    /// failure.
    #[error("nobody reads standard output")]
    Closed,
    #[error("cannot write to standard output")]
    Failed(#[source] io::Error),
}

impl From<io::Error> for OutError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::Closed,
            _ => Self::Failed(error),
        }
    }
}

/// Like `println!`, but returns an [`OutError`] instead of panicking.
macro_rules! out {
    () => { $crate::cli::out::line(format_args!("")) };
    ($($text:tt)+) => { $crate::cli::out::line(format_args!($($text)+)) };
}
pub(super) use out;

/// Writes a line.
pub(super) fn line(text: Arguments<'_>) -> Result<(), OutError> {
    writeln!(io::stdout().lock(), "{text}")?;
    Ok(())
}

/// Writes text that already has line ends, or a part of such a text.
pub(super) fn out_bytes(text: &[u8]) -> Result<(), OutError> {
    let mut out = io::stdout().lock();
    out.write_all(text)?;
    // Flush now: a write error at process exit would be lost.
    out.flush()?;
    Ok(())
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

/// The same of a text of several lines, such as an error that quotes a file.
pub(super) fn shown_lines(text: &str) -> String {
    text.split('\n').map(shown).collect::<Vec<_>>().join("\n")
}

/// Whether a command failed only because the reader closed its output.
pub(super) fn nobody_reads(error: &anyhow::Error) -> bool {
    error
        .chain()
        .any(|cause| matches!(cause.downcast_ref(), Some(OutError::Closed)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_closed_standard_output_is_no_failure() {
        let broken = || io::Error::from(io::ErrorKind::BrokenPipe);
        let closed = anyhow::Error::from(OutError::from(broken()));
        assert!(nobody_reads(&closed.context("3 pages are stored")));
        let database = anyhow::Error::from(broken()).context("cannot reach the database");
        assert!(!nobody_reads(&database));
        let full = OutError::from(io::Error::from(io::ErrorKind::StorageFull));
        assert!(!nobody_reads(&anyhow::Error::from(full)));
    }

    #[test]
    fn a_text_does_not_control_the_terminal() {
        assert_eq!(shown("Größe \"1\" 雨"), "Größe \"1\" 雨");
        assert_eq!(
            shown("\u{1b}[8m1.0\n\u{202e}\u{9b}2J"),
            r"\u{1b}[8m1.0\u{a}\u{202e}\u{9b}2J"
        );
        assert_eq!(shown_lines("a\u{1b}[8m\nb"), "a\\u{1b}[8m\nb");
    }
}
