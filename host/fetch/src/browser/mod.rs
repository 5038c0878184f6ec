//! Rendering: a pool of one Chromium, launched on demand and kept running.
//!
//! Every page has its own browser context, shares nothing with other pages, and reaches the
//! network through its own [`filter`], which applies the guard. Every step has a deadline, and
//! memory has a bound while pages run ([`meter`]). If a browser crashes, its pages are retried once.

mod actions;
mod cdp;
mod chromium;
mod config;
mod content;
mod evaluate;
mod events;
mod extras;
mod faults;
mod filter;
mod gate;
mod meter;
mod process;
mod profile;
mod render;
mod request_headers;
mod session;
mod settle;
mod snapshot;
mod steps;
mod strays;
mod tab;
mod tunnel;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;

use orbweaver_core::ids::ProjectId;
use orbweaver_core::user_agent::is_rotated;
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};

pub use config::{BROWSERS, BrowserConfig, Isolation, Sandbox, find_browser};
pub use gate::MayRequest;
pub use orbweaver_core::render::WaitFor;
pub use render::{NoPicture, Receives, RenderExtras, RenderRequest, Rendered};
pub use session::SessionCookies;
pub use snapshot::CUT;
pub use steps::{Action, PictureFormat, PictureOptions, ScrollDirection, Viewport, key_names};

use crate::cookies::CookieJar;
use crate::error::{Fault, FetchError, Kind, SubKind};
use crate::fetcher::Fetcher;
use crate::request::Request;
use crate::response::{Response, Timings};
use chromium::Chromium;
use faults::{busy, cause, outgrown, stopping};
use render::headers;
use snapshot::Shot;
use tab::{Tab, Trouble};

/// Time limit for reading the HTML of a loaded page.
const TAKE: Duration = Duration::from_secs(15);
/// Time limit for scrolling through a page and taking its screenshot.
const PAINT: Duration = Duration::from_secs(40);
/// Time limit for opening or closing an empty page.
const OPEN: Duration = Duration::from_secs(15);
/// Time limit from the kill signal to the end of the browser's last process.
const END: Duration = Duration::from_secs(3);
/// Interval at which a browser is checked for being idle.
const POLL_INTERVAL: Duration = Duration::from_secs(5);

/// The pool of browsers. Clones share it.
#[derive(Clone)]
pub struct Renderer(Arc<Inner>);

struct Inner {
    config: BrowserConfig,
    fetcher: Fetcher,
    program: Option<PathBuf>,
    turns: Arc<Semaphore>,
    current: Mutex<Current>,
}

#[derive(Default)]
struct Current {
    browser: Option<Arc<Chromium>>,
    closed: bool,
}

impl Inner {
    fn fetcher_of(&self, project: Option<ProjectId>) -> Fetcher {
        project.map_or_else(
            || self.fetcher.clone(),
            |project| self.fetcher.of_project(project),
        )
    }
}

impl Renderer {
    /// A pool whose browser is `program`, or the first that is found; nothing starts yet.
    pub fn new(fetcher: Fetcher, program: Option<&Path>, config: BrowserConfig) -> Self {
        let program = find_browser(program);
        Self(Arc::new(Inner {
            turns: Arc::new(Semaphore::new(config.concurrent.max(1))),
            program,
            config,
            fetcher,
            current: Mutex::default(),
        }))
    }

    /// Whether a browser is installed.
    pub fn is_available(&self) -> bool {
        self.0.program.is_some()
    }

    /// How the browser is isolated from this machine; `None` without a browser.
    pub fn isolation(&self) -> Option<Isolation> {
        self.is_available()
            .then(|| self.0.config.sandbox.isolation())
    }

    /// Process group of the running browser, if one runs.
    #[crate::boxed]
    pub async fn process_group(&self) -> Option<i32> {
        let current = self.0.current.lock().await;
        current.browser.as_ref().and_then(|browser| browser.group())
    }

    /// Renders a page.
    ///
    /// # Errors
    /// Why it failed; see [`Kind`]. Every request of the page's main frame counts as a
    /// redirect: if the guard refuses one, the error is [`Kind::Refused`].
    #[crate::boxed]
    pub async fn render(&self, request: RenderRequest) -> Result<Rendered, FetchError> {
        let started = Instant::now();
        let result = self.run(&request, started).await;
        let outcome = result
            .as_ref()
            .map_or_else(|error| error.kind.as_str(), |_| "page");
        metrics::counter!("orbweaver_render_total", "outcome" => outcome).increment(1);
        metrics::histogram!("orbweaver_render_seconds").record(started.elapsed().as_secs_f64());
        result
    }

    async fn run(&self, request: &RenderRequest, started: Instant) -> Result<Rendered, FetchError> {
        let inner = &self.0;
        let at = |fault: Fault| fault.at(&request.url, Vec::new());
        let fetcher = inner.fetcher_of(request.project);
        fetcher.judge_resolved(&request.url).await?;
        if inner.program.is_none() {
            return Err(at(Fault::new(
                Kind::Browser,
                SubKind::Unavailable,
                "no browser is installed",
            )));
        }
        let turn = timeout(
            inner.config.queue_ms.as_duration(),
            Arc::clone(&inner.turns).acquire_owned(),
        )
        .await
        .map_err(|_| busy())
        .and_then(|turn| turn.map_err(|_| stopping()))
        .map_err(at)?;
        let mut turn = Some(turn);
        let mut last = None;
        let mut alone = false;
        // A crash is retried once.
        for _ in 0..2 {
            let Some(held) = turn.take() else { break };
            match self.once(request, started, held, alone).await {
                Ok(rendered) => return Ok(rendered),
                Err((Trouble::Crashed(why), held)) => {
                    tracing::warn!(why, "rendering failed");
                    last = Some(why);
                    turn = held;
                }
                Err((Trouble::Outgrown, held)) if !alone => {
                    last = Some("the browser ended because of its memory".to_owned());
                    alone = true;
                    turn = held;
                }
                Err((Trouble::Outgrown, _)) => return Err(at(outgrown())),
                Err((Trouble::Fault(fault), _)) => return Err(at(fault)),
                Err((Trouble::Download(jar), _)) => return self.download(request, jar).await,
            }
        }
        let why = last.unwrap_or_default();
        Err(at(
            Fault::new(Kind::Browser, SubKind::Crashed, why).retryable()
        ))
    }

    /// Fetches a document that the browser would save instead of display, as the caller asked for
    /// it and with the page's cookies.
    async fn download(
        &self,
        request: &RenderRequest,
        jar: CookieJar,
    ) -> Result<Rendered, FetchError> {
        let extras = &request.extras;
        let fetch = Request {
            headers: extras.headers_of(&request.url).to_vec(),
            cookies: extras.cookies.clone(),
            jar: Some(jar),
            user_agent: request.user_agent.clone(),
            proxy: request.proxy.clone(),
            traffic: request.traffic.clone(),
            ..Request::get(&request.url)
        };
        let fetcher = self.0.fetcher_of(request.project);
        let response = fetcher.fetch(fetch).await?;
        Ok(Rendered {
            response,
            picture: request.picture.then(|| {
                Err(NoPicture::Failed(
                    "the URL is a download, not a page".to_owned(),
                ))
            }),
            screenshots: Vec::new(),
            is_cut: false,
            partial: false,
        })
    }

    async fn once(
        &self,
        request: &RenderRequest,
        started: Instant,
        turn: OwnedSemaphorePermit,
        alone: bool,
    ) -> Result<Rendered, (Trouble, Option<OwnedSemaphorePermit>)> {
        let browser = match alone {
            true => self.launch().await,
            false => self.browser().await,
        };
        let browser = match browser {
            Ok(browser) => browser,
            Err(fault) => return Err((Trouble::Fault(fault), None)),
        };
        let tab = match self.tab(&browser).await {
            Ok(tab) => tab,
            Err(trouble) => {
                browser.retire("fault");
                return Err((cause(&browser, u32::MAX, trouble), Some(turn)));
            }
        };
        if alone {
            browser.retire("alone");
        }
        browser.count_use(&self.0.config);
        let running = browser.pages.begin();
        let cut = browser.pages_cut();
        let ended = tab
            .watch
            .until(|state| (state.crashed || state.closed).then_some(()));
        let mut result = tokio::select! {
            result = self.load(&browser, &tab, request, started) => result,
            () = ended => Err(Trouble::Crashed("the page crashed".to_owned())),
        }
        .map_err(|trouble| cause(&browser, cut, trouble));
        if let Err(Trouble::Download(jar)) = &mut result
            && let Ok(Ok(left)) = timeout(TAKE, tab.hand_over(request)).await
        {
            *jar = left;
        }
        let crashed = matches!(&result, Err(Trouble::Crashed(_) | Trouble::Outgrown));
        // In the background: the caller need not wait. The permit is held until it is done.
        let pool = Arc::downgrade(&self.0);
        let (kept, held) = match crashed {
            true => (Some(turn), None),
            false => (None, Some(turn)),
        };
        tokio::spawn(tidy(pool, browser, tab, running, held));
        result.map_err(|trouble| (trouble, kept))
    }

    /// The running browser, or a new one.
    async fn browser(&self) -> Result<Arc<Chromium>, Fault> {
        let inner = &self.0;
        let mut current = inner.current.lock().await;
        if current.closed {
            return Err(stopping());
        }
        if let Some(browser) = &current.browser
            && browser.is_fit()
        {
            return Ok(Arc::clone(browser));
        }
        // Pages that still run in a retired browser keep it alive.
        current.browser = None;
        let browser = self.launch().await?;
        current.browser = Some(Arc::clone(&browser));
        tokio::spawn(close_when_idle(
            Arc::downgrade(inner),
            Arc::downgrade(&browser),
        ));
        Ok(browser)
    }

    async fn launch(&self) -> Result<Arc<Chromium>, Fault> {
        let program = self.0.program.as_deref().unwrap_or_else(|| Path::new(""));
        let started = Chromium::start(program, &self.0.config).await;
        started.map_err(|why| {
            tracing::error!("{why}");
            Fault::new(Kind::Browser, SubKind::Unavailable, why).retryable()
        })
    }

    async fn tab(&self, browser: &Chromium) -> Result<Tab, Trouble> {
        let spare = browser.spare.lock().take();
        if let Some(tab) = spare {
            return Ok(tab);
        }
        open(&self.0, browser).await
    }

    async fn load(
        &self,
        browser: &Chromium,
        tab: &Tab,
        request: &RenderRequest,
        started: Instant,
    ) -> Result<Rendered, Trouble> {
        let patience = request
            .timeout
            .unwrap_or(self.0.config.timeout_ms.as_duration());
        let asked = request.user_agent.as_deref();
        let asked = asked.filter(|asked| !is_rotated(Some(asked)));
        let agent = asked.unwrap_or(&browser.user_agent);
        let reached = tab.go(request, agent, Instant::now() + patience).await?;
        let first_byte = started.elapsed();
        let screenshots = tab.perform(request).await?;
        let late = || {
            Trouble::Fault(
                Fault::new(
                    Kind::Timeout,
                    SubKind::Total,
                    "the page does not respond: it is busy",
                )
                .retryable(),
            )
        };
        let content = timeout(TAKE, tab.content(request.wait_for))
            .await
            .map_err(|_| late())??;
        let (body, reached) = (content.body, reached && content.is_whole);
        let limit = self.0.fetcher.limits().max_body_bytes;
        if body.len() as u64 > limit {
            let message = format!("the rendered page is larger than {limit} bytes");
            return Err(Trouble::Fault(Fault::new(Kind::TooLarge, None, message)));
        }
        if let Some(session) = &request.extras.session {
            timeout(TAKE, tab.leave(session))
                .await
                .map_err(|_| late())??;
        }
        let picture = if request.picture {
            Some(paint(tab, &request.extras.picture).await?)
        } else {
            None
        };
        let redirects = tab.watch.with(|state| std::mem::take(&mut state.redirects));
        Ok(Rendered {
            response: Response {
                url: request.url.clone(),
                final_url: content.url,
                status: content.answer.status,
                headers: headers(content.answer, content.is_html, reached),
                redirects,
                body,
                raw: None,
                truncated: false,
                wire_bytes: tab.filter.bytes(),
                timings: Timings {
                    first_byte,
                    total: started.elapsed(),
                },
                remote_addr: None,
            },
            is_cut: picture
                .iter()
                .flatten()
                .chain(&screenshots)
                .any(|shot| shot.is_cut),
            picture: picture.map(|taken| taken.map(|shot| shot.bytes)),
            screenshots: screenshots.into_iter().map(|shot| shot.bytes).collect(),
            partial: !reached,
        })
    }

    /// Ends the browser with everything in it; later renders fail.
    #[crate::boxed]
    pub async fn shutdown(&self) {
        self.0.turns.close();
        let browser = {
            let mut current = self.0.current.lock().await;
            current.closed = true;
            current.browser.take()
        };
        if let Some(browser) = browser {
            browser.retire("shutdown");
            let _ = timeout(END, browser.end()).await;
        }
    }
}

async fn open(inner: &Inner, browser: &Chromium) -> Result<Tab, Trouble> {
    let opening = Tab::open(
        &browser.connection,
        &inner.fetcher,
        inner.config.max_page_bytes,
    );
    timeout(OPEN, opening)
        .await
        .unwrap_or_else(|_| Err(Trouble::Crashed("the browser opens no page".to_owned())))
}

/// A failed screenshot is reported with the page; only a crash is an error.
async fn paint(tab: &Tab, options: &PictureOptions) -> Result<Result<Shot, NoPicture>, Trouble> {
    match timeout(PAINT, tab.picture(options)).await {
        Ok(Ok(picture)) => Ok(Ok(picture)),
        Ok(Err(trouble @ (Trouble::Crashed(_) | Trouble::Outgrown))) => Err(trouble),
        Ok(Err(Trouble::Fault(fault))) => Ok(Err(match fault.kind {
            Kind::InvalidRequest => NoPicture::Field(fault.message),
            _ => NoPicture::Failed(fault.message),
        })),
        Ok(Err(Trouble::Download(_))) => {
            Ok(Err(NoPicture::Failed("the URL is a download".to_owned())))
        }
        Err(_) => Ok(Err(NoPicture::Failed(format!(
            "the page could not be painted within {} s",
            PAINT.as_secs()
        )))),
    }
}

/// Closes a used page and opens the next one ahead of time.
async fn tidy(
    pool: Weak<Inner>,
    browser: Arc<Chromium>,
    tab: Tab,
    running: meter::Running,
    turn: Option<OwnedSemaphorePermit>,
) {
    if !tab.close(Instant::now() + OPEN).await {
        browser.retire("fault");
    }
    drop(running);
    let Some(inner) = pool.upgrade() else { return };
    drop(turn);
    if !browser.is_fit() || browser.spare.lock().is_some() {
        return;
    }
    match open(&inner, &browser).await {
        Ok(tab) if browser.is_fit() => *browser.spare.lock() = Some(tab),
        Ok(_) => {}
        Err(trouble) => tracing::debug!(?trouble, "no spare page"),
    }
}

async fn close_when_idle(pool: Weak<Inner>, browser: Weak<Chromium>) {
    loop {
        tokio::time::sleep(POLL_INTERVAL).await;
        let (Some(inner), Some(browser)) = (pool.upgrade(), browser.upgrade()) else {
            return;
        };
        if browser.idle() > inner.config.idle_ms.as_duration() || !browser.is_fit() {
            let mut current = inner.current.lock().await;
            if current
                .browser
                .as_ref()
                .is_some_and(|now| Arc::ptr_eq(now, &browser))
            {
                browser.retire("idle");
                current.browser = None;
            }
            return;
        }
    }
}
