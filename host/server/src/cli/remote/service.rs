//! Requests of the command line to a running service.

use anyhow::{Context as _, bail};
use orbweaver_core::setting::Millis;
use orbweaver_fetch::{Download, FetchConfig, FetchError, Fetcher, Method, Request};
use serde_json::Value;
use url::Url;

use crate::cli::out::shown;

/// Longest time of a request: a large component is compiled before its upload is answered, and a
/// page may be slow.
const TIMEOUT_MS: Millis = Millis(150_000);
/// Longest wait for an agent's call: for its first byte, and between two pieces of its answer.
const AGENT_TIMEOUT_MS: Millis = Millis(900_000);
/// Largest answer that is read into memory, in bytes. Exports are read in pieces.
const MAX_ANSWER_BYTES: u64 = 256 << 20;

/// A running service.
pub(in crate::cli) struct Service {
    /// Its address, without a slash at the end.
    address: String,
    key: Option<String>,
    fetcher: Fetcher,
}

/// Why a request has no result.
#[derive(Debug, thiserror::Error)]
pub(in crate::cli) enum Failure {
    /// There is no answer.
    #[error("{}: {}", .0.url, .0.message)]
    NoAnswer(Box<FetchError>),
    /// The answer is an error.
    #[error("{url} answers {status}{}", message.as_deref().map_or_else(String::new, |message| format!(": {message}")))]
    Refused {
        /// The request's URL.
        url: String,
        /// HTTP status.
        status: u16,
        /// What the service says.
        message: Option<String>,
    },
    /// The answer is none of the service's, as a sign-in page in front of it.
    #[error(
        "{url} answers {status} with something that is not JSON; is it the address of an Orbweaver service?"
    )]
    Foreign {
        /// The request's URL.
        url: String,
        /// HTTP status.
        status: u16,
    },
}

impl From<FetchError> for Failure {
    fn from(error: FetchError) -> Self {
        Self::NoAnswer(Box::new(error))
    }
}

impl Failure {
    /// Whether the same request may succeed later.
    pub(in crate::cli) const fn is_passing(&self) -> bool {
        match self {
            Self::NoAnswer(error) => error.retryable,
            Self::Refused { status, .. } => matches!(status, 429 | 502 | 503 | 504),
            Self::Foreign { .. } => false,
        }
    }
}

impl Service {
    /// A service by its address: http or https, with a path if it is below one.
    pub(in crate::cli) fn new(address: &str, key: Option<String>) -> anyhow::Result<Self> {
        let url = Url::parse(address).with_context(|| format!("{address} is not a URL"))?;
        let has_end = url.query().is_some() || url.fragment().is_some();
        if !matches!(url.scheme(), "http" | "https") || has_end {
            bail!("{address}: must be an http or https URL without a query or a fragment");
        }
        if !url.username().is_empty() || url.password().is_some() {
            bail!("the service's address must have no user and password");
        }
        // The user chose the address, which may be this machine.
        let nets = ["0.0.0.0/0", "::/0"].map(str::parse);
        let mut config = FetchConfig {
            allow_nets: nets.into_iter().collect::<Result<_, _>>()?,
            ..FetchConfig::default()
        };
        // A request's own time limit is shorter.
        config.limits.first_byte_ms = AGENT_TIMEOUT_MS;
        config.limits.total_ms = TIMEOUT_MS;
        config.limits.min_rate = 0;
        Ok(Self {
            address: address.trim_end_matches('/').to_owned(),
            key,
            fetcher: Fetcher::new(config)?,
        })
    }

    /// The service's address.
    pub(in crate::cli) fn address(&self) -> &str {
        &self.address
    }

    /// Whether the key would cross a network in clear text.
    pub(in crate::cli) fn is_in_clear(&self) -> bool {
        let Ok(url) = Url::parse(&self.address) else {
            return true;
        };
        let here = match url.host() {
            Some(url::Host::Ipv4(ip)) => ip.is_loopback(),
            Some(url::Host::Ipv6(ip)) => ip.is_loopback(),
            Some(url::Host::Domain(name)) => name == "localhost",
            None => false,
        };
        url.scheme() == "http" && !here
    }

    /// The answer to a GET.
    pub(in crate::cli) async fn get(&self, path: &str) -> Result<Value, Failure> {
        self.send(Method::GET, path, "application/json", Vec::new())
            .await
    }

    /// The answer to a POST of JSON.
    pub(in crate::cli) async fn post(&self, path: &str, body: &Value) -> Result<Value, Failure> {
        let body = body.to_string().into_bytes();
        self.send(Method::POST, path, "application/json", body)
            .await
    }

    /// Sends a request and returns the answer's JSON; null if it has no body.
    pub(in crate::cli) async fn send(
        &self,
        method: Method,
        path: &str,
        content_type: &str,
        body: Vec<u8>,
    ) -> Result<Value, Failure> {
        let mut request = self.request(method, path);
        let kind = ("content-type".to_owned(), content_type.to_owned());
        request.headers.push(kind);
        request.body = (!body.is_empty()).then(|| body.into());
        let url = request.url.clone();
        let response = Box::pin(self.fetcher.fetch(request)).await?;
        let answer: Option<Value> = serde_json::from_slice(&response.body).ok();
        let status = response.status;
        if status < 300 && answer.is_none() && !response.body.is_empty() {
            return Err(Failure::Foreign { url, status });
        }
        let answer = answer.unwrap_or_default();
        if status < 300 {
            for warning in warnings(&answer) {
                eprintln!("warning: {}", shown(warning));
            }
            return Ok(answer);
        }
        Err(Failure::Refused {
            url,
            status,
            message: message(&answer),
        })
    }

    /// A file of any length.
    pub(in crate::cli) async fn download(&self, path: &str) -> Result<Download, Failure> {
        let mut request = self.request(Method::GET, path);
        let plain = ("accept-encoding".to_owned(), "identity".to_owned());
        request.headers.push(plain);
        let mut download = self.fetcher.open(&request).await?;
        if download.status < 300 {
            return Ok(download);
        }
        let mut body = Vec::new();
        while let Some(piece) = download.next().await? {
            body.extend_from_slice(&piece);
            if body.len() > 64 << 10 {
                break;
            }
        }
        let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
        Err(Failure::Refused {
            url: request.url,
            status: download.status,
            message: message(&answer),
        })
    }

    /// The answer to a message of the Model Context Protocol, whatever its status; `headers` are
    /// those of the message.
    pub(in crate::cli) async fn open_mcp(
        &self,
        headers: Vec<(String, String)>,
        message: Vec<u8>,
    ) -> Result<Download, FetchError> {
        let mut request = self.request(Method::POST, "/mcp");
        request.headers.retain(|(name, _)| name != "accept");
        for (name, value) in [
            ("accept", "application/json, text/event-stream"),
            ("accept-encoding", "identity"),
            ("content-type", "application/json"),
        ] {
            request.headers.push((name.to_owned(), value.to_owned()));
        }
        request.headers.extend(headers);
        request.body = Some(message.into());
        request.timeout = Some(AGENT_TIMEOUT_MS.as_duration());
        self.fetcher.open(&request).await
    }

    fn request(&self, method: Method, path: &str) -> Request {
        let mut headers = vec![("accept".to_owned(), "*/*".to_owned())];
        if let Some(key) = &self.key {
            headers.push(("authorization".to_owned(), format!("Bearer {key}")));
        }
        let agent = concat!("orbweaver/", env!("CARGO_PKG_VERSION"));
        Request {
            headers,
            user_agent: Some(agent.to_owned()),
            follow_redirects: false,
            timeout: Some(TIMEOUT_MS.as_duration()),
            max_bytes: Some(MAX_ANSWER_BYTES),
            ..Request::new(method, format!("{}{path}", self.address))
        }
    }
}

/// What an answer warns of.
fn warnings(answer: &Value) -> impl Iterator<Item = &str> {
    let warnings = answer.get("warnings").and_then(Value::as_array);
    warnings.into_iter().flatten().filter_map(Value::as_str)
}

/// The message of an error's answer.
fn message(answer: &Value) -> Option<String> {
    let message = answer.pointer("/error/message")?.as_str()?;
    Some(message.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_checked() {
        let address = |given| Service::new(given, None).map(|service| service.address);
        assert_eq!(address("http://[::1]:8080/").unwrap(), "http://[::1]:8080");
        assert_eq!(
            address("https://a.example/x/").unwrap(),
            "https://a.example/x"
        );
        for wrong in [
            "a.example",
            "ftp://a.example",
            "http://a/?x=1",
            "http://a/#/console",
            "http://u:p@a.example",
        ] {
            assert!(address(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_key_crosses_no_network_in_clear_text() {
        for (address, in_clear) in [
            ("http://127.0.0.1:8080", false),
            ("http://[::1]", false),
            ("http://localhost:1", false),
            ("https://a.example", false),
            ("http://a.example", true),
            ("http://10.0.0.1", true),
            ("http://localhost.example", true),
        ] {
            let service = Service::new(address, None).unwrap();
            assert_eq!(service.is_in_clear(), in_clear, "{address}");
        }
    }
}
