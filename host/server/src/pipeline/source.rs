//! Where a scan's page comes from: the store, if it is young enough, else the network.

use std::sync::Arc;

use chrono::TimeDelta;
use orbweaver_core::user_agent;
use orbweaver_fetch::Request;
use orbweaver_store::{CacheQuery, CloudMode, NewPage, Principal};
use orbweaver_urls::KeyRules;
use url::Url;

use super::document::{Document, blocking};
use super::{ScanError, ScanSpec};
use crate::app::App;

/// The page, and its row if it is not stored yet.
pub(super) async fn find(
    app: &App,
    principal: &Arc<Principal>,
    spec: &ScanSpec,
) -> Result<(Document, Option<NewPage>), ScanError> {
    check_mode(spec.cloud_mode)?;
    let url_key = key(&spec.url);
    // A rotated user agent is the same whatever came out of the rotation.
    let asked = spec
        .user_agent
        .as_deref()
        .filter(|agent| !user_agent::is_rotated(Some(agent)));
    let user_agent = asked.unwrap_or_default();
    let mode = stored_mode(spec.cloud_mode);
    if let Some(seconds) = spec.max_age_seconds {
        let since = i64::try_from(seconds)
            .ok()
            .and_then(TimeDelta::try_seconds)
            .and_then(|age| app.clock.now().checked_sub_signed(age))
            .unwrap_or(chrono::DateTime::<chrono::Utc>::MIN_UTC);
        let query = CacheQuery {
            url_key: &url_key,
            user_agent,
            cloud_mode: mode,
            since,
        };
        let stored = app.store.cached_page(principal.project, &query).await?;
        if let Some(mut document) =
            stored.and_then(|stored| Document::from_store(&app.store, principal.project, stored))
        {
            document.url.clone_from(&spec.url);
            return Ok((document, None));
        }
    }
    let request = Request {
        user_agent: asked.map(str::to_owned),
        proxy: proxy(principal)?,
        ..Request::get(&spec.url)
    };
    // Boxed: the fetch's state is large, and most scans of a batch wait here.
    let response = Box::pin(app.pipeline.fetcher.fetch(request)).await?;
    let fetched_at = app.clock.now();
    let (mut document, body) =
        blocking(move || Document::from_response(response, fetched_at)).await?;
    document.url.clone_from(&spec.url);
    let page = NewPage {
        project: principal.project,
        run: None,
        url: spec.url.clone(),
        url_key,
        final_url: document.final_url.clone(),
        status: document.status,
        bytes: document.bytes,
        fetched_at,
        content_hash: Some(document.content_hash.clone()),
        kind: document.kind,
        user_agent: user_agent.to_owned(),
        cloud_mode: mode,
        headers: serde_json::to_string(&document.headers)
            .map_err(|error| ScanError::Internal(error.to_string()))?,
        metadata: None,
        body: Some(body),
    };
    Ok((document, Some(page)))
}

/// Modes that need a backend which this build does not have are refused, never ignored.
pub(super) fn check_mode(mode: CloudMode) -> Result<(), ScanError> {
    match mode {
        CloudMode::None | CloudMode::Auto => Ok(()),
        CloudMode::Browser => Err(ScanError::NotConfigured(
            "cloud_mode: browser needs a browser backend, and none is configured; use none or auto",
        )),
        CloudMode::Unblocker => Err(ScanError::NotConfigured(
            "cloud_mode: unblocker needs a vendor or proxy pools with a browser, and none is \
             configured; use none or auto",
        )),
    }
}

/// `auto` is stored as what it came to, so that both share their pages.
const fn stored_mode(mode: CloudMode) -> CloudMode {
    match mode {
        CloudMode::Auto => CloudMode::None,
        other => other,
    }
}

/// The key under which a URL's pages are found again. Parameters stay: a scan names the
/// page it wants.
fn key(url: &str) -> String {
    Url::parse(url).map_or_else(
        |_| url.to_owned(),
        |url| {
            orbweaver_urls::key(
                &url,
                KeyRules {
                    drop_tracking: false,
                },
            )
        },
    )
}

fn proxy(principal: &Principal) -> Result<Option<orbweaver_fetch::ProxyUrl>, ScanError> {
    principal
        .proxy_url
        .as_deref()
        .map(str::parse)
        .transpose()
        .map_err(|error| ScanError::Internal(format!("the project's proxy: {error}")))
}
