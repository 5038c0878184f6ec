//! `orbweaver`: see [`orbweaver_server::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    orbweaver_server::cli::main()
}
