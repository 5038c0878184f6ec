//! Renders a page of a run.

use std::sync::Arc;
use std::time::Duration;

use orbweaver_accounts::quota::Reservation;
use orbweaver_fetch::{FetchError, Kind, MayRequest, Receives, RenderExtras, Response};
use orbweaver_pipeline::cloud::backend::{Choice, Job};
use orbweaver_pipeline::cloud::detect::Verdict;
use orbweaver_pipeline::cloud::{verdict, verdict_of_stored};
use orbweaver_pipeline::{FailureKind, ScanError};
use orbweaver_store::Amount;
use orbweaver_store::crawl::PreviousPage;
use orbweaver_urls::Resolved;

use crate::entry::{Entry, host_key};
use crate::render::RenderMode;
use crate::shared::Shared;

/// A page that a browser rendered.
pub(crate) struct RenderedPage {
    pub response: Response,
    /// The cloud page that it is billed to; none in a run that reserves cloud pages itself.
    pub reserved: Option<Reservation>,
}

/// Whether a fetched page needs a browser; the run remembers it for its host.
pub(crate) async fn needs_browser(shared: &Shared, response: &Response) -> Result<bool, ScanError> {
    let verdict = verdict(response, false).await?;
    Ok(noted(shared, &response.final_url, verdict))
}

/// Same as [`needs_browser`], for the page that an earlier run has stored without one.
pub(crate) async fn stored_needs_browser(
    shared: &Shared,
    page: &PreviousPage,
) -> Result<bool, ScanError> {
    let (store, project) = (&shared.crawls.store, shared.lease.project);
    let verdict = verdict_of_stored(store, project, page).await?;
    Ok(noted(shared, &page.final_url, verdict))
}

fn noted(shared: &Shared, url: &str, verdict: Verdict) -> bool {
    let needs = verdict != Verdict::Good;
    // A challenge says nothing about how the site makes its pages.
    if !matches!(verdict, Verdict::Challenge(_)) {
        shared.rendering.note(url, needs);
    }
    needs
}

/// Renders an entry's page, which leads only to documents that `may_request` allows.
///
/// # Errors
/// Why there is no page. In a run that renders only some pages, a cap of cloud pages is an error,
/// too.
pub(crate) async fn render(
    shared: &Arc<Shared>,
    entry: &Entry,
    user_agent: &str,
    may_request: MayRequest,
) -> Result<RenderedPage, FetchError> {
    let failed = |error: ScanError| fetch_error(&entry.url, error);
    let reserved = match shared.spec.render {
        RenderMode::Always => None,
        RenderMode::Auto | RenderMode::Never => {
            let project = shared.lease.project;
            let quota = &shared.crawls.quota;
            let reserved = quota.reserve(project, Amount::cloud(1)).await;
            Some(reserved.map_err(|error| failed(error.into()))?)
        }
    };
    let spec = &shared.spec;
    let wait = spec.wait_for.clone().unwrap_or_default();
    let is_trusted = shared.trusts(&entry.url);
    let receives = receives(shared, &entry.url);
    let job = Job {
        url: entry.url.clone(),
        user_agent: Some(user_agent.to_owned()),
        render: Some(wait.point()),
        proxy: shared.proxy.clone(),
        pool: spec.proxy_pool,
        country: spec.proxy_country.clone(),
        extras: RenderExtras {
            headers: shared.headers(true),
            receives: Some(receives),
            may_request: Some(may_request),
            cookies: spec.cookies.clone().filter(|_| is_trusted),
            selector: wait.selector,
            pause: wait.milliseconds.map(Duration::from_millis),
            actions: spec.actions.clone(),
            ..RenderExtras::default()
        },
        session: spec.session.clone(),
        ..Job::default()
    };
    let through_pool = shared.proxy.is_none() && spec.proxy_pool.is_some();
    let choice = match through_pool {
        true => Choice::Proxy,
        false => Choice::Local,
    };
    let cloud = &shared.crawls.cloud;
    let loaded = cloud.load(shared.lease.project, choice, &job).await;
    Ok(RenderedPage {
        response: loaded.map_err(failed)?.response,
        reserved,
    })
}

/// Which URLs of a page receive the run's headers: those that a fetch would send them to. Of a
/// list, these are the URLs of the page's own host.
fn receives(shared: &Arc<Shared>, page: &str) -> Receives {
    let shared = Arc::clone(shared);
    let own = Resolved::parse(page).map(|url| host_key(&url));
    Receives(Arc::new(move |url| {
        let host = || Resolved::parse(url).map(|url| host_key(&url));
        shared.trusts(url) && (!shared.spec.list || host() == own)
    }))
}

/// A failure of rendering in the form of a fetch's.
fn fetch_error(url: &str, error: ScanError) -> FetchError {
    let (kind, retryable) = match &error {
        ScanError::Refused(_) => (Kind::Refused, false),
        ScanError::Field(_) => (Kind::InvalidRequest, false),
        ScanError::Fetch {
            kind: FailureKind::Fetch(kind),
            ..
        } => (
            *kind,
            matches!(
                kind,
                Kind::Timeout | Kind::Reset | Kind::Slow | Kind::Connect | Kind::IncompleteBody
            ),
        ),
        ScanError::Busy { .. } => (Kind::Browser, true),
        _ => (Kind::Browser, false),
    };
    FetchError {
        kind,
        sub: None,
        message: error.to_string(),
        url: url.to_owned(),
        retryable,
        redirects: Vec::new(),
        wire_bytes: 0,
    }
}
