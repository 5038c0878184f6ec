//! Hardening 2: an endless loop that spends its time in cheap host calls.

hostile_support::extractor!(|_, page, _| {
    loop {
        std::hint::black_box(page.status());
    }
});
