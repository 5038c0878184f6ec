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

/// Whether a command failed only because the reader closed its output.
pub(super) fn nobody_reads(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    })
}
