//! Hardening 16: stores the page's URL in a global and in new heap memory, and returns what
//! earlier calls left there.

use std::sync::Mutex;

static KEPT: Mutex<Vec<String>> = Mutex::new(Vec::new());

hostile_support::extractor!(|_, page, _| {
    let mut kept = KEPT.lock().unwrap();
    let before = kept.join(" ");
    kept.push(page.url());
    // Memory that an earlier call freed, if there is any, as the allocator returns it.
    let mut fresh: Vec<u8> = Vec::with_capacity(1 << 20);
    #[allow(
        clippy::uninit_vec,
        reason = "the test reads what earlier calls left there"
    )]
    // SAFETY: the host always initialises linear memory.
    unsafe {
        fresh.set_len(1 << 20);
    }
    let dirty = fresh.iter().filter(|byte| **byte == 0xa5).count();
    fresh.fill(0xa5);
    std::hint::black_box(&fresh);
    std::mem::forget(fresh);
    Ok(format!(r#"{{"before":"{before}","dirty":{dirty}}}"#))
});
