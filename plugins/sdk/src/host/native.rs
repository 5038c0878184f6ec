//! The host in native builds: the one that a test has installed.

use super::crawl_data::{Links, PageRow, Run};
use super::http::Request;
use super::job::Context;
use super::log::Level;
use crate::testing::{Document, Host, installed};
use crate::{Error, Page, WaitFor};

fn ask<T>(question: impl FnOnce(&dyn Host) -> Result<T, Error>) -> Result<T, Error> {
    match installed() {
        Some(host) => question(&*host),
        None => Err(Error::Denied("no host outside the sandbox".to_owned())),
    }
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

pub async fn render(url: &str, wait_for: WaitFor) -> Result<Page<'static>, Error> {
    page(ask(|host| host.render(url, wait_for)))
}

pub fn render_many(urls: &[String], _concurrency: u32) -> Vec<Result<Page<'static>, Error>> {
    urls.iter()
        .map(|url| page(ask(|host| host.render(url, WaitFor::Load))))
        .collect()
}

pub fn extract(role: &str, page: &Page<'_>, options: &str) -> Result<String, Error> {
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
