//! The interfaces `http` and `batch`.

use std::sync::Arc;

use wasmtime::component::{Accessor, HasSelf, Resource};

use super::bindings::actor::orbweaver::plugin::{batch, http};
use super::bindings::extractor::orbweaver::plugin::types;
use crate::capability::Capabilities;
use crate::capability::failure::CallFailure;
use crate::capability::http::GuestRequest;
use crate::capability::pages::HostPage;
use crate::error::HostError;
use crate::state::State;

type GuestResult<T> = wasmtime::Result<Result<T, types::Error>>;

impl State {
    /// The capabilities of this call.
    pub(super) fn capabilities(&self) -> wasmtime::Result<Arc<Capabilities>> {
        self.capabilities
            .clone()
            .ok_or_else(|| wasmtime::format_err!("an extractor has no capabilities"))
    }

    /// Passes a page to the guest, or the error, or stops the guest.
    pub(super) fn answer(
        &mut self,
        page: Result<HostPage, CallFailure>,
    ) -> GuestResult<Resource<HostPage>> {
        match page {
            Ok(page) => Ok(Ok(self.push_page(page)?)),
            Err(CallFailure::Refused(error)) => Ok(Err(error.into())),
            Err(CallFailure::Stopped(reason)) => Err(reason.into()),
        }
    }

    /// Same as [`answer`](Self::answer), for a list.
    pub(super) fn answers(
        &mut self,
        pages: Vec<Result<HostPage, HostError>>,
    ) -> wasmtime::Result<Vec<Result<Resource<HostPage>, types::Error>>> {
        pages
            .into_iter()
            .map(|page| self.answer(page.map_err(CallFailure::Refused)))
            .collect()
    }
}

impl http::Host for State {}

impl http::HostWithStore<State> for HasSelf<State> {
    async fn fetch(
        accessor: &Accessor<State, Self>,
        request: http::Request,
    ) -> GuestResult<Resource<HostPage>> {
        let capabilities = accessor.with(|mut access| access.get().capabilities())?;
        let page = capabilities.http.fetch(request.into()).await;
        accessor.with(|mut access| access.get().answer(page))
    }
}

impl batch::Host for State {
    async fn fetch_many(
        &mut self,
        requests: Vec<batch::BatchRequest>,
        concurrency: u32,
    ) -> wasmtime::Result<Vec<Result<Resource<HostPage>, types::Error>>> {
        let requests = requests.into_iter().map(GuestRequest::from).collect();
        let capabilities = self.capabilities()?;
        let pages = capabilities.http.fetch_many(requests, concurrency).await?;
        self.answers(pages)
    }

    async fn render_many(
        &mut self,
        urls: Vec<String>,
        concurrency: u32,
    ) -> wasmtime::Result<Vec<Result<Resource<HostPage>, types::Error>>> {
        let capabilities = self.capabilities()?;
        let pages = capabilities
            .rendering
            .render_many(urls, concurrency)
            .await?;
        self.answers(pages)
    }
}

pub(super) fn pairs(headers: Vec<types::Header>) -> Vec<(String, String)> {
    headers
        .into_iter()
        .map(|header| (header.name, header.value))
        .collect()
}

impl From<http::Request> for GuestRequest {
    fn from(request: http::Request) -> Self {
        Self {
            method: request.method,
            url: request.url,
            headers: pairs(request.headers),
            body: request.body,
            follow_redirects: request.follow_redirects,
            respect_robots: request.respect_robots,
            timeout_ms: request.timeout_ms,
            secrets: Vec::new(),
        }
    }
}

impl From<batch::BatchRequest> for GuestRequest {
    fn from(request: batch::BatchRequest) -> Self {
        Self {
            method: request.method,
            url: request.url,
            headers: pairs(request.headers),
            body: request.body,
            follow_redirects: request.follow_redirects,
            respect_robots: request.respect_robots,
            timeout_ms: request.timeout_ms,
            secrets: Vec::new(),
        }
    }
}
