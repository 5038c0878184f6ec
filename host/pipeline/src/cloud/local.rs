//! The local backend: this host's plain HTTP and its browser.

use std::borrow::Cow;

use async_trait::async_trait;
use orbweaver_core::ids::ProjectId;
use orbweaver_fetch::{Fetcher, Renderer};

use super::backend::{
    Backend, Capabilities, Job, Loaded, NO_BROWSER, fetch_plain, loaded, plain_request,
    render_request,
};
use crate::error::ScanError;

/// Backend without cost.
pub(super) struct Local {
    fetcher: Fetcher,
    renderer: Renderer,
}

impl Local {
    pub(super) fn new(fetcher: Fetcher, renderer: Renderer) -> Self {
        Self { fetcher, renderer }
    }
}

#[async_trait]
impl Backend for Local {
    fn name(&self) -> &'static str {
        "local"
    }

    fn capabilities(&self) -> Capabilities {
        let browser = self.renderer.is_available();
        Capabilities {
            available: true,
            render: browser,
            picture: browser,
            country: false,
            unblock: false,
        }
    }

    fn missing(&self, job: &Job) -> Option<Cow<'static, str>> {
        let needs_browser = job.render.is_some() || job.picture;
        (needs_browser && !self.renderer.is_available()).then_some(NO_BROWSER.into())
    }

    async fn load(&self, project: ProjectId, job: &Job) -> Result<Loaded, ScanError> {
        if let Some(wait_for) = job.render {
            let request = render_request(project, job, wait_for, job.proxy.clone());
            let rendered = self.renderer.render(request).await?;
            return Ok(loaded(rendered, self.name()));
        }
        let request = plain_request(job, job.proxy.clone());
        Ok(fetch_plain(&self.fetcher, project, request, self.name()).await?)
    }
}
