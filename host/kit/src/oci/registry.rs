//! The distribution protocol of OCI registries, and their token authentication.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use bytes::Bytes;
use orbweaver_fetch::{FetchConfig, Fetcher, HopVerdict, Method, Request, Response};
use parking_lot::Mutex;
use serde::Deserialize;
use std::sync::Arc;
use url::Url;

use super::credentials::Credentials;
use super::reference::{Digest, Reference};

/// Longest time of a request: a component is a few megabytes.
const TIMEOUT: Duration = Duration::from_secs(300);
/// Largest manifest, by the specification of registries, and largest answer of another kind, in bytes.
pub(crate) const MAX_MANIFEST: u64 = 4 << 20;
const MAX_ANSWER: u64 = 256 << 10;
/// Longest message of a registry that is shown, in characters.
const MAX_SHOWN: usize = 300;

/// Where requests of docker's own registry go.
const DOCKER: (&str, &str) = ("docker.io", "registry-1.docker.io");

/// Registries, as one caller sees them.
pub struct Registry {
    fetcher: Fetcher,
    credentials: Credentials,
    is_plain: bool,
    /// Headers `authorization` by host, repository and what is done there.
    granted: Mutex<HashMap<(String, String, Access), String>>,
}

/// What is done in a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Access {
    Pull,
    Push,
}

impl Access {
    const fn scope(self) -> &'static str {
        match self {
            Self::Pull => "pull",
            Self::Push => "pull,push",
        }
    }
}

/// One request to a registry.
pub(crate) struct Call<'a> {
    pub method: Method,
    pub url: Url,
    pub reference: &'a Reference,
    pub access: Access,
    pub headers: Vec<(String, String)>,
    pub body: Option<Bytes>,
    pub max_bytes: u64,
}

/// The challenge of a registry that wants a token (distribution, "Token Authentication").
#[derive(Debug, Default, PartialEq, Eq)]
struct Challenge {
    realm: String,
    service: Option<String>,
}

#[derive(Deserialize)]
struct Token {
    token: Option<String>,
    access_token: Option<String>,
}

/// An error as registries write it.
#[derive(Deserialize)]
struct Errors {
    errors: Vec<OneError>,
}

#[derive(Deserialize)]
struct OneError {
    #[serde(default)]
    code: String,
    #[serde(default)]
    message: String,
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Registry")
    }
}

impl Registry {
    /// Registries by these settings of requests. With `is_plain`, a registry on this machine is spoken to by HTTP
    /// without TLS.
    ///
    /// # Errors
    /// When a setting cannot be used.
    pub fn new(config: &FetchConfig, credentials: Credentials, is_plain: bool) -> Result<Self> {
        let mut config = config.clone();
        config.limits.first_byte_ms.0 = u64::try_from(TIMEOUT.as_millis())?;
        config.limits.total_ms = config.limits.first_byte_ms;
        if is_plain {
            for net in ["127.0.0.0/8", "::1/128"] {
                config.allow_nets.push(net.parse()?);
            }
        }
        Ok(Self {
            fetcher: Fetcher::new(config)?,
            credentials,
            is_plain,
            granted: Mutex::default(),
        })
    }

    /// The URL of a path below a repository.
    pub(crate) fn url(&self, reference: &Reference, path: &str) -> Result<Url> {
        let (host, repository) = match reference.host.as_str() {
            host if host == DOCKER.0 => {
                let repository = match reference.repository.contains('/') {
                    true => reference.repository.clone(),
                    false => format!("library/{}", reference.repository),
                };
                (DOCKER.1, repository)
            }
            host => (host, reference.repository.clone()),
        };
        let scheme = if self.is_plain { "http" } else { "https" };
        let url = Url::parse(&format!("{scheme}://{host}/v2/{repository}/{path}"))?;
        if self.is_plain && !is_here(&url) {
            bail!("--plain-http is only for registries on this machine, and {host} is not one");
        }
        Ok(url)
    }

    /// Sends a request, with a token if the registry wants one. Any status is an answer.
    pub(crate) async fn send(&self, call: &Call<'_>) -> Result<Response> {
        let home = self.url(call.reference, "")?;
        // Uploads may go to another host, which has its own signature in the URL.
        let is_home = call.url.origin() == home.origin();
        let key = (
            call.reference.host.clone(),
            call.reference.repository.clone(),
            call.access,
        );
        let known = self.granted.lock().get(&key).cloned();
        let first = self.request(call, known.filter(|_| is_home)).await?;
        // Where the registry leads to, somebody else would name who gets its password.
        let is_its_own = Url::parse(&first.final_url).is_ok_and(|at| at.origin() == home.origin());
        if first.status != 401 || !is_home || !is_its_own {
            return Ok(first);
        }
        let challenge = first.headers.get("www-authenticate").unwrap_or_default();
        let Some(authorization) = self.authorize(call, challenge).await? else {
            return Ok(first);
        };
        self.granted.lock().insert(key, authorization.clone());
        self.request(call, Some(authorization)).await
    }

    async fn request(&self, call: &Call<'_>, authorization: Option<String>) -> Result<Response> {
        let mut headers = call.headers.clone();
        // The verified bytes are those that are stored.
        headers.push(("accept-encoding".to_owned(), "identity".to_owned()));
        if let Some(authorization) = authorization {
            headers.push(("authorization".to_owned(), authorization));
        }
        let is_read = matches!(call.method, Method::GET | Method::HEAD);
        let request = Request {
            headers,
            body: call.body.clone(),
            user_agent: Some(concat!("orbweaver/", env!("CARGO_PKG_VERSION")).to_owned()),
            // Blobs are often elsewhere; the guard checks where.
            follow_redirects: is_read,
            hop_check: Some(hop_check(self.is_plain)),
            timeout: Some(TIMEOUT),
            max_bytes: Some(call.max_bytes),
            ..Request::new(call.method.clone(), call.url.as_str())
        };
        let response = Box::pin(self.fetcher.fetch(request)).await;
        response.with_context(|| format!("{} {}", call.method, shown(&call.url)))
    }

    /// The header `authorization` that a challenge wants; `None` if there is none to give.
    async fn authorize(&self, call: &Call<'_>, challenge: &str) -> Result<Option<String>> {
        let basic = self.credentials.basic(&call.reference.host);
        let (scheme, rest) = challenge.split_once(' ').unwrap_or((challenge, ""));
        if scheme.eq_ignore_ascii_case("basic") {
            return Ok(basic);
        }
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Ok(None);
        }
        let challenge = Challenge::parse(rest);
        let mut realm = Url::parse(&challenge.realm).with_context(|| {
            format!(
                "{}: the address of its token service is not a URL",
                call.reference.host
            )
        })?;
        let is_safe = realm.scheme() == "https" || (self.is_plain && is_here(&realm));
        if !is_safe {
            bail!("{}: its token service is not https", call.reference.host);
        }
        // The repository as the registry knows it.
        let home = self.url(call.reference, "")?;
        let repository = home.path().trim_start_matches("/v2/").trim_end_matches('/');
        let scope = format!("repository:{repository}:{}", call.access.scope());
        {
            let mut query = realm.query_pairs_mut();
            query.append_pair("scope", &scope);
            if let Some(service) = &challenge.service {
                query.append_pair("service", service);
            }
        }
        let mut headers = vec![("accept".to_owned(), "application/json".to_owned())];
        headers.extend(basic.map(|basic| ("authorization".to_owned(), basic)));
        let request = Request {
            headers,
            follow_redirects: false,
            timeout: Some(TIMEOUT),
            max_bytes: Some(MAX_ANSWER),
            ..Request::get(realm.as_str())
        };
        let answer = Box::pin(self.fetcher.fetch(request)).await;
        let answer = answer.with_context(|| format!("token service {}", shown(&realm)))?;
        if answer.status != 200 {
            let why = message(&answer);
            bail!(
                "{} returned no token: {}{why}",
                shown(&realm),
                answer.status
            );
        }
        let token: Token = serde_json::from_slice(&answer.body)
            .with_context(|| format!("{} returned no token", shown(&realm)))?;
        Ok(token
            .token
            .or(token.access_token)
            .map(|token| format!("Bearer {token}")))
    }

    /// A blob, checked.
    pub(crate) async fn blob(
        &self,
        reference: &Reference,
        digest: &Digest,
        size: u64,
    ) -> Result<Bytes> {
        let answer = self
            .send(&Call {
                method: Method::GET,
                url: self.url(reference, &format!("blobs/{digest}"))?,
                reference,
                access: Access::Pull,
                headers: vec![("accept".to_owned(), "*/*".to_owned())],
                body: None,
                max_bytes: size,
            })
            .await?;
        if answer.status != 200 {
            bail!(
                "{reference}: cannot read blob {digest}: {}{}",
                answer.status,
                message(&answer)
            );
        }
        if answer.body.len() as u64 != size || Digest::of(&answer.body) != *digest {
            bail!(
                "{reference}: the registry returned a blob with another size or digest than {digest}"
            );
        }
        Ok(answer.body)
    }

    /// Stores a blob, unless it is there.
    pub(crate) async fn put_blob(
        &self,
        reference: &Reference,
        digest: &Digest,
        content: Bytes,
    ) -> Result<()> {
        let call = |method, url, body| Call {
            method,
            url,
            reference,
            access: Access::Push,
            headers: vec![(
                "content-type".to_owned(),
                "application/octet-stream".to_owned(),
            )],
            body,
            max_bytes: MAX_ANSWER,
        };
        let there = self.url(reference, &format!("blobs/{digest}"))?;
        if self.send(&call(Method::HEAD, there, None)).await?.status == 200 {
            return Ok(());
        }
        let start = self.url(reference, "blobs/uploads/")?;
        let begun = self
            .send(&call(Method::POST, start.clone(), Some(Bytes::new())))
            .await?;
        if begun.status != 202 {
            bail!(
                "{reference}: the registry refused to start the upload: {}{}",
                begun.status,
                message(&begun)
            );
        }
        let location = begun.headers.get("location").unwrap_or_default();
        let mut place = start
            .join(location)
            .with_context(|| format!("{reference}: the registry's upload location is not a URL"))?;
        if place.scheme() != start.scheme() {
            bail!("{reference}: its upload is not {}", start.scheme());
        }
        place
            .query_pairs_mut()
            .append_pair("digest", digest.as_str());
        let done = self.send(&call(Method::PUT, place, Some(content))).await?;
        if done.status != 201 {
            bail!(
                "{reference}: the registry did not store the blob: {}{}",
                done.status,
                message(&done)
            );
        }
        Ok(())
    }
}

impl Challenge {
    /// `realm="…",service="…",scope="…"`.
    fn parse(text: &str) -> Self {
        let mut challenge = Self::default();
        let mut rest = text;
        while let Some((name, after)) = rest.split_once('=') {
            let (value, after) = match after.strip_prefix('"') {
                Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
                None => after.split_once(',').unwrap_or((after, "")),
            };
            match name.trim_matches([',', ' ']).to_ascii_lowercase().as_str() {
                "realm" => challenge.realm = value.to_owned(),
                "service" => challenge.service = Some(value.to_owned()),
                _ => {}
            }
            rest = after;
        }
        challenge
    }
}

/// Redirects keep the scheme, or come to https.
fn hop_check(is_plain: bool) -> orbweaver_fetch::HopCheck {
    Arc::new(move |next: &str| {
        let is_safe = next.starts_with("https:")
            || (is_plain && Url::parse(next).is_ok_and(|url| is_here(&url)));
        match is_safe {
            true => HopVerdict::Follow,
            false => {
                HopVerdict::Refuse("the registry leads to a place that is not https".to_owned())
            }
        }
    })
}

/// Whether a URL's host is this machine.
fn is_here(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Ipv4(ip)) => ip.is_loopback(),
        Some(url::Host::Ipv6(ip)) => ip.is_loopback(),
        Some(url::Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

/// A URL without its query, which may have a signature.
fn shown(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.to_string()
}

/// What a registry says of an error, behind a colon.
pub(crate) fn message(answer: &Response) -> String {
    let Ok(errors) = serde_json::from_slice::<Errors>(&answer.body) else {
        return String::new();
    };
    let Some(first) = errors.errors.first() else {
        return String::new();
    };
    let text = format!(": {} {}", first.code, first.message);
    let text = text.chars().filter(|c| !c.is_control());
    text.take(MAX_SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_challenge_is_read_in_any_order() {
        let wanted = Challenge {
            realm: "https://auth.example/token?x=1,2".to_owned(),
            service: Some("registry.example".to_owned()),
        };
        for text in [
            r#"realm="https://auth.example/token?x=1,2",service="registry.example",scope="a:b:pull""#,
            r#"service=registry.example, Realm="https://auth.example/token?x=1,2""#,
        ] {
            assert_eq!(Challenge::parse(text), wanted, "{text}");
        }
        for text in ["", "realm", "realm=\"", "=", "a=b=c,"] {
            assert_eq!(Challenge::parse(text).service, None, "{text}");
        }
    }

    #[test]
    fn plain_http_is_for_this_machine_alone() {
        let registry = |is_plain| {
            Registry::new(&FetchConfig::default(), Credentials::default(), is_plain).unwrap()
        };
        let of = |text: &str| text.parse::<Reference>().unwrap();
        let url = |is_plain, text| registry(is_plain).url(&of(text), "manifests/1");
        let here = url(true, "oci://127.0.0.1:5000/a/b").unwrap();
        assert_eq!(here.as_str(), "http://127.0.0.1:5000/v2/a/b/manifests/1");
        assert!(url(true, "oci://ghcr.io/a").is_err());
        assert!(url(true, "oci://localhost.example/a").is_err());
        let there = url(false, "oci://docker.io/a").unwrap();
        let library = "https://registry-1.docker.io/v2/library/a/manifests/1";
        assert_eq!(there.as_str(), library);
    }

    #[test]
    fn a_redirect_never_leaves_https() {
        let follows = |is_plain, next| hop_check(is_plain)(next) == HopVerdict::Follow;
        assert!(follows(false, "https://blobs.example/x"));
        assert!(!follows(false, "http://blobs.example/x"));
        assert!(!follows(false, "http://127.0.0.1/x"));
        assert!(follows(true, "http://127.0.0.1/x"));
        assert!(!follows(true, "http://blobs.example/x"));
    }
}
