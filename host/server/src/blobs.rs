//! Opens the blob store that the configuration names.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Response};
use orbweaver_accounts::clock::Clock;
use orbweaver_accounts::random;
use orbweaver_accounts::secret::Secret;
use orbweaver_core::setting::Millis;
use orbweaver_fetch::{FetchConfig, FetchError, Fetcher, Kind, Limits, Request};
use orbweaver_store::blobs::{
    BlobOptions, Blobs, Credentials, Transport, TransportError, TransportErrorKind,
};
use orbweaver_store::{Options, Store};

use crate::config::Config;

/// Largest answer of the store: a whole segment.
const MAX_ANSWER: u64 = 96 << 20;

/// HTTP client of one blob store: a guarded fetcher of its own, with every address allowed, because
/// the operator configures the store, usually in the operator's own network. No client's request
/// has a part in the URLs: names of objects are made here.
struct Client {
    fetcher: Fetcher,
    timeout: Duration,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").finish_non_exhaustive()
    }
}

impl Client {
    fn new(timeout: Millis) -> anyhow::Result<Self> {
        let everywhere = ["0.0.0.0/0", "::/0"].into_iter().map(str::parse);
        let fetcher = Fetcher::new(FetchConfig {
            allow_nets: everywhere.collect::<Result<_, _>>()?,
            limits: Limits {
                first_byte_ms: timeout,
                total_ms: timeout,
                max_body_bytes: MAX_ANSWER,
                ..Limits::default()
            },
            ..FetchConfig::default()
        })?;
        Ok(Self {
            fetcher,
            timeout: timeout.as_duration(),
        })
    }
}

#[async_trait]
impl Transport for Client {
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
            ..Request::new(head.method, head.uri.to_string())
        };
        let answer = self.fetcher.fetch(request).await.map_err(failure)?;
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

fn failure(error: FetchError) -> TransportError {
    let kind = match error.kind {
        Kind::Dns | Kind::Connect | Kind::Tls => TransportErrorKind::Connect,
        Kind::Timeout | Kind::Slow => TransportErrorKind::Timeout,
        Kind::IncompleteBody | Kind::Reset | Kind::Protocol => TransportErrorKind::Interrupted,
        _ => TransportErrorKind::Other,
    };
    TransportError {
        kind,
        message: error.to_string(),
    }
}

/// The blob store, if one is configured. Sends no request.
///
/// # Errors
/// Names the setting and what to correct.
pub fn open(config: &Config, clock: &Clock) -> anyhow::Result<Option<Blobs>> {
    let Some(url) = config.blobs.clone() else {
        return Ok(None);
    };
    let settings = &config.blob_store;
    let pair = (&settings.access_key_id, &settings.secret_access_key);
    let credentials = match pair {
        (Some(id), Some(secret)) => Some(Credentials {
            access_key_id: id.clone(),
            secret_access_key: secret.expose().to_owned(),
            session_token: settings
                .session_token
                .as_ref()
                .map(Secret::expose)
                .map(str::to_owned),
        }),
        _ => None,
    };
    let clock = clock.clone();
    let hours = |count: u32| Duration::from_secs(3_600).saturating_mul(count);
    let minutes = |count: u32| Duration::from_secs(60).saturating_mul(count);
    let transport: Arc<dyn Transport> = Arc::new(Client::new(settings.timeout_ms)?);
    let blobs = Blobs::open(BlobOptions {
        url,
        credentials,
        new_bodies: settings.new_bodies,
        timeout: settings.timeout_ms.as_duration(),
        least_segment: (settings.least_segment_kib as usize) << 10,
        pack_after: settings.pack_after_seconds.as_duration(),
        keep_deleted: hours(settings.keep_deleted_hours),
        orphan_age: minutes(settings.orphan_minutes),
        now: Arc::new(move || clock.now()),
        node: random::seed(),
        transport: Some(transport),
    })?;
    Ok(Some(blobs))
}

/// Opens the database with its blob store.
///
/// # Errors
/// Says what is missing or wrong, and how to fix it.
pub async fn open_store(config: &Config, clock: &Clock) -> anyhow::Result<Store> {
    let options = Options {
        blobs: open(config, clock)?,
        ..config.store_options()
    };
    Ok(Store::open(&options).await?)
}
