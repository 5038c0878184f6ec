//! The interfaces `http` and `batch`.

use std::sync::Arc;

use wasmtime::component::{Accessor, HasSelf, Resource};

use super::bindings::actor::orbweaver::plugin::{batch, http, requests};
use super::bindings::extractor::orbweaver::plugin::types;
use super::errors::told;
use crate::capability::Capabilities;
use crate::capability::failure::CallFailure;
use crate::capability::http::GuestRequest;
use crate::capability::pages::HostPage;
use crate::error::CodedError;
use crate::host::http::{ProxyChoice, SecretHeader};
use crate::state::State;

type GuestResult<T> = wasmtime::Result<Result<T, types::Error>>;

impl State {
    /// The capabilities of this call.
    pub(super) fn capabilities(&self) -> wasmtime::Result<Arc<Capabilities>> {
        self.capabilities
            .clone()
            .ok_or_else(|| wasmtime::format_err!("this plugin has no capabilities"))
    }

    /// Passes a page to the guest, or the error, or stops the guest.
    pub(super) fn answer(
        &mut self,
        page: Result<HostPage, CallFailure>,
    ) -> GuestResult<Resource<HostPage>> {
        match page {
            Ok(page) => Ok(Ok(self.push_page(page)?)),
            Err(CallFailure::Refused(error)) => Ok(Err(told(&self.meter, error))),
            Err(CallFailure::Stopped(reason)) => Err(reason.into()),
        }
    }

    /// Same as [`answer`](Self::answer), for a list.
    pub(super) fn answers(
        &mut self,
        pages: Vec<Result<HostPage, CodedError>>,
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
        request: requests::Request,
    ) -> GuestResult<Resource<HostPage>> {
        let capabilities = accessor.with(|mut access| access.get().capabilities())?;
        let page = capabilities.http.fetch(request.into()).await;
        accessor.with(|mut access| access.get().answer(page))
    }
}

impl batch::Host for State {
    async fn fetch_many(
        &mut self,
        requests: Vec<requests::Request>,
        concurrency: u32,
    ) -> wasmtime::Result<Vec<Result<Resource<HostPage>, types::Error>>> {
        let requests = requests.into_iter().map(GuestRequest::from).collect();
        let capabilities = self.capabilities()?;
        let pages = capabilities.http.fetch_many(requests, concurrency).await?;
        self.answers(pages)
    }

    async fn render_many(
        &mut self,
        requests: Vec<requests::RenderRequest>,
        concurrency: u32,
    ) -> wasmtime::Result<Vec<Result<Resource<HostPage>, types::Error>>> {
        let requests = requests.into_iter();
        let requests = requests.map(|request| (request.url, request.wait_for.into()));
        let capabilities = self.capabilities()?;
        let pages = capabilities
            .rendering
            .render_many(requests.collect(), concurrency)
            .await?;
        self.answers(pages)
    }
}

impl requests::Host for State {}

impl From<requests::Request> for GuestRequest {
    fn from(request: requests::Request) -> Self {
        let headers = request.headers.into_iter();
        let secret = |secret: requests::SecretHeader| SecretHeader {
            name: secret.name,
            prefix: secret.prefix,
            secret: secret.secret,
        };
        let proxy = |proxy: requests::Proxy| ProxyChoice {
            pool: proxy.pool,
            country: proxy.country,
        };
        Self {
            method: request.method,
            url: request.url,
            headers: headers.map(|header| (header.name, header.value)).collect(),
            body: request.body,
            follow_redirects: request.follow_redirects,
            respect_robots: request.respect_robots,
            timeout_ms: request.timeout_ms,
            proxy: request.proxy.map(proxy),
            secrets: request.secrets.into_iter().map(secret).collect(),
        }
    }
}
