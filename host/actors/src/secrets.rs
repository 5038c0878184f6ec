//! Fills secrets of the project into requests of plugins, and takes them out of responses.
//!
//! A plugin names a secret, and never gets its value: the value is put into the outgoing request
//! here, behind the sandbox, and only if the secret's own hosts and the plugin's permissions cover
//! the URL. A redirect that leaves the secret's hosts is not followed. If the server sends
//! the value back, it is replaced before the plugin sees the response.

use orbweaver_accounts::project_secret::purpose;
use orbweaver_core::header_rule::check_header;
use orbweaver_core::ids::ProjectId;
use orbweaver_core::mask;
use orbweaver_engine::{CodedError, ErrorCode, FetchRequest, HostPatterns};

use crate::context::Actors;

/// The secrets of one request.
pub(crate) struct Secrets {
    /// The headers with their values.
    pub headers: Vec<(String, String)>,
    values: Vec<String>,
    hosts: Vec<HostPatterns>,
}

impl Secrets {
    /// Reads the secrets of a request.
    ///
    /// # Errors
    /// What the plugin is told: a secret that does not exist, or that the URL's host may not receive.
    /// No message has a value.
    pub(crate) async fn of(
        actors: &Actors,
        project: ProjectId,
        request: &FetchRequest,
    ) -> Result<Self, CodedError> {
        let mut secrets = Self {
            headers: Vec::new(),
            values: Vec::new(),
            hosts: Vec::new(),
        };
        for header in &request.secrets {
            let name = &header.secret;
            let found = actors.store.plugin_secret(project, name).await;
            let found = found.map_err(|error| {
                tracing::error!(%error, "a secret could not be read");
                CodedError::failed("the host failed".to_owned())
            })?;
            let Some(found) = found else {
                return Err(CodedError::new(
                    ErrorCode::NotGranted,
                    format!("the project has no secret `{name}`"),
                ));
            };
            let hosts: Vec<String> = serde_json::from_str(&found.hosts).unwrap_or_default();
            let hosts = HostPatterns::parse(&hosts).unwrap_or_else(|_| HostPatterns::none());
            if !hosts.allows(&request.url) {
                return Err(CodedError::new(
                    ErrorCode::NotGranted,
                    format!("the secret `{name}` is not for this host"),
                ));
            }
            let opened = actors
                .accounts
                .seal
                .open(&found.sealed, &purpose(project, name));
            let Some(value) = opened else {
                return Err(CodedError::failed(format!(
                    "the secret `{name}` was stored under another secret key of the service; \
                     store it again"
                )));
            };
            let full = format!("{}{value}", header.prefix);
            if check_header(&header.name, &full).is_err() {
                return Err(CodedError::invalid(
                    "secrets: the name and the prefix must make a valid header".to_owned(),
                ));
            }
            secrets.headers.push((header.name.clone(), full));
            secrets.values.push(value);
            secrets.hosts.push(hosts);
        }
        Ok(secrets)
    }

    /// What decides whether the secrets may go to the target of a redirect.
    pub fn hosts(&self) -> Vec<HostPatterns> {
        self.hosts.clone()
    }

    /// An error without the values.
    pub fn masked_error(&self, error: CodedError) -> CodedError {
        error.map_text(|text| self.masked(text))
    }

    /// The values, which no answer may have.
    pub fn values(self) -> Vec<String> {
        self.values
    }

    /// A text without the values.
    pub fn masked(&self, text: &str) -> String {
        mask::text(text, &self.values).unwrap_or_else(|| text.to_owned())
    }
}
