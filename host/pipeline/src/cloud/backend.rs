//! The backend interface: capabilities, the job given to a backend, and the page it returns.

use std::borrow::Cow;

use async_trait::async_trait;
use bytes::Bytes;
use orbweaver_core::ids::ProjectId;
use orbweaver_fetch::{
    FetchError, Fetcher, NoPicture, ProxyPool, ProxyUrl, RenderExtras, RenderRequest, Rendered,
    Request, Response,
};
use orbweaver_store::Principal;

use super::money::Spent;
use crate::error::ScanError;

/// Message where no browser is configured.
pub const NO_BROWSER: &str = "no browser is configured: install chromium-headless-shell or name one \
                              with --browser (setting browser)";
/// Message where no provider is configured.
pub const NO_VENDOR: &str =
    "no upstream provider is configured: set cloud.vendor_url and cloud.vendor_key";
/// Message where no unblocker is configured.
pub const NO_UNBLOCKER: &str = "nothing that unblocks is configured: set cloud.vendor_url and \
                                cloud.vendor_key, or fetch.proxy_pools together with a browser";

/// A page to load.
#[derive(Clone, Debug, Default)]
pub struct Job {
    /// Absolute URL, http or https, already accepted by the guard.
    pub url: String,
    /// User agent to send; `None`: the backend chooses.
    pub user_agent: Option<String>,
    /// Load it in a browser and wait for this point; `None`: plain HTTP.
    pub render: Option<WaitPoint>,
    /// Whether to take a screenshot.
    pub picture: bool,
    /// What a rendered page sends and waits for besides the usual.
    pub extras: RenderExtras,
    /// The name of the project's session whose cookies a rendered page shares.
    pub session: Option<String>,
    /// ISO 3166-1 alpha-2 code of the country to fetch from.
    pub country: Option<String>,
    /// Proxy pool to use; default isp.
    pub pool: Option<ProxyPool>,
    /// The project's own proxy, used by the local backend.
    pub proxy: Option<ProxyUrl>,
    /// Whether a plain request, and each of its redirects, must be allowed by robots.txt.
    pub respect_robots: bool,
    /// Whether a plain request follows refreshes as redirects.
    pub follow_refresh: bool,
    /// What loading it costs, also if it fails. Clones of the job count together.
    pub spent: Spent,
}

/// When a rendered page counts as loaded.
pub type WaitPoint = orbweaver_fetch::WaitFor;

/// The requested backend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// The cheapest that succeeds.
    #[default]
    Auto,
    /// This host.
    Local,
    /// A proxy pool.
    Proxy,
    /// The upstream provider.
    Vendor,
    /// Any that gets past challenges: the provider, else proxy pools with the browser.
    Unblock,
}

/// A loaded page.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The response, in the same form for all backends.
    pub response: Response,
    /// `local`, `proxy` or `vendor`.
    pub backend: &'static str,
    /// Whether a browser rendered it.
    pub rendered: bool,
    /// The proxy pool that was used.
    pub pool: Option<ProxyPool>,
    /// Cost in millionths of a US dollar, with that of pages that it replaced and of attempts that
    /// failed before it.
    pub cost_micros: u64,
    /// The screenshot, if requested, or why there is none.
    pub picture: Option<Result<Bytes, NoPicture>>,
    /// The screenshots of its actions.
    pub screenshots: Vec<Bytes>,
    /// Whether one of these shows only the beginning of what it is of.
    pub is_cut: bool,
    /// For `auto` and `unblock`: the result of each backend tried, in order.
    pub reason: Option<String>,
}

/// Capabilities of a backend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// Whether it is configured.
    pub available: bool,
    /// Whether it runs a page's scripts.
    pub render: bool,
    /// Whether it takes screenshots.
    pub picture: bool,
    /// Whether it can fetch from a chosen country.
    pub country: bool,
    /// Whether it gets past challenges.
    pub unblock: bool,
}

/// A place from which pages are loaded.
#[async_trait]
pub trait Backend: Send + Sync {
    /// Its name in answers and logs.
    fn name(&self) -> &'static str;

    /// Its capabilities with the current configuration.
    fn capabilities(&self) -> Capabilities;

    /// What to configure if it cannot do this job; `None` if it can.
    fn missing(&self, job: &Job) -> Option<Cow<'static, str>>;

    /// Loads a page for a project. A response of any status is a success. What is paid for it is
    /// added to the job's `spent`, whatever comes of it.
    ///
    /// # Errors
    /// Why the page could not be loaded.
    async fn load(&self, project: ProjectId, job: &Job) -> Result<Loaded, ScanError>;
}

/// The proxy that the project has configured for itself.
///
/// # Errors
/// When the stored value is not a proxy URL.
pub fn project_proxy(principal: &Principal) -> Result<Option<ProxyUrl>, ScanError> {
    principal
        .proxy_url
        .as_deref()
        .map(str::parse)
        .transpose()
        .map_err(|error| ScanError::Internal(format!("the project's proxy: {error}")))
}

/// The job as a request to the browser.
pub(super) fn render_request(
    project: ProjectId,
    job: &Job,
    wait_for: WaitPoint,
    proxy: Option<ProxyUrl>,
) -> RenderRequest {
    RenderRequest {
        project: Some(project),
        wait_for,
        user_agent: job.user_agent.clone(),
        proxy,
        picture: job.picture,
        extras: job.extras.clone(),
        ..RenderRequest::new(&job.url)
    }
}

pub(super) fn loaded(rendered: Rendered, backend: &'static str) -> Loaded {
    Loaded {
        response: rendered.response,
        backend,
        rendered: true,
        pool: None,
        cost_micros: 0,
        picture: rendered.picture,
        screenshots: rendered.screenshots,
        is_cut: rendered.is_cut,
        reason: None,
    }
}

/// The job as a plain request, by this proxy or none.
pub(super) fn plain_request(job: &Job, proxy: Option<ProxyUrl>) -> Request {
    Request {
        user_agent: job.user_agent.clone(),
        proxy,
        respect_robots: job.respect_robots,
        follow_refresh: job.follow_refresh,
        ..Request::get(&job.url)
    }
}

/// Loads a page over plain HTTP.
pub(super) async fn fetch_plain(
    fetcher: &Fetcher,
    project: ProjectId,
    request: Request,
    backend: &'static str,
) -> Result<Loaded, FetchError> {
    let fetcher = fetcher.of_project(project);
    Ok(Loaded {
        response: Box::pin(fetcher.fetch(request)).await?,
        backend,
        rendered: false,
        pool: None,
        cost_micros: 0,
        picture: None,
        screenshots: Vec::new(),
        is_cut: false,
        reason: None,
    })
}
