//! The rules of a manifest. An error names the field.

use super::{FetcherInfo, HookPoint, Manifest};
use crate::api_version;
use crate::grants::{MAX_ENTRY_BYTES, Permissions, has_empty_label};
use crate::kind::Kind;
use crate::schema::Schema;
use crate::text::is_hidden;

/// Most roles that a plugin needs.
const MAX_NEEDS: usize = 16;
/// Longest version of a plugin, in bytes.
const MAX_VERSION_BYTES: usize = 64;
/// Longest description, in bytes.
const MAX_DESCRIPTION_BYTES: usize = 2_000;
/// Longest path of a fetcher, in bytes.
const MAX_PATH_BYTES: usize = 300;
/// Most paths of a fetcher.
const MAX_PATHS: usize = 1_000;

impl Manifest {
    /// Checks all of it, and returns its input schema, compiled.
    pub(super) fn check(&self) -> Result<Option<Schema>, String> {
        check_name("name", &self.name)?;
        check_line("version", &self.version, MAX_VERSION_BYTES)?;
        if !api_version::is_supported(&self.api) {
            return Err(format!(
                "api: this host supports {} of orbweaver:plugin, not `{}`",
                api_version::supported(),
                self.api
            ));
        }
        check_text("description", &self.description)?;
        if self.kind != Kind::Extractor && !self.roles.is_empty() {
            return Err(format!(
                "roles: allowed for extractors only, this is {}",
                self.kind.with_article()
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
        for (field, list) in self.permissions.lists() {
            for (i, entry) in list.iter().enumerate() {
                check_line(&format!("permissions.{field}[{i}]"), entry, MAX_ENTRY_BYTES)?;
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
        let input = compiled("schema.input", self.schema.input.as_deref())?;
        check_input_of_objects(self.schema.input.as_deref())?;
        compiled("schema.output", self.schema.output.as_deref())?;
        self.check_fetcher()?;
        Ok(input)
    }

    fn check_fetcher(&self) -> Result<(), String> {
        match (&self.fetcher, self.kind) {
            (None, Kind::Fetcher) => {
                Err("fetcher.domains: a fetcher needs at least one domain".to_owned())
            }
            (Some(_), Kind::Extractor | Kind::Actor | Kind::Hook) => Err(format!(
                "fetcher: allowed for fetchers only, this is {}",
                self.kind.with_article()
            )),
            (Some(fetcher), Kind::Fetcher) => fetcher.check(),
            (None, _) => Ok(()),
        }
    }

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
                    "needs: allowed for extractors and hooks only; {} asks for roles with the \
                     permission `extract`",
                    self.kind.with_article()
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
                    "hooks: allowed for hooks only, this is {}",
                    self.kind.with_article()
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
        let calls_host = *render || *crawl_data || !secrets.is_empty();
        if !extract.is_empty() || calls_host {
            return Err(
                "permissions: a hook may request `http`, `state` and `wasi` only".to_owned(),
            );
        }
        if *state && self.hooks.contains(&HookPoint::Deliver) {
            return Err("permissions.state: a hook of deliveries has no use for it".to_owned());
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
            // The names of requests come without a last dot.
            if name.contains('*') || name.ends_with('.') || has_empty_label(name) {
                return Err(format!(
                    "fetcher.domains[{i}]: `{domain}` matches no host; a domain is a host name, or `*.` and \
                     a host name, without a dot at its ends"
                ));
            }
        }
        if self.paths.len() > MAX_PATHS {
            return Err(format!("fetcher.paths: at most {MAX_PATHS}"));
        }
        for (i, path) in self.paths.iter().enumerate() {
            // The empty path is the domain itself.
            if !path.path.is_empty() {
                check_line(
                    &format!("fetcher.paths[{i}].path"),
                    &path.path,
                    MAX_PATH_BYTES,
                )?;
            }
            check_text(
                &format!("fetcher.paths[{i}].description"),
                &path.description,
            )?;
        }
        check_text("fetcher.data-shape", &self.data_shape)
    }
}

/// A schema, if there is one.
fn compiled(field: &str, text: Option<&str>) -> Result<Option<Schema>, String> {
    let Some(text) = text else { return Ok(None) };
    let value = serde_json::from_str(text).map_err(|e| format!("{field}: not JSON: {e}"))?;
    let schema = crate::schema::compile(&value);
    schema.map(Some).map_err(|e| format!("{field}: {e}"))
}

/// Refuses an input schema that no input satisfies: inputs and options are JSON objects.
fn check_input_of_objects(text: Option<&str>) -> Result<(), String> {
    let schema = text.and_then(|text| serde_json::from_str::<serde_json::Value>(text).ok());
    let allows_objects = match &schema {
        None => true,
        Some(serde_json::Value::Bool(anything)) => *anything,
        Some(schema) => match schema.get("type") {
            None => true,
            Some(serde_json::Value::Array(types)) => types.iter().any(|name| name == "object"),
            Some(name) => name == "object",
        },
    };
    if allows_objects {
        return Ok(());
    }
    Err("schema.input: must allow objects (\"type\": \"object\"): every input is one".to_owned())
}

/// Restricts texts that are shown in one line.
fn check_line(field: &str, text: &str, max: usize) -> Result<(), String> {
    if text.is_empty() || text.len() > max || text.chars().any(is_hidden) {
        return Err(format!(
            "{field}: 1 to {max} bytes, without control characters and without characters that \
             change the direction of text"
        ));
    }
    Ok(())
}

/// Restricts descriptions, which may have line ends and tabs; they are shown to people.
fn check_text(field: &str, text: &str) -> Result<(), String> {
    let is_wrong = |c: char| is_hidden(c) && !matches!(c, '\n' | '\r' | '\t');
    if text.len() > MAX_DESCRIPTION_BYTES || text.chars().any(is_wrong) {
        return Err(format!(
            "{field}: at most {MAX_DESCRIPTION_BYTES} bytes, without control characters but line ends \
             and tabs, and without characters that change the direction of text"
        ));
    }
    Ok(())
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
