//! `orbweaver`: see [`orbweaver_server::cli`].

use std::ffi::c_char;
use std::process::ExitCode;

use tikv_jemallocator::Jemalloc;

/// Pages, rows and answers are allocated and freed on all threads; the system's allocator takes
/// about three times as long for that. Of those that are fast, this one gives memory back after a
/// load: what a page needed does not stay with the thread that worked on it. It serves SQLite, too.
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

/// Options of jemalloc (its manual, `TUNING`): a thread of its own gives memory back to the system a
/// second after it was freed.
#[unsafe(export_name = "malloc_conf")]
static OPTIONS: Option<&'static c_char> = {
    let options = c"background_thread:true,dirty_decay_ms:1000,muzzy_decay_ms:0";
    // SAFETY: points to the first of the bytes of a text that lives as long as the process.
    Some(unsafe { &*options.as_ptr() })
};

fn main() -> ExitCode {
    orbweaver_server::cli::main()
}
