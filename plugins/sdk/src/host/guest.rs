//! The host inside a component: the imports of the WIT interface.

use std::time::Duration;

use super::crawl_data::{Links, PageRow, Run};
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

fn headers(request: &mut Request) -> Vec<raw::types::Header> {
    let headers = std::mem::take(&mut request.headers);
    headers
        .into_iter()
        .map(|h| raw::types::Header {
            name: h.name,
            value: h.value,
        })
        .collect()
}

pub async fn fetch(mut request: Request) -> Result<Page<'static>, Error> {
    let request = raw::http::Request {
        headers: headers(&mut request),
        timeout_ms: request.timeout_ms(),
        method: request.method,
        url: request.url,
        body: request.body,
        follow_redirects: request.follow_redirects,
        respect_robots: request.respect_robots,
    };
    Ok(own(raw::http::fetch(request).await?))
}

pub fn fetch_many(requests: Vec<Request>, concurrency: u32) -> Vec<Result<Page<'static>, Error>> {
    let requests: Vec<_> = requests
        .into_iter()
        .map(|mut request| raw::batch::BatchRequest {
            headers: headers(&mut request),
            timeout_ms: request.timeout_ms(),
            method: request.method,
            url: request.url,
            body: request.body,
            follow_redirects: request.follow_redirects,
            respect_robots: request.respect_robots,
        })
        .collect();
    let answers = raw::batch::fetch_many(&requests, concurrency);
    answers.into_iter().map(|answer| Ok(own(answer?))).collect()
}

pub fn send_with_secrets(
    requests: Vec<Request>,
    concurrency: u32,
) -> Vec<Result<Page<'static>, Error>> {
    let requests: Vec<_> = requests
        .into_iter()
        .map(|mut request| raw::secret_http::SecretRequest {
            headers: headers(&mut request),
            timeout_ms: request.timeout_ms(),
            method: request.method,
            url: request.url,
            body: request.body,
            follow_redirects: request.follow_redirects,
            respect_robots: request.respect_robots,
            secrets: request
                .secrets
                .into_iter()
                .map(|secret| raw::secret_http::SecretHeader {
                    name: secret.name,
                    prefix: secret.prefix,
                    secret: secret.secret,
                })
                .collect(),
        })
        .collect();
    let answers = raw::secret_http::send_many(&requests, concurrency);
    answers.into_iter().map(|answer| Ok(own(answer?))).collect()
}

fn state_error(failure: raw::state::Failure) -> StateError {
    match failure {
        raw::state::Failure::InvalidInput(text) => StateError::InvalidInput(text),
        raw::state::Failure::Denied(text) => StateError::Denied(text),
        raw::state::Failure::Conflict(version) => StateError::Conflict(version),
        raw::state::Failure::Full(text) => StateError::Full(text),
        raw::state::Failure::Failed(text) => StateError::Failed(text),
    }
}

pub fn state_get(key: &str) -> Result<Option<Entry>, StateError> {
    let entry = raw::state::get(key).map_err(state_error)?;
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

pub fn state_keys(prefix: &str, after: &str, limit: u32) -> Result<Vec<String>, StateError> {
    raw::state::keys(prefix, after, limit).map_err(state_error)
}

pub async fn render(url: &str, wait_for: WaitFor) -> Result<Page<'static>, Error> {
    let wait_for = match wait_for {
        WaitFor::Load => raw::rendering::WaitFor::Load,
        WaitFor::DomContentLoaded => raw::rendering::WaitFor::DomContentLoaded,
        WaitFor::NetworkIdle => raw::rendering::WaitFor::NetworkIdle,
    };
    Ok(own(raw::rendering::render(url.to_owned(), wait_for).await?))
}

pub fn render_many(urls: &[String], concurrency: u32) -> Vec<Result<Page<'static>, Error>> {
    let answers = raw::batch::render_many(urls, concurrency);
    answers.into_iter().map(|answer| Ok(own(answer?))).collect()
}

pub fn extract(role: &str, page: &Page<'_>, options: &str) -> Result<String, Error> {
    let Some(handle) = page.handle() else {
        return Err(Error::failed(
            "extract: the page was not loaded from the host",
        ));
    };
    Ok(raw::extraction::extract(role, handle.raw(), options)?)
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
        status: run.status,
        page_count: run.page_count,
    })
}

pub fn pages(run: i64, after: i64, limit: u32) -> Result<Vec<PageRow>, Error> {
    let rows = raw::crawl_data::pages(run, after, limit)?;
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
    let links = raw::crawl_data::links(run, after, pages)?;
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

pub fn input(role: &str) -> Result<String, Error> {
    Ok(raw::inputs::output(role)?)
}
