//! The manifest: a `plugin.toml` embedded in the component and read before it runs.

mod asked;
mod check;
pub(crate) mod section;

use serde::{Deserialize, Serialize};

pub use asked::AskedLimits;
pub use section::{SECTION, embed, read_text};

use crate::error::LoadError;
use crate::grants::Permissions;
use crate::kind::Kind;
use crate::schema::Schema;
use crate::text::clean;

/// Longest part of a line that an error shows, in bytes.
const MAX_SHOWN_LINE_BYTES: usize = 200;

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
/// two that differ are an error. With its input schema, compiled.
pub(crate) fn read(component: &[u8]) -> Result<(Manifest, Option<Schema>), LoadError> {
    Manifest::parse_with_input(&read_text(component)?)
}

impl Manifest {
    /// Parses and validates a manifest; the error names the field.
    pub fn parse(text: &str) -> Result<Self, LoadError> {
        Self::parse_with_input(text).map(|(manifest, _)| manifest)
    }

    fn parse_with_input(text: &str) -> Result<(Self, Option<Schema>), LoadError> {
        section::check_length(text.len())?;
        let mut manifest: Self =
            toml::from_str(text).map_err(|e| LoadError::Manifest(unreadable(text, &e)))?;
        if manifest.roles.is_empty() && manifest.kind == Kind::Extractor {
            manifest.roles.push(manifest.name.clone());
        }
        let input = manifest.check().map_err(LoadError::Manifest)?;
        manifest.permissions.drop_repeated();
        Ok((manifest, input))
    }
}

/// Why the text is no manifest. The parser's own words have the reason behind the whole line that it is about,
/// such as a long schema, and errors are cut at their end.
fn unreadable(text: &str, error: &toml::de::Error) -> String {
    let reason = error.message().trim_end().replace('\n', " ");
    let Some(span) = error.span() else {
        return reason;
    };
    let before = text.get(..span.start).unwrap_or_default();
    let above = before.matches('\n').count();
    let line = text.lines().nth(above).unwrap_or_default();
    let line = clean(line.trim(), MAX_SHOWN_LINE_BYTES);
    // A missing field is about the whole table.
    let is_of_one_line = text.get(span).is_some_and(|part| !part.contains('\n'));
    match is_of_one_line && !line.is_empty() {
        true => format!("line {}: {reason}: `{line}`", above + 1),
        false => format!("line {}: {reason}", above + 1),
    }
}

impl FetcherInfo {
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

    /// A host name that it serves, as a plugin gets it: in lower case, without a dot at its end, and without
    /// `www.` where only the name behind that is listed.
    pub(crate) fn as_listed(&self, host: &str) -> String {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        match host.strip_prefix("www.") {
            Some(bare) if self.serves(&host).is_none() => bare.to_owned(),
            _ => host,
        }
    }
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
    fn a_hook_of_pages_may_request_state() {
        for points in ["record", "discover", "response"] {
            let text = hook(&format!(
                "hooks = [\"{points}\"]\n[permissions]\nstate = true"
            ));
            for api in ["1.0.0", "1.1.0"] {
                let text = text.replace("1.0.0", api);
                assert!(Manifest::parse(&text).unwrap().permissions.state);
            }
        }
    }

    #[test]
    fn errors_name_the_field() {
        let cases = [
            (PLAIN.replace("links", "Links"), "name:"),
            (PLAIN.replace("api = \"1.0.0\"", "api = \"1.2.0\""), "api:"),
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
            (
                format!("{PLAIN}[schema]\ninput = '''{{\"type\": \"string\"}}'''\n"),
                "schema.input: must allow objects",
            ),
            (
                format!("{PLAIN}[schema]\ninput = '''{{\"type\": [\"array\", \"null\"]}}'''\n"),
                "schema.input: must allow objects",
            ),
            (
                format!("{PLAIN}[schema]\ninput = 'false'\n"),
                "schema.input: must allow objects",
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
            (
                hook("hooks = [\"deliver\"]\n[permissions]\nstate = true"),
                "permissions.state:",
            ),
        ];
        for (text, field) in cases {
            let error = error(&text);
            assert!(error.contains(field), "expected {field} in: {error}");
        }
    }

    /// A manifest with this text in a field that is free text or an entry of a list.
    fn with_text(field: &str, text: &str) -> String {
        let quoted = serde_json::json!(text).to_string();
        let actor = PLAIN.replace("extractor", "actor");
        let fetcher =
            PLAIN.replace("extractor", "fetcher") + "[fetcher]\ndomains = [\"a.example\"]\n";
        match field {
            "version" => PLAIN.replace("\"1.2.3\"", &quoted),
            "description" => format!("{PLAIN}description = {quoted}\n"),
            "fetcher.data-shape" => format!("{fetcher}data-shape = {quoted}\n"),
            "fetcher.paths[0].path" => format!("{fetcher}paths = [{{ path = {quoted} }}]\n"),
            "fetcher.paths[0].description" => {
                format!("{fetcher}paths = [{{ path = \"a\", description = {quoted} }}]\n")
            }
            list => {
                let list = list
                    .trim_start_matches("permissions.")
                    .trim_end_matches("[0]");
                format!("{actor}[permissions]\n{list} = [{quoted}]\n")
            }
        }
    }

    #[test]
    fn texts_have_no_control_characters_and_a_bound() {
        let lines = [
            ("version", 64),
            ("fetcher.paths[0].path", 300),
            ("permissions.extract[0]", 300),
            ("permissions.secrets[0]", 300),
        ];
        let texts = [
            ("description", 2_000),
            ("fetcher.paths[0].description", 2_000),
            ("fetcher.data-shape", 2_000),
        ];
        for (field, max) in lines.into_iter().chain(texts) {
            let most = "x".repeat(max);
            Manifest::parse(&with_text(field, &most)).unwrap();
            for hidden in [
                "\0",
                "\u{1b}[2J",
                "\u{85}",
                "\u{61c}",
                "\u{200e}",
                "\u{2028}",
                "\u{202e}",
                "\u{2069}",
            ] {
                let error = error(&with_text(field, &format!("a{hidden}b")));
                assert!(error.contains(&format!("{field}: ")), "{field}: {error}");
                assert!(error.contains("control characters"), "{field}: {error}");
            }
            let error = error(&with_text(field, &format!("{most}x")));
            assert!(error.contains(&format!("{field}: ")), "{field}: {error}");
        }
        for (field, _) in lines {
            assert!(error(&with_text(field, "a\nb")).contains(field), "{field}");
        }
        for (field, _) in texts {
            Manifest::parse(&with_text(field, "First.\r\n\tSecond: größe, 数.")).unwrap();
        }
        // Entries that have a form are named, too.
        for field in ["permissions.http[0]", "permissions.wasi[0]"] {
            let error = error(&with_text(field, "https://a\u{1b}.example"));
            assert!(error.contains(&format!("{field}: ")), "{error}");
        }
        assert!(error(&with_text("version", "")).contains("version: 1 to 64 bytes"));
    }

    #[test]
    fn an_input_schema_may_allow_more_than_objects() {
        for schema in ["true", "{}", r#"{"type": ["string", "object"]}"#] {
            Manifest::parse(&format!("{PLAIN}[schema]\ninput = '''{schema}'''\n")).unwrap();
        }
    }

    #[test]
    fn a_manifest_that_cannot_be_read_says_where_and_why() {
        let long = format!("input = \"{{{}\n", " ".repeat(5_000));
        for (line, number) in [("version = 7\n", 6), (long.as_str(), 6)] {
            let text = format!("{PLAIN}{line}");
            let reason = toml::from_str::<Manifest>(&text).unwrap_err();
            let error = Manifest::parse(&text).unwrap_err().cleaned().to_string();
            let place = format!("manifest: line {number}: ");
            assert!(error.starts_with(&place), "{error}");
            assert!(error.contains(reason.message()), "{error}");
            assert!(error.len() < 600, "{error}");
        }
        let error = error(&PLAIN.replace("\"1.2.3\"", "7"));
        assert!(error.starts_with("manifest: line 4: "), "{error}");
        assert!(error.ends_with(": `version = 7`"), "{error}");
        let error = self::error(&PLAIN.replace("name = \"links\"", ""));
        assert_eq!(error, "manifest: line 1: missing field `name`");
    }

    #[test]
    fn domains_that_no_host_has_are_refused() {
        let with = |domain: &str| {
            let fetcher = PLAIN.replace("extractor", "fetcher");
            format!("{fetcher}[fetcher]\ndomains = [\"a.example\", \"{domain}\"]\n")
        };
        for domain in [
            "",
            "*",
            "*.*",
            "a.*.b",
            "a.b.",
            "*.a.b.",
            "a..b",
            ".a.b",
            "https://a.b",
            "a.b/c",
        ] {
            let error = error(&with(domain));
            assert!(
                error.contains(&format!("fetcher.domains[1]: `{domain}`")),
                "{error}"
            );
        }
        Manifest::parse(&with("*.b.example")).unwrap();
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
