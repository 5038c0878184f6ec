//! What a backend is: a place that pages come from, the job it is given and what it gives.

use std::borrow::Cow;

use async_trait::async_trait;
use bytes::Bytes;
use orbweaver_fetch::{ProxyPool, ProxyUrl, RenderRequest, Rendered, Response};
use orbweaver_store::Principal;

use crate::error::ScanError;

/// What is said where nothing renders.
pub const NO_BROWSER: &str = "no browser is configured: install chromium-headless-shell or name one \
                              with --browser (setting browser)";
/// What is said where there is no provider.
pub const NO_VENDOR: &str =
    "no upstream provider is configured: set cloud.vendor_url and cloud.vendor_key";
/// What is said where nothing unblocks.
pub const NO_UNBLOCKER: &str = "nothing that unblocks is configured: set cloud.vendor_url and \
                                cloud.vendor_key, or fetch.proxy_pools together with a browser";

/// A page to load.
#[derive(Clone, Debug, Default)]
pub struct Job {
    /// Absolute, http or https, judged.
    pub url: String,
    /// User agent to send; none: the backend chooses.
    pub user_agent: Option<String>,
    /// In a browser, until this point.
    pub render: Option<WaitPoint>,
    /// With a picture of the whole page.
    pub picture: bool,
    /// ISO-2 code of the country to appear from.
    pub country: Option<String>,
    /// The proxy pool to go through; by default isp.
    pub pool: Option<ProxyPool>,
    /// The project's own proxy, for what this host fetches.
    pub proxy: Option<ProxyUrl>,
}

/// When a rendered page counts as loaded.
pub type WaitPoint = orbweaver_fetch::WaitFor;

/// Which backend is asked for.
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
    /// Whatever gets past challenges: the provider, else proxy pools with the browser.
    Unblock,
}

/// A page that was loaded.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// As a fetch's response, whichever backend it came from.
    pub response: Response,
    /// `local`, `proxy` or `vendor`.
    pub backend: &'static str,
    /// A browser rendered it.
    pub rendered: bool,
    /// The pool that it came through.
    pub pool: Option<ProxyPool>,
    /// Millionths of a US dollar.
    pub cost_micros: u64,
    /// PNG, if asked for, or why there is none.
    pub picture: Option<Result<Bytes, String>>,
    /// Where the backend was chosen here: what each that was tried gave, in order.
    pub reason: Option<String>,
}

/// What a backend can do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// It is configured.
    pub available: bool,
    /// Run a page's scripts.
    pub render: bool,
    /// Take pictures.
    pub picture: bool,
    /// Appear from a country.
    pub country: bool,
    /// Get past challenges.
    pub unblock: bool,
}

/// A place that pages come from.
#[async_trait]
pub trait Backend: Send + Sync {
    /// Its name in answers and logs.
    fn name(&self) -> &'static str;

    /// What it can do as it is configured.
    fn capabilities(&self) -> Capabilities;

    /// What to set, where it is not available or can't do what a job asks.
    fn missing(&self, job: &Job) -> Option<Cow<'static, str>>;

    /// Loads a page. A response of any status is a success.
    ///
    /// # Errors
    /// Why there is none.
    async fn load(&self, job: &Job) -> Result<Loaded, ScanError>;
}

/// The project's own proxy.
///
/// # Errors
/// When what is stored is no proxy's URL.
pub fn project_proxy(principal: &Principal) -> Result<Option<ProxyUrl>, ScanError> {
    principal
        .proxy_url
        .as_deref()
        .map(str::parse)
        .transpose()
        .map_err(|error| ScanError::Internal(format!("the project's proxy: {error}")))
}

/// A job as the browser takes it.
pub(super) fn render_request(
    job: &Job,
    wait_for: WaitPoint,
    proxy: Option<ProxyUrl>,
) -> RenderRequest {
    RenderRequest {
        wait_for,
        user_agent: job.user_agent.clone(),
        proxy,
        picture: job.picture,
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
        reason: None,
    }
}
