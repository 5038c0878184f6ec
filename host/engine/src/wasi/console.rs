//! The WASI context of a store: only stdout and stderr, which are written to the log.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use tokio::io::AsyncWrite;
use wasmtime_wasi::WasiCtx;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};

use crate::capability::log::{LogLevel, PluginLog};

/// A context that offers only output to the log.
pub(crate) fn context(plugin: &Arc<str>, log_lines: u32) -> WasiCtx {
    let lines = Lines::new(plugin, log_lines);
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
struct Lines(Arc<Mutex<(PluginLog, Vec<u8>)>>);

impl Lines {
    fn new(plugin: &Arc<str>, lines: u32) -> Self {
        Self(Arc::new(Mutex::new((
            PluginLog::new(Arc::clone(plugin), lines),
            Vec::new(),
        ))))
    }

    fn write(&self, level: LogLevel, bytes: &[u8]) {
        let mut guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (log, partial) = &mut *guard;
        for piece in bytes.split_inclusive(|b| *b == b'\n') {
            let (text, ends) = match piece.split_last() {
                Some((b'\n', text)) => (text, true),
                _ => (piece, false),
            };
            let room = MAX_PARTIAL_BYTES.saturating_sub(partial.len());
            partial.extend_from_slice(text.get(..room).unwrap_or(text));
            if ends || partial.len() >= MAX_PARTIAL_BYTES {
                log.line(level, &String::from_utf8_lossy(partial));
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
