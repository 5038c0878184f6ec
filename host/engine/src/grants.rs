//! Permissions: requested by manifests and granted by the operator.

mod denial;
mod names;

use serde::{Deserialize, Serialize};

pub(crate) use denial::Need;
pub(crate) use names::RoleSet;

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
            url::Host::parse(host)
                .map(|h| h.to_string())
                .map_err(|_| bad("the host is not valid"))
        };
        let host = match host.strip_prefix("*.") {
            Some(parent) => HostRule::Below(normal(parent)?),
            None if host == "*" => HostRule::Any,
            None if host.contains('*') => return Err(bad("`*` must be the whole first label")),
            None => HostRule::Exactly(normal(host)?),
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
            HostRule::Below(parent) => host
                .strip_suffix(parent.as_str())
                .is_some_and(|front| front.len() > 1 && front.ends_with('.')),
        })
    }
}

/// Permissions that a plugin requests or is granted. The default is none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Permissions {
    /// Hosts that it may fetch (and with `render` also render); see [`HostPatterns`].
    pub http: Vec<String>,
    /// Roles of extractors that it may run; `*` for any.
    pub extract: Vec<String>,
    /// Whether it may use a browser.
    pub render: bool,
    /// Whether it may read pages and links of the project's finished crawls.
    pub crawl_data: bool,
    /// Whether it may keep values between calls.
    pub state: bool,
    /// Names of the project's secrets that it may send with requests; `*` for any.
    pub secrets: Vec<String>,
    /// WASI interfaces beyond the default ones: see [`WASI_CAPABILITIES`].
    pub wasi: Vec<String>,
}

/// Values of `wasi`. `filesystem` is empty and `sockets` refuse every address: they exist for
/// tool chains that import them without using them.
pub const WASI_CAPABILITIES: [&str; 4] = ["clocks", "random", "filesystem", "sockets"];

impl Permissions {
    /// All permissions that exist.
    pub fn all() -> Self {
        Self {
            http: vec!["*".to_owned()],
            extract: vec!["*".to_owned()],
            render: true,
            crawl_data: true,
            state: true,
            secrets: vec!["*".to_owned()],
            wasi: WASI_CAPABILITIES.map(str::to_owned).to_vec(),
        }
    }

    /// The default of an upload: running other plugins' roles, which has no side effects.
    pub fn upload_default() -> Self {
        Self {
            extract: vec!["*".to_owned()],
            ..Self::default()
        }
    }

    /// Parses grants as an operator writes them: `all`, `http` (all requested hosts),
    /// `http=PATTERN`, `extract`, `extract=ROLE`, `render`, `crawl-data`, `state`, `secret` (all
    /// requested), `secret=NAME`, `wasi=CAPABILITY`. The defaults of uploads are added.
    pub fn from_names<S: AsRef<str>>(names: &[S]) -> Result<Self, String> {
        let mut granted = Self::upload_default();
        for name in names {
            let name = name.as_ref();
            match name.split_once('=') {
                None => match name {
                    "all" => return Ok(Self::all()),
                    "http" => granted.http.push("*".to_owned()),
                    "extract" | "log" => {}
                    "render" => granted.render = true,
                    "crawl-data" => granted.crawl_data = true,
                    "state" => granted.state = true,
                    "secret" => granted.secrets.push("*".to_owned()),
                    "wasi" => granted.wasi = WASI_CAPABILITIES.map(str::to_owned).to_vec(),
                    _ => return Err(format!("grant: `{name}` is unknown")),
                },
                Some(("http", pattern)) => granted.http.push(pattern.to_owned()),
                Some(("extract", _)) => {}
                Some(("secret", secret)) => granted.secrets.push(secret.to_owned()),
                Some(("wasi", capability)) => granted.wasi.push(capability.to_owned()),
                Some(_) => return Err(format!("grant: `{name}` is unknown")),
            }
        }
        granted.check()?;
        Ok(granted)
    }

    /// Checks patterns and names; the error names the field.
    pub fn check(&self) -> Result<(), String> {
        HostPatterns::parse(&self.http).map_err(|e| format!("http: {e}"))?;
        for capability in &self.wasi {
            if !WASI_CAPABILITIES.contains(&capability.as_str()) {
                return Err(format!(
                    "wasi: `{capability}` is not one of {}",
                    WASI_CAPABILITIES.join(", ")
                ));
            }
        }
        Ok(())
    }
}

/// The effective permissions: requested ∩ granted, in the form that calls check.
#[derive(Clone, Debug)]
pub(crate) struct EffectivePermissions {
    pub http: std::sync::Arc<HostPatterns>,
    pub extract: RoleSet,
    pub render: bool,
    pub crawl_data: bool,
    pub state: bool,
    pub secrets: RoleSet,
    pub wasi: Vec<String>,
    /// The granted part of the requested permissions, for listings.
    pub listed: Permissions,
    /// What the manifest requests.
    asked: Permissions,
    /// What was granted to a project's plugin, of which its tier allows a part.
    accepted: Option<Permissions>,
}

impl EffectivePermissions {
    /// Computes requested ∩ granted. Errors are those of [`Permissions::check`].
    pub fn new(asked: &Permissions, granted: &Permissions) -> Result<Self, String> {
        let asked_http = HostPatterns::parse(&asked.http).map_err(|e| format!("http: {e}"))?;
        Self::intersect(&asked_http, asked, granted)
    }

    /// These permissions ∩ those granted.
    pub fn narrowed(&self, granted: &Permissions) -> Result<Self, String> {
        let narrowed = Self::intersect(&self.http, &self.listed, granted)?;
        Ok(Self {
            asked: self.asked.clone(),
            accepted: Some(self.listed.clone()),
            ..narrowed
        })
    }

    fn intersect(
        asked_http: &HostPatterns,
        asked: &Permissions,
        granted: &Permissions,
    ) -> Result<Self, String> {
        let granted_http = HostPatterns::parse(&granted.http).map_err(|e| format!("http: {e}"))?;
        let http = asked_http.intersect(&granted_http);
        let any_role = |list: &[String]| list.iter().any(|role| role == "*");
        let extract = RoleSet::both(&asked.extract, &granted.extract);
        let secrets = RoleSet::both(&asked.secrets, &granted.secrets);
        let wasi: Vec<String> = asked
            .wasi
            .iter()
            .filter(|c| granted.wasi.contains(c))
            .cloned()
            .collect();
        let listed = Permissions {
            http: if http.is_empty() {
                Vec::new()
            } else if any_role(&granted.http) {
                asked.http.clone()
            } else if any_role(&asked.http) {
                granted.http.clone()
            } else {
                asked
                    .http
                    .iter()
                    .filter(|p| granted.http.contains(p))
                    .cloned()
                    .collect()
            },
            extract: extract.listed(),
            state: asked.state && granted.state,
            secrets: secrets.listed(),
            render: asked.render && granted.render,
            crawl_data: asked.crawl_data && granted.crawl_data,
            wasi: wasi.clone(),
        };
        Ok(Self {
            http: std::sync::Arc::new(http),
            extract,
            render: listed.render,
            crawl_data: listed.crawl_data,
            state: listed.state,
            secrets,
            wasi,
            listed,
            asked: asked.clone(),
            accepted: None,
        })
    }

    /// Whether a WASI interface is linked.
    pub fn has_wasi(&self, capability: &str) -> bool {
        self.wasi.iter().any(|c| c == capability)
    }
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
        ] {
            let error = HostPatterns::parse(&[bad]).unwrap_err();
            assert!(error.contains(&format!("`{bad}`")), "{error}");
        }
    }

    #[test]
    fn grants_only_narrow_the_requested_permissions() {
        let asked = Permissions {
            http: vec!["*.example.com".into()],
            extract: vec!["article".into(), "links".into()],
            render: true,
            ..Permissions::default()
        };
        let granted = Permissions {
            http: vec!["https://*".into()],
            extract: vec!["links".into(), "markdown".into()],
            crawl_data: true,
            wasi: vec!["clocks".into()],
            ..Permissions::default()
        };
        let got = EffectivePermissions::new(&asked, &granted).unwrap();
        assert!(got.http.allows("https://www.example.com/"));
        assert!(!got.http.allows("http://www.example.com/"));
        assert!(!got.http.allows("https://example.org/"));
        assert!(got.extract.allows("links") && !got.extract.allows("article"));
        assert!(!got.extract.allows("markdown"));
        assert!(!got.render && !got.crawl_data && got.wasi.is_empty());
    }

    #[test]
    fn several_grants_narrow_one_after_the_other() {
        let http = |patterns: &[&str]| Permissions {
            http: patterns.iter().map(|&p| p.into()).collect(),
            ..Permissions::default()
        };
        let asked = EffectivePermissions::new(&http(&["*"]), &http(&["*.example.com"])).unwrap();
        let both = asked.narrowed(&http(&["https://*"])).unwrap();
        assert!(both.http.allows("https://www.example.com/"));
        assert!(!both.http.allows("http://www.example.com/"));
        assert!(!both.http.allows("https://example.org/"));
        assert!(asked.narrowed(&http(&[])).unwrap().http.is_empty());
    }

    #[test]
    fn grant_names_are_combined() {
        let got = Permissions::from_names(&["http=https://*.example.com", "render"]).unwrap();
        assert_eq!(got.http, ["https://*.example.com"]);
        assert!(got.render && !got.crawl_data);
        assert_eq!(
            Permissions::from_names(&["all"]).unwrap(),
            Permissions::all()
        );
        assert!(Permissions::from_names(&["root"]).is_err());
        assert!(Permissions::from_names(&["wasi=gpu"]).is_err());
    }
}
