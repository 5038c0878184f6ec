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

/// Bytes of the last error output that are kept.
const MAX_LAST_BYTES: usize = 2_048;

/// The last that a guest wrote to standard error: why it panicked, where it did.
#[derive(Clone, Debug, Default)]
pub(crate) struct LastWords(Arc<Mutex<String>>);

impl LastWords {
    fn push(&self, text: &str) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push_str(text);
        kept.push('\n');
        let excess = kept.len().saturating_sub(MAX_LAST_BYTES);
        let cut = kept.ceil_char_boundary(excess);
        kept.drain(..cut);
    }

    /// The message of a panic, as Rust prints it, else the last line, in one line; empty if the
    /// guest wrote nothing.
    pub fn message(&self) -> String {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let panic = kept.rfind("panicked at").and_then(|at| kept.get(at..));
        let words: Vec<&str> = match panic {
            Some(panic) => panic
                .lines()
                .take_while(|line| !line.starts_with("note: "))
                .collect(),
            None => kept
                .lines()
                .rev()
                .find(|line| !line.trim().is_empty())
                .into_iter()
                .collect(),
        };
        words.join(" ").trim().to_owned()
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
            let room = MAX_PARTIAL_BYTES.saturating_sub(partial.len());
            partial.extend_from_slice(text.get(..room).unwrap_or(text));
            if ends || partial.len() >= MAX_PARTIAL_BYTES {
                let line = String::from_utf8_lossy(partial);
                if level == LogLevel::Warn {
                    self.last.push(&line);
                }
                log.line(level, &line);
                partial.clear();
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
        assert!(last.0.lock().unwrap().len() <= MAX_LAST_BYTES);
        assert_eq!(last.message(), "the end");
    }
}
