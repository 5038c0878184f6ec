//! Answers with what the interfaces `dom` and `pages` say of the page, as its options ask.

use hostile_support::look::look;

hostile_support::extractor!(|_, page, options| {
    let asked = serde_json::from_str(options).unwrap_or_default();
    Ok(look(page, &asked).to_string())
});
