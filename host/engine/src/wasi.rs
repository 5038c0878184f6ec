//! WASI for guests: a harmless base that every standard library needs, and further interfaces
//! only if granted.
//!
//! The base: an empty environment, no arguments, a closed stdin, stdout and stderr into the
//! plugin's log, an exit that ends the call, and a constant seed for hash tables. It reveals
//! nothing and accesses nothing, so the same page gives the same answer.
//!
//! This module links the functions; [`console`] creates the context of a store.

pub(crate) mod console;

use wasmtime::component::{HasData, Linker, ResourceTable};
use wasmtime_wasi::cli::{WasiCli, WasiCliView as _};
use wasmtime_wasi::clocks::{WasiClocks, WasiClocksView as _};
use wasmtime_wasi::filesystem::{WasiFilesystem, WasiFilesystemView as _};
use wasmtime_wasi::p2::bindings;
use wasmtime_wasi::random::{WasiRandom, WasiRandomView as _};
use wasmtime_wasi::sockets::{WasiSockets, WasiSocketsView as _};

use crate::grants::EffectivePermissions;
use crate::state::State;

/// Seed of every guest's hash tables: constant, so that answers are reproducible.
const HASH_SEED: (u64, u64) = (0x6f72_6277_6561_7665, 0x7221_7365_6564_2121);

struct Io;

impl HasData for Io {
    type Data<'a> = &'a mut ResourceTable;
}

/// Links the base for synchronous stores, which never wait. None of its streams does.
pub(crate) fn add_base_sync(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    wasmtime_wasi_io::bindings::wasi::io::error::add_to_linker::<State, Io>(linker, |s| {
        &mut s.table
    })?;
    bindings::sync::io::poll::add_to_linker::<State, Io>(linker, |s| &mut s.table)?;
    bindings::sync::io::streams::add_to_linker::<State, Io>(linker, |s| &mut s.table)?;
    add_base(linker)
}

/// Links the base and the granted interfaces for asynchronous stores.
pub(crate) fn add_async(
    linker: &mut Linker<State>,
    grants: &EffectivePermissions,
) -> wasmtime::Result<()> {
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
        // The context allows no address and no name: sockets exist, but always refuse.
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
