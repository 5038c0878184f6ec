//! Maps errors of the HTTP libraries to this crate's errors.

use std::error::Error;
use std::io;

use hyper_util::client::legacy;
use rustls::{AlertDescription, CertificateError};

use crate::client::socks::Refused;
use crate::client::{ConnectTimeout, Flood};
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
pub(crate) fn cause(error: &(dyn Error + 'static)) -> String {
    let mut last = error;
    while let Some(next) = last.source() {
        last = next;
    }
    last.to_string()
}

/// How HTTP/2's library says that a connection has brought too many empty or small pieces of bodies: it takes
/// a hundred empty ones. Servers that flush what they write send one with each response, so that this tells
/// nothing of the last one, which a new connection brings.
const SMALL_PIECES: &str = "too_many_data_frames";

pub(crate) fn fault(source: &(dyn Error + 'static), stage: Stage) -> Fault {
    if says(source, &[Flood::TEXT]) {
        let fault = Fault::new(Kind::Protocol, SubKind::Flood, Flood::TEXT);
        // A connection of HTTP/2 is shared: another request may have been the cause, which a connection
        // of its own tells.
        return match find::<h2::Error>(source) {
            Some(_) => fault.stale_only(),
            None => fault,
        };
    }
    if let Some(lookup) = find::<LookupError>(source) {
        return lookup_fault(lookup);
    }
    if let Some(tls) = find::<rustls::Error>(source) {
        return tls_fault(tls);
    }
    if find::<legacy::Error>(source).is_some_and(legacy::Error::is_connect) {
        return connect_fault(source);
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
                ResolveError::Busy => SubKind::Busy,
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

fn connect_fault(source: &(dyn Error + 'static)) -> Fault {
    if find::<ConnectTimeout>(source).is_some() {
        return Fault::new(Kind::Connect, SubKind::Timeout, "no connection in time").retryable();
    }
    if let Some(refused) = find::<Refused>(source) {
        return refused.fault();
    }
    if says(source, &["proxy authorization required"]) {
        return proxy_answer::wrong_credentials();
    }
    if says(source, &["tunnel"]) {
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
        _ => SubKind::Handshake,
    };
    Fault::new(Kind::Tls, sub, format!("TLS: {}", tls_words(error, sub)))
}

/// The cause in plain words, without names of libraries.
fn tls_words(error: &rustls::Error, sub: SubKind) -> String {
    use rustls::Error as E;
    match (error, sub) {
        (_, SubKind::Expired) => "the server's certificate has expired".to_owned(),
        (_, SubKind::NotYetValid) => "the server's certificate is not valid yet".to_owned(),
        (_, SubKind::WrongHost) => "the server's certificate is for another host name".to_owned(),
        (_, SubKind::Untrusted) => {
            "the server's certificate was issued by an authority that is not trusted".to_owned()
        }
        (_, SubKind::Revoked) => "the server's certificate is revoked".to_owned(),
        (_, SubKind::Version) => {
            "server and crawler have no TLS version or cipher suite in common".to_owned()
        }
        (E::InvalidCertificate(certificate), _) => certificate_words(certificate).to_owned(),
        (E::AlertReceived(alert), _) => {
            format!(
                "the server refused the handshake (alert {})",
                alert_words(*alert)
            )
        }
        (E::InvalidMessage(_), _) => "the server's answer is not TLS".to_owned(),
        (
            E::PeerMisbehaved(_)
            | E::InappropriateMessage { .. }
            | E::InappropriateHandshakeMessage { .. },
            _,
        ) => "the server violates the rules of the handshake".to_owned(),
        (E::NoCertificatesPresented, _) => "the server has no certificate".to_owned(),
        (E::DecryptError | E::PeerSentOversizedRecord, _) => {
            "the server's data cannot be decrypted".to_owned()
        }
        _ => "the handshake failed".to_owned(),
    }
}

/// What is wrong with a certificate that is neither out of date, untrusted, revoked nor for
/// another name. Of the checks of the chain, only the names of rustls-webpki's errors come
/// through.
fn certificate_words(error: &CertificateError) -> &'static str {
    use CertificateError as C;
    match error {
        C::BadEncoding => "the server's certificate is malformed",
        C::BadSignature => "the server's certificate has a wrong signature",
        C::UnhandledCriticalExtension => {
            "the server's certificate has a critical extension that is not known"
        }
        C::InvalidPurpose => "the server's certificate is not for servers",
        other => {
            let name = other.to_string();
            if name.contains("CaUsedAsEndEntity") {
                "the server uses a certificate authority's own certificate (most often one that \
                 it signed itself)"
            } else if name.contains("EndEntityUsedAsCa") {
                "the server's certificate was issued by one that is no authority's"
            } else if name.contains("UnsupportedCertVersion") {
                "the server's certificate is of an old version (X.509 v1 or v2)"
            } else if name.contains("UnsupportedSignatureAlgorithm") {
                "the server's certificate is signed by an algorithm that is not accepted"
            } else {
                "the server's certificate is not valid"
            }
        }
    }
}

/// The name of an alert as RFC 8446, section 6, writes it: `HandshakeFailure` is
/// `handshake_failure`.
fn alert_words(alert: AlertDescription) -> String {
    let (mut words, mut was_lower) = (String::new(), false);
    for c in format!("{alert:?}").chars() {
        if c.is_ascii_uppercase() && was_lower {
            words.push('_');
        }
        was_lower = c.is_ascii_lowercase();
        words.push(c.to_ascii_lowercase());
    }
    words
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
    // The library's reason for too many frames of any kind.
    if error.is_library() && error.reason() == Some(h2::Reason::ENHANCE_YOUR_CALM) {
        if error.to_string().contains(SMALL_PIECES) {
            return Fault::new(Kind::Protocol, SubKind::Flood, Flood::TEXT).stale_only();
        }
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
        let fault = Fault::new(
            Kind::Protocol,
            SubKind::Malformed,
            format!("the response is not HTTP: {error}"),
        );
        // On a connection that was used before, it may be the rest of an earlier response: some
        // servers send a body after a HEAD, a 204 or a 304.
        return Some(match stage {
            Stage::Head => fault.stale_only(),
            Stage::Body => fault,
        });
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn tls_failures_are_described_in_plain_words() {
        use rustls::{Error as E, OtherError};
        let chain = |name: &str| {
            let error = OtherError(Arc::new(io::Error::other(name.to_owned())));
            E::InvalidCertificate(CertificateError::Other(error))
        };
        for (error, sub, words) in [
            (
                E::InvalidCertificate(CertificateError::Expired),
                SubKind::Expired,
                "TLS: the server's certificate has expired",
            ),
            (
                chain("CaUsedAsEndEntity"),
                SubKind::BadCertificate,
                "TLS: the server uses a certificate authority's own certificate (most often one \
                 that it signed itself)",
            ),
            (
                chain("Surprise(1)"),
                SubKind::BadCertificate,
                "TLS: the server's certificate is not valid",
            ),
            (
                E::AlertReceived(AlertDescription::HandshakeFailure),
                SubKind::Handshake,
                "TLS: the server refused the handshake (alert handshake_failure)",
            ),
            (
                E::AlertReceived(AlertDescription::UnknownCA),
                SubKind::Handshake,
                "TLS: the server refused the handshake (alert unknown_ca)",
            ),
            (
                E::General("x".to_owned()),
                SubKind::Handshake,
                "TLS: the handshake failed",
            ),
        ] {
            let fault = tls_fault(&error);
            assert_eq!((fault.sub, fault.message.as_str()), (Some(sub), words));
        }
    }
}
