//! Which roles a scan runs, and what became of each.

use std::sync::Arc;

use orbweaver_core::content::Kind;
use orbweaver_engine::{PluginError, RoleCall};
use serde::Serialize;

use super::document::Document;
use super::results::Keys;
use super::{Content, Pipeline, ScanError};

/// A role and its options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoleRequest {
    /// Such as `markdown`.
    pub role: String,
    /// A JSON object, or empty.
    pub options: String,
    /// Its output goes under `extensions`.
    pub extension: bool,
}

impl RoleRequest {
    /// One of the contract's roles.
    pub fn new(role: &str, options: &str) -> Self {
        Self {
            role: role.to_owned(),
            options: options.to_owned(),
            extension: false,
        }
    }
}

/// A role that failed: its field is null, the scan is not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RoleError {
    /// The role.
    pub role: String,
    /// The plugin that serves it, if one does.
    pub plugin: Option<String>,
    /// What went wrong.
    pub message: String,
}

/// What a page's roles gave.
#[derive(Debug, Default)]
pub struct Outcome {
    answers: Vec<(RoleRequest, Arc<str>)>,
    /// What failed.
    pub errors: Vec<RoleError>,
}

impl Outcome {
    /// The answer of one of the contract's roles: JSON text.
    pub fn role(&self, role: &str) -> Option<&str> {
        self.answers
            .iter()
            .find(|(request, _)| !request.extension && request.role == role)
            .map(|(_, answer)| &**answer)
    }

    /// Answers that go under `extensions`.
    pub fn extensions(&self) -> impl Iterator<Item = (&str, &str)> {
        self.answers
            .iter()
            .filter(|(request, _)| request.extension)
            .map(|(request, answer)| (request.role.as_str(), &**answer))
    }
}

impl Content {
    /// The roles that it takes.
    pub fn roles(&self, extras: &[String]) -> Vec<RoleRequest> {
        let mut roles = Vec::new();
        if !self.metadata_only {
            let options = if self.only_main_content {
                r#"{"only_main_content":true}"#
            } else {
                r#"{"only_main_content":false}"#
            };
            roles.push(RoleRequest::new("markdown", options));
            roles.push(RoleRequest::new("article", ""));
        }
        roles.push(RoleRequest::new("metadata", ""));
        roles.push(RoleRequest::new("signals", ""));
        if self.include_links {
            roles.push(RoleRequest::new("links", ""));
        }
        for name in extras.iter().chain(&self.extractors) {
            let request = RoleRequest {
                extension: true,
                ..RoleRequest::new(name, "")
            };
            if !roles.contains(&request) {
                roles.push(request);
            }
        }
        roles
    }
}

impl Pipeline {
    /// Runs the roles on an HTML page, each from the cache where it is known. Other bodies have
    /// no roles.
    ///
    /// # Errors
    /// When the stored body cannot be read; a plugin's failure is in the outcome.
    pub async fn extract(
        &self,
        document: &mut Document,
        requests: &[RoleRequest],
    ) -> Result<Outcome, ScanError> {
        let mut outcome = Outcome::default();
        if document.kind != Kind::Html {
            return Ok(outcome);
        }
        let keys = Keys::of(document);
        let mut missing = Vec::new();
        for request in requests {
            let plugin = self.engine.role(&request.role);
            let key = plugin.as_ref().map(|plugin| keys.role(request, plugin));
            match key.and_then(|key| self.results.get(&key)) {
                Some(answer) => outcome.answers.push((request.clone(), answer)),
                None => missing.push((request, plugin, key)),
            }
        }
        if missing.is_empty() {
            return Ok(outcome);
        }
        let page = document.page().await?;
        let calls = missing
            .iter()
            .map(|(request, ..)| RoleCall {
                role: request.role.clone(),
                options: request.options.clone(),
            })
            .collect();
        let answers = self.engine.extract(&page, calls).await;
        for ((request, plugin, key), answer) in missing.into_iter().zip(answers) {
            match answer {
                Ok(json) => {
                    let json: Arc<str> = json.into();
                    // The plugin may have been replaced while it ran; then the answer is the
                    // new one's, and the key's digest is not.
                    if let Some(key) = key
                        && self.engine.role(&request.role) == plugin
                    {
                        self.results.insert(key, Arc::clone(&json));
                    }
                    outcome.answers.push((request.clone(), json));
                }
                Err(error) => {
                    let plugin = plugin.map(|plugin| plugin.name);
                    outcome.errors.push(failure(&request.role, plugin, &error));
                    if request.extension {
                        outcome.answers.push((request.clone(), Arc::from("null")));
                    }
                }
            }
        }
        Ok(outcome)
    }
}

fn failure(role: &str, plugin: Option<String>, error: &PluginError) -> RoleError {
    tracing::warn!(role, plugin, %error, "an extractor failed");
    RoleError {
        role: role.to_owned(),
        plugin,
        message: error.to_string(),
    }
}
