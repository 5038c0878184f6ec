//! The host's functions, turned from the WIT's types into the engine's and back.

use std::sync::Arc;

use wasmtime::component::{Accessor, HasSelf, Linker, Resource};

use super::WitError;
use super::actor::orbweaver::plugin::{batch, crawl_data, extraction, http, parsing, rendering};
use super::extractor::orbweaver::plugin::{log, types};
use crate::call::{GuestRequest, HostCall};
use crate::error::{HostError, Limit};
use crate::host::{LogLevel, WaitFor};
use crate::meter::Stop;
use crate::page::Page;
use crate::state::{HostPage, State};

type Answer<T> = wasmtime::Result<Result<T, WitError>>;
type This = HasSelf<State>;

/// What every plugin gets: pages and the log.
pub(crate) fn add_base(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    super::pages::add_to_linker(linker)?;
    log::add_to_linker::<State, This>(linker, |state| state)
}

/// What actors and fetchers get besides. The load check has refused imports that are not
/// granted; the functions check again.
pub(crate) fn add_calls(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    parsing::add_to_linker::<State, This>(linker, |state| state)?;
    http::add_to_linker::<State, This>(linker, |state| state)?;
    rendering::add_to_linker::<State, This>(linker, |state| state)?;
    batch::add_to_linker::<State, This>(linker, |state| state)?;
    extraction::add_to_linker::<State, This>(linker, |state| state)?;
    crawl_data::add_to_linker::<State, This>(linker, |state| state)
}

impl types::Host for State {}

impl log::Host for State {
    fn log(&mut self, level: log::Level, message: String) -> wasmtime::Result<()> {
        let level = match level {
            log::Level::Trace => LogLevel::Trace,
            log::Level::Debug => LogLevel::Debug,
            log::Level::Info => LogLevel::Info,
            log::Level::Warn => LogLevel::Warn,
            log::Level::Error => LogLevel::Error,
        };
        self.log.line(level, &message);
        Ok(())
    }
}

impl State {
    fn host_call(&self) -> wasmtime::Result<Arc<HostCall>> {
        self.call
            .clone()
            .ok_or_else(|| wasmtime::format_err!("this call has no host"))
    }

    fn answer(&mut self, page: Result<Arc<Page>, HostError>) -> Answer<Resource<HostPage>> {
        match page {
            Ok(page) => Ok(Ok(self.push_page(page)?)),
            Err(error) => Ok(Err(error.into())),
        }
    }

    fn answers(
        &mut self,
        pages: Vec<Result<Arc<Page>, HostError>>,
    ) -> wasmtime::Result<Vec<Result<Resource<HostPage>, WitError>>> {
        pages.into_iter().map(|page| self.answer(page)).collect()
    }
}

impl parsing::Host for State {
    fn from_html(&mut self, url: String, html: String) -> wasmtime::Result<Resource<HostPage>> {
        // The host keeps these pages: without a bound a guest could fill its memory.
        let Some(left) = self.parse_bytes.checked_sub(html.len() as u64) else {
            return Err(Stop::Limit(Limit::HostCall(self.parse_bytes)).into());
        };
        self.parse_bytes = left;
        Ok(self.push_page(Page::from_html(&url, &html))?)
    }
}

impl http::Host for State {}

impl http::HostWithStore<State> for This {
    async fn fetch(
        accessor: &Accessor<State, Self>,
        request: http::Request,
    ) -> Answer<Resource<HostPage>> {
        let call = accessor.with(|mut access| access.get().host_call())?;
        let page = call.fetch(request.into()).await;
        accessor.with(|mut access| access.get().answer(page))
    }
}

impl rendering::Host for State {}

impl rendering::HostWithStore<State> for This {
    async fn render(
        accessor: &Accessor<State, Self>,
        url: String,
        wait_for: rendering::WaitFor,
    ) -> Answer<Resource<HostPage>> {
        let call = accessor.with(|mut access| access.get().host_call())?;
        let wait_for = match wait_for {
            rendering::WaitFor::Load => WaitFor::Load,
            rendering::WaitFor::DomContentLoaded => WaitFor::DomContentLoaded,
            rendering::WaitFor::NetworkIdle => WaitFor::NetworkIdle,
        };
        let page = call.render(&url, wait_for).await;
        accessor.with(|mut access| access.get().answer(page))
    }
}

impl batch::Host for State {
    async fn fetch_many(
        &mut self,
        requests: Vec<batch::BatchRequest>,
        concurrency: u32,
    ) -> wasmtime::Result<Vec<Result<Resource<HostPage>, WitError>>> {
        let requests = requests.into_iter().map(GuestRequest::from).collect();
        let pages = self.host_call()?.fetch_many(requests, concurrency).await;
        self.answers(pages)
    }

    async fn render_many(
        &mut self,
        urls: Vec<String>,
        concurrency: u32,
    ) -> wasmtime::Result<Vec<Result<Resource<HostPage>, WitError>>> {
        let pages = self.host_call()?.render_many(urls, concurrency).await;
        self.answers(pages)
    }
}

impl extraction::Host for State {
    async fn extract(
        &mut self,
        role: String,
        page: Resource<HostPage>,
        options: String,
    ) -> Answer<String> {
        let page = Arc::clone(&self.table.get(&page)?.0);
        let answer = self.host_call()?.extract(&role, page, &options).await;
        Ok(answer.map_err(WitError::from))
    }
}

impl crawl_data::Host for State {
    async fn get_run(&mut self, id: i64) -> Answer<crawl_data::Run> {
        let run = self.host_call()?.run(id).await;
        Ok(run.map_err(WitError::from).map(|run| crawl_data::Run {
            id: run.id,
            url: run.url,
            status: run.status,
            page_count: run.page_count,
        }))
    }

    async fn pages(
        &mut self,
        run: i64,
        after: i64,
        limit: u32,
    ) -> Answer<Vec<crawl_data::PageRow>> {
        let rows = self.host_call()?.pages(run, after, limit).await;
        Ok(rows.map_err(WitError::from).map(|rows| {
            rows.into_iter()
                .map(|row| crawl_data::PageRow {
                    id: row.id,
                    url: row.url,
                    status: row.status,
                    bytes: row.bytes,
                })
                .collect()
        }))
    }

    async fn links(&mut self, run: i64, after: i64, pages: u32) -> Answer<crawl_data::LinkColumns> {
        let links = self.host_call()?.links(run, after, pages).await;
        Ok(links
            .map_err(WitError::from)
            .map(|links| crawl_data::LinkColumns {
                from_page: links.from_page,
                to_page: links.to_page,
                anchor: links.anchor,
                nofollow: links.nofollow,
                anchors: links.anchors,
                next: links.next,
            }))
    }

    async fn open(&mut self, page: i64) -> Answer<Resource<HostPage>> {
        let page = self.host_call()?.open_page(page).await;
        self.answer(page)
    }
}

fn pairs(headers: Vec<types::Header>) -> Vec<(String, String)> {
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
        }
    }
}
