//! WASI for guests: an inert base that every standard library links, and the rest only
//! where it is granted.
//!
//! The base: an empty environment, no arguments, a closed stdin, stdout and stderr into
//! the plugin's log, an exit that ends the call, and a constant seed for hash tables. It
//! tells a guest nothing and reaches nothing, so the same page gives the same answer.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use tokio::io::AsyncWrite;
use wasmtime::component::{HasData, Linker, ResourceTable};
use wasmtime_wasi::WasiCtx;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream, WasiCli, WasiCliView as _};
use wasmtime_wasi::clocks::{WasiClocks, WasiClocksView as _};
use wasmtime_wasi::filesystem::{WasiFilesystem, WasiFilesystemView as _};
use wasmtime_wasi::p2::bindings;
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};
use wasmtime_wasi::random::{WasiRandom, WasiRandomView as _};
use wasmtime_wasi::sockets::{WasiSockets, WasiSocketsView as _};

use crate::grants::Effective;
use crate::host::LogLevel;
use crate::plugin_log::PluginLog;
use crate::state::State;

/// The seed of every guest's hash tables: constant, so that answers repeat.
const HASH_SEED: (u64, u64) = (0x6f72_6277_6561_7665, 0x7221_7365_6564_2121);

struct Io;

impl HasData for Io {
    type Data<'a> = &'a mut ResourceTable;
}

/// The base, for stores that never wait. None of its streams ever does.
pub(crate) fn add_base_sync(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    wasmtime_wasi_io::bindings::wasi::io::error::add_to_linker::<State, Io>(linker, |s| {
        &mut s.table
    })?;
    bindings::sync::io::poll::add_to_linker::<State, Io>(linker, |s| &mut s.table)?;
    bindings::sync::io::streams::add_to_linker::<State, Io>(linker, |s| &mut s.table)?;
    add_base(linker)
}

/// The base and what is granted, for stores that may wait.
pub(crate) fn add_async(linker: &mut Linker<State>, grants: &Effective) -> wasmtime::Result<()> {
    use bindings::{clocks, filesystem, random, sockets};

    wasmtime_wasi_io::bindings::wasi::io::error::add_to_linker::<State, Io>(linker, |s| {
        &mut s.table
    })?;
    wasmtime_wasi_io::bindings::wasi::io::poll::add_to_linker::<State, Io>(linker, |s| {
        &mut s.table
    })?;
    wasmtime_wasi_io::bindings::wasi::io::streams::add_to_linker::<State, Io>(linker, |s| {
        &mut s.table
    })?;
    add_base(linker)?;
    if grants.has_wasi("clocks") {
        clocks::wall_clock::add_to_linker::<State, WasiClocks>(linker, State::clocks)?;
        clocks::monotonic_clock::add_to_linker::<State, WasiClocks>(linker, State::clocks)?;
    }
    if grants.has_wasi("random") {
        random::random::add_to_linker::<State, WasiRandom>(linker, State::random)?;
        random::insecure::add_to_linker::<State, WasiRandom>(linker, State::random)?;
    }
    if grants.has_wasi("filesystem") {
        filesystem::types::add_to_linker::<State, WasiFilesystem>(linker, State::filesystem)?;
        filesystem::preopens::add_to_linker::<State, WasiFilesystem>(linker, State::filesystem)?;
    }
    if grants.has_wasi("sockets") {
        // The context allows no address and no name: present, and always refusing.
        let options = bindings::LinkOptions::default();
        sockets::tcp::add_to_linker::<State, WasiSockets>(linker, State::sockets)?;
        sockets::udp::add_to_linker::<State, WasiSockets>(linker, State::sockets)?;
        sockets::tcp_create_socket::add_to_linker::<State, WasiSockets>(linker, State::sockets)?;
        sockets::udp_create_socket::add_to_linker::<State, WasiSockets>(linker, State::sockets)?;
        sockets::instance_network::add_to_linker::<State, WasiSockets>(linker, State::sockets)?;
        sockets::network::add_to_linker::<State, WasiSockets>(
            linker,
            &(&options).into(),
            State::sockets,
        )?;
        sockets::ip_name_lookup::add_to_linker::<State, WasiSockets>(linker, State::sockets)?;
    }
    Ok(())
}

fn add_base(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    use bindings::cli;

    cli::environment::add_to_linker::<State, WasiCli>(linker, State::cli)?;
    cli::exit::add_to_linker::<State, WasiCli>(linker, State::cli)?;
    cli::stdin::add_to_linker::<State, WasiCli>(linker, State::cli)?;
    cli::stdout::add_to_linker::<State, WasiCli>(linker, State::cli)?;
    cli::stderr::add_to_linker::<State, WasiCli>(linker, State::cli)?;
    cli::terminal_input::add_to_linker::<State, WasiCli>(linker, State::cli)?;
    cli::terminal_output::add_to_linker::<State, WasiCli>(linker, State::cli)?;
    cli::terminal_stdin::add_to_linker::<State, WasiCli>(linker, State::cli)?;
    cli::terminal_stdout::add_to_linker::<State, WasiCli>(linker, State::cli)?;
    cli::terminal_stderr::add_to_linker::<State, WasiCli>(linker, State::cli)?;
    linker
        .instance("wasi:random/insecure-seed@0.2.0")?
        .func_wrap("insecure-seed", |_, (): ()| Ok((HASH_SEED,)))
}

/// A context that offers nothing but the way into the log.
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

/// Longest unfinished line kept, in bytes; what is longer is written in pieces.
const MAX_PARTIAL_BYTES: usize = 8_192;
/// What a stream takes at once, in bytes.
const WRITE_BYTES: usize = 64 << 10;

/// Text on its way to the log, cut into lines.
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
