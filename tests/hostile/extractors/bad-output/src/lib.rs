//! Hardening 13: output that is not JSON or too long. `secrets` fails with control
//! characters in its message. In built-in roles, which tests give it with other manifests, it answers JSON that has
//! the shape of none, and `null` for pages at `/none`.

hostile_support::extractor!(|role, page, _| match role {
    "empty" => Ok(String::new()),
    "not-json" => Ok("{\"title\": ".to_owned()),
    "nan" => Ok("{\"score\": NaN}".to_owned()),
    "surrogate" => Ok("{\"title\": \"\\ud800\"}".to_owned()),
    "number" => Ok("{\"score\": 1e999}".to_owned()),
    "control" => Ok("{\"title\": \"a\u{0}b\"}".to_owned()),
    "deep" => Ok("[".repeat(100_000) + &"]".repeat(100_000)),
    "long" => Ok(string(40 << 20)),
    "huge" => Ok(string(100 << 20)),
    "article" | "links" | "markdown" | "metadata" | "signals" | "structured-data"
        if page.url().contains("/none") =>
    {
        Ok("null".to_owned())
    }
    "article" | "links" | "markdown" | "metadata" | "signals" | "structured-data" => {
        Ok(r#"[1,"x",{"to":5}]"#.to_owned())
    }
    _ => Err(hostile_support::error("failed", "\u{1b}[31mred\nline")),
});

/// A JSON string of this length, made without a copy, which would exceed the memory limit.
fn string(length: usize) -> String {
    let mut text = String::with_capacity(length);
    text.push('"');
    text.extend(std::iter::repeat_n('x', length - 2));
    text.push('"');
    text
}
