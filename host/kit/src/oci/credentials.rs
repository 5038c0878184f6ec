//! Credentials for a registry.

use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use std::collections::HashMap;

/// User and password for registries: those of the environment for all of them, else those that
/// `docker login` has saved. Programs that docker asks for credentials are not started.
#[derive(Clone, Default)]
pub struct Credentials {
    given: Option<(String, String)>,
    saved: HashMap<String, (String, String)>,
}

/// The file of `docker login`.
#[derive(Deserialize)]
struct Saved {
    #[serde(default)]
    auths: HashMap<String, SavedHost>,
}

#[derive(Deserialize)]
struct SavedHost {
    #[serde(default)]
    auth: String,
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Credentials")
    }
}

impl Credentials {
    /// Those of the environment variables `ORBWEAVER_REGISTRY_USER` and `ORBWEAVER_REGISTRY_PASSWORD`, and of
    /// docker's `config.json`.
    pub fn of_this_machine() -> Self {
        let variable = |name| std::env::var(name).ok();
        let given =
            variable("ORBWEAVER_REGISTRY_USER").zip(variable("ORBWEAVER_REGISTRY_PASSWORD"));
        let folder = std::env::var_os("DOCKER_CONFIG").map(PathBuf::from);
        let folder =
            folder.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".docker")));
        let text =
            folder.and_then(|folder| std::fs::read_to_string(folder.join("config.json")).ok());
        Self {
            given,
            saved: text.as_deref().map(saved).unwrap_or_default(),
        }
    }

    /// The value of the header `authorization` with user and password for a registry.
    pub(crate) fn basic(&self, host: &str) -> Option<String> {
        let (user, password) = self.given.as_ref().or_else(|| self.saved.get(host))?;
        Some(format!(
            "Basic {}",
            STANDARD.encode(format!("{user}:{password}"))
        ))
    }
}

/// Users and passwords by host.
fn saved(text: &str) -> HashMap<String, (String, String)> {
    let Ok(file) = serde_json::from_str::<Saved>(text) else {
        return HashMap::new();
    };
    let decoded = |host: String, auth: &str| {
        let text = String::from_utf8(STANDARD.decode(auth).ok()?).ok()?;
        let (user, password) = text.split_once(':')?;
        // Docker's own registry is saved by its old address.
        let host = match host.contains("index.docker.io") {
            true => "docker.io".to_owned(),
            false => host,
        };
        Some((host, (user.to_owned(), password.to_owned())))
    };
    let hosts = file.auths.into_iter();
    hosts
        .filter_map(|(host, saved)| decoded(host, &saved.auth))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn saved_logins_are_for_their_host_alone() {
        // user:pass:word
        let text = r#"{"auths": {"ghcr.io": {"auth": "dXNlcjpwYXNzOndvcmQ="}, "other": {}}}"#;
        let credentials = Credentials {
            given: None,
            saved: saved(text),
        };
        let basic = credentials.basic("ghcr.io");
        assert_eq!(basic.as_deref(), Some("Basic dXNlcjpwYXNzOndvcmQ="));
        assert_eq!(credentials.basic("other"), None);
        assert_eq!(credentials.basic("ghcr.io.example"), None);
        assert!(saved("no JSON").is_empty());
    }
}
