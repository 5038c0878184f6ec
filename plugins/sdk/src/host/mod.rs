//! Services of the host; most need a permission that the manifest requests and the operator
//! grants. In native builds the host is the one installed by a test
//! (`orbweaver_sdk::testing`); without one every call returns `Code::NotGranted`.

#[cfg(target_family = "wasm")]
#[path = "guest.rs"]
mod backend;
#[cfg(not(target_family = "wasm"))]
#[path = "native.rs"]
mod backend;
pub mod crawl_data;
pub mod http;
pub mod inputs;
pub mod job;
pub mod log;
pub mod state;

use std::future::Future;
use std::pin::Pin;
use std::task::Poll;

use crate::{Error, Page};

/// One call of a fetcher.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call<P> {
    /// The domain of the manifest that the caller used.
    pub domain: String,
    /// The path after the domain, without a leading slash; may be empty.
    pub path: String,
    /// The caller's parameters.
    pub params: P,
}

/// Event after which a rendered page counts as loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WaitFor {
    /// The `load` event.
    #[default]
    Load,
    /// The `DOMContentLoaded` event.
    DomContentLoaded,
    /// No request in progress for a while.
    NetworkIdle,
}

/// Renders a page in a browser: its state after its scripts have run. Needs permission `render`.
pub async fn render(url: &str, wait_for: WaitFor) -> Result<Page<'static>, Error> {
    backend::render(url, wait_for).await
}

/// Renders several pages, at most `concurrency` in parallel (0: the host's choice); the answers
/// are in the order of the URLs. Needs permission `render`.
pub fn render_many(
    urls: &[String],
    wait_for: WaitFor,
    concurrency: u32,
) -> Vec<Result<Page<'static>, Error>> {
    backend::render_many(urls, wait_for, concurrency)
}

/// Runs another plugin's role on a page; returns JSON text. Options are JSON text, `"{}"` for
/// none. Needs permission `extract` (roles). Calls run concurrently.
pub async fn extract(role: &str, page: &Page<'_>, options: &str) -> Result<String, Error> {
    backend::extract(role, page, options).await
}

/// The crawl's run that a hook's call is part of.
pub(crate) fn crawl_run() -> Option<i64> {
    backend::crawl_run()
}

impl Page<'_> {
    /// Lets the host parse HTML that was not fetched as a page, such as a fragment in an API's
    /// answer. For actors and fetchers; needs no permission.
    pub fn from_html(url: &str, html: &str) -> Page<'static> {
        backend::from_html(url, html)
    }
}

/// Waits for all futures together; the results are in their order.
pub async fn join_all<F: Future>(futures: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    enum Slot<F: Future> {
        Waiting(Pin<Box<F>>),
        Done(F::Output),
    }
    let mut slots: Vec<_> = futures
        .into_iter()
        .map(|f| Slot::Waiting(Box::pin(f)))
        .collect();
    // The outputs are moved, never pinned.
    impl<F: Future> Unpin for Slot<F> {}
    std::future::poll_fn(move |context| {
        let mut waiting = false;
        for slot in &mut slots {
            if let Slot::Waiting(future) = slot {
                match future.as_mut().poll(context) {
                    Poll::Ready(output) => *slot = Slot::Done(output),
                    Poll::Pending => waiting = true,
                }
            }
        }
        if waiting {
            return Poll::Pending;
        }
        let done = slots.drain(..).filter_map(|slot| match slot {
            Slot::Done(output) => Some(output),
            Slot::Waiting(_) => None,
        });
        Poll::Ready(done.collect())
    })
    .await
}
