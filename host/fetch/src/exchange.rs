//! One request and its response, within the limits.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, TRANSFER_ENCODING};
use http::{HeaderMap, Method, StatusCode};
use orbweaver_core::ids::ProjectId;
use tokio::time::{Instant, timeout_at};

use crate::bodies::{Bodies, Receipt, Share};
use crate::classify::{self, Stage};
use crate::client::{Client, Outgoing, Response};
use crate::config::Limits;
use crate::decode::{self, Body, Decoded, Stop, malformed};
use crate::error::{Fault, Kind, SubKind};
use crate::request::Oversize;
use crate::response::Raw;

/// The limits of one exchange.
pub(crate) struct Bounds<'a> {
    pub limits: &'a Limits,
    pub started: Instant,
    /// The longest wait for the head of the response.
    pub first_byte: Duration,
    pub deadline: Instant,
    /// The time limit of the whole fetch, for messages.
    pub total: Duration,
    pub max_bytes: u64,
    pub oversize: Oversize,
    pub bodies: &'a Arc<Bodies>,
    /// Whose body it is.
    pub project: Option<ProjectId>,
    /// Counts what arrives.
    pub receipt: &'a Receipt,
}

impl Bounds<'_> {
    /// The fault of a fetch past its deadline.
    pub fn late(&self) -> Fault {
        let message = format!("not finished within {} ms", self.total.as_millis());
        Fault::new(Kind::Timeout, SubKind::Total, message).retryable()
    }
}

/// A response whose body is still to be read.
pub(crate) struct Head {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub remote_addr: Option<SocketAddr>,
    response: Response,
    bodyless: bool,
}

/// A body that was read; the default is no body.
#[derive(Default)]
pub(crate) struct Received {
    pub body: Bytes,
    pub raw: Option<Raw>,
    pub truncated: bool,
    pub wire_bytes: u64,
}

/// Sends a request and waits for the response's headers.
pub(crate) async fn send(
    client: &Client,
    request: Outgoing,
    bounds: &Bounds<'_>,
) -> Result<Head, Fault> {
    let is_head = request.method() == Method::HEAD;
    let first_byte = Instant::now() + bounds.first_byte;
    let until = first_byte.min(bounds.deadline);
    let wasted = |bytes| {
        bounds
            .receipt
            .add(usize::try_from(bytes).unwrap_or(usize::MAX))
    };
    let response = match timeout_at(until, client.execute(request, &wasted)).await {
        Ok(response) => response.map_err(|error| classify::fault(&error, Stage::Head))?,
        Err(_) if until < bounds.deadline => {
            return Err(no_response(bounds.first_byte));
        }
        Err(_) => return Err(bounds.late()),
    };
    let status = response.status();
    let headers = response.headers().clone();
    check_headers(&headers, bounds.limits)?;
    if status.is_informational() {
        // Only 101 comes without a response after it; no request asks for another protocol.
        return Err(Fault::new(
            Kind::Protocol,
            SubKind::Malformed,
            format!("the response is not HTTP: {status} was not asked for"),
        ));
    }
    let bodyless = is_head || matches!(status.as_u16(), 204 | 205 | 304);
    Ok(Head {
        status,
        headers,
        remote_addr: response.remote_addr(),
        response,
        bodyless,
    })
}

/// The fault of a request whose response did not begin in that time.
pub(crate) fn no_response(within: Duration) -> Fault {
    let message = format!("no response within {} ms", within.as_millis());
    Fault::new(Kind::Timeout, SubKind::FirstByte, message).retryable()
}

/// Checks number and size of the headers, which HTTP/1 and HTTP/2 count differently, and
/// rejects framing that two parsers could read differently.
pub(crate) fn check_headers(headers: &HeaderMap, limits: &Limits) -> Result<(), Fault> {
    let size: usize = headers
        .iter()
        .map(|(name, value)| name.as_str().len() + value.len() + 4)
        .sum();
    let over = |count: usize, max: u32| u32::try_from(count).map_or(true, |count| count > max);
    if over(headers.len(), limits.max_headers) || over(size, limits.max_header_bytes) {
        let message = format!("the response has {} headers of {size} bytes", headers.len());
        return Err(Fault::new(Kind::HeaderTooLarge, None, message));
    }
    if let Some(coding) = headers.get(TRANSFER_ENCODING) {
        if headers.contains_key(CONTENT_LENGTH) {
            return Err(Fault::new(
                Kind::Protocol,
                SubKind::Framing,
                "both Content-Length and Transfer-Encoding",
            ));
        }
        if !coding
            .as_bytes()
            .trim_ascii()
            .eq_ignore_ascii_case(b"chunked")
            || headers.get_all(TRANSFER_ENCODING).iter().count() > 1
        {
            return Err(Fault::new(
                Kind::Protocol,
                SubKind::Framing,
                "a transfer coding other than chunked",
            ));
        }
    }
    Ok(())
}

impl Head {
    /// Reads and decodes the body.
    #[crate::boxed]
    pub async fn read(mut self, bounds: &Bounds<'_>) -> Result<Received, Fault> {
        if self.bodyless {
            return Ok(Received::default());
        }
        let encodings = self
            .headers
            .get_all(CONTENT_ENCODING)
            .iter()
            .map(|value| value.to_str().unwrap_or("?"));
        let codings = decode::codings(encodings)?;
        let length = self.response.content_length();
        if length.is_some_and(|length| length > bounds.max_bytes)
            && bounds.oversize == Oversize::Fail
        {
            let message = format!("the body announces {} bytes", length.unwrap_or(0));
            return Err(Fault::new(
                Kind::TooLarge,
                None,
                format!("{message}; the limit is {}", bounds.max_bytes),
            ));
        }
        let max = usize::try_from(bounds.max_bytes).unwrap_or(usize::MAX);
        let mut body = Body::new(&codings, max, length);
        let mut share = Share::new(bounds.bodies, bounds.project);
        let stopped = self.pump(&mut body, &mut share, bounds).await?;
        let wire_bytes = body.wire_bytes();
        let Decoded {
            body,
            raw,
            truncated,
        } = match stopped {
            None => body.finish()?,
            Some(Stop::Malformed(what)) => return Err(malformed(what)),
            Some(Stop::Full) if bounds.oversize == Oversize::Truncate => body.cut(),
            Some(Stop::Full) => {
                let message = format!("the body is larger than {} bytes", bounds.max_bytes);
                return Err(Fault::new(Kind::TooLarge, None, message));
            }
        };
        let share = Arc::new(share);
        Ok(Received {
            body: Arc::clone(&share).keep(body),
            raw: raw.map(|raw| Raw {
                bytes: share.keep(raw.bytes),
                ..raw
            }),
            truncated,
            wire_bytes,
        })
    }

    /// The next piece of the body, as it arrives and not decoded; `None` at its end.
    pub(crate) async fn piece(&mut self, patience: Duration) -> Result<Option<Bytes>, Fault> {
        if self.bodyless {
            return Ok(None);
        }
        match tokio::time::timeout(patience, self.response.chunk()).await {
            Ok(Ok(None)) if self.response.is_cut() => Err(classify::incomplete()),
            Ok(piece) => piece.map_err(|error| classify::fault(&error, Stage::Body)),
            Err(_) => {
                let message = format!("nothing arrived for {} ms", patience.as_millis());
                Err(Fault::new(Kind::Slow, None, message).retryable())
            }
        }
    }

    async fn pump(
        &mut self,
        body: &mut Body,
        share: &mut Share,
        bounds: &Bounds<'_>,
    ) -> Result<Option<Stop>, Fault> {
        let window = bounds.limits.min_rate_window_ms.as_duration();
        let least = bounds
            .limits
            .min_rate
            .saturating_mul(bounds.limits.min_rate_window_ms.0)
            / 1000;
        let mut window_end = Instant::now() + window;
        let mut window_start_bytes = 0;
        loop {
            let until = if least > 0 {
                window_end.min(bounds.deadline)
            } else {
                bounds.deadline
            };
            match timeout_at(until, self.response.chunk()).await {
                Ok(Ok(Some(chunk))) => {
                    bounds.receipt.add(chunk.len());
                    if let Err(stop) = body.push(&chunk) {
                        return Ok(Some(stop));
                    }
                    share.grow(body.held_bytes())?;
                }
                Ok(Ok(None)) if self.response.is_cut() => return Err(classify::incomplete()),
                Ok(Ok(None)) => {
                    let settled = body.settle();
                    share.grow(body.held_bytes())?;
                    return Ok(settled.err());
                }
                Ok(Err(error)) => return Err(classify::fault(&error, Stage::Body)),
                Err(_) if until >= bounds.deadline => return Err(bounds.late()),
                Err(_) => {}
            }
            // The timer never fires while bytes keep arriving, so the clock is read here too.
            if Instant::now() >= bounds.deadline {
                return Err(bounds.late());
            }
            if least > 0 && Instant::now() >= window_end {
                if body.wire_bytes() - window_start_bytes < least {
                    let message = format!(
                        "the body arrives more slowly than {} bytes a second",
                        bounds.limits.min_rate
                    );
                    return Err(Fault::new(Kind::Slow, None, message).retryable());
                }
                window_start_bytes = body.wire_bytes();
                window_end = Instant::now() + window;
            }
        }
    }
}
