//! Sends requests, and reads their responses in pieces.

use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::header::PROXY_AUTHORIZATION;
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body as _, Incoming};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::{CaptureConnection, capture_connection};
use url::Url;

use super::connect::{Connector, OldServers};
use super::link::{Info, Meter};
use crate::error::{Fault, Kind};

/// Most times that a request is sent again which the server has told it did not read.
const RESENDS: usize = 2;

/// A request to send.
pub(crate) type Outgoing = http::Request<Full<Bytes>>;

/// A request of these parts.
///
/// # Errors
/// The URL cannot be sent.
pub(crate) fn outgoing(
    method: Method,
    url: &Url,
    headers: HeaderMap,
    body: Option<Bytes>,
) -> Result<Outgoing, Fault> {
    let uri: Uri = url.as_str().parse().map_err(|error| {
        Fault::new(
            Kind::InvalidRequest,
            None,
            format!("the URL cannot be sent: {error}"),
        )
    })?;
    let mut request = http::Request::new(Full::new(body.unwrap_or_default()));
    *request.method_mut() = method;
    *request.uri_mut() = uri;
    *request.headers_mut() = headers;
    Ok(request)
}

/// A client with its connections. Clones share them.
#[derive(Clone)]
pub(crate) struct Client {
    pub(super) hyper: legacy::Client<Connector, Full<Bytes>>,
    /// For plain requests to an HTTP proxy.
    pub(super) authorization: Option<HeaderValue>,
    /// The servers that its connector offers HTTP/1.1 alone.
    pub(super) old: OldServers,
}

impl Client {
    /// Sends a request and waits for the head of its response. If there is none, also because this future
    /// is dropped, `wasted` is told how many bytes have arrived.
    pub(crate) async fn execute(
        &self,
        mut request: Outgoing,
        wasted: &(dyn Fn(u64) + Sync),
    ) -> Result<Response, legacy::Error> {
        if request.uri().scheme_str() == Some("http")
            && let Some(authorization) = &self.authorization
        {
            request
                .headers_mut()
                .entry(PROXY_AUTHORIZATION)
                .or_insert_with(|| authorization.clone());
        }
        let mut resends = 0;
        let uri = request.uri().clone();
        loop {
            let mut request = request.clone();
            let mut watch = Watch {
                connection: Some(capture_connection(&mut request)),
                is_silent: true,
                wasted,
            };
            let answer = self.hyper.request(request).await;
            watch.is_silent = false;
            match answer {
                Ok(response) => {
                    watch.connection = None;
                    return Ok(Response::of(response));
                }
                Err(error) if resends < RESENDS && is_unread(&error) => resends += 1,
                Err(error) if resends < RESENDS && wants_http1(&error) => {
                    resends += 1;
                    self.old.note(&uri);
                    watch.poison();
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// What the server says of the request over HTTP/2, if it ended it.
fn told(error: &legacy::Error) -> Option<&h2::Error> {
    let cause = error.source().and_then(Error::source);
    let h2 = cause.and_then(|cause| cause.downcast_ref::<h2::Error>());
    h2.filter(|h2| h2.is_remote())
}

/// Whether the server says that it did not read the request (RFC 9113, sections 6.8 and 8.7).
fn is_unread(error: &legacy::Error) -> bool {
    told(error).is_some_and(|h2| {
        let reason = h2.reason();
        (h2.is_go_away() && reason == Some(h2::Reason::NO_ERROR))
            || (h2.is_reset() && reason == Some(h2::Reason::REFUSED_STREAM))
    })
}

/// Whether the server wants the request over HTTP/1.1 instead, as some do that know users by their
/// connection or certificate (RFC 9113, section 7).
fn wants_http1(error: &legacy::Error) -> bool {
    told(error).is_some_and(|h2| h2.reason() == Some(h2::Reason::HTTP_1_1_REQUIRED))
}

/// Tells what a request's connection has received if there is no response.
struct Watch<'a> {
    connection: Option<CaptureConnection>,
    /// Neither a response nor an error has come.
    is_silent: bool,
    wasted: &'a (dyn Fn(u64) + Sync),
}

impl Watch<'_> {
    /// Has no other request use the connection.
    fn poison(&self) {
        let connection = self.connection.as_ref();
        if let Some(connection) = connection
            && let Some(connected) = connection.connection_metadata().as_ref()
        {
            connected.poison();
        }
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        let Some(connection) = self.connection.take() else {
            return;
        };
        let mut extras = http::Extensions::new();
        if let Some(connected) = connection.connection_metadata().as_ref() {
            if self.is_silent {
                // Requests of HTTP/2 share a connection. If it is dead, all that follow would wait in vain, too.
                connected.poison();
            }
            connected.get_extras(&mut extras);
        }
        if let Some(info) = extras.get::<Info>() {
            (self.wasted)(info.meter.waste());
        }
    }
}

/// A response whose body is read in pieces.
pub(crate) struct Response {
    status: StatusCode,
    headers: HeaderMap,
    remote_addr: Option<SocketAddr>,
    meter: Option<Arc<Meter>>,
    body: Incoming,
}

impl Response {
    fn of(response: http::Response<Incoming>) -> Self {
        let (parts, body) = response.into_parts();
        let info = parts.extensions.get::<Info>();
        let response = Self {
            status: parts.status,
            headers: parts.headers,
            remote_addr: info.and_then(|info| info.remote_addr),
            meter: info.map(|info| Arc::clone(&info.meter)),
            body,
        };
        response.used();
        response
    }

    fn used(&self) {
        if let Some(meter) = &self.meter {
            meter.used();
        }
    }

    pub const fn status(&self) -> StatusCode {
        self.status
    }

    pub const fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// The server, or the proxy.
    pub const fn remote_addr(&self) -> Option<SocketAddr> {
        self.remote_addr
    }

    /// The length that the body announces, less what was read of it.
    pub fn content_length(&self) -> Option<u64> {
        self.body.size_hint().exact()
    }

    /// Whether the body, which has ended, is shorter than it announced: over HTTP/2, the library takes a stream
    /// that the server resets without an error for one that has ended.
    pub fn is_cut(&self) -> bool {
        self.content_length().is_some_and(|missing| missing > 0)
    }

    /// The next piece of the body; `None` at its end.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, hyper::Error> {
        while let Some(frame) = self.body.frame().await {
            if let Ok(data) = frame?.into_data() {
                // Pieces without content come in any number.
                if !data.is_empty() {
                    self.used();
                }
                return Ok(Some(data));
            }
        }
        Ok(None)
    }
}

impl Drop for Response {
    /// What has arrived of a body that nobody reads was no fault of the server's.
    fn drop(&mut self) {
        self.used();
    }
}
