//! The grants of an uploaded plugin, as text and in the database.

use std::collections::HashSet;

use orbweaver_accounts::tiers::PluginCaps;
use orbweaver_engine::{Grants, MAX_PERMISSION_ENTRIES, Permissions, ProjectPolicy};

/// The grants requested with an upload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UploadGrants(Vec<String>);

impl UploadGrants {
    /// Parses names such as `all`, `http=https://example.com`, `render`. An empty list: the
    /// configuration decides; by default an upload may only log and extract.
    ///
    /// # Errors
    /// Names the invalid grant and lists the valid ones.
    pub fn parse(mut names: Vec<String>) -> Result<Self, String> {
        let mut seen = HashSet::new();
        names.retain(|name| seen.insert(name.clone()));
        if names.len() > MAX_PERMISSION_ENTRIES {
            return Err(format!("grant: at most {MAX_PERMISSION_ENTRIES}"));
        }
        Permissions::from_names(&names)?;
        Ok(Self(names))
    }

    /// Those that give the plugin nothing, because its manifest does not ask for them.
    pub fn in_vain<'a>(&'a self, asked: &'a Permissions) -> impl Iterator<Item = &'a str> {
        let names = self.0.iter().map(String::as_str);
        names.filter(move |name| !asked.ask_for(name))
    }

    /// Reads the stored form. A grant that no longer parses grants nothing.
    pub(super) fn from_store(kept: Option<&str>) -> Self {
        Self(
            kept.and_then(|json| serde_json::from_str(json).ok())
                .unwrap_or_default(),
        )
    }

    /// The form for the store.
    pub(super) fn stored(&self) -> Option<String> {
        let json = || serde_json::Value::from(self.0.clone()).to_string();
        (!self.0.is_empty()).then(json)
    }

    /// What a project's plugin may have: what was named with the upload, and what the tier allows.
    pub(super) fn policy(&self, caps: &PluginCaps) -> ProjectPolicy {
        let permissions = |names: Vec<&str>| {
            Permissions::from_names(&names).unwrap_or_else(|_| Permissions::upload_default())
        };
        ProjectPolicy {
            accepted: permissions(self.0.iter().map(String::as_str).collect()),
            allowed: permissions(caps.grants()),
            cpu_ms: Some(caps.cpu_ms),
            memory_mib: Some(caps.memory_mib),
        }
    }

    /// The form for the engine.
    pub(super) fn for_engine(&self) -> Grants {
        if self.0.is_empty() {
            return Grants::Configured;
        }
        Permissions::from_names(&self.0).map_or_else(
            |_| Grants::Only(Permissions::upload_default()),
            Grants::Only,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grants_are_bounded_and_kept_once() {
        let kept = UploadGrants::parse(vec!["http".to_owned(); 20_000]).unwrap();
        assert_eq!(kept.0, ["http"]);
        let many = (0..=MAX_PERMISSION_ENTRIES).map(|n| format!("extract=role-{n}"));
        let error = UploadGrants::parse(many.collect()).unwrap_err();
        assert_eq!(error, "grant: at most 256");
    }
}
