//! Patterns of the hosts that a plugin may fetch.

use std::collections::HashSet;

/// Most patterns that two lists have in common: all of one with all of the other may be different ones.
const MAX_COMMON: usize = 4_096;

/// Host patterns `scheme://host:port`, e.g. `https://*.example.com`.
///
/// - Scheme: `http`, `https` or `*`; if omitted, `*`.
/// - Host: a name or an address, `*.name` for all subdomains of a name, or `*` for any.
/// - Port: a number or `*`; if omitted, the scheme's default port.
/// - A single `*` means any scheme, any host and any port.
///
/// A URL must match at least one pattern of every list, so an intersection keeps both lists. An
/// empty list denies everything.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct HostPatterns {
    lists: Vec<Vec<HostPattern>>,
}

impl HostPatterns {
    /// Parses a list; the error names the wrong pattern and the reason.
    pub fn parse<S: AsRef<str>>(patterns: &[S]) -> Result<Self, String> {
        let list = patterns
            .iter()
            .map(|p| HostPattern::parse(p.as_ref()))
            .collect::<Result<_, _>>()?;
        Ok(Self { lists: vec![list] })
    }

    /// A set that denies everything.
    pub fn none() -> Self {
        Self::default()
    }

    /// The URLs that both sets allow.
    #[must_use]
    pub fn intersect(&self, other: &Self) -> Self {
        if self.is_empty() || other.is_empty() {
            return Self::none();
        }
        Self {
            lists: self.lists.iter().chain(&other.lists).cloned().collect(),
        }
    }

    /// Whether no URL can match.
    pub fn is_empty(&self) -> bool {
        self.lists.is_empty() || self.lists.iter().any(Vec::is_empty)
    }

    /// Whether an absolute http or https URL is allowed.
    pub fn allows(&self, url: &str) -> bool {
        let Ok(url) = url::Url::parse(url) else {
            return false;
        };
        if !matches!(url.scheme(), "http" | "https") {
            return false;
        }
        let Some(host) = url.host_str() else {
            return false;
        };
        let Some(port) = url.port_or_known_default() else {
            return false;
        };
        !self.is_empty()
            && self.lists.iter().all(|list| {
                list.iter()
                    .any(|pattern| pattern.matches(url.scheme(), host, port))
            })
    }

    /// Why these patterns, a plugin's effective ones, do not allow a URL, and where to add its host. Their lists are
    /// the manifest's, the grant's and, of a project's plugin, the tier's, in this order.
    pub fn denial(&self, url: &str) -> String {
        let origin = origin(url);
        let lacks = |list: &Vec<HostPattern>| {
            let alone = Self {
                lists: vec![list.clone()],
            };
            !alone.allows(url)
        };
        let why = match self.lists.iter().position(lacks) {
            Some(1) => format!(
                "it was not granted; add ?grant=http={origin} to the upload, or set plugins.grants for a \
                 plugin of the folder"
            ),
            Some(2..) => {
                "the project's tier does not allow it (tiers.NAME.plugins.http)".to_owned()
            }
            Some(0) | None => format!(
                "the manifest does not ask for it; add \"{origin}\" to `http` in its [permissions], and \
                 ?grant=http={origin} to the upload"
            ),
        };
        format!("permission http does not cover {origin}: {why}")
    }
}

/// Scheme, host and port of a URL, the parts that a pattern names.
fn origin(url: &str) -> String {
    let Ok(url) = url::Url::parse(url) else {
        return "this URL".to_owned();
    };
    let port = url
        .port_or_known_default()
        .map_or(String::new(), |port| format!(":{port}"));
    format!(
        "{}://{}{port}",
        url.scheme(),
        url.host_str().unwrap_or_default()
    )
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct HostPattern {
    /// `None` matches both schemes.
    scheme: Option<Scheme>,
    host: HostRule,
    port: PortRule,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scheme {
    Http,
    Https,
}

impl Scheme {
    /// The scheme of which this port is the default.
    fn of_port(port: u16) -> Option<Self> {
        match port {
            80 => Some(Self::Http),
            443 => Some(Self::Https),
            _ => None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum HostRule {
    Any,
    /// Subdomains of this name.
    Below(String),
    Exactly(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PortRule {
    Any,
    SchemeDefault,
    Number(u16),
}

impl HostPattern {
    fn parse(pattern: &str) -> Result<Self, String> {
        let bad = |why: &str| format!("`{pattern}` is not a host pattern: {why}");
        if pattern == "*" {
            return Ok(Self {
                scheme: None,
                host: HostRule::Any,
                port: PortRule::Any,
            });
        }
        let (scheme, rest) = match pattern.split_once("://") {
            None | Some(("*", _)) => (
                None,
                pattern.split_once("://").map_or(pattern, |(_, rest)| rest),
            ),
            Some(("http", rest)) => (Some(Scheme::Http), rest),
            Some(("https", rest)) => (Some(Scheme::Https), rest),
            Some(_) => return Err(bad("the scheme must be http, https or *")),
        };
        if rest.contains(['/', '?', '#', '@']) {
            return Err(bad("only scheme, host and port are allowed"));
        }
        // The last colon precedes the port, unless it is inside an IPv6 address.
        let (host, port) = match rest.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => {
                let port = match port {
                    "*" => PortRule::Any,
                    number => PortRule::Number(
                        number
                            .parse()
                            .map_err(|_| bad("the port must be a number or *"))?,
                    ),
                };
                (host, port)
            }
            _ => (rest, PortRule::SchemeDefault),
        };
        let normal = |host: &str| {
            if host.contains('*') {
                return Err(bad("`*` must be the whole first label"));
            }
            let parsed = url::Host::parse(host).map_err(|_| bad("the host is not valid"))?;
            match &parsed {
                url::Host::Domain(name) if has_empty_label(name) => {
                    Err(bad("the host has nothing before, or between, its dots"))
                }
                _ => Ok(parsed),
            }
        };
        let host = match host.strip_prefix("*.") {
            Some(parent) => match normal(parent)? {
                url::Host::Domain(name) => HostRule::Below(name),
                _ => return Err(bad("an address has no subdomains")),
            },
            None if host == "*" => HostRule::Any,
            None => HostRule::Exactly(normal(host)?.to_string()),
        };
        Ok(Self { scheme, host, port })
    }

    fn matches(&self, scheme: &str, host: &str, port: u16) -> bool {
        let default_port = if scheme == "https" { 443 } else { 80 };
        (match self.scheme {
            None => true,
            Some(Scheme::Http) => scheme == "http",
            Some(Scheme::Https) => scheme == "https",
        }) && (match self.port {
            PortRule::Any => true,
            PortRule::SchemeDefault => port == default_port,
            PortRule::Number(number) => port == number,
        }) && (match &self.host {
            HostRule::Any => true,
            HostRule::Exactly(name) => host == name,
            HostRule::Below(parent) => is_below(host, parent),
        })
    }

    /// The pattern of the URLs that both match; `None` without any.
    fn both(&self, other: &Self) -> Option<Self> {
        let mut scheme = match (self.scheme, other.scheme) {
            (Some(one), Some(other)) if one != other => return None,
            (one, other) => one.or(other),
        };
        let host = match (&self.host, &other.host) {
            (HostRule::Any, host) | (host, HostRule::Any) => host,
            (HostRule::Exactly(one), HostRule::Exactly(other)) if one != other => return None,
            (HostRule::Exactly(name), HostRule::Below(parent))
            | (HostRule::Below(parent), HostRule::Exactly(name))
                if !is_below(name, parent) =>
            {
                return None;
            }
            (host @ HostRule::Exactly(_), _) | (_, host @ HostRule::Exactly(_)) => host,
            (host @ HostRule::Below(below), HostRule::Below(parent))
            | (HostRule::Below(parent), host @ HostRule::Below(below))
                if below == parent || is_below(below, parent) =>
            {
                host
            }
            (HostRule::Below(_), HostRule::Below(_)) => return None,
        };
        let port = match (self.port, other.port) {
            (PortRule::Any, port) | (port, PortRule::Any) => port,
            (PortRule::Number(one), PortRule::Number(other)) if one != other => return None,
            (PortRule::SchemeDefault, PortRule::Number(number))
            | (PortRule::Number(number), PortRule::SchemeDefault) => {
                let of_default = Scheme::of_port(number)?;
                if scheme.is_some_and(|scheme| scheme != of_default) {
                    return None;
                }
                scheme = Some(of_default);
                PortRule::Number(number)
            }
            (port, _) => port,
        };
        Some(Self {
            scheme,
            host: host.clone(),
            port,
        })
    }
}

impl std::fmt::Display for HostPattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.scheme {
            None => {}
            Some(Scheme::Http) => f.write_str("http://")?,
            Some(Scheme::Https) => f.write_str("https://")?,
        }
        match &self.host {
            HostRule::Any => f.write_str("*")?,
            HostRule::Below(parent) => write!(f, "*.{parent}")?,
            HostRule::Exactly(name) => f.write_str(name)?,
        }
        match self.port {
            PortRule::Any => f.write_str(":*"),
            PortRule::SchemeDefault => Ok(()),
            PortRule::Number(number) => write!(f, ":{number}"),
        }
    }
}

/// Whether no host can have this name, since a label of it is empty. The one behind a last dot may be.
pub(crate) fn has_empty_label(name: &str) -> bool {
    let labels = name.strip_suffix('.').unwrap_or(name);
    labels.split('.').any(str::is_empty)
}

fn is_below(host: &str, parent: &str) -> bool {
    host.strip_suffix(parent)
        .is_some_and(|front| front.len() > 1 && front.ends_with('.'))
}

/// The patterns of the URLs that both lists allow: those of either list as they are written where the
/// other one allows all of their URLs, else patterns of what is common to two of them.
pub(super) fn listed_in_both(asked: &[String], granted: &[String]) -> Result<Vec<String>, String> {
    let parse = |list: &[String]| -> Result<Vec<HostPattern>, String> {
        list.iter().map(|text| HostPattern::parse(text)).collect()
    };
    let (asked_patterns, granted_patterns) = (parse(asked)?, parse(granted)?);
    let mut seen = HashSet::new();
    let mut listed = Vec::new();
    for (asked_pattern, asked) in asked_patterns.iter().zip(asked) {
        for (granted_pattern, granted) in granted_patterns.iter().zip(granted) {
            let Some(both) = asked_pattern.both(granted_pattern) else {
                continue;
            };
            if !seen.insert(both.to_string()) {
                continue;
            }
            if listed.len() == MAX_COMMON {
                return Err(format!(
                    "the patterns requested and those granted have more than {MAX_COMMON} in common"
                ));
            }
            listed.push(if both == *asked_pattern {
                asked.clone()
            } else if both == *granted_pattern {
                granted.clone()
            } else {
                both.to_string()
            });
        }
    }
    Ok(listed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(list: &[&str]) -> HostPatterns {
        HostPatterns::parse(list).unwrap()
    }

    #[test]
    fn an_empty_list_denies_everything() {
        assert!(!patterns(&[]).allows("https://example.com/"));
        assert!(!HostPatterns::none().allows("https://example.com/"));
        assert!(
            !patterns(&["*"])
                .intersect(&patterns(&[]))
                .allows("https://example.com/")
        );
    }

    #[test]
    fn a_denial_says_which_list_lacks_the_host() {
        let asked = patterns(&["https://*.a.example", "http://b.example:*"]);
        let granted = asked.intersect(&patterns(&["https://*"]));
        let narrowed = granted.intersect(&patterns(&["https://x.a.example"]));
        for (of, url, said) in [
            (
                &granted,
                "https://c.example/path?key=1",
                "permission http does not cover https://c.example:443: the manifest does not ask for it; add \
                 \"https://c.example:443\" to `http` in its [permissions], and \
                 ?grant=http=https://c.example:443 to the upload",
            ),
            (
                &granted,
                "http://b.example:8080/",
                "permission http does not cover http://b.example:8080: it was not granted; add \
                 ?grant=http=http://b.example:8080 to the upload, or set plugins.grants for a plugin of the \
                 folder",
            ),
            (
                &narrowed,
                "https://y.a.example/",
                "permission http does not cover https://y.a.example:443: the project's tier does not allow it \
                 (tiers.NAME.plugins.http)",
            ),
        ] {
            assert!(!of.allows(url), "{url}");
            assert_eq!(of.denial(url), said);
        }
    }

    #[test]
    fn patterns_match_as_documented() {
        let cases: [(&str, &str, bool); 22] = [
            ("*", "http://127.0.0.1:9999/x", true),
            ("*", "ftp://example.com/", false),
            ("example.com", "https://example.com/a", true),
            ("example.com", "http://EXAMPLE.com/a", true),
            ("example.com", "https://example.com:8443/", false),
            ("example.com", "https://www.example.com/", false),
            ("example.com:*", "https://example.com:8443/", true),
            ("*.example.com", "https://www.example.com/", true),
            ("*.example.com", "https://a.b.example.com/", true),
            ("*.example.com", "https://example.com/", false),
            ("*.example.com", "https://evilexample.com/", false),
            ("https://*", "https://any.org/", true),
            ("https://*", "http://any.org/", false),
            ("https://*", "https://any.org:444/", false),
            ("https://*:*", "https://any.org:444/", true),
            ("*://example.com:81", "http://example.com:81/", true),
            ("http://[::1]:8080", "http://[::1]:8080/", true),
            ("http://[::1]", "http://[::1]/", true),
            ("http://127.0.0.1:*", "http://127.1:80/", true),
            ("bücher.example", "https://xn--bcher-kva.example/", true),
            ("example.com", "https://example.com@evil.org/", false),
            ("example.com", "not a url", false),
        ];
        for (pattern, url, expected) in cases {
            assert_eq!(
                patterns(&[pattern]).allows(url),
                expected,
                "{pattern} {url}"
            );
        }
    }

    #[test]
    fn malformed_patterns_are_refused_and_named() {
        for bad in [
            "ftp://x",
            "http://x/path",
            "a*b.com",
            "http://x:99999",
            "",
            "user@x",
            "*.*",
            "https://*.a.*",
            "*.127.0.0.1",
            "http://*.[::1]:8080",
            "a..b",
            ".a.b",
            "*..b",
            ".",
        ] {
            let error = HostPatterns::parse(&[bad]).unwrap_err();
            assert!(error.contains(&format!("`{bad}`")), "{error}");
        }
    }

    #[test]
    fn what_two_lists_have_in_common_is_listed_as_written_or_as_its_own_pattern() {
        let cases: [(&[&str], &[&str], &[&str]); 13] = [
            (
                &["https://api.example.com"],
                &["https://*.example.com"],
                &["https://api.example.com"],
            ),
            (
                &["*"],
                &["https://a.org", "b.org:*"],
                &["https://a.org", "b.org:*"],
            ),
            (
                &["https://a.org", "b.org"],
                &["*"],
                &["https://a.org", "b.org"],
            ),
            (
                &["*.example.com"],
                &["https://*"],
                &["https://*.example.com"],
            ),
            (
                &["*.example.com"],
                &["*.a.example.com"],
                &["*.a.example.com"],
            ),
            (&["*.example.com"], &["example.com"], &[]),
            (&["*.example.com"], &["*.evilexample.com"], &[]),
            (&["http://a.org"], &["https://a.org"], &[]),
            (&["a.org"], &["a.org:443"], &["https://a.org:443"]),
            (&["http://a.org"], &["a.org:443"], &[]),
            (&["a.org:81"], &["a.org"], &[]),
            (
                &["https://a.org"],
                &["https://a.org:443"],
                &["https://a.org:443"],
            ),
            (&["a.org", "*.org"], &["a.org", "A.org"], &["a.org"]),
        ];
        for (asked, granted, expected) in cases {
            let owned = |list: &[&str]| -> Vec<String> {
                list.iter().map(|&text| text.to_owned()).collect()
            };
            let listed = listed_in_both(&owned(asked), &owned(granted)).unwrap();
            assert_eq!(listed, expected, "{asked:?} {granted:?}");
            HostPatterns::parse(&listed).unwrap();
        }
    }
}
