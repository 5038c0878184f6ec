//! The capability `http`: checks grants and budgets for requests.

use std::sync::Arc;

use futures::{StreamExt as _, TryStreamExt as _};
use orbweaver_core::limits::MAX_URL_BYTES;

use super::failure::{CallFailure, not_granted, not_offered};
use super::pages::HostPage;
use super::requests::RequestBudget;
use crate::error::{CodedError, ErrorCode, StopReason};
use crate::grants::{EffectivePermissions, Need};
use crate::host::Host;
use crate::host::http::{FetchRequest, ProxyChoice, SecretHeader};
use crate::host_tasks::HostTasks;
use crate::limits::Limits;
use crate::meter::Meter;

/// Most bytes of one request's headers together.
const MAX_HEADER_BYTES: usize = 64 << 10;

/// Most headers of one request.
const MAX_HEADERS: usize = 256;

/// What the host holds for a header besides its text.
const HEADER_OVERHEAD: usize = 2 * size_of::<String>() + 32;

/// Most secrets of one request.
const MAX_SECRETS: usize = 8;

/// The fields of a guest's `request`, common to all interfaces.
#[derive(Clone, Debug)]
pub(crate) struct GuestRequest {
    pub method: String,
    pub url: String,
    pub headers: Vec<(String, String)>,
    pub body: Option<Vec<u8>>,
    pub follow_redirects: bool,
    pub respect_robots: bool,
    pub timeout_ms: Option<u32>,
    pub proxy: Option<ProxyChoice>,
    pub secrets: Vec<SecretHeader>,
}

impl GuestRequest {
    fn header_bytes(&self) -> usize {
        let headers = self.headers.iter().map(|(n, v)| n.len() + v.len());
        let secrets = self.secrets.iter();
        let secrets = secrets.map(|s| s.name.len() + s.prefix.len() + s.secret.len());
        let proxy = self.proxy.iter();
        let proxy = proxy.map(|p| p.pool.len() + p.country.as_ref().map_or(0, String::len));
        headers.chain(secrets).chain(proxy).sum()
    }

    /// Bytes that the host holds while the request is in progress.
    fn held_bytes(&self) -> usize {
        let body = self.body.as_ref().map_or(0, Vec::len);
        let headers = self.headers.len() + self.secrets.len();
        self.url.len() + self.header_bytes() + headers * HEADER_OVERHEAD + body
    }
}

/// Access of one call to HTTP.
pub(crate) struct HttpCapability {
    host: Arc<dyn Host>,
    grants: Arc<EffectivePermissions>,
    requests: Arc<RequestBudget>,
    max_timeout_ms: u32,
    meter: Arc<Meter>,
}

impl HttpCapability {
    pub fn new(
        host: &Arc<dyn Host>,
        grants: &Arc<EffectivePermissions>,
        limits: &Limits,
        requests: &Arc<RequestBudget>,
        meter: &Arc<Meter>,
    ) -> Self {
        Self {
            host: Arc::clone(host),
            grants: Arc::clone(grants),
            requests: Arc::clone(requests),
            max_timeout_ms: u32::try_from(limits.wall_ms).unwrap_or(u32::MAX),
            meter: Arc::clone(meter),
        }
    }

    /// Sends one request.
    #[crate::boxed]
    pub async fn fetch(&self, request: GuestRequest) -> Result<HostPage, CallFailure> {
        // Thousands of requests may wait for their turn, each with a large body.
        let held = self.requests.hold(request.held_bytes())?;
        let request = self.checked(request)?;
        if self.host.http().is_none() {
            return Err(not_offered("HTTP").into());
        }
        self.requests
            .count(request.body.as_ref().map_or(0, Vec::len))?;
        let (host, requests) = (Arc::clone(&self.host), Arc::clone(&self.requests));
        let work = async move {
            let _held = held;
            let _slot = requests.slot().await?;
            let max_bytes = requests.bytes_left()?;
            let http = host.http().ok_or_else(|| not_offered("HTTP"))?;
            let page = http
                .fetch(FetchRequest {
                    max_bytes,
                    ..request
                })
                .await?;
            requests.receive(page)
        };
        HostTasks::current().run(&self.meter, work).await
    }

    /// Sends many requests, at most `concurrency` in parallel; answers are in their order.
    #[crate::boxed]
    pub async fn fetch_many(
        &self,
        requests: Vec<GuestRequest>,
        concurrency: u32,
    ) -> Result<Vec<Result<HostPage, CodedError>>, StopReason> {
        let calls = requests.into_iter().map(|request| self.fetch(request));
        collect(calls, self.requests.width(concurrency)).await
    }

    fn checked(&self, request: GuestRequest) -> Result<FetchRequest, CodedError> {
        if !matches!(request.method.as_str(), "GET" | "HEAD" | "POST") {
            return Err(CodedError::invalid(
                "method: must be GET, HEAD or POST".to_owned(),
            ));
        }
        if request.body.is_some() && request.method != "POST" {
            return Err(CodedError::invalid(format!(
                "body: a {} request has no body",
                request.method
            )));
        }
        if request.headers.len() > MAX_HEADERS {
            return Err(CodedError::invalid(format!(
                "headers: at most {MAX_HEADERS}"
            )));
        }
        if request.header_bytes() > MAX_HEADER_BYTES {
            return Err(CodedError::invalid(format!(
                "headers: at most {MAX_HEADER_BYTES} bytes"
            )));
        }
        check_url(&self.grants, &request.url)?;
        self.check_secrets(&request.secrets)?;
        check_names(&request.headers, &request.secrets)?;
        let headers = request.headers.into_iter();
        let headers = headers.map(|(name, value)| (name.to_ascii_lowercase(), value));
        Ok(FetchRequest {
            method: request.method,
            url: request.url,
            headers: headers.collect(),
            proxy: request.proxy,
            body: request.body,
            follow_redirects: request.follow_redirects,
            respect_robots: request.respect_robots,
            timeout_ms: request.timeout_ms.map(|ms| ms.min(self.max_timeout_ms)),
            max_bytes: 0,
            secrets: request.secrets,
            allowed: Arc::clone(&self.grants.http),
        })
    }
}

impl HttpCapability {
    fn check_secrets(&self, secrets: &[SecretHeader]) -> Result<(), CodedError> {
        if secrets.len() > MAX_SECRETS {
            return Err(CodedError::invalid(format!(
                "secrets: at most {MAX_SECRETS}"
            )));
        }
        for secret in secrets {
            if !self.grants.secrets.allows(&secret.secret) {
                return Err(not_granted(&self.grants, Need::Secret(&secret.secret)));
            }
        }
        Ok(())
    }
}

/// Refuses a header that is given as a secret and once more: a server may read either of them.
fn check_names(headers: &[(String, String)], secrets: &[SecretHeader]) -> Result<(), CodedError> {
    for (at, secret) in secrets.iter().enumerate() {
        let name = secret.name.as_str();
        let is_it = |other: &str| other.eq_ignore_ascii_case(name);
        if headers.iter().any(|(other, _)| is_it(other)) {
            return Err(CodedError::invalid(format!(
                "secrets[{at}].name: the header `{name}` is among `headers`, too"
            )));
        }
        if secrets.iter().take(at).any(|other| is_it(&other.name)) {
            return Err(CodedError::invalid(format!(
                "secrets[{at}].name: the header `{name}` is given twice"
            )));
        }
    }
    Ok(())
}

/// Refuses a URL that is not http or https, or that the grants do not allow.
pub(super) fn check_url(grants: &EffectivePermissions, url: &str) -> Result<(), CodedError> {
    // The host's rule for every URL, before one of megabytes is read several times.
    if url.len() > MAX_URL_BYTES {
        return Err(CodedError::new(
            ErrorCode::BlockedAddress,
            format!("the URL is longer than {MAX_URL_BYTES} bytes"),
        ));
    }
    let parsed = url::Url::parse(url).map_err(|e| CodedError::invalid(format!("url: {e}")))?;
    if !matches!(parsed.scheme(), "http" | "https") {
        return Err(CodedError::invalid("url: must be http or https".to_owned()));
    }
    if grants.http.allows(url) {
        return Ok(());
    }
    Err(CodedError::new(
        ErrorCode::NotGranted,
        match grants.http.is_empty() {
            true => format!("permission http: {}", grants.remedy(Need::Http)),
            false => grants.http.denial(url),
        },
    ))
}

/// Runs calls, `width` in parallel, and collects their answers in order. Ends at the first
/// call that stops the guest.
pub(super) async fn collect<F>(
    calls: impl Iterator<Item = F>,
    width: usize,
) -> Result<Vec<Result<HostPage, CodedError>>, StopReason>
where
    F: Future<Output = Result<HostPage, CallFailure>>,
{
    futures::stream::iter(calls)
        .buffered(width)
        .map(|answer| match answer {
            Ok(page) => Ok(Ok(page)),
            Err(CallFailure::Refused(error)) => Ok(Err(error)),
            Err(CallFailure::Stopped(reason)) => Err(reason),
        })
        .try_collect()
        .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_plain_or_a_secret_and_not_both() {
        let header = |name: &str| (name.to_owned(), "plain".to_owned());
        let secret = |name: &str| SecretHeader {
            name: name.to_owned(),
            prefix: String::new(),
            secret: "token".to_owned(),
        };
        let refused = |headers: &[&str], secrets: &[&str]| {
            let headers: Vec<_> = headers.iter().copied().map(header).collect();
            let secrets: Vec<_> = secrets.iter().copied().map(secret).collect();
            check_names(&headers, &secrets).err()
        };
        assert_eq!(
            refused(&["accept", "x-a", "x-a"], &["authorization", "x-b"]),
            None
        );
        for (headers, secrets, why) in [
            (
                &["Authorization"][..],
                &["x-b", "authorization"][..],
                "`headers`",
            ),
            (&[], &["X-Key", "x-key"], "twice"),
        ] {
            let error = refused(headers, secrets).unwrap();
            assert_eq!(error.code, ErrorCode::InvalidInput);
            assert_eq!(error.field.as_deref(), Some("secrets[1].name"));
            assert!(error.message.contains(why), "{error}");
        }
    }
}
