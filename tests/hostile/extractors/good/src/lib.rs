//! Well-behaved: returns what it saw of the page and how often this instance was called.

use std::sync::atomic::{AtomicU32, Ordering};

static CALLS: AtomicU32 = AtomicU32::new(0);

hostile_support::extractor!(|role, page, options| {
    let calls = CALLS.fetch_add(1, Ordering::Relaxed) + 1;
    let snapshot = page.snapshot();
    Ok(format!(
        r#"{{"role":"{role}","status":{},"headers":{},"hops":{},"size":{},"body":{},"html":{},"words":{},"text":{},"options":{},"calls":{calls}}}"#,
        page.status().unwrap_or_default(),
        page.headers().len(),
        page.redirects().len(),
        page.size(),
        page.body().len(),
        page.html().len(),
        snapshot.words.len(),
        snapshot.text.len(),
        if options.is_empty() { "null" } else { options },
    ))
});
