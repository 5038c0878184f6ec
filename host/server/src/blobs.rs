//! Opens the blob store that the configuration names.

use std::sync::Arc;
use std::time::Duration;

use orbweaver_accounts::clock::Clock;
use orbweaver_accounts::random;
use orbweaver_accounts::secret::Secret;
use orbweaver_core::setting::Millis;
use orbweaver_crawl::export::FetchTransport;
use orbweaver_fetch::{FetchConfig, Fetcher, Limits};
use orbweaver_store::blobs::{BlobOptions, Blobs, Credentials, Transport};
use orbweaver_store::{Options, Store};

use crate::config::Config;

/// Largest answer of the store: a whole segment.
const MAX_ANSWER: u64 = 96 << 20;

/// HTTP client of one blob store: a guarded fetcher of its own, with every address allowed, because
/// the operator configures the store, usually in the operator's own network. No client's request
/// has a part in the URLs: names of objects are made here.
fn transport(timeout: Millis) -> anyhow::Result<FetchTransport> {
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
    Ok(FetchTransport::new(
        fetcher,
        timeout.as_duration(),
        MAX_ANSWER,
    ))
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
    let transport: Arc<dyn Transport> = Arc::new(transport(settings.timeout_ms)?);
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
