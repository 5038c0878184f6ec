//! A page through the configured extractors: fetched or taken from the store, decoded and
//! parsed once, every role in one call, the answer put together from the plugins' own JSON.

mod answer;
mod answers;
mod document;
mod json;
mod picture;
mod results;
mod roles;
mod site;
mod source;
mod stored;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context as _;
use bytes::Bytes;
use orbweaver_core::ids::ProjectId;
use orbweaver_engine::Engine;
use orbweaver_fetch::{FetchError, Fetcher, Kind as FetchKind, Resolver, SubKind, SystemResolver};
use orbweaver_store::{Amount, CloudMode, NewUsage, Principal, StoreError};
use url::Url;

use answers::Kept;
use source::{Found, Row};

pub use answer::{Picture, assemble};
pub use document::{Document, blocking};
pub use roles::{Outcome, RoleError, RoleRequest};
pub use site::Site;
pub use stored::{Parts, StoredError};

use crate::accounts::quota::{QuotaError, Reservation};
use crate::app::App;
use crate::config::Config;

/// The way of a page through fetcher and plugins. Cheap to clone.
#[derive(Clone)]
pub struct Pipeline {
    /// The only way out.
    pub fetcher: Fetcher,
    /// The plugins.
    pub engine: Engine,
    results: results::ResultCache,
    answers: answers::Answers,
    policies: site::Policies,
    /// Extractors that run for every page.
    extras: Arc<[String]>,
}

impl Pipeline {
    /// As the configuration says, plugins loaded and their folder watched. A plugin that is
    /// refused is logged and does not keep the others from serving.
    ///
    /// # Errors
    /// A setting that cannot be used.
    pub async fn start(config: &Config) -> anyhow::Result<Self> {
        Self::with_resolver(config, Arc::new(SystemResolver)).await
    }

    /// As [`start`](Self::start), with names resolved by `resolver`. Its answers are judged
    /// as the system's are.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub async fn with_resolver(
        config: &Config,
        resolver: Arc<dyn Resolver>,
    ) -> anyhow::Result<Self> {
        let mut fetch = config.fetch.clone();
        fetch.allow_nets.extend(config.allow_nets()?);
        let mut plugins = config.plugins.clone();
        plugins
            .cache_dir
            .get_or_insert_with(|| config.compiled_dir());
        plugins.plugin_dir = Some(config.plugin_dir());
        let fetcher = Fetcher::with_resolver(fetch, resolver).context("fetch")?;
        let engine = Engine::new(plugins)?;
        let report = engine.load_dir().await;
        for (file, why) in &report.refused {
            tracing::error!(file = %file.display(), reason = %why, "a plugin is not loaded");
        }
        tracing::info!(
            plugins = report.loaded.len(),
            folder = %config.plugin_dir().display(),
            "plugins are loaded"
        );
        engine.watch();
        // One half for what extractors returned, one for whole answers.
        let half = config.scan.result_cache_mib << 19;
        Ok(Self {
            fetcher,
            engine,
            results: results::ResultCache::new(half),
            answers: answers::Answers::new(half),
            policies: site::Policies::default(),
            extras: config.scan.extractors.clone().into(),
        })
    }
}

/// A scan that passed validation.
#[derive(Clone, Debug)]
pub struct ScanSpec {
    /// Absolute, http or https, as it was asked for.
    pub url: String,
    /// User agent to send; none: the service chooses.
    pub user_agent: Option<String>,
    /// A stored page younger than this answers.
    pub max_age_seconds: Option<u64>,
    /// Where the page may come from.
    pub cloud_mode: CloudMode,
    /// What to extract.
    pub content: Content,
}

/// What a scan's answer has in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Content {
    /// No Markdown, no article.
    pub metadata_only: bool,
    /// Markdown without navigation, footer and sidebars.
    pub only_main_content: bool,
    /// The page's links.
    pub include_links: bool,
    /// A picture of the page.
    pub screenshot: bool,
    /// Extractors beyond the contract's.
    pub extractors: Vec<String>,
}

/// Under what a scan is billed.
#[derive(Debug)]
pub struct Bill {
    /// Unique per chargeable call.
    pub token: String,
    /// Which call.
    pub call: &'static str,
    /// Billed even without a response.
    pub always: bool,
    /// What is set aside for it already; `None`: the scan reserves for itself.
    pub reserved: Option<Reservation>,
}

/// What a scan costs once it is done.
struct Charge {
    reserved: Reservation,
    /// Set aside later, for what turned out to be needed besides; given back when the
    /// usage is booked.
    besides: Vec<Reservation>,
    token: String,
    call: &'static str,
    amount: Amount,
    cost_micros: u64,
}

impl Charge {
    fn usage(&mut self) -> NewUsage {
        self.reserved
            .usage(self.token.clone(), self.call, self.amount, self.cost_micros)
    }

    /// Sets one more cloud page aside.
    async fn reserve_cloud(&mut self, app: &App, project: ProjectId) -> Result<(), QuotaError> {
        let more = Amount::cloud(1);
        let reserved = app.quota.reserve_for(project, more, &self.token).await?;
        self.besides.push(reserved);
        Ok(())
    }

    /// The page came from where this mode goes.
    fn came_by(&mut self, mode: CloudMode) {
        self.amount = base_amount(mode);
    }
}

/// What a page costs by where it came from, cached or not.
fn base_amount(mode: CloudMode) -> Amount {
    match mode {
        CloudMode::Browser | CloudMode::Unblocker => Amount::cloud(1),
        CloudMode::None | CloudMode::Auto => Amount::pages(1),
    }
}

/// The kind of failure that left a request without a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// A fetch or a render.
    Fetch(FetchKind),
    /// The upstream provider.
    Vendor,
    /// The search engine.
    Search,
}

impl FailureKind {
    /// The stable word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Fetch(kind) => kind.as_str(),
            Self::Vendor => "vendor",
            Self::Search => "search",
        }
    }
}

impl std::fmt::Display for FailureKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why there is no scan result.
#[derive(Debug, thiserror::Error)]
pub enum ScanError {
    /// The URL, or where it leads, may not be fetched.
    #[error("{0}")]
    Refused(String),
    /// The target gave no response.
    #[error("{message}")]
    Fetch {
        /// The kind of failure.
        kind: FailureKind,
        /// What happened.
        message: String,
    },
    /// A backend that is not there; says what to configure.
    #[error("{0}")]
    NotConfigured(Cow<'static, str>),
    /// Too much of it at once; later it may go.
    #[error("{0}")]
    Busy(String),
    /// A plugin failed that the answer can't do without.
    #[error("{0}")]
    Plugin(String),
    /// The project may not: a cap is reached, or it is suspended.
    #[error("{0}")]
    Quota(QuotaError),
    /// A fault of ours.
    #[error("{0}")]
    Internal(String),
}

impl From<QuotaError> for ScanError {
    fn from(error: QuotaError) -> Self {
        match error {
            QuotaError::Store(error) => error.into(),
            error => Self::Quota(error),
        }
    }
}

impl From<FetchError> for ScanError {
    fn from(error: FetchError) -> Self {
        match error.kind {
            FetchKind::Refused | FetchKind::Scope | FetchKind::InvalidRequest => {
                Self::Refused(error.message)
            }
            FetchKind::Internal => Self::Internal(error.message),
            FetchKind::Browser if error.sub == Some(SubKind::Busy) => Self::Busy(error.message),
            kind => Self::Fetch {
                kind: FailureKind::Fetch(kind),
                message: error.message,
            },
        }
    }
}

impl From<StoreError> for ScanError {
    fn from(error: StoreError) -> Self {
        Self::Internal(error.to_string())
    }
}

/// Scans: the answer's JSON, stored and billed when this returns.
///
/// # Errors
/// Why there is none; nothing is stored then, and billed only if the bill says so.
pub async fn scan(
    app: &App,
    principal: &Arc<Principal>,
    spec: &ScanSpec,
    bill: Bill,
) -> Result<Bytes, ScanError> {
    source::check_mode(app, spec.cloud_mode)?;
    let amount = base_amount(spec.cloud_mode);
    let reserved = match bill.reserved {
        Some(reserved) => reserved,
        None => {
            let (quota, project) = (&app.quota, principal.project);
            quota.reserve_for(project, amount, &bill.token).await?
        }
    };
    let mut charge = Charge {
        reserved,
        besides: Vec::new(),
        token: bill.token,
        call: bill.call,
        amount,
        cost_micros: 0,
    };
    match run(app, principal, spec, &mut charge).await {
        Err(error) if bill.always => {
            app.store.bill(charge.usage()).await?;
            Err(error)
        }
        done => done,
    }
}

async fn run(
    app: &App,
    principal: &Arc<Principal>,
    spec: &ScanSpec,
    charge: &mut Charge,
) -> Result<Bytes, ScanError> {
    let (pipeline, project) = (&app.pipeline, principal.project);
    if let Some(since) = source::since(app, spec)
        && let Some((json, mode)) =
            pipeline.kept_answer(project, spec, since, app.store.is_shared())
    {
        charge.came_by(mode);
        app.store.bill(charge.usage()).await?;
        return Ok(json);
    }
    let _slot = app
        .scans
        .acquire()
        .await
        .map_err(|_| ScanError::Internal("the service is stopping".to_owned()))?;
    let site = site::Lookup::start(pipeline, &spec.url);
    let Found {
        mut document,
        page_key,
        row,
        picture,
    } = source::find(app, principal, spec, charge).await?;
    let final_url = document.final_url.clone();
    let site = site.finish(pipeline, &final_url);
    let roles = spec.content.roles(&pipeline.extras);
    let plugins = roles
        .iter()
        .map(|request| (request.role.clone(), pipeline.engine.role(&request.role)))
        .collect();
    let (site, outcome, picture) = tokio::join!(
        site,
        pipeline.extract(&mut document, &roles),
        picture::of(app, principal, spec, picture, charge),
    );
    let outcome = outcome?;
    let json = Bytes::from(assemble(
        &document,
        page_key.3,
        &spec.content,
        &outcome,
        &site,
        picture.as_ref(),
    ));
    let page = match row {
        Row::New(page) => app.store.save_page(*page, Some(charge.usage())).await?,
        Row::Stored(page) => {
            app.store.bill(charge.usage()).await?;
            Some(page)
        }
    };
    if let Some(page) = page {
        pipeline.answers.note_page(page_key.clone(), page);
        // A plugin that failed may do better next time.
        if outcome.errors.is_empty()
            && picture.is_none()
            && let Ok(final_url) = Url::parse(&document.final_url)
        {
            let kept = Kept {
                json: json.clone(),
                page_key,
                page,
                fetched_at: document.fetched_at,
                final_url,
                site,
                plugins,
                at: Instant::now(),
            };
            pipeline.answers.keep(project, spec, kept);
        }
    }
    Ok(json)
}
