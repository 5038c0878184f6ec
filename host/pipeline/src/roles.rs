//! The roles that a scan runs, and their results.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::extract_fields::SELECTORS_ROLE;
use crate::extractor_options::options_of;
use crate::spec::Content;

/// A role and its options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoleRequest {
    /// Name, such as `markdown`.
    pub role: String,
    /// Options as a JSON object, or empty.
    pub options: String,
    /// Whether its output goes under `extensions`.
    pub extension: bool,
}

impl RoleRequest {
    /// Requests a built-in role.
    pub fn new(role: &str, options: &str) -> Self {
        Self {
            role: role.to_owned(),
            options: options.to_owned(),
            extension: false,
        }
    }
}

/// A failed role: its field is null, but the scan succeeds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = ExtractorError)]
pub struct RoleError {
    /// The role.
    pub role: String,
    /// The plugin that serves it, if any.
    #[schema(required = true)]
    pub plugin: Option<String>,
    /// The cause: a code of the plugin's error (`failed`, `not-granted` …), or what happened to its
    /// call (`trap`, `deadline`, `limit`, `bad-output`, `not-found`, `not-loaded`, `engine`).
    pub code: Cow<'static, str>,
    /// Error message.
    pub message: String,
}

/// Results of a page's roles.
#[derive(Debug, Default)]
pub struct Outcome {
    pub(crate) answers: Vec<(RoleRequest, Arc<RawValue>)>,
    /// Roles that failed.
    pub errors: Vec<RoleError>,
    /// Whether an answer was made from the output of a role that failed.
    pub(crate) is_partial: bool,
}

impl Outcome {
    /// The answer of a built-in role, as the plugin wrote it.
    pub fn role(&self, role: &str) -> Option<&RawValue> {
        self.answer(role).map(|answer| &**answer)
    }

    /// As [`role`](Self::role), to be shared.
    pub(crate) fn answer(&self, role: &str) -> Option<&Arc<RawValue>> {
        self.answers
            .iter()
            .find(|(request, _)| !request.extension && request.role == role)
            .map(|(_, answer)| answer)
    }

    /// Answers to be put under `extensions`.
    pub fn extensions(&self) -> impl Iterator<Item = (&str, &RawValue)> {
        self.answers
            .iter()
            .filter(|(request, _)| request.extension)
            .map(|(request, answer)| (request.role.as_str(), &**answer))
    }

    /// Total bytes of all answers.
    pub(crate) fn size(&self) -> usize {
        self.answers
            .iter()
            .map(|(_, answer)| answer.get().len())
            .sum()
    }
}

impl Content {
    /// The roles needed for this content.
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
        for request in &mut roles {
            request.options = options_of(&request.role, &request.options, &self.options);
        }
        if let Some(extract) = self.extract.as_ref().filter(|one| one.prompt.is_none()) {
            roles.push(RoleRequest::new(SELECTORS_ROLE, &extract.options));
        }
        roles
    }
}
