//! Hardening 4. `memory-grow` grows its memory until the host refuses and returns the size in
//! pages; `memory-eat` allocates until the allocator fails, which traps.

hostile_support::extractor!(|role, _, _| {
    if role == "memory-eat" {
        let mut hoard: Vec<Vec<u8>> = Vec::new();
        loop {
            hoard.push(std::hint::black_box(vec![1; 4 << 20]));
        }
    }
    #[cfg(target_family = "wasm")]
    while std::arch::wasm32::memory_grow(0, 16) != usize::MAX {}
    #[cfg(target_family = "wasm")]
    let pages = std::arch::wasm32::memory_size(0);
    #[cfg(not(target_family = "wasm"))]
    let pages = 0;
    Ok(pages.to_string())
});
