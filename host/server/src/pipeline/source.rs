//! Where a scan's page comes from: the store, if it is young enough, else the network.

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use orbweaver_core::ids::PageId;
use orbweaver_core::user_agent;
use orbweaver_fetch::Request;
use orbweaver_store::{CacheQuery, CloudMode, NewPage, Principal};
use orbweaver_urls::KeyRules;
use url::Url;

use super::answers::PageKey;
use super::document::{Document, blocking};
use super::{ScanError, ScanSpec};
use crate::app::App;

/// A page, where it is known, and whether it is stored.
pub(super) struct Found {
    pub(super) document: Document,
    pub(super) page_key: PageKey,
    pub(super) row: Row,
}

/// The page's row in the store.
pub(super) enum Row {
    /// Still to be stored.
    New(Box<NewPage>),
    /// There already.
    Stored(PageId),
}

/// The oldest page that may answer; none where the caller wants it fetched.
pub(super) fn since(app: &App, spec: &ScanSpec) -> Option<DateTime<Utc>> {
    let seconds = spec.max_age_seconds?;
    let since = i64::try_from(seconds)
        .ok()
        .and_then(TimeDelta::try_seconds)
        .and_then(|age| app.clock.now().checked_sub_signed(age));
    Some(since.unwrap_or(DateTime::<Utc>::MIN_UTC))
}

/// The page of the store, if it is young enough, else of the network.
pub(super) async fn find(
    app: &App,
    principal: &Arc<Principal>,
    spec: &ScanSpec,
) -> Result<Found, ScanError> {
    check_mode(spec.cloud_mode)?;
    let project = principal.project;
    let url_key = key(&spec.url);
    // A rotated user agent is the same whatever came out of the rotation.
    let asked = spec
        .user_agent
        .as_deref()
        .filter(|agent| !user_agent::is_rotated(Some(agent)));
    let user_agent = asked.unwrap_or_default();
    let mode = stored_mode(spec.cloud_mode);
    let page_key = (project, url_key.clone(), user_agent.to_owned(), mode);
    if let Some(since) = since(app, spec) {
        let query = CacheQuery {
            url_key: &url_key,
            user_agent,
            cloud_mode: mode,
            since,
        };
        let stored = app.store.cached_page(project, &query).await?;
        let id = stored.as_ref().map(|page| page.id);
        let document = stored.and_then(|stored| Document::from_store(&app.store, project, stored));
        if let (Some(mut document), Some(id)) = (document, id) {
            document.url.clone_from(&spec.url);
            return Ok(Found {
                document,
                page_key,
                row: Row::Stored(id),
            });
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
        project,
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
    Ok(Found {
        document,
        page_key,
        row: Row::New(Box::new(page)),
    })
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
