//! The WASI context of a store: only stdout and stderr, which are written to the log.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use tokio::io::AsyncWrite;
use wasmtime_wasi::WasiCtx;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};

use crate::capability::log::PluginLog;
use crate::journal::{LogLevel, Reporter};
use crate::label::Label;

/// Bytes of the last error output that are kept, and of a panic's beginning.
const MAX_LAST_BYTES: usize = 2_048;

/// The last that a guest wrote to standard error: why it panicked, where it did.
#[derive(Clone, Debug, Default)]
pub(crate) struct LastWords(Arc<Mutex<Kept>>);

#[derive(Debug, Default)]
struct Kept {
    /// The last lines.
    last: String,
    /// The last panic: its beginning, which says where and why. A long message would push it out of
    /// `last`, and leave the advice that Rust prints at its end.
    panic: Option<Panic>,
}

#[derive(Debug)]
struct Panic {
    words: String,
    /// Bytes written since its message ended; `None` while it goes on.
    behind: Option<usize>,
}

impl LastWords {
    fn push(&self, line: &str) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = &mut *kept;
        kept.last.push_str(line);
        kept.last.push('\n');
        let excess = kept.last.len().saturating_sub(MAX_LAST_BYTES);
        let cut = kept.last.ceil_char_boundary(excess);
        kept.last.drain(..cut);

        let begins = line
            .find("panicked at")
            .filter(|_| line.starts_with("thread '"));
        if let Some(at) = begins {
            let words = String::new();
            let panic = kept.panic.insert(Panic {
                words,
                behind: None,
            });
            panic.add(line.get(at..).unwrap_or_default());
        } else if let Some(panic) = &mut kept.panic {
            match &mut panic.behind {
                None if line.starts_with("note: ") => panic.behind = Some(0),
                None => panic.add(line),
                Some(behind) => *behind += line.len() + 1,
            }
        }
        // One that the guest survived, or only quoted, is soon old.
        let is_old = |panic: &Panic| panic.behind.is_some_and(|bytes| bytes > MAX_LAST_BYTES);
        kept.panic.take_if(|panic| is_old(panic));
    }

    /// The message of a panic, as Rust prints it, else the last line, in one line; empty if the
    /// guest wrote nothing.
    pub fn message(&self) -> String {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let words = match &kept.panic {
            Some(panic) => Some(panic.words.as_str()),
            None => kept.last.lines().rev().find(|line| !line.trim().is_empty()),
        };
        words.unwrap_or_default().trim().to_owned()
    }
}

impl Panic {
    /// Adds a line, as far as there is room.
    fn add(&mut self, line: &str) {
        let room = MAX_LAST_BYTES.saturating_sub(self.words.len());
        if !self.words.is_empty() && room > 0 {
            self.words.push(' ');
        }
        let part = line.get(..line.floor_char_boundary(room.saturating_sub(1)));
        self.words.push_str(part.unwrap_or_default());
    }
}

/// A context that offers only output to the log; the last of standard error is kept.
pub(crate) fn context(
    plugin: &Label,
    log_lines: u32,
    last: &LastWords,
    reporter: &Reporter,
) -> WasiCtx {
    let mut log = PluginLog::new(plugin.clone(), log_lines);
    log.report_to(reporter.clone());
    let lines = Lines::new(log, last.clone());
    WasiCtx::builder()
        .stdout(Console {
            level: LogLevel::Info,
            lines: lines.clone(),
        })
        .stderr(Console {
            level: LogLevel::Warn,
            lines,
        })
        .allow_tcp(false)
        .allow_udp(false)
        .allow_ip_name_lookup(false)
        .build()
}

/// Longest unfinished line kept, in bytes; a longer one is written in pieces.
const MAX_PARTIAL_BYTES: usize = 8_192;
/// Most bytes accepted by a stream at once.
const WRITE_BYTES: usize = 64 << 10;

/// Output for the log, split into lines.
#[derive(Clone)]
struct Lines {
    open: Arc<Mutex<(PluginLog, Vec<u8>)>>,
    last: LastWords,
}

impl Lines {
    fn new(log: PluginLog, last: LastWords) -> Self {
        Self {
            open: Arc::new(Mutex::new((log, Vec::new()))),
            last,
        }
    }

    fn write(&self, level: LogLevel, bytes: &[u8]) {
        let mut guard = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let (log, partial) = &mut *guard;
        for piece in bytes.split_inclusive(|b| *b == b'\n') {
            let (text, ends) = match piece.split_last() {
                Some((b'\n', text)) => (text, true),
                _ => (piece, false),
            };
            let mut text = text;
            loop {
                let room = MAX_PARTIAL_BYTES.saturating_sub(partial.len());
                let (part, later) = text.split_at(room.min(text.len()));
                partial.extend_from_slice(part);
                text = later;
                if partial.len() >= MAX_PARTIAL_BYTES || (ends && text.is_empty()) {
                    let line = String::from_utf8_lossy(partial);
                    if level == LogLevel::Warn {
                        self.last.push(&line);
                    }
                    log.line(level, &line);
                    partial.clear();
                }
                if text.is_empty() {
                    break;
                }
            }
        }
    }
}

#[derive(Clone)]
struct Console {
    level: LogLevel,
    lines: Lines,
}

impl IsTerminal for Console {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Console {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(self.clone())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for Console {
    async fn ready(&mut self) {}
}

impl OutputStream for Console {
    fn write(&mut self, bytes: bytes::Bytes) -> StreamResult<()> {
        self.lines.write(self.level, &bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(WRITE_BYTES)
    }
}

impl AsyncWrite for Console {
    fn poll_write(
        self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        self.lines.write(self.level, bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_told_in_one_line() {
        let last = LastWords::default();
        assert_eq!(last.message(), "");
        for line in [
            "something before",
            "",
            "thread '<unnamed>' (1) panicked at src/lib.rs:7:5:",
            "no such section: 7",
            "note: run with `RUST_BACKTRACE=1` environment variable",
        ] {
            last.push(line);
        }
        assert_eq!(
            last.message(),
            "panicked at src/lib.rs:7:5: no such section: 7"
        );
    }

    #[test]
    fn the_last_words_are_bounded() {
        let last = LastWords::default();
        for _ in 0..1_000 {
            last.push(&"ä".repeat(100));
        }
        last.push("the end");
        assert!(last.0.lock().unwrap().last.len() <= MAX_LAST_BYTES);
        assert_eq!(last.message(), "the end");
    }

    #[test]
    fn a_panic_with_a_long_message_is_told_from_its_beginning() {
        let last = LastWords::default();
        let long = "no such section, says the server: ä ".repeat(1_000);
        let lines = |message: &str| {
            [
                "thread '<unnamed>' (1) panicked at src/lib.rs:7:5:".to_owned(),
                message.to_owned(),
                "note: run with `RUST_BACKTRACE=1` environment variable".to_owned(),
            ]
        };
        for line in lines(&long) {
            last.push(&line);
        }
        let told = last.message();
        let expected = "panicked at src/lib.rs:7:5: no such section, says the server: ä no";
        assert!(told.starts_with(expected), "{told}");
        assert!(told.len() <= MAX_LAST_BYTES, "{}", told.len());
        // The next one is another, and what its message quotes is none.
        for line in lines("the other thread panicked at once") {
            last.push(&line);
        }
        let expected = "panicked at src/lib.rs:7:5: the other thread panicked at once";
        assert_eq!(last.message(), expected);
        for _ in 0..100 {
            last.push("something that came long after it, and nothing of it");
        }
        last.push("the end");
        assert_eq!(last.message(), "the end");
    }

    #[test]
    fn a_long_line_is_written_in_pieces_of_which_none_is_lost() {
        let last = LastWords::default();
        let label = Label::new(crate::Kind::Actor, "a", None);
        let lines = Lines::new(PluginLog::new(label, 100), last.clone());
        lines.write(LogLevel::Warn, b"0123456789");
        for _ in 0..4 {
            lines.write(LogLevel::Warn, "x".repeat(WRITE_BYTES / 16).as_bytes());
        }
        lines.write(LogLevel::Warn, b" the end\n");
        let rest = 10 + 4 * WRITE_BYTES / 16 - 2 * MAX_PARTIAL_BYTES;
        assert_eq!(last.message(), format!("{} the end", "x".repeat(rest)));
    }
}
