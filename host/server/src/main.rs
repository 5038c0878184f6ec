//! `orbweaver`: see [`orbweaver_server::cli`].

use std::process::ExitCode;

use mimalloc::MiMalloc;

/// Pages, rows and answers are allocated and freed on all threads; the system's allocator takes
/// about three times as long for that.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    orbweaver_server::cli::main()
}
