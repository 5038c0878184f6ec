//! The key by which a URL is identified: one page, one key.

use url::Url;

use crate::Resolved;

/// Which URL differences are ignored in keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyRules {
    /// Whether session identifiers and tracking parameters are dropped.
    pub drop_tracking: bool,
}

impl Default for KeyRules {
    fn default() -> Self {
        Self {
            drop_tracking: true,
        }
    }
}

/// Names of query parameters that only say where a visitor came from. All names that start with
/// `utm_` count too. Compared without case.
const TRACKING: &[&str] = &[
    "_ga",
    "_gl",
    "dclid",
    "fbclid",
    "gad_source",
    "gbraid",
    "gclid",
    "gclsrc",
    "igshid",
    "mc_cid",
    "mc_eid",
    "msclkid",
    "srsltid",
    "mkt_tok",
    "twclid",
    "ttclid",
    "wbraid",
    "yclid",
];

/// Names of query parameters that contain a session id.
const SESSION: &[&str] = &[
    "jsessionid",
    "phpsessid",
    "sid",
    "sessionid",
    "aspsessionid",
    "cfid",
    "cftoken",
];

fn dropped(parameter: &str) -> bool {
    let name = parameter.split('=').next().unwrap_or(parameter);
    let utm = name
        .get(..4)
        .is_some_and(|start| start.eq_ignore_ascii_case("utm_"));
    utm || TRACKING
        .iter()
        .chain(SESSION)
        .any(|known| name.eq_ignore_ascii_case(known))
}

/// The key of a URL: without fragment, with `%7E` as `~` and the digits of all other escapes in upper
/// case, and, depending on the rules, without session identifiers and tracking parameters. Scheme,
/// host, default port and dot segments are already normalised in a parsed URL. The path's case, a
/// trailing slash, the order of parameters and whether a character is escaped are significant.
pub fn key(url: &Url, rules: KeyRules) -> String {
    Resolved::from_url(url).map_or_else(|| url.as_str().to_owned(), |url| key_of(&url, rules))
}

/// Same as [`key`], for a resolved link.
pub fn key_of(url: &Resolved, rules: KeyRules) -> String {
    let mut out = String::with_capacity(url.as_str().len());
    key_into(url, rules, &mut out);
    out
}

/// Same as [`key_of`], written to `out`; for many links.
pub fn key_into(url: &Resolved, rules: KeyRules, out: &mut String) {
    out.clear();
    out.push_str(url.part(0, url.path_start));
    let path = url.path();
    match session_in_path(path).filter(|_| rules.drop_tracking) {
        Some((start, end)) => {
            push_escaped(path.get(..start).unwrap_or(path), out);
            push_escaped(path.get(end..).unwrap_or(""), out);
        }
        None => push_escaped(path, out),
    }
    if let Some(query) = url.query() {
        let mut mark = '?';
        for parameter in query.split('&') {
            if rules.drop_tracking && dropped(parameter) {
                continue;
            }
            out.push(mark);
            push_escaped(parameter, out);
            mark = '&';
        }
    }
}

/// The range of `;jsessionid=…` in a path: it ends at the next `;` or `/`.
fn session_in_path(path: &str) -> Option<(usize, usize)> {
    const MARK: &str = ";jsessionid=";
    let start = path.match_indices(';').map(|(at, _)| at).find(|&at| {
        path.get(at..at + MARK.len())
            .is_some_and(|m| m.eq_ignore_ascii_case(MARK))
    })?;
    let rest = path.get(start + 1..)?;
    let len = rest.find([';', '/']).unwrap_or(rest.len());
    Some((start, start + 1 + len))
}

/// Appends `text` with its escapes in one spelling: their digits in upper case (RFC 3986, section
/// 6.2.2.1), and `%7E` decoded, which older software writes for `~`.
fn push_escaped(text: &str, out: &mut String) {
    let mut rest = text;
    // Few have any escape, and searching for a byte is cheap.
    while let Some(at) = rest.find('%') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        let digits = escape.get(1..3).unwrap_or("");
        let is_escape = digits.len() == 2 && digits.bytes().all(|b| b.is_ascii_hexdigit());
        let len = if is_escape { 3 } else { 1 };
        if digits.eq_ignore_ascii_case("7e") {
            out.push('~');
        } else {
            let written = escape.get(..len).unwrap_or("");
            out.extend(written.chars().map(|c| c.to_ascii_uppercase()));
        }
        rest = escape.get(len..).unwrap_or("");
    }
    out.push_str(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key_with(url: &str, drop_tracking: bool) -> String {
        key(&Url::parse(url).expect("a URL"), KeyRules { drop_tracking })
    }

    #[test]
    fn urls_of_one_page_have_one_key() {
        let same = [
            ("HTTP://Example.ORG:80/a/./b/../c", "http://example.org/a/c"),
            ("https://example.org:443/#top", "https://example.org/"),
            ("https://example.org", "https://example.org/"),
            (
                "https://example.org/%7Eann/%7e",
                "https://example.org/~ann/~",
            ),
            ("https://example.org/?q=%7Ex#f", "https://example.org/?q=~x"),
            (
                "https://e.org/u/%c3%a4?q=%e4%2f",
                "https://e.org/u/%C3%A4?q=%E4%2F",
            ),
            ("https://e.org/u/ä", "https://e.org/u/%C3%A4"),
            (
                "https://e.org/?utm_source=x&UTM_Medium=y&a=1",
                "https://e.org/?a=1",
            ),
            ("https://e.org/?gclid=x", "https://e.org/"),
            (
                "https://e.org/?a=1&fbclid=x&b=2&sid=9",
                "https://e.org/?a=1&b=2",
            ),
            ("https://e.org/p;JSESSIONID=ab12?x=1", "https://e.org/p?x=1"),
            (
                "https://e.org/p;jsessionid=ab/q;v=1",
                "https://e.org/p/q;v=1",
            ),
            ("https://e.org/?PHPSESSID", "https://e.org/"),
        ];
        for (url, expected) in same {
            assert_eq!(key_with(url, true), expected, "{url}");
        }
    }

    #[test]
    fn urls_of_possibly_different_pages_have_different_keys() {
        for url in [
            "https://e.org/A",
            "https://e.org/a/",
            "https://e.org/a",
            "https://e.org/a?",
            "https://e.org/a%2Fb",
            "https://e.org/a/b",
            "https://e.org/%2F%7",
            "https://e.org/%41",
            "https://e.org/%2541",
            "https://e.org/%",
            "https://e.org/?b=2&a=1",
            "https://e.org/?a=1&b=2",
            "https://e.org/?side=1&utm=2&inside=3",
            "https://e.org/;jsession=1",
            "http://e.org:8080/",
        ] {
            assert_eq!(key_with(url, true), url);
        }
    }

    #[test]
    fn a_key_is_its_own_key() {
        for url in [
            "https://e.org/%%37%65?%%7e",
            "https://e.org/%c3%a%7e%zz%%a4",
        ] {
            let key = key_with(url, true);
            assert_eq!(key_with(&key, true), key, "{url}");
        }
    }

    #[test]
    fn tracking_parameters_are_kept_if_the_rules_say_so() {
        let url = "https://e.org/p;jsessionid=1?utm_source=x&sid=2";
        assert_eq!(key_with(url, false), url);
        let url = "https://e.org/%7E#f";
        assert_eq!(key_with(url, false), "https://e.org/~");
    }

    #[test]
    fn a_resolved_link_has_the_key_of_its_url() {
        let base = crate::Base::new("https://e.org/a/b?c").expect("a base");
        for href in [
            "../x;jsessionid=1/y?utm_id=1&z#f",
            "//h.org:81/%7e?",
            "?",
            "#f",
        ] {
            let resolved = base.join(href).expect("a URL");
            let url = Url::parse(resolved.as_str()).expect("a URL");
            assert_eq!(
                key_of(&resolved, KeyRules::default()),
                key(&url, KeyRules::default())
            );
        }
    }
}
