//! Sends requests to a bucket through the guarded fetcher.

use std::fmt;
use std::sync::OnceLock;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Response};
use orbweaver_blobs::{Transport, TransportError, TransportErrorKind};
use orbweaver_fetch::{FetchError, Fetcher, Kind, Request};

/// HTTP client of a bucket. The fetcher decides which addresses it may reach; no redirect is
/// followed.
pub struct FetchTransport {
    fetcher: Fetcher,
    timeout: Duration,
    max_answer: u64,
    /// Why the guard refused a request.
    refusal: OnceLock<String>,
}

impl FetchTransport {
    /// A client with a time limit for a request, and a size limit for an answer in bytes.
    pub const fn new(fetcher: Fetcher, timeout: Duration, max_answer: u64) -> Self {
        Self {
            fetcher,
            timeout,
            max_answer,
            refusal: OnceLock::new(),
        }
    }

    /// Why the guard refused a request, if it did.
    pub fn refusal(&self) -> Option<&str> {
        self.refusal.get().map(String::as_str)
    }

    fn failure(&self, error: &FetchError) -> TransportError {
        let kind = match error.kind {
            Kind::Dns | Kind::Connect | Kind::Tls => TransportErrorKind::Connect,
            Kind::Timeout | Kind::Slow => TransportErrorKind::Timeout,
            Kind::IncompleteBody | Kind::Reset | Kind::Protocol => TransportErrorKind::Interrupted,
            _ => TransportErrorKind::Other,
        };
        let message = error.to_string();
        if error.kind == Kind::Refused {
            self.refusal.get_or_init(|| message.clone());
        }
        TransportError { kind, message }
    }
}

impl fmt::Debug for FetchTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FetchTransport").finish_non_exhaustive()
    }
}

#[async_trait]
impl Transport for FetchTransport {
    async fn send(&self, request: http::Request<Bytes>) -> Result<Response<Bytes>, TransportError> {
        let other = |message: &dyn fmt::Display| TransportError {
            kind: TransportErrorKind::Other,
            message: message.to_string(),
        };
        let (head, body) = request.into_parts();
        // Digests are over the bytes as they are stored.
        let mut headers = vec![("accept-encoding".to_owned(), "identity".to_owned())];
        for (name, value) in &head.headers {
            // The fetcher sets these itself, to the same values.
            if matches!(name.as_str(), "host" | "content-length" | "user-agent") {
                continue;
            }
            let value = value.to_str().map_err(|error| other(&error))?;
            headers.push((name.as_str().to_owned(), value.to_owned()));
        }
        let has_body = !body.is_empty() || head.method == http::Method::PUT;
        let request = Request {
            headers,
            body: has_body.then_some(body),
            user_agent: Some(concat!("orbweaver/", env!("CARGO_PKG_VERSION")).to_owned()),
            follow_redirects: false,
            timeout: Some(self.timeout),
            // A large part takes its time on a slow line, and so does joining all of them.
            first_byte: Some(self.timeout),
            max_bytes: Some(self.max_answer),
            ..Request::new(head.method, head.uri.to_string())
        };
        let answer = self.fetcher.fetch(request).await;
        let answer = answer.map_err(|error| self.failure(&error))?;
        let mut response = Response::new(answer.body);
        *response.status_mut() =
            http::StatusCode::from_u16(answer.status).map_err(|error| other(&error))?;
        for (name, value) in answer.headers.iter() {
            let pair = (name.parse::<HeaderName>(), value.parse::<HeaderValue>());
            if let (Ok(name), Ok(value)) = pair {
                response.headers_mut().append(name, value);
            }
        }
        Ok(response)
    }
}
