//! The host inside a component: the imports of the WIT interface.

use std::time::Duration;

use super::crawl_data::{Links, PageRow, Run, RunStatus};
use super::http::Request;
use super::job::Context;
use super::log::Level;
use super::state::{Entry, Put, StateError};
use crate::bindings::host::orbweaver::plugin as raw;
use crate::handle::Handle;
use crate::page::{Cells, CellsRef};
use crate::{Error, Page, WaitFor};

fn own(page: raw::pages::Page) -> Page<'static> {
    Page::from_host(Handle::Own(page), CellsRef::Own(Box::<Cells>::default()))
}

fn raw_request(request: Request) -> raw::requests::Request {
    let headers = request.headers.into_iter().map(|h| raw::types::Header {
        name: h.name,
        value: h.value,
    });
    let secrets = request.secrets.into_iter();
    let secrets = secrets.map(|secret| raw::requests::SecretHeader {
        name: secret.name,
        prefix: secret.prefix,
        secret: secret.secret,
    });
    let timeout = request.timeout;
    raw::requests::Request {
        timeout_ms: timeout.map(|t| u32::try_from(t.as_millis()).unwrap_or(u32::MAX)),
        headers: headers.collect(),
        secrets: secrets.collect(),
        method: request.method,
        url: request.url,
        body: request.body,
        follow_redirects: request.follow_redirects,
        respect_robots: request.respect_robots,
        proxy: request.proxy.map(|proxy| raw::requests::Proxy {
            pool: proxy.pool,
            country: proxy.country,
        }),
    }
}

pub async fn fetch(request: Request) -> Result<Page<'static>, Error> {
    Ok(own(raw::http::fetch(raw_request(request)).await?))
}

pub fn fetch_many(requests: Vec<Request>, concurrency: u32) -> Vec<Result<Page<'static>, Error>> {
    let requests: Vec<_> = requests.into_iter().map(raw_request).collect();
    let answers = raw::batch::fetch_many(&requests, concurrency);
    answers.into_iter().map(|answer| Ok(own(answer?))).collect()
}

fn state_error(failure: raw::state::Failure) -> StateError {
    match failure {
        raw::state::Failure::Conflict(version) => StateError::Conflict(version),
        raw::state::Failure::Error(error) => StateError::Error(error.into()),
    }
}

pub fn state_get(key: &str) -> Result<Option<Entry>, Error> {
    let entry = raw::state::get(key)?;
    Ok(entry.map(|entry| Entry {
        value: entry.value,
        version: entry.version,
    }))
}

pub fn state_put(key: &str, value: &[u8], options: &Put) -> Result<u64, StateError> {
    let ttl = options
        .ttl
        .map(|ttl| u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX));
    raw::state::put(key, value, options.expected, ttl).map_err(state_error)
}

pub fn state_delete(key: &str, expected: Option<u64>) -> Result<(), StateError> {
    raw::state::delete(key, expected).map_err(state_error)
}

pub fn state_keys(prefix: &str, after: &str, limit: u32) -> Result<Vec<String>, Error> {
    Ok(raw::state::keys(prefix, Some(after), limit)?)
}

fn raw_render(url: &str, wait_for: WaitFor) -> raw::requests::RenderRequest {
    raw::requests::RenderRequest {
        url: url.to_owned(),
        wait_for: match wait_for {
            WaitFor::Load => raw::requests::WaitFor::Load,
            WaitFor::DomContentLoaded => raw::requests::WaitFor::DomContentLoaded,
            WaitFor::NetworkIdle => raw::requests::WaitFor::NetworkIdle,
        },
    }
}

pub async fn render(url: &str, wait_for: WaitFor) -> Result<Page<'static>, Error> {
    Ok(own(raw::rendering::render(raw_render(url, wait_for)).await?))
}

pub fn render_many(
    urls: &[String],
    wait_for: WaitFor,
    concurrency: u32,
) -> Vec<Result<Page<'static>, Error>> {
    let requests: Vec<_> = urls.iter().map(|url| raw_render(url, wait_for)).collect();
    let answers = raw::batch::render_many(&requests, concurrency);
    answers.into_iter().map(|answer| Ok(own(answer?))).collect()
}

pub async fn extract(role: &str, page: &Page<'_>, options: &str) -> Result<String, Error> {
    let Some(handle) = page.handle() else {
        return Err(Error::failed(
            "extract: the page was not loaded from the host",
        ));
    };
    let (role, options) = (role.to_owned(), options.to_owned());
    Ok(raw::extraction::extract(role, handle.raw(), options).await?)
}

pub fn from_html(url: &str, html: &str) -> Page<'static> {
    own(raw::parsing::from_html(url, html))
}

pub fn log(level: Level, message: &str) {
    let level = match level {
        Level::Trace => raw::log::Level::Trace,
        Level::Debug => raw::log::Level::Debug,
        Level::Info => raw::log::Level::Info,
        Level::Warn => raw::log::Level::Warn,
        Level::Error => raw::log::Level::Error,
    };
    raw::log::log(level, message);
}

pub fn run(id: i64) -> Result<Run, Error> {
    let run = raw::crawl_data::get_run(id)?;
    Ok(Run {
        id: run.id,
        url: run.url,
        status: match run.status {
            raw::crawl_data::RunStatus::Done => RunStatus::Done,
            raw::crawl_data::RunStatus::Failed => RunStatus::Failed,
        },
        page_count: run.page_count,
    })
}

pub fn pages(run: i64, after: i64, limit: u32) -> Result<Vec<PageRow>, Error> {
    let rows = raw::crawl_data::pages(run, Some(after), limit)?;
    Ok(rows
        .into_iter()
        .map(|row| PageRow {
            id: row.id,
            url: row.url,
            status: row.status,
            bytes: row.bytes,
        })
        .collect())
}

pub fn links(run: i64, after: i64, pages: u32) -> Result<Links, Error> {
    let links = raw::crawl_data::links(run, Some(after), pages)?;
    Ok(Links {
        from_page: links.from_page,
        to_page: links.to_page,
        anchor: links.anchor,
        nofollow: links.nofollow,
        anchors: links.anchors,
        next: links.next,
    })
}

pub fn open(page: i64) -> Result<Page<'static>, Error> {
    Ok(own(raw::crawl_data::open(page)?))
}

pub fn job_context() -> Context {
    let context = raw::job::context();
    Context {
        request_id: context.request_id,
        run_id: context.run_id,
        time_left: Duration::from_millis(context.deadline_ms),
        attempts: context.attempts,
    }
}

pub fn progress(done: u64, total: Option<u64>, message: &str) {
    raw::job::progress(done, total, message);
}

pub fn emit(item: String) -> Result<(), Error> {
    Ok(raw::job::emit(&item)?)
}

pub fn is_cancelled() -> bool {
    raw::job::cancelled()
}

pub fn crawl_run() -> Option<i64> {
    raw::crawl::run_id()
}

pub fn input(role: &str) -> Result<String, Error> {
    Ok(raw::inputs::output(role)?)
}
