//! A host that serves a list of documents.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::{Document, Host};
use crate::host::crawl_data::{Links, PageRow, Run};
use crate::host::http::Request;
use crate::{Code, Error, Page, WaitFor};

type Role = Box<dyn Fn(&Page<'_>, &str) -> Result<String, Error>>;

/// A [`Host`] that serves documents; sufficient for most tests of an actor.
///
/// ```
/// use orbweaver_sdk::testing::{Document, Site, block_on, install};
/// use orbweaver_sdk::http;
/// let site = Site::default().page(Document::new("https://example.org/", "<p>Hello"));
/// let asked = site.asked();
/// let _web = install(site);
/// let page = block_on(http::get("https://example.org/"));
/// assert_eq!(page.map(|page| page.status()), Ok(200));
/// assert_eq!(*asked.borrow(), ["GET https://example.org/"]);
/// ```
#[derive(Default)]
pub struct Site {
    answers: BTreeMap<String, Result<Document, Error>>,
    disallowed: BTreeSet<String>,
    roles: BTreeMap<String, Role>,
    run: Option<Run>,
    rows: Vec<PageRow>,
    links: Vec<Links>,
    asked: Rc<RefCell<Vec<String>>>,
}

impl Site {
    /// Answers every method for the document's URL, except those set with
    /// [`method`](Self::method).
    pub fn page(self, document: Document) -> Self {
        self.method("*", document)
    }

    /// Answers one method (`HEAD`, `GET`, `POST`; `RENDER` for the browser) for the document's
    /// URL.
    pub fn method(mut self, method: &str, document: Document) -> Self {
        let key = format!("{method} {}", document.url);
        self.answers.insert(key, Ok(document));
        self
    }

    /// Sets the rendered page of the document's URL.
    pub fn rendered(self, document: Document) -> Self {
        self.method("RENDER", document)
    }

    /// Fails every method for this URL, except those set with [`method`](Self::method).
    pub fn fails(mut self, url: &str, error: Error) -> Self {
        self.answers.insert(format!("* {url}"), Err(error));
        self
    }

    /// Denies requests for this URL that obey robots.txt.
    pub fn disallows(mut self, url: &str) -> Self {
        self.disallowed.insert(url.to_owned());
        self
    }

    /// Runs a role with an extractor's function.
    pub fn role(
        mut self,
        role: &str,
        function: impl Fn(&Page<'_>, &str) -> Result<String, Error> + 'static,
    ) -> Self {
        self.roles.insert(role.to_owned(), Box::new(function));
        self
    }

    /// Sets a finished run, its pages in ascending order of their ids, and the batches of its
    /// links. A batch's `next` is the `after` of the following one.
    pub fn crawl(mut self, run: Run, pages: Vec<PageRow>, links: Vec<Links>) -> Self {
        self.run = Some(run);
        self.rows = pages;
        self.links = links;
        self
    }

    /// The requests and renders so far, in order: `GET https://example.org/`.
    pub fn asked(&self) -> Rc<RefCell<Vec<String>>> {
        Rc::clone(&self.asked)
    }

    fn answer(&self, method: &str, url: &str) -> Result<Document, Error> {
        let key = format!("{method} {url}");
        let found = self
            .answers
            .get(&key)
            .or_else(|| self.answers.get(&format!("* {url}")));
        self.asked.borrow_mut().push(key);
        match found {
            Some(Ok(document)) => Ok(document.copy()),
            Some(Err(error)) => Err(error.clone()),
            None => Err(Error::new(
                Code::Connect,
                format_args!("no answer from {url}"),
            )),
        }
    }
}

impl Host for Site {
    fn fetch(&self, request: &Request) -> Result<Document, Error> {
        if request.respect_robots && self.disallowed.contains(&request.url) {
            let url = &request.url;
            return Err(Error::new(
                Code::Robots,
                format_args!("robots.txt disallows {url}"),
            ));
        }
        self.answer(&request.method, &request.url)
    }

    fn render(&self, url: &str, _wait_for: WaitFor) -> Result<Document, Error> {
        self.answer("RENDER", url)
    }

    fn extract(&self, role: &str, page: &Page<'_>, options: &str) -> Result<String, Error> {
        match self.roles.get(role) {
            Some(function) => function(page, options),
            None => Err(super::not_granted(&format!("extract={role}"))),
        }
    }

    fn run(&self, id: i64) -> Result<Run, Error> {
        let run = self.run.as_ref().filter(|run| run.id == id);
        run.cloned()
            .ok_or_else(|| Error::field("crawl_id", format_args!("no run {id}")))
    }

    fn pages(&self, _run: i64, after: i64, limit: u32) -> Result<Vec<PageRow>, Error> {
        let rows = self.rows.iter().filter(|row| row.id > after);
        Ok(rows.take(limit as usize).cloned().collect())
    }

    fn links(&self, _run: i64, after: i64, _pages: u32) -> Result<Links, Error> {
        let mut before = 0;
        for batch in &self.links {
            if before == after {
                return Ok(batch.clone());
            }
            before = batch.next.unwrap_or(before);
        }
        Ok(Links::default())
    }
}
