//! The web as a call sees it: the real one, the real one into files, or those files.
//!
//! An exchange is two files, whose name is made of the request: `NAME.toml` with the status, the headers
//! and the redirects, or the failure, and the body beside it. Both may be edited by hand. Request headers are
//! not kept: they may have secrets.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use orbweaver_engine::{CodedError, ErrorCode, FetchRequest, Hop, Page, PageParts, SecretHeader};
use orbweaver_fetch::{FetchError, Fetcher, HopVerdict, Kind, Method, Request, SubKind};
use orbweaver_pipeline::{Document, fetch_code, page_without};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use url::Url;

use crate::files::within;

/// Folder of exchanges in a folder of fixtures.
const EXCHANGES: &str = "web";

/// Start of the names of environment variables that have the values of secrets.
pub const SECRET_PREFIX: &str = "ORBWEAVER_SECRET_";

/// Characters of a URL in the name of an exchange.
const NAME_LENGTH: usize = 60;

/// Where answers come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// From the web.
    Live,
    /// From the web, and every answer is kept.
    Record,
    /// From what was kept; anything else fails.
    Replay,
}

/// Answers requests.
pub struct Web {
    mode: Mode,
    folder: PathBuf,
    fetcher: Fetcher,
}

/// A kept answer, or a kept failure.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Exchange {
    /// `GET`, `HEAD` or `POST`; `RENDER` for a page after its scripts have run.
    method: String,
    url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Failure>,
    #[serde(skip_serializing_if = "Option::is_none")]
    final_url: Option<String>,
    #[serde(default)]
    status: u16,
    /// A file beside this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    redirects: Vec<(String, u16)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    headers: Vec<(String, String)>,
}

impl Exchange {
    /// Writes the exchange, and its body if it names a file for it.
    fn write(&self, folder: &Path, name: &str, body: &[u8]) -> Result<()> {
        fs::create_dir_all(folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
        let put = |file: String, content: &[u8]| {
            let path = folder.join(file);
            fs::write(&path, content).with_context(|| format!("cannot write {}", path.display()))
        };
        if let Some(file) = &self.body {
            put(file.clone(), body)?;
        }
        put(format!("{name}.toml"), toml::to_string(self)?.as_bytes())
    }
}

/// A failed exchange.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Failure {
    /// The code of the WIT's `error`.
    code: String,
    message: String,
}

impl Failure {
    fn of(error: &CodedError) -> Self {
        Self {
            code: error.code.as_str().to_owned(),
            message: error.message.clone(),
        }
    }

    fn into_error(self) -> CodedError {
        CodedError::new(ErrorCode::of(&self.code), self.message)
    }
}

impl Web {
    /// `fixtures` is the folder whose part `web` has the exchanges.
    pub fn new(mode: Mode, fixtures: &Path, fetcher: Fetcher) -> Self {
        Self {
            mode,
            folder: fixtures.join(EXCHANGES),
            fetcher,
        }
    }

    /// Answers a plugin's request.
    ///
    /// # Errors
    /// What the plugin gets: the failure of the request, or that nothing is kept for it.
    pub async fn fetch(&self, request: FetchRequest) -> Result<Arc<Page>, CodedError> {
        let name = file_name(&request.method, &request.url, request.body.as_deref());
        if self.mode == Mode::Replay {
            return self.replay(&name, &request.method, &request.url);
        }
        let (method, url) = (request.method.clone(), request.url.clone());
        let answer = self.send(request).await;
        if self.mode == Mode::Record {
            let kept = self.keep(&name, &method, &url, &answer);
            kept.map_err(|error| CodedError::failed(format!("{error:#}")))?;
        }
        answer
    }

    /// Answers a page that a call is made for, as a crawl or a scan would fetch it.
    ///
    /// # Errors
    /// As [`fetch`](Self::fetch).
    pub async fn page(&self, url: &str) -> Result<Arc<Page>, CodedError> {
        let name = file_name("GET", url, None);
        if self.mode == Mode::Replay {
            return self.replay(&name, "GET", url);
        }
        let answer = self.exchange(Request::get(url), Vec::new()).await;
        if self.mode == Mode::Record {
            let kept = self.keep(&name, "GET", url, &answer);
            kept.map_err(|error| CodedError::failed(format!("{error:#}")))?;
        }
        answer
    }

    /// Answers a request to render. There is no browser here: the answer is a kept one.
    ///
    /// # Errors
    /// If none is kept; says which file to write.
    pub fn render(&self, url: &str) -> Result<Arc<Page>, CodedError> {
        self.replay(&file_name("RENDER", url, None), "RENDER", url)
    }

    async fn send(&self, request: FetchRequest) -> Result<Arc<Page>, CodedError> {
        let method: Method = request
            .method
            .parse()
            .map_err(|_| CodedError::invalid("method: must be GET, HEAD or POST".to_owned()))?;
        let mut headers = request.headers.clone();
        let mut values = Vec::new();
        for secret in &request.secrets {
            let value = value_of(secret)?;
            headers.push((secret.name.clone(), format!("{}{value}", secret.prefix)));
            values.push(value);
        }
        let home = (!values.is_empty()).then(|| request.url.clone());
        let leaves = move |next: &str| {
            home.as_ref()
                .is_some_and(|home| !is_same_origin(home, next))
        };
        let allowed = Arc::clone(&request.allowed);
        let asked = Request {
            headers,
            body: request.body.map(Into::into),
            follow_redirects: request.follow_redirects,
            respect_robots: request.respect_robots,
            timeout: request
                .timeout_ms
                .map(|ms| Duration::from_millis(ms.into())),
            max_bytes: Some(request.max_bytes),
            hop_check: Some(Arc::new(move |next: &str| {
                if leaves(next) {
                    // Which other hosts a secret is for is known to the service only.
                    HopVerdict::Stop
                } else if allowed.allows(next) {
                    HopVerdict::Follow
                } else {
                    HopVerdict::Refuse(allowed.denial(next))
                }
            })),
            ..Request::new(method, &request.url)
        };
        self.exchange(asked, values).await
    }

    /// Sends a request; these values are replaced by asterisks in the answer.
    async fn exchange(
        &self,
        request: Request,
        secrets: Vec<String>,
    ) -> Result<Arc<Page>, CodedError> {
        let response = Box::pin(self.fetcher.fetch(request))
            .await
            .map_err(failure)?;
        let page = move || page_without(&secrets, response, 0.0);
        let page = orbweaver_pipeline::blocking(page).await;
        page.map_err(|error| CodedError::failed(error.to_string()))
    }

    fn keep(
        &self,
        name: &str,
        method: &str,
        url: &str,
        answer: &Result<Arc<Page>, CodedError>,
    ) -> Result<()> {
        let mut exchange = Exchange {
            method: method.to_owned(),
            url: url.to_owned(),
            error: None,
            final_url: None,
            status: 0,
            body: None,
            redirects: Vec::new(),
            headers: Vec::new(),
        };
        let mut content: &[u8] = &[];
        match answer {
            Err(error) => exchange.error = Some(Failure::of(error)),
            Ok(page) => {
                let parts = page.parts();
                let is_type = |(name, _): &&(String, String)| name == "content-type";
                let declared = parts.headers.iter().find(is_type);
                let declared = declared.map_or("", |(_, value)| value.as_str());
                exchange.body = Some(format!("{name}.{}", extension(declared)));
                exchange.final_url = (parts.final_url != url).then(|| parts.final_url.clone());
                exchange.status = parts.status;
                exchange.headers.clone_from(&parts.headers);
                let hops = parts.redirects.iter();
                exchange.redirects = hops.map(|hop| (hop.url.clone(), hop.status)).collect();
                content = &parts.body;
            }
        }
        exchange.write(&self.folder, name, content)
    }

    fn replay(&self, name: &str, method: &str, url: &str) -> Result<Arc<Page>, CodedError> {
        let path = self.folder.join(format!("{name}.toml"));
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let how = match method {
                    "RENDER" => "write it by hand",
                    _ => "--record keeps it",
                };
                return Err(CodedError::new(
                    ErrorCode::Connect,
                    format!(
                        "no answer to {method} {url} is kept in {}; {how}",
                        path.display()
                    ),
                ));
            }
            Err(error) => return Err(unreadable(&path, &error)),
        };
        let exchange: Exchange =
            toml::from_str(&text).map_err(|error| unreadable(&path, &error))?;
        if let Some(failure) = exchange.error {
            return Err(failure.into_error());
        }
        let body = match &exchange.body {
            None => Vec::new(),
            Some(file) => {
                let path = within(&self.folder, file);
                let path = path.map_err(|error| CodedError::failed(format!("body: {error:#}")))?;
                fs::read(&path).map_err(|error| unreadable(&path, &error))?
            }
        };
        let hop = |(url, status)| Hop { url, status };
        Ok(Document::page_of(PageParts {
            final_url: exchange.final_url.unwrap_or_else(|| exchange.url.clone()),
            url: exchange.url,
            status: exchange.status,
            headers: exchange.headers,
            redirects: exchange.redirects.into_iter().map(hop).collect(),
            body: body.into(),
            html: Arc::default(),
            cost_usd: 0.0,
        }))
    }
}

/// Keeps an answer with status 200 to a GET in a folder of fixtures.
pub(crate) fn write_exchange(
    fixtures: &Path,
    url: &str,
    content_type: &str,
    body: &str,
) -> Result<()> {
    let folder = fixtures.join(EXCHANGES);
    let name = file_name("GET", url, None);
    let exchange = Exchange {
        method: "GET".to_owned(),
        url: url.to_owned(),
        error: None,
        final_url: None,
        status: 200,
        body: Some(format!("{name}.{}", extension(content_type))),
        redirects: Vec::new(),
        headers: vec![("content-type".to_owned(), content_type.to_owned())],
    };
    exchange.write(&folder, &name, body.as_bytes())
}

/// The name of an exchange, without its extension: readable, and different for different requests.
fn file_name(method: &str, url: &str, body: Option<&[u8]>) -> String {
    let mut name = method.to_ascii_lowercase();
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let mut was_dash = true;
    name.push('-');
    for character in rest.chars().take(NAME_LENGTH) {
        let character = match character {
            c if c.is_ascii_alphanumeric() || c == '.' => c.to_ascii_lowercase(),
            _ => '-',
        };
        if character != '-' || !was_dash {
            name.push(character);
        }
        was_dash = character == '-';
    }
    let mut digest = Sha256::new();
    for part in [method.as_bytes(), url.as_bytes(), body.unwrap_or_default()] {
        digest.update((part.len() as u64).to_be_bytes());
        digest.update(part);
    }
    let digest = hex::encode(digest.finalize());
    let _ = write!(
        name,
        "{}{}",
        if was_dash { "" } else { "-" },
        digest.get(..8).unwrap_or_default()
    );
    name
}

/// The extension of a body's file.
fn extension(content_type: &str) -> &'static str {
    [
        ("html", "html"),
        ("json", "json"),
        ("xml", "xml"),
        ("text/", "txt"),
    ]
    .into_iter()
    .find(|(part, _)| content_type.contains(part))
    .map_or("bin", |(_, extension)| extension)
}

fn unreadable(path: &Path, error: &dyn std::fmt::Display) -> CodedError {
    CodedError::failed(format!("cannot read {}: {error}", path.display()))
}

/// A fetch's failure as the service tells it to plugins.
fn failure(error: FetchError) -> CodedError {
    let code = match error.kind {
        Kind::Refused => {
            let hint = match error.sub {
                Some(SubKind::Rule(rule)) if rule.is_private_network() => {
                    "; --allow-net allows a private network"
                }
                _ => "",
            };
            let why = format!("{}{hint}", error.message);
            return CodedError::new(ErrorCode::BlockedAddress, why);
        }
        Kind::InvalidRequest => return CodedError::invalid(error.message),
        Kind::Robots => ErrorCode::Robots,
        Kind::Scope => ErrorCode::NotGranted,
        Kind::Internal => ErrorCode::Failed,
        kind => fetch_code(kind),
    };
    CodedError::new(code, error.message)
}

/// Whether two URLs have the same scheme, host and port: a secret for one is for the other, too.
fn is_same_origin(one: &str, other: &str) -> bool {
    match (Url::parse(one), Url::parse(other)) {
        (Ok(one), Ok(other)) => one.origin() == other.origin(),
        _ => false,
    }
}

/// The value of a secret: that of an environment variable.
fn value_of(secret: &SecretHeader) -> Result<String, CodedError> {
    let name = secret.secret.to_ascii_uppercase().replace('-', "_");
    let variable = format!("{SECRET_PREFIX}{name}");
    std::env::var(&variable).map_err(|_| {
        CodedError::new(
            ErrorCode::NotGranted,
            format!(
                "the secret `{}` has no value; set the environment variable {variable}",
                secret.secret
            ),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_follows_redirects_within_its_origin() {
        let home = "https://api.example.org/a?b";
        for (next, is_same) in [
            ("https://api.example.org/c", true),
            ("https://API.example.org:443/", true),
            ("http://api.example.org/c", false),
            ("https://api.example.org:8443/c", false),
            ("https://example.org/c", false),
            ("data:text/plain,x", false),
            ("/c", false),
        ] {
            assert_eq!(is_same_origin(home, next), is_same, "{next}");
        }
    }

    #[test]
    fn names_are_readable_and_differ_by_method_url_and_body() {
        let name = file_name("GET", "https://example.org/a/b?q=ä", None);
        assert!(name.starts_with("get-example.org-a-b-q-"), "{name}");
        let others = [
            file_name("HEAD", "https://example.org/a/b?q=ä", None),
            file_name("GET", "http://example.org/a/b?q=ä", None),
            file_name("GET", "https://example.org/a/b?q=ö", None),
            file_name("GET", "https://example.org/a/b?q=ä", Some(b"x")),
        ];
        assert!(!others.contains(&name));
    }
}
