//! Comparing memory.
//!
//! Comparisons of strings are calls of C's `memcmp`. The one of the tool chain's C library
//! takes a byte at a time; this one takes its place in the component.

/// C's `memcmp`.
///
/// # Safety
/// As C's: both pointers have to be valid for `len` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn memcmp(a: *const u8, b: *const u8, len: usize) -> i32 {
    let mut at = 0;
    while len - at >= 8 {
        // SAFETY: the eight bytes are below `len`.
        let (a, b) = unsafe {
            (
                a.add(at).cast::<u64>().read_unaligned(),
                b.add(at).cast::<u64>().read_unaligned(),
            )
        };
        if a != b {
            // The first byte in memory decides.
            return order(a.swap_bytes() < b.swap_bytes());
        }
        at += 8;
    }
    if len - at >= 4 {
        // SAFETY: as above, four bytes.
        let (a, b) = unsafe {
            (
                a.add(at).cast::<u32>().read_unaligned(),
                b.add(at).cast::<u32>().read_unaligned(),
            )
        };
        if a != b {
            return order(a.swap_bytes() < b.swap_bytes());
        }
        at += 4;
    }
    while at < len {
        // SAFETY: as above, one byte.
        let (a, b) = unsafe { (a.add(at).read(), b.add(at).read()) };
        if a != b {
            return order(a < b);
        }
        at += 1;
    }
    0
}

fn order(less: bool) -> i32 {
    if less { -1 } else { 1 }
}
