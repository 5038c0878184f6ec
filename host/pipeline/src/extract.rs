//! Runs roles on a page, using cached results where possible.

use std::sync::Arc;

use orbweaver_core::content::Kind;
use orbweaver_engine::{PluginError, PluginRef, RoleCall};
use serde_json::value::RawValue;

use crate::conversion::DOCUMENT_ROLE;
use crate::document::Document;
use crate::error::ScanError;
use crate::extractor_cache::Keys;
use crate::pipeline::Pipeline;
use crate::roles::{Outcome, RoleError, RoleRequest};

impl Pipeline {
    /// Runs the roles on an HTML page, or on the HTML of a document, using cached results where
    /// possible. Other bodies have no roles.
    ///
    /// # Errors
    /// When the stored body cannot be read. A plugin's failure is part of the outcome.
    #[crate::boxed]
    pub async fn extract(
        &self,
        document: &mut Document,
        requests: &[RoleRequest],
    ) -> Result<Outcome, ScanError> {
        let mut outcome = Outcome::default();
        if !self.readable(document).await? {
            return Ok(outcome);
        }
        let converter = match document.kind {
            Kind::Document => self.engine.role(DOCUMENT_ROLE),
            _ => None,
        };
        let keys = Keys::new(document, converter.as_ref());
        let conversion = document
            .conversion()
            .and_then(|result| result.as_ref().ok());
        let is_partial = conversion.is_some_and(|converted| converted.is_partial);
        outcome.is_partial = is_partial;
        let mut missing = Vec::new();
        for request in requests {
            self.engine.await_role(&request.role).await;
            let plugin = self.engine.role(&request.role);
            let key = plugin.as_ref().map(|plugin| keys.role(request, plugin));
            let cached = plugin
                .as_ref()
                .zip(key)
                .and_then(|(plugin, key)| self.results_of(plugin).get(&key));
            match cached {
                Some(answer) => outcome.answers.push((request.clone(), answer)),
                None => missing.push((request, plugin, key)),
            }
        }
        if missing.is_empty() {
            return Ok(outcome);
        }
        let page = document.content_page().await?;
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
                    let is_partial = is_partial || json.is_partial();
                    outcome.is_partial |= is_partial;
                    let json = json.into_shared();
                    // What failed may succeed next time. And the plugin may have been replaced while it
                    // ran: its answer then belongs to the new plugin, but the key has the old one's digest.
                    if !is_partial
                        && let (Some(key), Some(plugin)) = (key, plugin)
                        && self.engine.role(&request.role).as_ref() == Some(&plugin)
                    {
                        self.results_of(&plugin).insert(key, Arc::clone(&json));
                    }
                    outcome.answers.push((request.clone(), json));
                }
                Err(error) => {
                    let failure = failure(&request.role, plugin.as_ref(), &error);
                    outcome.errors.push(failure);
                    if request.extension {
                        outcome
                            .answers
                            .push((request.clone(), Arc::from(RawValue::NULL.to_owned())));
                    }
                }
            }
        }
        Ok(outcome)
    }
}

impl Pipeline {
    /// Runs one role on a document of any kind, without the cache: it validates what the options
    /// have, and reads nothing of the page.
    pub(crate) async fn validate(
        &self,
        document: &mut Document,
        request: &RoleRequest,
    ) -> Result<Outcome, ScanError> {
        let mut outcome = Outcome::default();
        self.engine.await_role(&request.role).await;
        let page = document.page().await?;
        let call = RoleCall {
            role: request.role.clone(),
            options: request.options.clone(),
        };
        match self.engine.extract(&page, vec![call]).await.pop() {
            Some(Ok(json)) => outcome.answers.push((request.clone(), json.into_shared())),
            Some(Err(error)) => outcome.errors.push(failure(&request.role, None, &error)),
            None => {}
        }
        Ok(outcome)
    }
}

fn failure(role: &str, plugin: Option<&PluginRef>, error: &PluginError) -> RoleError {
    log_failure(role, plugin, None, error);
    RoleError {
        role: role.to_owned(),
        plugin: plugin.map(|plugin| plugin.name.clone()),
        code: error.kind().into(),
        message: error.to_string(),
    }
}

/// Logs that an extractor failed. For a project's own it is a detail: its author reads of it in its journal,
/// and projects can make any amount of such lines.
pub fn log_failure(role: &str, plugin: Option<&PluginRef>, url: Option<&str>, error: &PluginError) {
    let name = plugin.map(|plugin| plugin.name.as_str());
    if plugin.is_some_and(|plugin| plugin.project.is_some()) {
        tracing::debug!(role, plugin = name, url, %error, "an extractor failed");
    } else {
        tracing::warn!(role, plugin = name, url, %error, "an extractor failed");
    }
}
