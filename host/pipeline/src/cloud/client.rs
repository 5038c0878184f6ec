//! All backends of this process.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use orbweaver_accounts::fair::{Limits, Slots};
use orbweaver_core::ids::ProjectId;
use orbweaver_engine::{Page, WaitFor};
use orbweaver_fetch::{BrowserConfig, Fetcher, Renderer};
use orbweaver_store::Principal;
use tokio::time::timeout;

use super::backend::{Backend, Choice, Job, Loaded, WaitPoint, project_proxy};
use super::llm::Llm;
use super::local::Local;
use super::pools::Pools;
use super::sessions::Sessions;
use super::unpaid::Unpaid;
use super::vendor::Vendor;
use crate::blocking::blocking_of;
use crate::config::CloudConfig;
use crate::document::Document;
use crate::error::ScanError;

/// All backends. Cheap to clone.
#[derive(Clone)]
pub struct Cloud(Arc<Inner>);

struct Inner {
    renderer: Renderer,
    local: Local,
    pools: Pools,
    vendor: Vendor,
    sessions: Sessions,
    llm: Llm,
    /// Bounds the pages that this host renders at once; projects take turns.
    renders: Slots,
    /// Longest wait of a page for its turn.
    patience: Duration,
    /// Bounds what the pages of a project that give no result take of the browser.
    unpaid: Unpaid,
}

impl Cloud {
    /// Creates the backends from the configuration; no browser is started yet.
    pub fn new(
        fetcher: &Fetcher,
        browser: Option<&Path>,
        rendering: BrowserConfig,
        config: &CloudConfig,
    ) -> Self {
        let renders = Slots::new(
            "pages to render",
            "rendering.queue_per_project",
            Limits::new(rendering.concurrent, rendering.queue_per_project),
        );
        let patience = rendering.queue_ms.as_duration();
        let unpaid = Unpaid::new(rendering.failed_seconds_per_hour);
        let renderer = Renderer::new(fetcher.clone(), browser, rendering);
        Self(Arc::new(Inner {
            local: Local::new(fetcher.clone(), renderer.clone()),
            pools: Pools::new(fetcher.clone(), renderer.clone(), config.prices),
            vendor: Vendor::new(fetcher.clone(), config),
            sessions: Sessions::default(),
            llm: Llm::new(fetcher.clone(), &config.llm),
            renderer,
            renders,
            patience,
            unpaid,
        }))
    }

    /// Loads a page for a project with the requested backend. A page that this host renders
    /// waits for its project's turn.
    ///
    /// # Errors
    /// What to configure, or why there is no response; [`ScanError::Busy`] if too many pages
    /// wait to be rendered.
    #[crate::boxed]
    pub async fn load(
        &self,
        project: ProjectId,
        choice: Choice,
        job: &Job,
    ) -> Result<Loaded, ScanError> {
        match choice {
            Choice::Auto => self.auto(project, job).await,
            Choice::Unblock => self.unblock(project, job).await,
            Choice::Local | Choice::Proxy | Choice::Vendor => {
                match self.backend(choice).missing(job) {
                    Some(what) => Err(ScanError::NotConfigured(what)),
                    None => self.load_from(project, choice, job).await,
                }
            }
        }
    }

    /// Loads a page with one backend, after checking that the backend can do the job.
    pub(super) async fn load_from(
        &self,
        project: ProjectId,
        choice: Choice,
        job: &Job,
    ) -> Result<Loaded, ScanError> {
        let is_rendered_here = job.render.is_some() && choice != Choice::Vendor;
        let _slot = if is_rendered_here {
            let turn = self.0.renders.acquire(project);
            let slot = timeout(self.0.patience, turn)
                .await
                .map_err(|_| ScanError::Busy {
                    message: "too many pages wait for the browser".to_owned(),
                    retry_after: self.0.patience.as_secs().clamp(1, 60),
                })?;
            Some(slot?)
        } else {
            None
        };
        if !is_rendered_here {
            return self.backend(choice).load(project, job).await;
        }
        let attempt = self.0.unpaid.begin(project)?;
        let loaded = match job.session.as_deref() {
            None => self.backend(choice).load(project, job).await?,
            Some(session) => {
                let mut job = job.clone();
                job.extras.session = Some(self.0.sessions.cookies(project, session));
                self.backend(choice).load(project, &job).await?
            }
        };
        attempt.succeed();
        Ok(loaded)
    }

    pub(super) fn backend(&self, choice: Choice) -> &dyn Backend {
        match choice {
            Choice::Proxy => &self.0.pools,
            Choice::Vendor => &self.0.vendor,
            Choice::Local | Choice::Auto | Choice::Unblock => &self.0.local,
        }
    }

    /// Renders a page for a plugin in this host's browser: the page after its scripts have
    /// run. Billing is left to the caller.
    ///
    /// # Errors
    /// Why it failed; [`ScanError::NotConfigured`] without a browser.
    #[crate::boxed]
    pub async fn render(
        &self,
        principal: &Principal,
        url: &str,
        wait_for: WaitFor,
    ) -> Result<Arc<Page>, ScanError> {
        let job = Job {
            url: url.to_owned(),
            render: Some(match wait_for {
                WaitFor::Load => WaitPoint::Load,
                WaitFor::DomContentLoaded => WaitPoint::DomContentLoaded,
                WaitFor::NetworkIdle => WaitPoint::NetworkIdle,
            }),
            proxy: project_proxy(principal)?,
            ..Job::default()
        };
        let loaded = self.load(principal.project, Choice::Local, &job).await?;
        let at = chrono::DateTime::UNIX_EPOCH;
        let bytes = loaded.response.body.len();
        let read = move || Document::from_response(loaded.response, at);
        let (mut document, _) = blocking_of(bytes, read).await?;
        document.page().await
    }

    /// Whether this host has a browser.
    pub fn has_browser(&self) -> bool {
        self.0.renderer.is_available()
    }

    /// Whether an unblocker is configured.
    pub fn can_unblock(&self) -> bool {
        self.0.vendor.capabilities().unblock || self.0.pools.capabilities().unblock
    }

    /// The upstream provider's client.
    pub fn vendor(&self) -> &Vendor {
        &self.0.vendor
    }

    /// The language model's client.
    pub fn llm(&self) -> &Llm {
        &self.0.llm
    }

    /// The proxy pools.
    pub(super) fn pools(&self) -> &Pools {
        &self.0.pools
    }

    /// The pool of browsers.
    pub fn renderer(&self) -> &Renderer {
        &self.0.renderer
    }
}
