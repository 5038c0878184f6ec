//! Runs a plugin's code natively, in tests and benchmarks: documents of HTML, and a host provided
//! by the test. Needs the feature `testing` to parse HTML.
//!
//! ```
//! use orbweaver_sdk::testing::Document;
//! let document = Document::new("https://example.org/", "<title>Hello</title>");
//! let page = document.page();
//! assert_eq!(page.final_url(), "https://example.org/");
//! ```

mod site;

use std::cell::{OnceCell, RefCell};
use std::marker::PhantomData;
use std::rc::Rc;
use std::time::Duration;

use orbweaver_dom::Snapshot;

use crate::handle::Handle;
use crate::host::crawl_data::{Links, PageRow, Run};
use crate::host::http::Request;
use crate::host::job::Context;
use crate::host::log::Level;
use crate::page::{Cells, CellsRef};
use crate::{Code, Error, Header, Hop, Page, WaitFor};

pub use site::Site;

/// A document for tests.
pub struct Document {
    url: String,
    final_url: String,
    status: u16,
    cost_usd: f64,
    headers: Vec<Header>,
    redirects: Vec<Hop>,
    body: Option<Vec<u8>>,
    html: String,
    snapshot: Option<Snapshot>,
    parsed: OnceCell<crate::page::Document>,
}

impl Document {
    /// Creates a document from HTML: status 200, no headers, no redirect.
    pub fn new(url: &str, html: &str) -> Self {
        Self {
            url: url.to_owned(),
            final_url: url.to_owned(),
            status: 200,
            cost_usd: 0.0,
            headers: Vec::new(),
            redirects: Vec::new(),
            body: None,
            html: html.to_owned(),
            snapshot: None,
            parsed: OnceCell::new(),
        }
    }

    /// Sets the final URL, if it differs from the requested one.
    pub fn final_url(mut self, url: &str) -> Self {
        url.clone_into(&mut self.final_url);
        self
    }

    /// Sets the HTTP status; the default is 200.
    pub fn status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// Sets the price of the page, in US dollars; the default is 0.
    pub fn cost_usd(mut self, cost: f64) -> Self {
        self.cost_usd = cost;
        self
    }

    /// Adds a response header.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push(Header::new(name, value));
        self
    }

    /// Adds a redirect: the requested URL and its 3xx status.
    pub fn redirect(mut self, url: &str, status: u16) -> Self {
        self.redirects.push(Hop {
            url: url.to_owned(),
            status,
        });
        self
    }

    /// Sets a body that is not text, such as a compressed file.
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = Some(body.into());
        self
    }

    /// Uses this snapshot instead of parsing the HTML.
    pub fn snapshot(mut self, snapshot: Snapshot) -> Self {
        self.snapshot = Some(snapshot);
        self
    }

    /// A copy that is not parsed yet.
    pub fn copy(&self) -> Self {
        Self {
            url: self.url.clone(),
            final_url: self.final_url.clone(),
            status: self.status,
            cost_usd: self.cost_usd,
            headers: self.headers.clone(),
            redirects: self.redirects.clone(),
            body: self.body.clone(),
            html: self.html.clone(),
            snapshot: self.snapshot.clone(),
            parsed: OnceCell::new(),
        }
    }

    /// The page, borrowed.
    pub fn page(&self) -> Page<'_> {
        let parsed = self.parsed.get_or_init(|| {
            let snapshot = self.snapshot.clone().unwrap_or_else(|| parse(&self.html));
            #[expect(
                clippy::expect_used,
                reason = "native only, with a snapshot created here or by the test"
            )]
            crate::page::Document::of(snapshot).expect("a readable snapshot")
        });
        Page::from_parts(crate::Parts {
            url: &self.url,
            final_url: &self.final_url,
            status: self.status,
            headers: &self.headers,
            html: &self.html,
            view: parsed.borrow_dependent(),
        })
    }

    /// The page, as returned by [`http::fetch`](crate::http::fetch).
    pub fn into_page(self) -> Page<'static> {
        let snapshot = self.snapshot.unwrap_or_else(|| parse(&self.html));
        let cells = Cells {
            url: self.url.into(),
            final_url: self.final_url.into(),
            status: self.status.into(),
            cost_usd: self.cost_usd.into(),
            headers: self.headers.into(),
            redirects: self.redirects.into(),
            body: self.body.map(OnceCell::from).unwrap_or_default(),
            html: self.html.into(),
            document: crate::page::Document::of(snapshot).into(),
            json_ld: OnceCell::new(),
            kept: crate::kept::Kept::default(),
        };
        Page::from_host(Handle(PhantomData), CellsRef::Own(Box::new(cells)))
    }
}

#[cfg(feature = "testing")]
fn parse(html: &str) -> Snapshot {
    orbweaver_dom::parse(html)
}

/// Without the parser there is no snapshot, and [`Page::view`] returns an error.
#[cfg(not(feature = "testing"))]
fn parse(_html: &str) -> Snapshot {
    Snapshot::default()
}

/// Runs an extractor's function on a page with this HTML.
pub fn extract(
    function: impl FnOnce(&Page<'_>, &str) -> Result<String, Error>,
    url: &str,
    html: &str,
    options: &str,
) -> Result<String, Error> {
    function(&Document::new(url, html).page(), options)
}

/// The error of something that is not granted.
fn not_granted(permission: &str) -> Error {
    Error::new(
        Code::NotGranted,
        format_args!("permission {permission} is not granted"),
    )
}

/// The host of a test. Methods that are not implemented return [`Code::NotGranted`], as without a
/// grant.
#[expect(unused_variables, reason = "named for implementors")]
pub trait Host {
    /// Answers [`http::fetch`](crate::http::fetch) and `fetch_many`.
    fn fetch(&self, request: &Request) -> Result<Document, Error> {
        Err(not_granted("http"))
    }

    /// Answers [`render`](crate::render()) and `render_many`.
    fn render(&self, url: &str, wait_for: WaitFor) -> Result<Document, Error> {
        Err(not_granted("render"))
    }

    /// Answers [`extract`](crate::extract()).
    fn extract(&self, role: &str, page: &Page<'_>, options: &str) -> Result<String, Error> {
        Err(not_granted("extract"))
    }

    /// Answers [`crawl_data::run`](crate::crawl_data::run).
    fn run(&self, id: i64) -> Result<Run, Error> {
        Err(not_granted("crawl-data"))
    }

    /// Answers [`crawl_data::pages`](crate::crawl_data::pages).
    fn pages(&self, run: i64, after: i64, limit: u32) -> Result<Vec<PageRow>, Error> {
        Err(not_granted("crawl-data"))
    }

    /// Answers [`crawl_data::links`](crate::crawl_data::links).
    fn links(&self, run: i64, after: i64, pages: u32) -> Result<Links, Error> {
        Err(not_granted("crawl-data"))
    }

    /// Answers [`crawl_data::open`](crate::crawl_data::open).
    fn open(&self, page: i64) -> Result<Document, Error> {
        Err(not_granted("crawl-data"))
    }

    /// Receives messages of [`log`](crate::log).
    fn log(&self, level: Level, message: &str) {}

    /// Answers [`hook::run_id`](crate::hook::run_id): by default there is no run.
    fn crawl_run(&self) -> Option<i64> {
        None
    }

    /// Answers [`inputs::output`](crate::inputs::output).
    fn input(&self, role: &str) -> Result<String, Error> {
        Err(not_granted(&format!("needs = [{role:?}]")))
    }

    /// Answers [`job::context`](crate::job::context): by default a request waits for the answer.
    fn job_context(&self) -> Context {
        Context {
            attempts: 1,
            time_left: Duration::from_secs(180),
            ..Context::default()
        }
    }

    /// Receives [`job::progress`](crate::job::progress).
    fn progress(&self, done: u64, total: Option<u64>, message: &str) {}

    /// Receives the JSON text of an item of [`job::emit`](crate::job::emit).
    fn emit(&self, item: &str) -> Result<(), Error> {
        Err(Error::invalid(
            "emit: items can be emitted only in a background run",
        ))
    }

    /// Answers [`job::is_cancelled`](crate::job::is_cancelled).
    fn is_cancelled(&self) -> bool {
        false
    }
}

thread_local! {
    static HOST: RefCell<Option<Rc<dyn Host>>> = const { RefCell::new(None) };
}

/// Installs `host` on this thread until the guard is dropped.
pub fn install(host: impl Host + 'static) -> Installed {
    let before = HOST.with(|slot| slot.borrow_mut().replace(Rc::new(host)));
    Installed { before }
}

/// See [`install`].
#[must_use = "the host is removed when this is dropped"]
pub struct Installed {
    before: Option<Rc<dyn Host>>,
}

impl Drop for Installed {
    fn drop(&mut self) {
        let before = self.before.take();
        HOST.with(|slot| *slot.borrow_mut() = before);
    }
}

pub(crate) fn installed() -> Option<Rc<dyn Host>> {
    HOST.with(|slot| slot.borrow().clone())
}

/// Runs a future to its end on this thread. In tests nothing waits for a network.
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = std::pin::pin!(future);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    loop {
        if let std::task::Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        std::thread::yield_now();
    }
}
