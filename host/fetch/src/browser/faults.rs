//! Why a page is not rendered, where that is the browser's fault or the service's.

use super::chromium::Chromium;
use super::tab::Trouble;
use crate::error::{Fault, Kind, SubKind};

pub(super) fn busy() -> Fault {
    Fault::new(
        Kind::Browser,
        SubKind::Busy,
        "too many pages wait to be rendered; try again later",
    )
    .retryable()
}

/// Why a page failed, if `before` pages of the browser had been ended when it began.
pub(super) fn cause(browser: &Chromium, before: u32, trouble: Trouble) -> Trouble {
    match trouble {
        Trouble::Crashed(_) if browser.is_outgrown() => Trouble::Outgrown,
        Trouble::Crashed(_) if browser.pages_cut() > before => Trouble::Fault(outgrown()),
        trouble => trouble,
    }
}

pub(super) fn outgrown() -> Fault {
    let message = "the page takes more memory in the browser than it may (setting \
                   rendering.max_memory_mib, of which one page may have half)";
    Fault::new(Kind::TooLarge, SubKind::Memory, message)
}

pub(super) fn stopping() -> Fault {
    Fault::new(
        Kind::Browser,
        SubKind::Unavailable,
        "the service is stopping",
    )
}
