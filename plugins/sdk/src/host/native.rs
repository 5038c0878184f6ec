//! The host in native builds: the one that a test has installed.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::crawl_data::{Links, PageRow, Run};
use super::http::Request;
use super::job::Context;
use super::log::Level;
use super::state::{Entry, Put, StateError};
use crate::testing::{Document, Host, installed};
use crate::{Code, Error, Page, WaitFor};

fn ask<T>(question: impl FnOnce(&dyn Host) -> Result<T, Error>) -> Result<T, Error> {
    match installed() {
        Some(host) => question(&*host),
        None => Err(no_host()),
    }
}

fn no_host() -> Error {
    Error::new(Code::NotGranted, "no host outside the sandbox")
}

fn page(document: Result<Document, Error>) -> Result<Page<'static>, Error> {
    document.map(Document::into_page)
}

pub async fn fetch(request: Request) -> Result<Page<'static>, Error> {
    page(ask(|host| host.fetch(&request)))
}

pub fn fetch_many(requests: Vec<Request>, _concurrency: u32) -> Vec<Result<Page<'static>, Error>> {
    requests
        .iter()
        .map(|request| page(ask(|host| host.fetch(request))))
        .collect()
}

fn with_state<T, E: From<Error>>(use_it: impl FnOnce(&mut Values) -> Result<T, E>) -> Result<T, E> {
    if installed().is_none() {
        return Err(no_host().into());
    }
    VALUES.with_borrow_mut(use_it)
}

type Values = BTreeMap<String, Entry>;

thread_local! {
    /// Values of this thread's tests; they do not expire.
    static VALUES: RefCell<Values> = const { RefCell::new(BTreeMap::new()) };
}

fn expect(values: &Values, key: &str, expected: Option<u64>) -> Result<(), StateError> {
    let current = values.get(key).map_or(0, |entry| entry.version);
    match expected {
        Some(expected) if expected != current => Err(StateError::Conflict(current)),
        _ => Ok(()),
    }
}

pub fn state_get(key: &str) -> Result<Option<Entry>, Error> {
    with_state(|values| Ok(values.get(key).cloned()))
}

pub fn state_put(key: &str, value: &[u8], options: &Put) -> Result<u64, StateError> {
    with_state(|values| {
        expect(values, key, options.expected)?;
        let version = values
            .values()
            .map(|entry| entry.version)
            .max()
            .unwrap_or(0)
            + 1;
        let value = value.to_vec();
        values.insert(key.to_owned(), Entry { value, version });
        Ok(version)
    })
}

pub fn state_delete(key: &str, expected: Option<u64>) -> Result<(), StateError> {
    with_state(|values| {
        expect(values, key, expected)?;
        values.remove(key);
        Ok(())
    })
}

pub fn state_keys(prefix: &str, after: &str, limit: u32) -> Result<Vec<String>, Error> {
    with_state(|values| {
        let keys = values
            .keys()
            .filter(|key| key.starts_with(prefix) && key.as_str() > after);
        Ok(keys.take(limit as usize).cloned().collect())
    })
}

pub fn crawl_run() -> Option<i64> {
    installed().and_then(|host| host.crawl_run())
}

pub async fn render(url: &str, wait_for: WaitFor) -> Result<Page<'static>, Error> {
    page(ask(|host| host.render(url, wait_for)))
}

pub fn render_many(
    urls: &[String],
    wait_for: WaitFor,
    _concurrency: u32,
) -> Vec<Result<Page<'static>, Error>> {
    urls.iter()
        .map(|url| page(ask(|host| host.render(url, wait_for))))
        .collect()
}

pub async fn extract(role: &str, page: &Page<'_>, options: &str) -> Result<String, Error> {
    ask(|host| host.extract(role, page, options))
}

pub fn from_html(url: &str, html: &str) -> Page<'static> {
    Document::new(url, html).into_page()
}

pub fn log(level: Level, message: &str) {
    if let Some(host) = installed() {
        host.log(level, message);
    }
}

pub fn run(id: i64) -> Result<Run, Error> {
    ask(|host| host.run(id))
}

pub fn pages(run: i64, after: i64, limit: u32) -> Result<Vec<PageRow>, Error> {
    ask(|host| host.pages(run, after, limit))
}

pub fn links(run: i64, after: i64, pages: u32) -> Result<Links, Error> {
    ask(|host| host.links(run, after, pages))
}

pub fn open(id: i64) -> Result<Page<'static>, Error> {
    page(ask(|host| host.open(id)))
}

pub fn job_context() -> Context {
    match installed() {
        Some(host) => host.job_context(),
        None => Context::default(),
    }
}

pub fn progress(done: u64, total: Option<u64>, message: &str) {
    if let Some(host) = installed() {
        host.progress(done, total, message);
    }
}

pub fn emit(item: String) -> Result<(), Error> {
    ask(|host| host.emit(&item))
}

pub fn is_cancelled() -> bool {
    installed().is_some_and(|host| host.is_cancelled())
}

pub fn input(role: &str) -> Result<String, Error> {
    ask(|host| host.input(role))
}
