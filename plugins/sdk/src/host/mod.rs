//! What a plugin may ask of its host, each part only if its manifest asks and the
//! operator grants. Outside the sandbox the host is the one that a test installs
//! (`orbweaver_sdk::testing`, natively only); without one every call is `Error::Denied`.

#[cfg(target_family = "wasm")]
#[path = "guest.rs"]
mod backend;
#[cfg(not(target_family = "wasm"))]
#[path = "native.rs"]
mod backend;
pub mod crawl_data;
pub mod http;
pub mod log;

use std::future::Future;
use std::pin::Pin;
use std::task::Poll;

use crate::{Error, Page};

/// One call of a fetcher.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call<P> {
    /// The domain of the manifest that the caller named.
    pub domain: String,
    /// What follows the domain: no leading slash; empty for none.
    pub path: String,
    /// The caller's parameters.
    pub params: P,
}

/// When a rendered page is ready.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WaitFor {
    /// The `load` event.
    #[default]
    Load,
    /// The `DOMContentLoaded` event.
    DomContentLoaded,
    /// No request under way for a while.
    NetworkIdle,
}

/// The page as it stands after its scripts ran in a real browser. Permission `render`.
pub async fn render(url: &str, wait_for: WaitFor) -> Result<Page<'static>, Error> {
    backend::render(url, wait_for).await
}

/// Renders several pages, at most `concurrency` at once (0: the host's choice); answers in
/// the order asked. Permission `render`.
pub fn render_many(urls: &[String], concurrency: u32) -> Vec<Result<Page<'static>, Error>> {
    backend::render_many(urls, concurrency)
}

/// Another plugin's work on a page, by role: JSON text. Options are JSON text too, `"{}"`
/// for none. Permission `extract` (roles).
pub fn extract(role: &str, page: &Page<'_>, options: &str) -> Result<String, Error> {
    backend::extract(role, page, options)
}

impl Page<'_> {
    /// HTML that did not come from a fetch of its own (a fragment inside an API's answer,
    /// say) as a page, parsed by the host. For actors and fetchers; needs no permission.
    pub fn from_html(url: &str, html: &str) -> Page<'static> {
        backend::from_html(url, html)
    }
}

/// Waits for all of the futures together; answers in their order.
pub async fn join_all<F: Future>(futures: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    enum Slot<F: Future> {
        Waiting(Pin<Box<F>>),
        Done(F::Output),
    }
    let mut slots: Vec<_> = futures
        .into_iter()
        .map(|f| Slot::Waiting(Box::pin(f)))
        .collect();
    // The outputs are only ever moved, never pinned.
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
