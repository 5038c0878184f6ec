//! Gets a scan's page: from the store if it is young enough, else from the network.

use std::sync::Arc;

use bytes::Bytes;
use chrono::{DateTime, TimeDelta, Utc};
use orbweaver_core::ids::PageId;
use orbweaver_core::key_hash::url_key;
use orbweaver_core::user_agent;
use orbweaver_fetch::NoPicture;
use orbweaver_store::{CacheQuery, CloudMode, NewPage, Principal};
use orbweaver_urls::KeyRules;

use crate::blocking::blocking_of;
use crate::charge::Charge;
use crate::cloud::backend::{
    Choice, Job, Loaded, NO_BROWSER, NO_UNBLOCKER, WaitPoint, project_proxy,
};
use crate::cloud::detect::Verdict;
use crate::context::Scans;
use crate::document::Document;
use crate::error::ScanError;
use crate::kept_agent::kept_agent;
use crate::kept_answers::PageKey;
use crate::roles::RoleError;
use crate::spec::ScanSpec;

/// A page and its row in the store.
pub(super) struct SourcedPage {
    pub(super) document: Document,
    pub(super) page_key: PageKey,
    pub(super) row: PageRow,
    /// The screenshot taken with the page, if requested.
    pub(super) picture: Option<Result<Bytes, NoPicture>>,
    /// The screenshots of its actions.
    pub(super) screenshots: Vec<Bytes>,
    /// Whether one of these shows only the beginning of what it is of.
    pub(super) is_cut: bool,
    /// Why `auto` did not render a page that needs it.
    pub(super) unrendered: Option<RoleError>,
}

/// The page's row in the store.
pub(super) enum PageRow {
    /// To be stored at the end of the scan.
    New(Box<NewPage>),
    /// Already stored.
    Stored(PageId),
}

/// The role under which a page that `auto` did not render is reported.
const MODE_ROLE: &str = "cloud_mode";

/// The oldest acceptable time of a stored page; `None` if the page must be fetched.
pub(super) fn since(scans: &Scans, spec: &ScanSpec) -> Option<DateTime<Utc>> {
    let seconds = spec
        .max_age_seconds
        .filter(|_| !spec.browsing.takes_screenshots())?;
    let since = i64::try_from(seconds)
        .ok()
        .and_then(TimeDelta::try_seconds)
        .and_then(|age| scans.clock.now().checked_sub_signed(age));
    Some(since.unwrap_or(DateTime::<Utc>::MIN_UTC))
}

/// Gets the page from the store if it is young enough, else from the backend of the mode.
/// Adds its cost to the charge.
pub(super) async fn find(
    scans: &Scans,
    principal: &Arc<Principal>,
    spec: &ScanSpec,
    charge: &mut Charge,
) -> Result<SourcedPage, ScanError> {
    let project = principal.project;
    let url_key = key(&spec.url);
    let asked = spec
        .user_agent
        .as_deref()
        .filter(|agent| !user_agent::is_rotated(Some(agent)));
    if let Some(since) = since(scans, spec) {
        for &mode in stored_modes(spec) {
            let user_agent = &kept_agent(spec, mode);
            let query = CacheQuery {
                url_key: &url_key,
                user_agent,
                cloud_mode: mode,
                since,
            };
            let stored = scans.store.cached_page(project, &query).await?;
            let id = stored.as_ref().map(|page| page.id);
            let document =
                stored.and_then(|stored| Document::from_store(&scans.store, project, stored));
            if let (Some(mut document), Some(id)) = (document, id) {
                document.url.clone_from(&spec.url);
                let unrendered = match (spec.cloud_mode, mode) {
                    (CloudMode::Auto, CloudMode::None) => match document.verdict().await? {
                        Verdict::Good => None,
                        // To be rendered, as if it were not stored.
                        _ if scans.cloud.has_browser() => continue,
                        verdict => Some(unrendered(verdict, "not-configured", NO_BROWSER)),
                    },
                    _ => None,
                };
                charge.came_by(mode);
                return Ok(SourcedPage {
                    document,
                    page_key: PageKey::new(project, &url_key, user_agent, mode),
                    row: PageRow::Stored(id),
                    picture: None,
                    screenshots: Vec::new(),
                    is_cut: false,
                    unrendered,
                });
            }
        }
    }
    // Boxed: the fetch's state is large, and many scans of a batch wait here.
    let got = Box::pin(load(scans, principal, spec, asked, charge)).await?;
    let (loaded, mode) = (got.loaded, got.mode);
    charge.came_by(mode);
    let (picture, screenshots, is_cut) = (loaded.picture, loaded.screenshots, loaded.is_cut);
    let fetched_at = scans.clock.now();
    let bytes = loaded.response.body.len();
    let read = move || Document::from_response(loaded.response, fetched_at);
    let (mut document, body) = blocking_of(bytes, read).await?;
    document.url.clone_from(&spec.url);
    let user_agent = kept_agent(spec, mode);
    let page_key = PageKey::new(project, &url_key, &user_agent, mode);
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
        user_agent,
        cloud_mode: mode,
        headers: serde_json::to_string(&document.headers)
            .map_err(|error| ScanError::Internal(error.to_string()))?,
        metadata: None,
        body: Some(body),
    };
    Ok(SourcedPage {
        document,
        page_key,
        row: PageRow::New(Box::new(page)),
        picture,
        screenshots,
        is_cut,
        unrendered: got.unrendered,
    })
}

/// A page from a backend.
struct Got {
    loaded: Loaded,
    /// The mode used, to which `auto` resolved.
    mode: CloudMode,
    /// Why `auto` did not render a page that needs it.
    unrendered: Option<RoleError>,
}

impl Got {
    fn by(mode: CloudMode, loaded: Loaded) -> Self {
        Self {
            loaded,
            mode,
            unrendered: None,
        }
    }

    /// The answer to a plain request, whose page needs a browser.
    fn unrendered(loaded: Loaded, verdict: Verdict, code: &'static str, why: &str) -> Self {
        Self {
            unrendered: Some(unrendered(verdict, code, why)),
            ..Self::by(CloudMode::None, loaded)
        }
    }
}

/// Why a page that needs a browser is not rendered.
fn unrendered(verdict: Verdict, code: &'static str, why: &str) -> RoleError {
    RoleError {
        role: MODE_ROLE.to_owned(),
        plugin: None,
        code: code.into(),
        message: format!("the page needs a browser ({verdict}), but is not rendered: {why}"),
    }
}

/// Loads the page.
async fn load(
    scans: &Scans,
    principal: &Arc<Principal>,
    spec: &ScanSpec,
    user_agent: Option<&str>,
    charge: &mut Charge,
) -> Result<Got, ScanError> {
    let (cloud, mode, project) = (&scans.cloud, spec.cloud_mode, principal.project);
    let plain = Job {
        url: spec.url.clone(),
        user_agent: user_agent.map(str::to_owned),
        proxy: project_proxy(principal)?,
        follow_refresh: spec.follow_refresh,
        spent: charge.spent.clone(),
        ..Job::default()
    };
    let browsing = &spec.browsing;
    let rendered = Job {
        render: Some(browsing.point(WaitPoint::Load)),
        picture: spec.content.screenshot && cloud.has_browser(),
        extras: browsing.extras(&spec.url),
        session: browsing.session.clone(),
        ..plain.clone()
    };
    match mode {
        CloudMode::None => Ok(Got::by(
            mode,
            cloud.load(project, Choice::Local, &plain).await?,
        )),
        CloudMode::Browser => {
            let here = cloud.has_browser() || browsing.needs_browser();
            let choice = if here { Choice::Local } else { Choice::Vendor };
            let mut job = rendered;
            with_picture(scans, principal, &mut job, charge).await;
            Ok(Got::by(mode, cloud.load(project, choice, &job).await?))
        }
        CloudMode::Unblocker => {
            let job = Job {
                render: None,
                picture: false,
                ..rendered
            };
            let page = cloud.load(project, Choice::Unblock, &job).await?;
            Ok(Got::by(mode, page))
        }
        // The request can't be served without a browser.
        CloudMode::Auto if browsing.needs_browser() => {
            charge.reserve_cloud(scans, principal.project).await?;
            let mut job = rendered;
            with_picture(scans, principal, &mut job, charge).await;
            let page = cloud.load(project, Choice::Local, &job).await?;
            Ok(Got::by(CloudMode::Browser, page))
        }
        CloudMode::Auto => {
            let page = cloud.load(project, Choice::Local, &plain).await?;
            let verdict = page.verdict().await?;
            if verdict == Verdict::Good {
                return Ok(Got::by(CloudMode::None, page));
            }
            // Without a browser, or if a cap forbids it, the plain page is the answer.
            if !cloud.has_browser() {
                return Ok(Got::unrendered(page, verdict, "not-configured", NO_BROWSER));
            }
            if let Err(error) = charge.reserve_cloud(scans, project).await {
                let why = error.to_string();
                return Ok(Got::unrendered(page, verdict, "cap", &why));
            }
            tracing::info!(
                cloud.verdict = %verdict,
                "a scan retries in the browser"
            );
            let mut job = Job {
                render: Some(WaitPoint::NetworkIdle),
                ..rendered
            };
            with_picture(scans, principal, &mut job, charge).await;
            match cloud.load(project, Choice::Local, &job).await {
                Ok(page) => Ok(Got::by(CloudMode::Browser, page)),
                Err(error @ ScanError::Refused(_)) => Err(error),
                Err(error) => {
                    tracing::info!(%error, "the browser failed");
                    let why = match &error {
                        ScanError::Internal(_) => "internal error".to_owned(),
                        error => error.to_string(),
                    };
                    Ok(Got::unrendered(page, verdict, "failed", &why))
                }
            }
        }
    }
}

/// Asks for a screenshot with the page only if its own cloud page can be reserved. If not,
/// the scan later reports why there is none.
async fn with_picture(scans: &Scans, principal: &Principal, job: &mut Job, charge: &mut Charge) {
    job.picture = job.picture && charge.reserve_cloud(scans, principal.project).await.is_ok();
}

/// Refuses modes whose backend is not configured.
pub(super) fn check_mode(scans: &Scans, mode: CloudMode) -> Result<(), ScanError> {
    let cloud = &scans.cloud;
    let missing = match mode {
        CloudMode::None | CloudMode::Auto => None,
        CloudMode::Browser => {
            (!cloud.has_browser() && !cloud.vendor().is_configured()).then_some(NO_BROWSER)
        }
        CloudMode::Unblocker => (!cloud.can_unblock()).then_some(NO_UNBLOCKER),
    };
    match missing {
        Some(what) => Err(ScanError::NotConfigured(
            format!("cloud_mode: {mode}: {what}").into(),
        )),
        None => Ok(()),
    }
}

/// The stored modes that answer a scan: `auto` is stored as the mode it resolved to.
fn stored_modes(spec: &ScanSpec) -> &'static [CloudMode] {
    match spec.cloud_mode {
        CloudMode::Auto if spec.browsing.needs_browser() => &[CloudMode::Browser],
        CloudMode::Auto => &[CloudMode::Browser, CloudMode::None],
        CloudMode::None => &[CloudMode::None],
        CloudMode::Browser => &[CloudMode::Browser],
        CloudMode::Unblocker => &[CloudMode::Unblocker],
    }
}

/// The key under which a URL's pages are stored. Query parameters are kept: a scan asks for
/// exactly this page.
fn key(url: &str) -> String {
    url_key(
        url,
        KeyRules {
            drop_tracking: false,
        },
    )
}
