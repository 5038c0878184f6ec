//! Which headers of a request a caller may set.

/// Longest name that HTTP libraries take, in bytes.
const MAX_NAME_BYTES: usize = 65_535;

/// Whether a caller may set this header.
///
/// # Errors
/// The rule that it breaks, as text.
pub fn check_header(name: &str, value: &str) -> Result<(), &'static str> {
    if name.is_empty() || name.len() > MAX_NAME_BYTES || !name.bytes().all(is_token) {
        return Err("is not a valid header name");
    }
    if is_framing(&name.to_ascii_lowercase()) {
        return Err("frames the message, and is set by the service alone");
    }
    let is_allowed = |byte: u8| byte == b'\t' || !byte.is_ascii_control();
    match value.bytes().all(is_allowed) {
        true => Ok(()),
        false => Err("must not hold control characters"),
    }
}

/// Whether a header, named in lower case, frames the message or concerns the connection.
pub fn is_framing(name: &str) -> bool {
    name.starts_with("proxy-")
        || matches!(
            name,
            "host"
                | "content-length"
                | "transfer-encoding"
                | "connection"
                | "keep-alive"
                | "te"
                | "trailer"
                | "upgrade"
                | "expect"
                | "http2-settings"
        )
}

/// The characters of names (RFC 9110, 5.6.2).
const fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(
            byte,
            b'!' | b'#'
                | b'$'
                | b'%'
                | b'&'
                | b'\''
                | b'*'
                | b'+'
                | b'-'
                | b'.'
                | b'^'
                | b'_'
                | b'`'
                | b'|'
                | b'~'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values_that_change_the_message_are_refused() {
        for (name, value) in [
            ("Host", "a.example"),
            ("content-length", "1"),
            ("Transfer-Encoding", "chunked"),
            ("Proxy-Authorization", "x"),
            ("not a name", "x"),
            ("x:", "x"),
            ("é", "x"),
            ("", "x"),
            ("x-a", "a\r\nx-b: c"),
            ("x-a", "\0"),
            ("x-a", "\u{7f}"),
        ] {
            assert!(check_header(name, value).is_err(), "{name:?} {value:?}");
        }
        for (name, value) in [
            ("X-A", "a\tb é"),
            ("authorization", ""),
            ("!#$%&'*+.^_`|~", "x"),
        ] {
            assert_eq!(check_header(name, value), Ok(()), "{name:?} {value:?}");
        }
    }
}
