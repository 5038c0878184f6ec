//! Standard output. `println!` panics when its reader has gone (`orbweaver … | head`);
//! [`out!`] is an error then, which `main` takes for what it is: enough was read.

use std::fmt::Arguments;
use std::io::{self, Write as _};

/// As `println!`, but an [`io::Error`] where that panics.
macro_rules! out {
    () => { $crate::cli::out::line(format_args!("")) };
    ($($text:tt)+) => { $crate::cli::out::line(format_args!($($text)+)) };
}
pub(super) use out;

/// Writes a line.
pub(super) fn line(text: Arguments<'_>) -> io::Result<()> {
    writeln!(io::stdout().lock(), "{text}")
}

/// Writes what is whole lines already.
pub(super) fn out_bytes(text: &[u8]) -> io::Result<()> {
    io::stdout().lock().write_all(text)
}

/// Whether a command failed only because nobody reads its output any more.
pub(super) fn nobody_reads(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    })
}
