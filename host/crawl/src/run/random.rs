//! Randomness of a run: which user agent and which proxy session come next.

/// A random number to begin with.
pub(crate) fn random() -> u64 {
    let mut bytes = [0; 8];
    // Without the system's randomness, user agents rotate in a fixed order.
    let _ = getrandom::fill(&mut bytes);
    u64::from_le_bytes(bytes)
}

/// SplitMix64.
pub(super) fn next_random(state: u64) -> u64 {
    let state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
