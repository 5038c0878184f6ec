//! Hardening 1: an endless loop without any host call.

hostile_support::extractor!(|_, _, _| {
    let mut x = 1_u64;
    loop {
        x = std::hint::black_box(x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
    }
});
