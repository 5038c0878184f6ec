//! URL strings that every parser reads in the same way.
//!
//! Several parsers read a URL: this service's (WHATWG), and the client's, a proxy's or a log
//! reader's (RFC 3986). If they disagree about the host, a check by one of them does not hold
//! for the connection that another one makes. So such strings are refused. Links found on pages
//! are different: browsers are the reference for them, so they are resolved by the WHATWG
//! standard and then judged.

use url::Url;

use super::refusal::{Refusal, Rule};
use crate::limits::MAX_URL_BYTES;

/// Parses an absolute URL as a caller wrote it.
///
/// # Errors
/// [`Rule::UrlTooLong`]; [`Rule::AmbiguousUrl`] for control characters (C0, DEL, C1) anywhere,
/// for a backslash in the authority or in place of its slashes, for an http or https URL
/// whose scheme is not followed by exactly two slashes, and for one whose host has characters that
/// RFC 3986 does not allow there; [`Rule::InvalidUrl`].
pub fn parse_strict(url: &str) -> Result<Url, Refusal> {
    check_length(url)?;
    check(url)?;
    let url = Url::parse(url)
        .map_err(|error| Refusal::new(Rule::InvalidUrl, format!("not an absolute URL: {error}")))?;
    check_host(&url)?;
    Ok(url)
}

/// Resolves the URL of a Location or Refresh header against the URL that sent it.
///
/// # Errors
/// Same as [`parse_strict`].
pub fn join_strict(base: &Url, reference: &str) -> Result<Url, Refusal> {
    check_length(reference)?;
    check(reference)?;
    let url = base
        .join(reference)
        .map_err(|error| Refusal::new(Rule::InvalidUrl, format!("not a URL: {error}")))?;
    check_host(&url)?;
    Ok(url)
}

/// Checks the host of an http or https URL, whose name the WHATWG standard gives more characters than
/// RFC 3986 (section 3.2.2): a quotation mark, a backquote and braces. Clients by the RFC cannot
/// send a request there.
pub(super) fn check_host(url: &Url) -> Result<(), Refusal> {
    let is_web = matches!(url.scheme(), "http" | "https");
    let Some(url::Host::Domain(name)) = url.host().filter(|_| is_web) else {
        return Ok(());
    };
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "-._~!$&'()*+,;=".contains(c);
    match name.chars().find(|c| !is_allowed(*c)) {
        None => Ok(()),
        Some(c) => Err(Refusal::new(
            Rule::AmbiguousUrl,
            format!("the URL's host has the character `{c}`, which no host name may have"),
        )),
    }
}

pub(super) fn check_length(url: &str) -> Result<(), Refusal> {
    if url.len() <= MAX_URL_BYTES {
        return Ok(());
    }
    Err(Refusal::new(
        Rule::UrlTooLong,
        format!("the URL is longer than {MAX_URL_BYTES} bytes"),
    ))
}

fn check(reference: &str) -> Result<(), Refusal> {
    let ambiguous = |why: &str| Err(Refusal::new(Rule::AmbiguousUrl, why));
    // The WHATWG standard would remove tabs and line ends and trim the others.
    if reference.chars().any(char::is_control) {
        return ambiguous("the URL has a control character (tab, line end or other)");
    }
    let reference = reference.trim_matches(' ');
    let (scheme, rest) = match split_scheme(reference) {
        Some((scheme, rest)) => (Some(scheme), rest),
        None => (None, reference),
    };
    let is_web = scheme.is_none_or(|scheme| {
        scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")
    });
    let slashes = rest
        .bytes()
        .take_while(|byte| matches!(byte, b'/' | b'\\'))
        .count();
    // For http and https the WHATWG standard reads a backslash as a slash, and any number of
    // slashes before the host; RFC 3986 reads a path or an empty host.
    let begins = rest.get(..slashes).unwrap_or_default();
    let wrong = match scheme {
        Some(_) => begins != "//",
        None => slashes >= 2 && begins != "//",
    };
    if is_web && wrong {
        return ambiguous("the URL's host does not follow exactly two slashes");
    }
    let Some(rest) = rest.strip_prefix("//") else {
        return Ok(());
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('\\') {
        return ambiguous("the URL has a backslash before its path");
    }
    Ok(())
}

/// Scheme and the text after its colon (RFC 3986, section 3.1).
fn split_scheme(reference: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = reference.split_once(':')?;
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'));
    is_scheme.then_some((scheme, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule<T>(result: Result<T, Refusal>) -> Option<Rule> {
        result.err().map(|refusal| refusal.rule)
    }

    #[test]
    fn absolute_urls_that_parsers_read_differently_are_refused() {
        for url in [
            "http://good.example\\@evil.example/",
            "http://good.example\\.evil.example/",
            "http://a@good.example\\@evil.example",
            "http:\\\\good.example/",
            "http:/\\good.example/",
            "http:\\/good.example/",
            "http:good.example",
            "http:/good.example/",
            "http:///good.example/",
            "http://\\good.example/",
            "http://good.example/\t",
            "http://good\t.example/",
            "ht\ntp://good.example/",
            "http://good.example/\r\nx",
            "http://good.example/\n",
            "\u{1f}http://good.example/",
            "http://good.example/\0",
            "http://good.example/?a\u{7f}",
            "http://good.example/\u{85}",
            "HTTPS:/\\good.example/",
            "socks5://good.example\\@evil.example",
            "http://a{b/",
            "http://a}b/",
            "http://a\"b/",
            "https://a`b.example:8443/x",
        ] {
            assert_eq!(rule(parse_strict(url)), Some(Rule::AmbiguousUrl), "{url:?}");
        }
        for url in [
            "http://good.example",
            " HTTP://good.example/a b?c|d#e\\f ",
            "https://good.example/a\\b?c\\d@e",
            "http://b\u{fc}cher.example/\u{fc}",
            "http://a_b.example/{}\"`?{}\"`#{}\"`",
            "http://a!$&'()*+,;=~.example/",
            "http://[::1]/{",
            "ftp://good.example/",
            "mailto:a@b.example",
        ] {
            assert_eq!(rule(parse_strict(url)), None, "{url:?}");
        }
        assert_eq!(rule(parse_strict("good.example")), Some(Rule::InvalidUrl));
        let long = format!("http://good.example/{}", "a".repeat(MAX_URL_BYTES));
        assert_eq!(rule(parse_strict(&long)), Some(Rule::UrlTooLong));
    }

    #[test]
    fn references_that_parsers_read_differently_are_refused() {
        let base = Url::parse("http://good.example/dir/page").unwrap();
        for reference in [
            "\\\\evil.example/",
            "/\\evil.example/",
            "\\/evil.example/",
            "///evil.example/",
            "//good.example\\@evil.example/",
            "http:evil",
            "http:/evil.example",
            "/a\tb",
            "/a\u{0}",
            "//a{b/",
            "https://a\"b/",
        ] {
            let joined = join_strict(&base, reference);
            assert_eq!(rule(joined), Some(Rule::AmbiguousUrl), "{reference:?}");
        }
        for (reference, url) in [
            ("", "http://good.example/dir/page"),
            ("/a b", "http://good.example/a%20b"),
            ("a\\b", "http://good.example/dir/a/b"),
            ("//other.example/x", "http://other.example/x"),
            (
                "?u=http://a.example\\",
                "http://good.example/dir/page?u=http://a.example\\",
            ),
            ("gopher://x/", "gopher://x/"),
        ] {
            assert_eq!(join_strict(&base, reference).unwrap().as_str(), url);
        }
    }
}
