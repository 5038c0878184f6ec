//! `orbweaver`: see [`orbweaver_server::cli`].

use std::process::ExitCode;

use mimalloc::MiMalloc;

/// Pages, rows and answers come and go on all threads, which the system's allocator takes
/// about three times as long for.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    orbweaver_server::cli::main()
}
