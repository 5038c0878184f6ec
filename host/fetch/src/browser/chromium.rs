//! A running browser.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::json;
use tokio::time::Instant;

use super::cdp::Connection;
use super::config::BrowserConfig;
use super::meter::{self, Pages, Usage};
use super::process::{self, Process, Started};
use super::tab::Tab;

/// A browser process with its pipe. Dropping the last handle ends it.
pub(super) struct Chromium {
    pub connection: Connection,
    /// The browser's own user agent, with `HeadlessChrome` changed to `Chrome`.
    pub user_agent: String,
    /// An empty page, prepared for the next request.
    pub spare: Mutex<Option<Tab>>,
    /// The pages that run in it.
    pub pages: Pages,
    process: Process,
    uses: AtomicU32,
    worn: AtomicBool,
    /// Pages ended because of their memory.
    cut: AtomicU32,
    /// Whether it was ended because of the memory of all its pages.
    outgrown: AtomicBool,
    last_use: Mutex<Instant>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Version {
    user_agent: String,
    product: String,
}

/// Why a browser did not start, as a message for the operator.
enum Failure {
    /// It ended before it answered.
    Ended(String),
    /// It could not be launched, or did not answer in time.
    Other(String),
}

impl Failure {
    fn into_message(self) -> String {
        match self {
            Self::Ended(why) | Self::Other(why) => why,
        }
    }
}

impl Chromium {
    /// Starts a browser and waits until it answers. One that crashes while it starts, as Chromium
    /// does at times on a busy machine, is started once more.
    ///
    /// # Errors
    /// The reason, as a message for the operator.
    #[crate::boxed]
    pub async fn start(program: &Path, config: &BrowserConfig) -> Result<Arc<Self>, String> {
        let started = match Self::try_start(program, config).await {
            Err(Failure::Ended(why)) => {
                tracing::warn!(%why, "a browser crashed while it started; it is started again");
                Self::try_start(program, config).await
            }
            other => other,
        };
        let browser = Arc::new(started.map_err(Failure::into_message)?);
        let most = config.max_memory_mib << 20;
        let pages = browser.pages.count();
        tokio::spawn(meter::look(Arc::downgrade(&browser), pages, most));
        Ok(browser)
    }

    async fn try_start(program: &Path, config: &BrowserConfig) -> Result<Self, Failure> {
        let shown = program.display();
        let Started {
            process,
            input,
            output,
        } = process::launch(program, config.sandbox)
            .await
            .map_err(|error| Failure::Other(format!("{shown} does not start: {error}")))?;
        let connection = Connection::start(input, output);
        let version = connection.call::<Version>(None, "Browser.getVersion", json!({}));
        let answer = tokio::time::timeout(config.launch_ms.as_duration(), version).await;
        if let Ok(Ok(version)) = answer {
            tracing::info!(product = version.product, "a browser is running");
            metrics::counter!("orbweaver_browser_launches_total").increment(1);
            return Ok(Self {
                connection,
                user_agent: version.user_agent.replace("HeadlessChrome", "Chrome"),
                spare: Mutex::default(),
                pages: Pages::new(),
                process,
                uses: AtomicU32::new(0),
                worn: AtomicBool::new(false),
                cut: AtomicU32::new(0),
                outgrown: AtomicBool::new(false),
                last_use: Mutex::new(Instant::now()),
            });
        }
        // Its last error output may arrive late.
        tokio::time::sleep(Duration::from_millis(100)).await;
        let words = process.last_words();
        Err(match answer {
            Ok(Err(error)) => Failure::Ended(format!("{shown} does not start ({error}): {words}")),
            _ => {
                let limit = config.launch_ms.0;
                Failure::Other(format!(
                    "{shown} does not start (no answer within {limit} ms): {words}"
                ))
            }
        })
    }

    /// Whether it may render more pages.
    pub fn is_fit(&self) -> bool {
        !self.worn.load(Ordering::Relaxed) && !self.connection.is_closed()
    }

    /// Accepts no more pages; those in progress may finish.
    pub fn retire(&self, why: &'static str) {
        if !self.worn.swap(true, Ordering::Relaxed) {
            tracing::info!(why, "a browser is retired");
            metrics::counter!("orbweaver_browser_retired_total", "why" => why).increment(1);
        }
        self.spare.lock().take();
    }

    /// Counts a page; retires the browser after its configured number of pages.
    pub fn count_use(&self, config: &BrowserConfig) {
        *self.last_use.lock() = Instant::now();
        if self.uses.fetch_add(1, Ordering::Relaxed) + 1 >= config.max_uses {
            self.retire("uses");
        }
    }

    /// Keeps the browser within its memory: a page that has more than half of it is ended. Above it,
    /// no more pages are accepted, and a third above it, the browser is ended with all its pages.
    pub fn bound(&self, usage: &Usage, most: u64) {
        #[expect(clippy::cast_precision_loss, reason = "a gauge")]
        metrics::gauge!("orbweaver_browser_memory_bytes").set(usage.bytes as f64);
        if let Some((pid, bytes)) = usage.largest
            && bytes > most / 2
        {
            tracing::warn!(bytes, "a page is ended because of its memory");
            metrics::counter!("orbweaver_browser_pages_ended_total").increment(1);
            self.cut.fetch_add(1, Ordering::SeqCst);
            self.process.kill_member(pid);
        } else if usage.bytes > most.saturating_add(most / 3) {
            tracing::warn!(
                bytes = usage.bytes,
                "a browser is ended because of its memory"
            );
            self.outgrown.store(true, Ordering::SeqCst);
            self.retire("memory");
            self.process.kill();
        } else if usage.bytes > most {
            self.retire("memory");
        }
    }

    /// How many of its pages were ended because of their memory.
    pub fn pages_cut(&self) -> u32 {
        self.cut.load(Ordering::SeqCst)
    }

    /// Whether it was ended because of the memory of all its pages.
    pub fn is_outgrown(&self) -> bool {
        self.outgrown.load(Ordering::SeqCst)
    }

    /// Time since the last page was requested.
    pub fn idle(&self) -> Duration {
        self.last_use.lock().elapsed()
    }

    /// Ends it at once and waits until all its processes are gone.
    #[crate::boxed]
    pub async fn end(&self) {
        self.process.kill();
        self.process.ended().await;
    }

    /// Its process group, while it runs.
    pub fn group(&self) -> Option<i32> {
        self.process.group()
    }
}
