//! Permissions: requested by manifests and granted by the operator.

mod denial;
mod hosts;
mod names;

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

pub(crate) use denial::Need;
pub use hosts::HostPatterns;
pub(crate) use hosts::has_empty_label;
pub(crate) use names::RoleSet;

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

/// Most entries of each list that a manifest requests, or that is granted to an upload: two lists are compared
/// entry by entry.
pub const MAX_PERMISSION_ENTRIES: usize = 256;

/// Longest entry, in bytes.
pub(crate) const MAX_ENTRY_BYTES: usize = 300;

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
        granted.drop_repeated();
        granted.check()?;
        Ok(granted)
    }

    /// The lists, each with its field.
    pub(crate) fn lists(&self) -> [(&'static str, &Vec<String>); 4] {
        [
            ("http", &self.http),
            ("extract", &self.extract),
            ("secrets", &self.secrets),
            ("wasi", &self.wasi),
        ]
    }

    /// Removes entries that are listed before.
    pub(crate) fn drop_repeated(&mut self) {
        let Self {
            http,
            extract,
            secrets,
            wasi,
            render: _,
            crawl_data: _,
            state: _,
        } = self;
        for list in [http, extract, secrets, wasi] {
            let mut seen = HashSet::new();
            list.retain(|entry| seen.insert(entry.clone()));
        }
    }

    /// Checks sizes, patterns and names; the error names the field.
    pub fn check(&self) -> Result<(), String> {
        for (field, list) in self.lists() {
            if list.len() > MAX_PERMISSION_ENTRIES {
                return Err(format!("{field}: at most {MAX_PERMISSION_ENTRIES} entries"));
            }
            if list.iter().any(|entry| entry.len() > MAX_ENTRY_BYTES) {
                return Err(format!(
                    "{field}: an entry has at most {MAX_ENTRY_BYTES} bytes"
                ));
            }
        }
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
        let extract = RoleSet::both(&asked.extract, &granted.extract);
        let secrets = RoleSet::both(&asked.secrets, &granted.secrets);
        let wasi: Vec<String> = asked
            .wasi
            .iter()
            .filter(|c| granted.wasi.contains(c))
            .cloned()
            .collect();
        let listed = Permissions {
            http: hosts::listed_in_both(&asked.http, &granted.http)
                .map_err(|e| format!("http: {e}"))?,
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
    fn the_hosts_of_a_listing_are_those_that_may_be_fetched() {
        let http = |patterns: &[&str]| Permissions {
            http: patterns.iter().map(|&p| p.into()).collect(),
            ..Permissions::default()
        };
        let asked = http(&["https://api.example.com"]);
        let granted = http(&["https://*.example.com"]);
        let got = EffectivePermissions::new(&asked, &granted).unwrap();
        assert_eq!(got.listed.http, ["https://api.example.com"]);
        let narrowed = got.narrowed(&http(&["*"])).unwrap();
        assert_eq!(narrowed.listed.http, ["https://api.example.com"]);
        let turned = EffectivePermissions::new(&granted, &asked).unwrap();
        assert_eq!(turned.listed.http, ["https://api.example.com"]);
    }

    #[test]
    fn lists_are_bounded_and_have_each_entry_once() {
        let hosts = |count: usize| -> Vec<String> {
            (0..count)
                .map(|n| format!("http=https://h{n}.example"))
                .collect()
        };
        let most = Permissions::from_names(&hosts(MAX_PERMISSION_ENTRIES)).unwrap();
        assert_eq!(most.http.len(), MAX_PERMISSION_ENTRIES);
        let error = Permissions::from_names(&hosts(MAX_PERMISSION_ENTRIES + 1)).unwrap_err();
        assert_eq!(error, "http: at most 256 entries");
        let repeated = Permissions::from_names(&vec!["http"; 20_000]).unwrap();
        assert_eq!(repeated.http, ["*"]);
        let long = format!("secret={}", "x".repeat(MAX_ENTRY_BYTES + 1));
        assert!(Permissions::from_names(&[long]).is_err());
    }

    #[test]
    fn what_two_lists_have_in_common_is_bounded() {
        let list = |pattern: &dyn Fn(usize) -> String| Permissions {
            http: (0..MAX_PERMISSION_ENTRIES)
                .map(|n| pattern(n + 1))
                .collect(),
            ..Permissions::default()
        };
        let (ports, hosts) = (
            list(&|n| format!("*:{n}")),
            list(&|n| format!("h{n}.example:*")),
        );
        let error = EffectivePermissions::new(&ports, &hosts).unwrap_err();
        assert!(error.contains("in common"), "{error}");
        let all = Permissions::all();
        let got = EffectivePermissions::new(&hosts, &all).unwrap();
        assert_eq!(got.listed.http, hosts.http);
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
