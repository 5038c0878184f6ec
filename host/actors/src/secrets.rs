//! Fills secrets of the project into requests of plugins, and takes them out of responses.
//!
//! A plugin names a secret, and never gets its value: the value is put into the outgoing request
//! here, behind the sandbox, and only if the secret's own hosts and the plugin's permissions cover
//! the URL. A redirect that leaves the secret's hosts is not followed. If the server sends
//! the value back, it is replaced before the plugin sees the response.

use bytes::Bytes;
use orbweaver_accounts::project_secret::purpose;
use orbweaver_core::ids::ProjectId;
use orbweaver_engine::{CodedError, ErrorCode, FetchRequest, HostPatterns};
use orbweaver_fetch::{Response, check_header};

use crate::context::Actors;

/// What a plugin sees in place of a value that a server has sent back.
const MASK: u8 = b'*';

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

    /// Whether there is nothing to take out of a response.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Replaces the values wherever the response has them: body, headers, URLs. CPU-bound.
    pub fn take_out(&self, response: Response) -> Response {
        let text = |text: &str| self.masked(text);
        let headers = response
            .headers
            .iter()
            .map(|(name, value)| (name.to_owned(), text(value)));
        let headers = headers.collect();
        let redirects = response.redirects.into_iter().map(|mut hop| {
            hop.url = text(&hop.url);
            hop
        });
        Response {
            final_url: text(&response.final_url),
            headers,
            redirects: redirects.collect(),
            body: self.masked_bytes(&response.body),
            raw: None,
            ..response
        }
    }

    /// A text without the values.
    pub fn masked(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for value in &self.values {
            for form in forms(value) {
                if text.contains(&form) {
                    text = text.replace(&form, &"*".repeat(form.len()));
                }
            }
        }
        text
    }

    fn masked_bytes(&self, bytes: &Bytes) -> Bytes {
        let mut masked: Option<Vec<u8>> = None;
        for value in &self.values {
            for form in forms(value) {
                let from = masked.as_deref().unwrap_or(bytes);
                let found: Vec<usize> = memchr::memmem::find_iter(from, form.as_bytes()).collect();
                if found.is_empty() {
                    continue;
                }
                let out = masked.get_or_insert_with(|| bytes.to_vec());
                for start in found {
                    if let Some(part) = out.get_mut(start..start + form.len()) {
                        part.fill(MASK);
                    }
                }
            }
        }
        masked.map_or_else(|| bytes.clone(), Bytes::from)
    }
}

/// The value as servers usually repeat it: as it is, percent-encoded, and as a JSON string.
fn forms(value: &str) -> Vec<String> {
    let encoded: String = form_urlencoded::byte_serialize(value.as_bytes()).collect();
    let json = serde_json::Value::from(value).to_string();
    let json = json
        .get(1..json.len().saturating_sub(1))
        .unwrap_or_default();
    let json = json.to_owned();
    let mut forms = vec![value.to_owned()];
    for form in [encoded.clone(), encoded.replace('+', "%20"), json] {
        if !forms.contains(&form) {
            forms.push(form);
        }
    }
    forms
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets(values: &[&str]) -> Secrets {
        Secrets {
            headers: Vec::new(),
            values: values.iter().map(|&value| value.to_owned()).collect(),
            hosts: Vec::new(),
        }
    }

    #[test]
    fn every_form_of_a_value_is_taken_out() {
        let secrets = secrets(&["key+\"1\" /x"]);
        for text in [
            "a key+\"1\" /x b",
            "?k=key%2B%221%22+%2Fx&",
            "?k=key%2B%221%22%20%2Fx&",
            r#"{"k":"key+\"1\" /x"}"#,
        ] {
            let masked = secrets.masked(text);
            assert!(!masked.contains("1") && masked.contains('*'), "{masked}");
            assert_eq!(masked.len(), text.len());
            let bytes = secrets.masked_bytes(&Bytes::from(text.to_owned()));
            assert_eq!(bytes, masked.as_bytes());
        }
        assert_eq!(secrets.masked("nothing 1"), "nothing 1");
    }
}
