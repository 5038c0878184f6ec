//! Maps errors of the HTTP libraries to this crate's errors.

use std::error::Error;
use std::io;

use rustls::{AlertDescription, CertificateError};

use crate::error::{Fault, Kind, SubKind};
use crate::proxy_answer;
use crate::resolve::{LookupError, ResolveError};

/// How far an exchange had got when it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// No response yet.
    Head,
    /// Its body was being read.
    Body,
}

/// The first cause of a type in an error's chain. Also looks into `io::Error`s, whose `source`
/// skips the error they wrap.
fn find<'a, T: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a T> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<T>() {
            return Some(found);
        }
        next = match error
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref)
        {
            Some(inner) => Some(inner),
            None => error.source(),
        };
    }
    None
}

/// Whether the text of an error in the chain contains one of these.
fn says(error: &(dyn Error + 'static), texts: &[&str]) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        let text = error.to_string();
        if texts.iter().any(|known| text.contains(known)) {
            return true;
        }
        next = match error
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref)
        {
            Some(inner) => Some(inner),
            None => error.source(),
        };
    }
    false
}

/// The text of the innermost cause, which is the most specific.
fn cause(error: &(dyn Error + 'static)) -> String {
    let mut last = error;
    while let Some(next) = last.source() {
        last = next;
    }
    last.to_string()
}

pub(crate) fn fault(error: &reqwest::Error, stage: Stage) -> Fault {
    let source: &(dyn Error + 'static) = error;
    if let Some(lookup) = find::<LookupError>(source) {
        return lookup_fault(lookup);
    }
    if let Some(tls) = find::<rustls::Error>(source) {
        return tls_fault(tls);
    }
    if error.is_connect() {
        return connect_fault(error);
    }
    if let Some(h2) = find::<h2::Error>(source) {
        return h2_fault(h2, stage);
    }
    if let Some(hyper) = find::<hyper::Error>(source)
        && let Some(fault) = hyper_fault(hyper, stage)
    {
        return fault;
    }
    if let Some(io) = find::<io::Error>(source) {
        return io_fault(io, stage);
    }
    if error.is_builder() || error.is_request() && says(source, &["invalid URL", "builder error"]) {
        return Fault::new(Kind::InvalidRequest, None, cause(source));
    }
    Fault::new(
        Kind::Protocol,
        None,
        format!("the exchange failed: {}", cause(source)),
    )
}

/// The fault of a lookup made without a connection.
pub(crate) fn lookup_fault(error: &LookupError) -> Fault {
    match error {
        LookupError::Refused(refusal) => refusal.clone().into(),
        LookupError::Failed { error: failure, .. } => {
            let sub = match failure {
                ResolveError::NxDomain => SubKind::NxDomain,
                ResolveError::ServFail => SubKind::ServFail,
                ResolveError::Timeout => SubKind::Timeout,
                ResolveError::Other(_) => SubKind::Other,
            };
            let fault = Fault::new(Kind::Dns, sub, format!("DNS: {error}"));
            if *failure == ResolveError::NxDomain {
                fault
            } else {
                fault.retryable()
            }
        }
    }
}

fn connect_fault(error: &reqwest::Error) -> Fault {
    let source: &(dyn Error + 'static) = error;
    if error.is_timeout() {
        return Fault::new(Kind::Connect, SubKind::Timeout, "no connection in time").retryable();
    }
    if says(
        source,
        &[
            "proxy authorization required",
            "authentication error",
            "credentials",
        ],
    ) {
        return proxy_answer::wrong_credentials();
    }
    if says(source, &["socks", "SOCKS", "tunnel"]) {
        return Fault::new(
            Kind::Proxy,
            SubKind::Other,
            format!("the proxy gives no connection: {}", cause(source)),
        )
        .retryable();
    }
    match find::<io::Error>(source).map(io::Error::kind) {
        Some(io::ErrorKind::ConnectionRefused) => Fault::new(
            Kind::Connect,
            SubKind::Refused,
            "the server refuses connections",
        )
        .retryable(),
        Some(
            io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe,
        ) => Fault::new(
            Kind::Connect,
            SubKind::Reset,
            "the server reset the connection",
        )
        .retryable(),
        // The connection ended during the TLS handshake.
        Some(io::ErrorKind::UnexpectedEof) => Fault::new(
            Kind::Tls,
            SubKind::Handshake,
            "the server closed the connection during the TLS handshake",
        )
        .retryable(),
        Some(io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable) => Fault::new(
            Kind::Connect,
            SubKind::Unreachable,
            "no route to the server",
        )
        .retryable(),
        Some(io::ErrorKind::TimedOut) => {
            Fault::new(Kind::Connect, SubKind::Timeout, "no connection in time").retryable()
        }
        _ => Fault::new(
            Kind::Connect,
            SubKind::Other,
            format!("no connection: {}", cause(source)),
        )
        .retryable(),
    }
}

fn tls_fault(error: &rustls::Error) -> Fault {
    use rustls::Error as E;
    let sub = match error {
        E::InvalidCertificate(certificate) => certificate_fault(certificate),
        E::AlertReceived(AlertDescription::ProtocolVersion) | E::PeerIncompatible(_) => {
            SubKind::Version
        }
        E::InvalidMessage(_) => SubKind::Handshake,
        _ => SubKind::Handshake,
    };
    Fault::new(Kind::Tls, sub, format!("TLS: {error}"))
}

const fn certificate_fault(error: &CertificateError) -> SubKind {
    use CertificateError as C;
    match error {
        C::Expired | C::ExpiredContext { .. } => SubKind::Expired,
        C::NotValidYet | C::NotValidYetContext { .. } => SubKind::NotYetValid,
        C::NotValidForName | C::NotValidForNameContext { .. } => SubKind::WrongHost,
        C::UnknownIssuer => SubKind::Untrusted,
        C::Revoked => SubKind::Revoked,
        _ => SubKind::BadCertificate,
    }
}

fn h2_fault(error: &h2::Error, stage: Stage) -> Fault {
    if let Some(io) = error.get_io() {
        return io_fault(io, stage);
    }
    let reason = error
        .reason()
        .map_or_else(|| error.to_string(), |reason| reason.to_string());
    let what = if error.is_go_away() {
        "GOAWAY"
    } else {
        "RST_STREAM"
    };
    if error.is_remote() {
        return Fault::new(
            Kind::Reset,
            SubKind::Http2,
            format!("HTTP/2 {what}: {reason}"),
        )
        .stale();
    }
    // The library reports too many header frames as this reason.
    if error.is_library() && error.reason() == Some(h2::Reason::ENHANCE_YOUR_CALM) {
        return Fault::new(
            Kind::HeaderTooLarge,
            None,
            "the response's headers are too large",
        );
    }
    Fault::new(Kind::Protocol, SubKind::Http2, format!("HTTP/2: {reason}"))
}

fn hyper_fault(error: &hyper::Error, stage: Stage) -> Option<Fault> {
    if error.is_parse_too_large() {
        return Some(Fault::new(
            Kind::HeaderTooLarge,
            None,
            "the response's headers are too many or too large",
        ));
    }
    if error.is_parse() {
        return Some(Fault::new(
            Kind::Protocol,
            SubKind::Malformed,
            format!("the response is not HTTP: {error}"),
        ));
    }
    if error.is_incomplete_message() {
        return Some(match stage {
            Stage::Head => Fault::new(
                Kind::Reset,
                SubKind::Closed,
                "the server closed the connection without an answer",
            )
            .stale(),
            Stage::Body => incomplete(),
        });
    }
    if error.is_canceled() || error.is_closed() {
        return Some(Fault::new(Kind::Reset, SubKind::Closed, "the connection was closed").stale());
    }
    None
}

pub(crate) fn incomplete() -> Fault {
    Fault::new(
        Kind::IncompleteBody,
        None,
        "the connection ended before the body did",
    )
    .retryable()
}

fn io_fault(error: &io::Error, stage: Stage) -> Fault {
    match (error.kind(), stage) {
        (io::ErrorKind::UnexpectedEof, Stage::Body) => incomplete(),
        (
            io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe,
            Stage::Body,
        ) => Fault::new(
            Kind::Reset,
            SubKind::Body,
            "the server reset the connection in the middle of the body",
        )
        .retryable(),
        (
            io::ErrorKind::UnexpectedEof
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::NotConnected,
            Stage::Head,
        ) => Fault::new(
            Kind::Reset,
            SubKind::Closed,
            "the server reset the connection",
        )
        .stale(),
        // Chunked framing: hyper reports it as an error of the input.
        (io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData, _) => Fault::new(
            Kind::Protocol,
            SubKind::Malformed,
            format!("the body's framing is broken: {error}"),
        ),
        _ => Fault::new(
            Kind::Reset,
            SubKind::Other,
            format!("the connection failed: {error}"),
        )
        .retryable(),
    }
}
