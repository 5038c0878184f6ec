//! The manifest: a `plugin.toml` embedded in the component and read before it runs.

pub(crate) mod section;

use serde::{Deserialize, Serialize};

pub use section::{SECTION, embed, read_text};

use crate::api_version;
use crate::error::LoadError;
use crate::grants::Permissions;
use crate::kind::Kind;
use crate::limits::{LimitRange, Limits};

/// The WIT version that this host has: it runs plugins of this one and of earlier minor versions.
pub const API_VERSION: &str = crate::wit::v1::bindings::VERSION;

/// A validated manifest.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Name: lower-case letters, digits and hyphens, at most 64.
    pub name: String,
    /// Its kind.
    pub kind: Kind,
    /// The plugin's own version.
    pub version: String,
    /// Version of the WIT package it was built against.
    pub api: String,
    /// Description of one or two sentences.
    #[serde(default)]
    pub description: String,
    /// Roles of an extractor; if empty, its name is its only role.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<String>,
    /// Roles whose outputs an extractor, or the `record` of a hook, gets as inputs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<String>,
    /// What a hook takes part in; empty for other kinds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<HookPoint>,
    /// The permissions it requests.
    #[serde(default)]
    pub permissions: Permissions,
    /// The limits it requests.
    #[serde(default)]
    pub limits: AskedLimits,
    /// JSON Schemas of input and output.
    #[serde(default)]
    pub schema: Schemas,
    /// A fetcher's domains and paths; `None` for other kinds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fetcher: Option<FetcherInfo>,
}

/// Limits that a manifest may request; see [`Limits`] for the units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct AskedLimits {
    /// CPU time in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_ms: Option<u64>,
    /// Wall time in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall_ms: Option<u64>,
    /// Memory in MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_mib: Option<u64>,
    /// Output size in KiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_kib: Option<u64>,
    /// Number of requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fetches: Option<u32>,
    /// Parallel requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
    /// Fetched bytes in MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fetch_mib: Option<u64>,
}

impl AskedLimits {
    /// Each limit as requested, or its default, limited to its maximum.
    pub fn within(&self, range: &LimitRange) -> Limits {
        let LimitRange { default, max } = range;
        Limits {
            cpu_ms: self.cpu_ms.unwrap_or(default.cpu_ms).min(max.cpu_ms),
            wall_ms: self.wall_ms.unwrap_or(default.wall_ms).min(max.wall_ms),
            memory_mib: self
                .memory_mib
                .unwrap_or(default.memory_mib)
                .min(max.memory_mib),
            output_kib: self
                .output_kib
                .unwrap_or(default.output_kib)
                .min(max.output_kib),
            fetches: self.fetches.unwrap_or(default.fetches).min(max.fetches),
            concurrency: self
                .concurrency
                .unwrap_or(default.concurrency)
                .min(max.concurrency),
            fetch_mib: self
                .fetch_mib
                .unwrap_or(default.fetch_mib)
                .min(max.fetch_mib),
            ..*default
        }
    }
}

impl AskedLimits {
    /// The requests that exceed the maximum, one line each.
    pub fn cut(&self, range: &LimitRange) -> Vec<String> {
        let max = &range.max;
        let asked = [
            ("cpu-ms", self.cpu_ms, max.cpu_ms),
            ("wall-ms", self.wall_ms, max.wall_ms),
            ("memory-mib", self.memory_mib, max.memory_mib),
            ("output-kib", self.output_kib, max.output_kib),
            ("fetches", self.fetches.map(u64::from), max.fetches.into()),
            (
                "concurrency",
                self.concurrency.map(u64::from),
                max.concurrency.into(),
            ),
            ("fetch-mib", self.fetch_mib, max.fetch_mib),
        ];
        asked
            .into_iter()
            .filter_map(|(name, asked, most)| {
                let asked = asked.filter(|asked| *asked > most)?;
                Some(format!(
                    "{name}: {asked} asked, cut to the maximum of {most}"
                ))
            })
            .collect()
    }
}

/// JSON Schemas, as JSON text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Schemas {
    /// Schema of the input of an actor, the parameters of a fetcher, the options of an extractor,
    /// the configuration of a hook; every input is checked before the plugin runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// Schema of the output; for documentation only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
}

/// A function of a hook, called at one point of a crawl.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HookPoint {
    /// Judges the links of a page.
    Discover,
    /// Says what is stored of a page.
    Record,
    /// Changes a request.
    Request,
    /// Judges a response.
    Response,
    /// Changes the payload of a webhook.
    Deliver,
}

impl HookPoint {
    /// Its name in manifests and messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Discover => "discover",
            Self::Record => "record",
            Self::Request => "request",
            Self::Response => "response",
            Self::Deliver => "deliver",
        }
    }
}

/// The domains and paths of a fetcher.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct FetcherInfo {
    /// Host names (`example.com`), or all subdomains of one (`*.example.com`).
    pub domains: Vec<String>,
    /// Its paths, for the directory.
    pub paths: Vec<FetcherPath>,
    /// One line that describes an item.
    pub data_shape: String,
}

/// One path of a fetcher.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FetcherPath {
    /// Pattern of the part after the domain, e.g. `items/{id}`.
    pub path: String,
    /// The data it returns.
    #[serde(default)]
    pub description: String,
}

/// Reads a component's manifest: the section at the top level, else the one in a nested module;
/// two that differ are an error.
pub fn read(component: &[u8]) -> Result<Manifest, LoadError> {
    Manifest::parse(&read_text(component)?)
}

impl Manifest {
    /// Parses and validates a manifest; the error names the field.
    pub fn parse(text: &str) -> Result<Self, LoadError> {
        section::check_length(text.len())?;
        let mut manifest: Self = toml::from_str(text)
            .map_err(|e| LoadError::Manifest(e.to_string().trim_end().replace('\n', " ")))?;
        if manifest.roles.is_empty() && manifest.kind == Kind::Extractor {
            manifest.roles.push(manifest.name.clone());
        }
        manifest.check().map_err(LoadError::Manifest)?;
        Ok(manifest)
    }

    fn check(&self) -> Result<(), String> {
        check_name("name", &self.name)?;
        if self.version.is_empty() || self.version.len() > 64 {
            return Err("version: 1 to 64 characters".to_owned());
        }
        if !api_version::is_supported(&self.api) {
            return Err(format!(
                "api: this host supports {} of orbweaver:plugin, not `{}`",
                api_version::supported(),
                self.api
            ));
        }
        if self.description.len() > 2_000 {
            return Err("description: at most 2,000 bytes".to_owned());
        }
        if self.kind != Kind::Extractor && !self.roles.is_empty() {
            return Err(format!(
                "roles: allowed for extractors only, this is a {}",
                self.kind
            ));
        }
        if self.roles.len() > 64 {
            return Err("roles: at most 64".to_owned());
        }
        for (i, role) in self.roles.iter().enumerate() {
            check_name(&format!("roles[{i}]"), role)?;
            if self.roles.iter().take(i).any(|earlier| earlier == role) {
                return Err(format!("roles[{i}]: `{role}` is listed twice"));
            }
        }
        self.permissions
            .check()
            .map_err(|e| format!("permissions.{e}"))?;
        self.check_needs()?;
        self.check_hooks()?;
        if self.kind == Kind::Extractor {
            let Permissions {
                http,
                extract,
                render,
                crawl_data,
                state,
                secrets,
                wasi: _,
            } = &self.permissions;
            let calls_host = *render || *crawl_data || *state || !secrets.is_empty();
            if !http.is_empty() || !extract.is_empty() || calls_host {
                return Err("permissions: an extractor may request `wasi` only".to_owned());
            }
        }
        for (field, text) in [
            ("input", &self.schema.input),
            ("output", &self.schema.output),
        ] {
            let Some(text) = text else { continue };
            let value: serde_json::Value =
                serde_json::from_str(text).map_err(|e| format!("schema.{field}: not JSON: {e}"))?;
            crate::schema::compile(&value).map_err(|e| format!("schema.{field}: {e}"))?;
        }
        match (&self.fetcher, self.kind) {
            (None, Kind::Fetcher) => {
                Err("fetcher.domains: a fetcher needs at least one domain".to_owned())
            }
            (Some(_), Kind::Extractor | Kind::Actor | Kind::Hook) => Err(format!(
                "fetcher: allowed for fetchers only, this is a {}",
                self.kind
            )),
            (Some(fetcher), Kind::Fetcher) => fetcher.check(),
            (None, _) => Ok(()),
        }
    }
}

/// Most roles that a plugin needs.
const MAX_NEEDS: usize = 16;

impl Manifest {
    fn check_needs(&self) -> Result<(), String> {
        if self.needs.is_empty() {
            return Ok(());
        }
        match self.kind {
            Kind::Extractor => {}
            Kind::Hook if self.hooks.contains(&HookPoint::Record) => {}
            Kind::Hook => {
                return Err("needs: only a hook with `record` has a use for it".to_owned());
            }
            Kind::Actor | Kind::Fetcher => {
                return Err(format!(
                    "needs: allowed for extractors and hooks only; a {} asks for roles with the \
                     permission `extract`",
                    self.kind
                ));
            }
        }
        if self.needs.len() > MAX_NEEDS {
            return Err(format!("needs: at most {MAX_NEEDS}"));
        }
        for (i, role) in self.needs.iter().enumerate() {
            check_name(&format!("needs[{i}]"), role)?;
            if self.needs.iter().take(i).any(|earlier| earlier == role) {
                return Err(format!("needs[{i}]: `{role}` is listed twice"));
            }
            if self.roles.contains(role) {
                return Err(format!(
                    "needs[{i}]: `{role}` is a role of this plugin itself"
                ));
            }
        }
        Ok(())
    }

    fn check_hooks(&self) -> Result<(), String> {
        if self.kind != Kind::Hook {
            return if self.hooks.is_empty() {
                Ok(())
            } else {
                Err(format!(
                    "hooks: allowed for hooks only, this is a {}",
                    self.kind
                ))
            };
        }
        if self.hooks.is_empty() {
            return Err(
                "hooks: a hook needs at least one of discover, record, request, response, deliver"
                    .to_owned(),
            );
        }
        for (i, point) in self.hooks.iter().enumerate() {
            if self.hooks.iter().take(i).any(|earlier| earlier == point) {
                return Err(format!("hooks[{i}]: `{}` is listed twice", point.as_str()));
            }
        }
        if self.hooks.contains(&HookPoint::Deliver) && self.hooks.len() > 1 {
            return Err(
                "hooks: `deliver` is exported by an interface of its own, so that a hook with it has \
                 no other function"
                    .to_owned(),
            );
        }
        let Permissions {
            http,
            extract,
            render,
            crawl_data,
            state,
            secrets,
            wasi: _,
        } = &self.permissions;
        let calls_host = *render || *crawl_data || *state || !secrets.is_empty();
        if !extract.is_empty() || calls_host {
            return Err("permissions: a hook may request `http` and `wasi` only".to_owned());
        }
        let changes_requests = self.hooks.contains(&HookPoint::Request);
        if !http.is_empty() && !changes_requests {
            return Err("permissions.http: only a hook with `request` has a use for it".to_owned());
        }
        if http.is_empty() && changes_requests {
            return Err(
                "permissions.http: a hook with `request` names the hosts whose requests it changes"
                    .to_owned(),
            );
        }
        Ok(())
    }
}

impl FetcherInfo {
    fn check(&self) -> Result<(), String> {
        if self.domains.is_empty() || self.domains.len() > 1_000 {
            return Err("fetcher.domains: 1 to 1,000".to_owned());
        }
        for (i, domain) in self.domains.iter().enumerate() {
            let name = domain.strip_prefix("*.").unwrap_or(domain);
            if !matches!(url::Host::parse(name), Ok(url::Host::Domain(host)) if host == name) {
                return Err(format!(
                    "fetcher.domains[{i}]: `{domain}` is not a lower-case host name"
                ));
            }
        }
        Ok(())
    }

    /// How exactly it matches this lower-case host name, `None` if it does not: an exact name ranks
    /// above a wildcard, a longer wildcard above a shorter one.
    pub(crate) fn serves(&self, host: &str) -> Option<usize> {
        self.domains
            .iter()
            .filter_map(|domain| match domain.strip_prefix("*.") {
                None if domain == host => Some(usize::MAX),
                None => None,
                Some(parent) => host
                    .strip_suffix(parent)
                    .is_some_and(|front| front.ends_with('.'))
                    .then_some(parent.len()),
            })
            .max()
    }
}

/// Restricts names, because they are used in URLs, file names and metrics.
fn check_name(field: &str, name: &str) -> Result<(), String> {
    let well_formed = name.len() <= 64
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    if well_formed {
        return Ok(());
    }
    Err(format!(
        "{field}: lower-case letters, digits and hyphens, starting with a letter, at most 64"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: &str = r#"
name = "links"
kind = "extractor"
version = "1.2.3"
api = "1.0.0"
"#;

    fn hook(rest: &str) -> String {
        format!("{}{rest}\n", PLAIN.replace("extractor", "hook"))
    }

    fn error(text: &str) -> String {
        Manifest::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn an_extractor_serves_the_role_with_its_name() {
        let manifest = Manifest::parse(PLAIN).unwrap();
        assert_eq!(manifest.roles, ["links"]);
        assert_eq!(manifest.permissions, Permissions::default());
    }

    #[test]
    fn errors_name_the_field() {
        let cases = [
            (PLAIN.replace("links", "Links"), "name:"),
            (PLAIN.replace("api = \"1.0.0\"", "api = \"1.1.0\""), "api:"),
            (PLAIN.replace("api = \"1.0.0\"", "api = \"0.1.0\""), "api:"),
            (PLAIN.replace("extractor", "exporter"), "exporter"),
            (format!("{PLAIN}surprise = 1\n"), "surprise"),
            (format!("{PLAIN}roles = [\"a\", \"a\"]\n"), "roles[1]:"),
            (
                format!("{PLAIN}[permissions]\nhttp = [\"*\"]\n"),
                "permissions:",
            ),
            (
                format!("{PLAIN}[permissions]\nwasi = [\"gpu\"]\n"),
                "permissions.wasi:",
            ),
            (
                format!("{PLAIN}[schema]\ninput = \"{{\"\n"),
                "schema.input:",
            ),
            (
                format!("{PLAIN}[schema]\ninput = '''{{\"type\": 7}}'''\n"),
                "schema.input:",
            ),
            (PLAIN.replace("extractor", "fetcher"), "fetcher.domains:"),
            (PLAIN.replace("extractor", "hook"), "hooks:"),
            (format!("{PLAIN}hooks = [\"record\"]\n"), "hooks:"),
            (hook(r#"hooks = ["record", "record"]"#), "hooks[1]:"),
            (hook(r#"hooks = ["deliver", "record"]"#), "deliver"),
            (hook(r#"hooks = ["delivers"]"#), "delivers"),
            (format!("{PLAIN}needs = [\"links\"]\n"), "needs[0]:"),
            (format!("{PLAIN}needs = [\"a\", \"a\"]\n"), "needs[1]:"),
            (
                PLAIN.replace("extractor", "actor") + "needs = [\"a\"]\n",
                "needs:",
            ),
            (hook("hooks = [\"discover\"]\nneeds = [\"a\"]"), "needs:"),
            (hook(r#"hooks = ["request"]"#), "permissions.http:"),
            (
                hook("hooks = [\"record\"]\n[permissions]\nhttp = [\"*\"]"),
                "permissions.http:",
            ),
            (
                hook("hooks = [\"record\"]\n[permissions]\nrender = true"),
                "permissions:",
            ),
        ];
        for (text, field) in cases {
            let error = error(&text);
            assert!(error.contains(field), "expected {field} in: {error}");
        }
    }

    #[test]
    fn requested_limits_are_capped_at_the_maximum() {
        let range = crate::limits::LimitsConfig::default().extractor;
        let asked = AskedLimits {
            cpu_ms: Some(1),
            memory_mib: Some(1 << 40),
            ..AskedLimits::default()
        };
        let got = asked.within(&range);
        assert_eq!((got.cpu_ms, got.memory_mib), (1, range.max.memory_mib));
        assert_eq!(got.wall_ms, range.default.wall_ms);
        let said = "memory-mib: 1099511627776 asked, cut to the maximum of 1024";
        assert_eq!(asked.cut(&range), [said]);
    }

    #[test]
    fn fetchers_match_whole_labels() {
        let info = FetcherInfo {
            domains: vec!["example.com".into(), "*.wiki.org".into()],
            ..FetcherInfo::default()
        };
        assert!(info.serves("example.com").is_some());
        assert!(info.serves("www.example.com").is_none());
        assert!(info.serves("en.wiki.org").is_some());
        assert!(info.serves("evilwiki.org").is_none());
    }
}
