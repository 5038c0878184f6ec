//! The rules of what a hook changes of a request.

use orbweaver_core::header_rule::check_header;

use super::{MAX_HEADERS, RequestChange};
use crate::error::PluginError;
use crate::text::clean;

/// Longest value of a header, the user agent or the cookies that a hook gives, in bytes.
const MAX_VALUE_BYTES: usize = 8 << 10;
/// Longest name of a header in an error, in bytes.
const MAX_SHOWN: usize = 64;

/// The change, if it keeps the rules; one that does not is no part of a request.
///
/// # Errors
/// [`PluginError::BadOutput`] names the header or field, and its rule.
pub(super) fn checked(change: RequestChange) -> Result<RequestChange, PluginError> {
    check(&change).map_err(PluginError::BadOutput)?;
    Ok(change)
}

fn check(change: &RequestChange) -> Result<(), String> {
    if change.headers.len() > MAX_HEADERS {
        return Err(format!("more than {MAX_HEADERS} headers"));
    }
    for (name, value) in &change.headers {
        let shown = || format!("header `{}`", clean(name, MAX_SHOWN));
        if name.eq_ignore_ascii_case("cookie") || name.eq_ignore_ascii_case("user-agent") {
            return Err(format!(
                "{}: set it with the request change's own field",
                shown()
            ));
        }
        if name.to_ascii_lowercase().starts_with("orbweaver-") {
            return Err(format!("{} is reserved", shown()));
        }
        check_value(shown, name, value)?;
    }
    for (field, header, value) in [
        ("cookies", "cookie", &change.cookies),
        ("user-agent", "user-agent", &change.user_agent),
    ] {
        if let Some(value) = value {
            check_value(|| field.to_owned(), header, value)?;
        }
    }
    Ok(())
}

fn check_value(what: impl Fn() -> String, header: &str, value: &str) -> Result<(), String> {
    if value.len() > MAX_VALUE_BYTES {
        return Err(format!("{} has more than {MAX_VALUE_BYTES} bytes", what()));
    }
    check_header(header, value).map_err(|rule| format!("{} {rule}", what()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(name: &str, value: &str) -> RequestChange {
        RequestChange {
            headers: vec![(name.to_owned(), value.to_owned())],
            ..RequestChange::default()
        }
    }

    #[test]
    fn names_that_the_host_controls_are_refused() {
        for name in [
            "Host",
            "content-length",
            "Transfer-Encoding",
            "proxy-authorization",
            "Cookie",
            "User-Agent",
            "Orbweaver-Proxy-Pool",
            "not a name",
            "",
        ] {
            assert!(check(&header(name, "x")).is_err(), "{name}");
        }
        assert_eq!(check(&header("x-section", "news")), Ok(()));
        assert_eq!(check(&header("authorization", "Bearer x")), Ok(()));
        let said = check(&header("Host", "x")).unwrap_err();
        assert!(said.starts_with("header `Host` "), "{said}");
        let said = check(&header("a\u{1b}[2J", "x")).unwrap_err();
        assert_eq!(said, r"header `a\u{1b}[2J` is not a valid header name");
    }

    #[test]
    fn values_that_break_a_message_are_refused() {
        let long = "x".repeat(MAX_VALUE_BYTES + 1);
        for value in ["a\r\nx-other: b", long.as_str()] {
            assert!(check(&header("x-a", value)).is_err());
            for change in [
                RequestChange {
                    cookies: Some(value.to_owned()),
                    ..RequestChange::default()
                },
                RequestChange {
                    user_agent: Some(value.to_owned()),
                    ..RequestChange::default()
                },
            ] {
                assert!(check(&change).is_err());
            }
        }
        let many = RequestChange {
            headers: vec![("x-a".to_owned(), "x".to_owned()); MAX_HEADERS + 1],
            ..RequestChange::default()
        };
        assert_eq!(check(&many).unwrap_err(), "more than 64 headers");
    }
}
