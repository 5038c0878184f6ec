//! Hardening 17: asks for the wall clock without permission.

hostile_support::extractor!(|_, _, _| {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    Ok(now.map_or(0, |d| d.as_secs()).to_string())
});
