//! The way to the store: requests are sent by the caller's HTTP client.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode, header};
use http_body_util::BodyExt as _;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse,
    HttpResponseBody, HttpService,
};

use crate::measure::slowed_down;

/// Longest pause that a Retry-After header gets; repetitions follow with pauses of their own.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// An HTTP client for one store, whose address the operator gave.
#[async_trait]
pub trait Transport: fmt::Debug + Send + Sync + 'static {
    /// Sends the request and reads the whole response, of any status.
    async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, TransportError>;
}

/// How a request without a response failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransportErrorKind {
    /// No connection.
    Connect,
    /// It took too long.
    Timeout,
    /// The connection broke.
    Interrupted,
    /// Another cause; not tried again.
    Other,
}

/// A request failed without a response.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct TransportError {
    /// How.
    pub kind: TransportErrorKind,
    /// Why.
    pub message: String,
}

/// Connects `object_store` with a [`Transport`].
#[derive(Clone, Debug)]
pub(crate) struct Connector(pub(crate) Arc<dyn Transport>);

impl HttpConnector for Connector {
    fn connect(&self, _options: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}

#[async_trait]
impl HttpService for Connector {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let (head, body) = request.into_parts();
        let body = match body.as_bytes() {
            Some(bytes) => bytes.clone(),
            None => body.collect().await?.to_bytes(),
        };
        let sent = self.0.send(Request::from_parts(head, body)).await;
        let response = sent.map_err(|error| {
            let kind = match error.kind {
                TransportErrorKind::Connect => HttpErrorKind::Connect,
                TransportErrorKind::Timeout => HttpErrorKind::Timeout,
                TransportErrorKind::Interrupted => HttpErrorKind::Interrupted,
                TransportErrorKind::Other => HttpErrorKind::Unknown,
            };
            HttpError::new(kind, error)
        })?;
        if matches!(
            response.status(),
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE
        ) {
            slowed_down();
            // `object_store` knows only its own back-off.
            tokio::time::sleep(pause(response.headers())).await;
        }
        Ok(response.map(HttpResponseBody::from))
    }
}

/// The pause that the store asks for, in whole seconds; a date is not understood.
fn pause(headers: &HeaderMap) -> Duration {
    let seconds = headers
        .get(header::RETRY_AFTER)
        .and_then(|value| value.to_str().ok()?.trim().parse().ok());
    seconds
        .map_or(Duration::ZERO, Duration::from_secs)
        .min(LONGEST_PAUSE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_has_a_limit() {
        for (value, seconds) in [("0", 0), ("3", 3), ("86400", 10), ("-1", 0), ("soon", 0)] {
            let mut headers = HeaderMap::new();
            headers.insert(header::RETRY_AFTER, value.parse().unwrap());
            assert_eq!(pause(&headers), Duration::from_secs(seconds), "{value}");
        }
        assert_eq!(pause(&HeaderMap::new()), Duration::ZERO);
    }
}
