//! All backends of this process behind one door.

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
use super::local::Local;
use super::pools::Pools;
use super::vendor::Vendor;
use crate::blocking::blocking;
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
    /// Pages that this host renders at once, in turns by project.
    renders: Slots,
    /// How long a page may wait for its turn.
    patience: Duration,
}

impl Cloud {
    /// As the configuration says; nothing starts yet.
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
        let renderer = Renderer::new(fetcher.clone(), browser, rendering);
        Self(Arc::new(Inner {
            local: Local::new(fetcher.clone(), renderer.clone()),
            pools: Pools::new(fetcher.clone(), renderer.clone(), config.prices),
            vendor: Vendor::new(fetcher.clone(), config),
            renderer,
            renders,
            patience,
        }))
    }

    /// Loads a page for a project from the backend that is asked for. What this host renders
    /// waits for its project's turn.
    ///
    /// # Errors
    /// What is not configured, or why there is no response; [`ScanError::Busy`] where too
    /// many pages wait to be rendered.
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

    /// Loads a page from one backend, which can do what the job asks.
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
                    message: "the browser has more pages to render than it can".to_owned(),
                    retry_after: self.0.patience.as_secs().clamp(1, 60),
                })?;
            Some(slot?)
        } else {
            None
        };
        self.backend(choice).load(job).await
    }

    pub(super) fn backend(&self, choice: Choice) -> &dyn Backend {
        match choice {
            Choice::Proxy => &self.0.pools,
            Choice::Vendor => &self.0.vendor,
            Choice::Local | Choice::Auto | Choice::Unblock => &self.0.local,
        }
    }

    /// Renders a page in this host's browser, for a plugin: the page as it stands after its
    /// scripts ran. Not billed here.
    ///
    /// # Errors
    /// Why there is none; [`ScanError::NotConfigured`] without a browser.
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
        let (mut document, _) =
            blocking(move || Document::from_response(loaded.response, at)).await?;
        document.page().await
    }

    /// Whether this host renders.
    pub fn has_browser(&self) -> bool {
        self.0.renderer.is_available()
    }

    /// Whether anything unblocks.
    pub fn can_unblock(&self) -> bool {
        self.0.vendor.capabilities().unblock || self.0.pools.capabilities().unblock
    }

    /// The upstream provider's client.
    pub fn vendor(&self) -> &Vendor {
        &self.0.vendor
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
