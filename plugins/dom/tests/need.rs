//! A parse never holds more than what was told before it began. Counted by the allocator, so
//! one test has the process to itself.

#![cfg(feature = "write")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use orbweaver_dom::{ParseNeed, parse, parse_with};

struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

fn taken(bytes: usize) {
    let now = NOW.fetch_add(bytes, Ordering::Relaxed) + bytes;
    PEAK.fetch_max(now, Ordering::Relaxed);
}

// SAFETY: every call is handed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        taken(layout.size());
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps the contract.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Both are alive while the bytes are copied.
        taken(size);
        // SAFETY: the caller keeps the contract.
        let moved = unsafe { System.realloc(at, layout, size) };
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        moved
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Peak bytes of a parse within its need.
fn peak(html: &str, need: &ParseNeed) -> usize {
    let before = NOW.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    drop(parse_with(html, &need.limits));
    PEAK.load(Ordering::Relaxed) - before
}

#[test]
fn no_parse_holds_more_than_its_need() {
    // Interned names and other tables are made once.
    drop(parse("<p class=a>x"));
    let mut beyond = Vec::new();
    for pattern in orbweaver_nasty::html() {
        for bytes in [2_000, 300_000] {
            let html = pattern.sized(bytes);
            let need = ParseNeed::of(&html);
            let peak = peak(&html, &need);
            if peak as u64 > need.bytes {
                beyond.push(format!("{}: {peak} of {} bytes", pattern.name, need.bytes));
            }
        }
    }
    assert!(beyond.is_empty(), "{} pages: {beyond:#?}", beyond.len());
}

#[test]
fn pages_are_not_cut_by_their_need() {
    for html in [
        "<table><td>a<td>b".repeat(1_000),
        "<ul><li>a<li>b</ul>text".repeat(1_000),
        "<p a=\"b\"c='d' e f=g/h>x</p>y<!-- z -->".repeat(1_000),
        "words ".repeat(10_000),
    ] {
        let need = ParseNeed::of(&html);
        assert_eq!(parse_with(&html, &need.limits), parse(&html), "{html:.40}");
    }
}
