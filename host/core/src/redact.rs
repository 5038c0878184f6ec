//! Takes credentials out of text, URLs and JSON before they are kept for people to read.
//!
//! What counts as a credential: user names and passwords in URLs, values of names that mean one
//! (`token`, `password`, `api_key`, `session` …) in queries, fragments, JSON and text, values of
//! `Authorization` headers, private keys, and words of the forms that tokens have. The rules
//! take out too much rather than too little.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::Value;

/// What stands in place of a credential.
pub const MASK: &str = "***";
/// Why [`MASK`] is refused where a credential is read.
pub const MASKED: &str = "*** stands for a secret that is not shown: set the secret itself";

/// Parts of names whose values are credentials, in lower case and without separators.
const PARTS: [&str; 18] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "accesskey",
    "privatekey",
    "secretkey",
    "authorization",
    "cookie",
    "session",
    "credential",
    "signature",
    "jwt",
    "bearer",
    "csrf",
    "xsrf",
];

/// Whole names whose values are credentials.
const NAMES: [&str; 9] = [
    "auth",
    "pwd",
    "pass",
    "pin",
    "otp",
    "sig",
    "sid",
    "jsessionid",
    "phpsessid",
];

/// Whole names whose values are credentials in URLs, where a few letters stand for much.
const URL_NAMES: [&str; 2] = ["key", "code"];

/// Names that contain one of [`PARTS`] and are no credentials.
const HARMLESS: [&str; 4] = ["tokens", "maxtokens", "tokencount", "sessions"];

/// Whether a value of this name is a credential: the name of a field, header, cookie or parameter.
pub fn is_secret_name(name: &str) -> bool {
    let plain: String = name
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|c| c.to_ascii_lowercase())
        .collect();
    if HARMLESS.contains(&plain.as_str()) {
        return false;
    }
    NAMES.contains(&plain.as_str()) || PARTS.iter().any(|part| plain.contains(part))
}

/// Shortest word that may count as a token by its form.
const TOKEN_CHARS: usize = 24;

/// Whether a word has the form of a token: long, with small and capital letters and digits.
fn is_token(word: &str) -> bool {
    let has = |test: fn(&u8) -> bool| word.bytes().any(|b| test(&b));
    word.len() >= TOKEN_CHARS
        && has(u8::is_ascii_lowercase)
        && has(u8::is_ascii_uppercase)
        && has(u8::is_ascii_digit)
        && word
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"_-.~+=".contains(&b))
}

/// A URL without its credentials: user name and password, values of parameters whose name means a
/// credential, and words of the path and the parameters that have the form of a token. Works
/// on text that is no URL, too.
pub fn url(url: &str) -> Cow<'_, str> {
    let Some((scheme, rest)) = url.split_once("://") else {
        return Cow::Borrowed(url);
    };
    let end = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
    let (authority, tail) = rest.split_at(end);
    let mut kept = format!("{scheme}://");
    match authority.rsplit_once('@') {
        Some((_, host)) => {
            kept.push_str(MASK);
            kept.push('@');
            kept.push_str(host);
        }
        None => kept.push_str(authority),
    }
    let path_end = tail.find(['?', '#']).unwrap_or(tail.len());
    let (path, parameters) = tail.split_at(path_end);
    for piece in path.split_inclusive('/') {
        let (word, slash) = match piece.strip_suffix('/') {
            Some(word) => (word, "/"),
            None => (piece, ""),
        };
        kept.push_str(if is_token(word) { MASK } else { word });
        kept.push_str(slash);
    }
    for piece in parameters.split_inclusive(['&', ';', '?', '#']) {
        let last = piece.len() - usize::from(piece.ends_with(['&', ';', '?', '#']));
        let (pair, separator) = piece.split_at(last);
        match pair.split_once('=') {
            Some((name, value)) if is_parameter(name) || is_token(value) => {
                kept.push_str(name);
                kept.push('=');
                kept.push_str(if value.is_empty() { value } else { MASK });
            }
            Some(_) => kept.push_str(pair),
            None => kept.push_str(if is_token(pair) { MASK } else { pair }),
        }
        kept.push_str(separator);
    }
    if kept == url {
        return Cow::Borrowed(url);
    }
    Cow::Owned(kept)
}

/// Whether a parameter's value is a credential.
fn is_parameter(name: &str) -> bool {
    is_secret_name(name)
        || URL_NAMES
            .iter()
            .any(|short| name.eq_ignore_ascii_case(short))
}

/// URLs in text.
static URLS: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"(?i)\b[a-z][a-z0-9+.-]{1,15}://[^\s"'<>`]+"#).ok());

/// A name that means a credential, and its value: `token=x`, `"password": "x"`, `Cookie: x`.
static PAIRS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r#"(?ix)
        (?<name> [a-z0-9_.\-]* (?: password | passwd | passphrase | secret | token | api[_\-]?key
            | access[_\-]?key | private[_\-]?key | credential | signature | jwt | csrf | xsrf
            | session[_\-]?id | sessid ) [a-z0-9_\-]* | \b(?:auth|pwd|pass|otp|sig|sid)\b )
        (?<between> \\?["']? \s* (?: [:=] | => ) \s* )
        (?<value> \\?"[^"]*" | '[^']*' | [^\s"'&,;)}\]]+ )"#,
    )
    .ok()
});

/// Headers whose whole rest of the line is a credential.
static HEADERS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r#"(?i)(?<name>\b(?:proxy-)?authorization|\b(?:set-)?cookie2?)(?<between>\\?["']?\s*[:=]\s*)(?<value>[^\r\n]+)"#,
    )
    .ok()
});

/// Words that are credentials by their form.
static WORDS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?x)
        (?<scheme> \b (?i: bearer | basic ) \s+ ) [A-Za-z0-9._~+/=\-]{6,}
        | \b orb_[A-Za-z0-9_\-]{8,}
        | \b eyJ[A-Za-z0-9_\-]{8,} (?: \.[A-Za-z0-9_\-]* ){0,2}
        | \b (?: AKIA | ASIA ) [A-Z0-9]{12,}
        | \b (?: sk | pk | rk ) [_\-] [A-Za-z0-9_\-]{16,}
        | \b (?: gh[pousr] | github_pat | glpat | xox[abeoprs] ) [_\-] [A-Za-z0-9_\-]{10,}
        | -----BEGIN [A-Z\ ]* PRIVATE\ KEY----- [^-]* (?: -----END [A-Z\ ]* PRIVATE\ KEY----- )?",
    )
    .ok()
});

/// Words that may have the form of a token.
static LONG: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"[A-Za-z0-9_~+=-]{24,}").ok());

/// Text without credentials, such as a line of a log or the message of an error.
pub fn text(text: &str) -> String {
    let kept = replaced(&URLS, text, |found| {
        url(found.get(0).map_or("", |m| m.as_str())).into()
    });
    let named = |found: &Captures<'_>| {
        let part = |name: &str| found.name(name).map_or("", |part| part.as_str()).to_owned();
        // A text that is masked already stays as it is.
        format!("{}{}{MASK}", part("name"), part("between"))
    };
    let kept = replaced(&HEADERS, &kept, named);
    let kept = replaced(&PAIRS, &kept, |found| {
        let pair = found.get(0);
        let before = pair.map_or("", |pair| kept.get(..pair.start()).unwrap_or(""));
        match pair.filter(|pair| is_of_permission(before, pair.as_str())) {
            Some(pair) => pair.as_str().to_owned(),
            None => named(found),
        }
    });
    let kept = replaced(&WORDS, &kept, |found| {
        let scheme = found.name("scheme").map_or("", |scheme| scheme.as_str());
        format!("{scheme}{MASK}")
    });
    replaced(&LONG, &kept, |found| {
        let word = found.get(0).map_or("", |word| word.as_str());
        if is_token(word) {
            MASK.to_owned()
        } else {
            word.to_owned()
        }
    })
}

/// Whether what follows a text names a plugin's secret, as messages about missing permissions do, and is
/// not its value: `grant=secret=NAME`.
fn is_of_permission(before: &str, pair: &str) -> bool {
    let introduced = |by: &[&str]| by.iter().any(|word| before.ends_with(word));
    (pair.starts_with("secret=") && introduced(&["grant=", "permission "]))
        || (pair == "secrets = [" && introduced(&["add `"]))
}

/// Text with every match replaced. Without the pattern (it is tested that all compile) nothing of the
/// text is safe.
fn replaced(
    pattern: &LazyLock<Option<Regex>>,
    text: &str,
    by: impl Fn(&Captures<'_>) -> String,
) -> String {
    match &**pattern {
        Some(pattern) => pattern.replace_all(text, by).into_owned(),
        None => MASK.to_owned(),
    }
}

/// Takes the credentials out of JSON: members whose name means one, URLs, and credentials within
/// strings. Returns whether it changed anything.
pub fn json(value: &mut Value) -> bool {
    match value {
        Value::Object(members) => {
            let mut changed = false;
            for (name, member) in members {
                let is_empty = match &*member {
                    Value::Null | Value::Bool(_) => true,
                    Value::String(text) => text.is_empty(),
                    Value::Array(items) => items.is_empty(),
                    Value::Object(inner) => inner.is_empty(),
                    Value::Number(_) => false,
                };
                changed |= if is_secret_name(name) && !is_empty {
                    *member = Value::String(MASK.to_owned());
                    true
                } else {
                    json(member)
                };
            }
            changed
        }
        Value::Array(items) => items
            .iter_mut()
            .fold(false, |changed, item| json(item) | changed),
        Value::String(string) => {
            let kept = text(string);
            let changed = kept != *string;
            *string = kept;
            changed
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const TOKEN: &str = "Zx8kQ2mN5pR7tV9wY3aB6cD1";

    #[test]
    fn all_patterns_compile() {
        for pattern in [&URLS, &PAIRS, &HEADERS, &WORDS, &LONG] {
            assert!(pattern.is_some());
        }
    }

    #[test]
    fn urls_keep_all_but_their_credentials() {
        for (given, kept) in [
            ("https://user:pw@a.org/x?y=1#z", "https://***@a.org/x?y=1#z"),
            (
                "https://a.org/?q=rust&access_token=abc",
                "https://a.org/?q=rust&access_token=***",
            ),
            (
                "https://a.org/?api-key=abc;page=2",
                "https://a.org/?api-key=***;page=2",
            ),
            (
                "https://a.org/cb?code=abc&state=s",
                "https://a.org/cb?code=***&state=s",
            ),
            (
                "https://a.org/#access_token=abc",
                "https://a.org/#access_token=***",
            ),
            (
                "https://a.org/?X-Amz-Signature=ab",
                "https://a.org/?X-Amz-Signature=***",
            ),
            (
                "https://a.org/?token=&page=1",
                "https://a.org/?token=&page=1",
            ),
            (
                "https://a.org/a-long-slug-of-an-article-2024",
                "https://a.org/a-long-slug-of-an-article-2024",
            ),
            ("https://a.org/?maxtokens=5", "https://a.org/?maxtokens=5"),
            ("no url", "no url"),
        ] {
            assert_eq!(url(given), kept);
        }
        let given = format!("https://hooks.example/services/{TOKEN}/x?t={TOKEN}&{TOKEN}");
        assert_eq!(
            url(&given),
            "https://hooks.example/services/***/x?t=***&***"
        );
    }

    #[test]
    fn text_keeps_all_but_its_credentials() {
        let jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl";
        for secret in [
            "Authorization: Bearer hunter2hunter2",
            "bearer hunter2hunter2",
            "password=hunter2",
            "{\"password\": \"hunter2\"}",
            "{\\\"api_key\\\":\\\"hunter2\\\"}",
            "api_key: hunter2, more",
            "Cookie: sid=hunter2; theme=hunter2",
            "set-cookie: a=hunter2",
            "https://me:hunter2@a.org/",
            "GET https://a.org/?token=hunter2 failed",
            "key orb_hunter2hunter2hunter2",
            "-----BEGIN RSA PRIVATE KEY-----\nhunter2\n-----END RSA PRIVATE KEY-----",
            "ghp_hunter2hunter2hunter2",
        ] {
            let kept = text(secret);
            assert!(!kept.contains("hunter2") && kept.contains(MASK), "{kept}");
        }
        for secret in [jwt, TOKEN, "AKIAIOSFODNN7EXAMPLE"] {
            assert!(
                !text(&format!("found {secret}.")).contains(secret),
                "{secret}"
            );
        }
        for harmless in [
            "12 tokens of 4 sessions",
            "price: 12.50, author: Jo",
            "0123456789abcdef0123456789abcdef01234567",
            "panicked at src/lib.rs:7:5: no such section: 7",
            "permission secret=other: the manifest does not ask for it; add `secrets = [\"other\"]` to \
             its [permissions], and ?grant=secret=other to the upload",
        ] {
            assert_eq!(text(harmless), harmless);
        }
    }

    #[test]
    fn json_keeps_all_but_its_credentials() {
        let mut value = json!({
            "url": "https://a.org/?token=hunter2",
            "login": {"password": "hunter2", "name": "jo"},
            "headers": {"Cookie": "a=hunter2", "Accept": "*/*"},
            "list": ["Bearer hunter2hunter2", 7],
            "session": null,
            "api_key": 12345,
        });
        assert!(json(&mut value));
        let kept = value.to_string();
        assert!(
            !kept.contains("hunter2") && !kept.contains("12345"),
            "{kept}"
        );
        assert_eq!(value["login"]["name"], "jo");
        assert_eq!(value["headers"]["Accept"], "*/*");
        let mut harmless = json!({"url": "https://a.org/?page=2", "depth": 3, "token": ""});
        let before = harmless.clone();
        assert!(!json(&mut harmless));
        assert_eq!(harmless, before);
    }
}
