//! Reads what a loaded page has: its document's response, and its HTML or its body.

use std::time::Duration;

use bytes::Bytes;
use orbweaver_core::render::WaitFor;
use tokio::time::{Instant, timeout_at};

use super::events::Answer;
use super::render::is_html;
use super::tab::{Tab, Trouble};
use crate::error::{Fault, Kind};

/// Time for a document to load that takes the place of another one while that is read.
const FOLLOW: Duration = Duration::from_secs(5);

/// What is read of a page, all of one document.
pub(super) struct PageContent {
    pub(super) answer: Answer,
    pub(super) url: String,
    /// HTML in UTF-8, or the body as received of what is not HTML.
    pub(super) body: Bytes,
    pub(super) is_html: bool,
    /// Whether it has loaded.
    pub(super) is_whole: bool,
}

impl Tab {
    /// The current document's content. While a script waits for another document, Chromium answers only
    /// once that is there: then it is the page, and if the guard or the filter refuses it, so is the page.
    pub(super) async fn content(&self, point: WaitFor) -> Result<PageContent, Trouble> {
        let mut is_whole = true;
        let mut replaced: Option<Instant> = None;
        loop {
            let deadline = replaced.unwrap_or_else(Instant::now);
            match timeout_at(deadline, self.reach(point)).await {
                Ok(reached) => {
                    reached?;
                    if replaced.is_some() {
                        self.settle(point, deadline).await?;
                    }
                }
                // The first document has had its time.
                Err(_) => is_whole &= replaced.is_none(),
            }
            let loader = self.watch.with(|state| state.loader.clone());
            let Some((answer, url)) = self.answer() else {
                let message = "the page has no document";
                return Err(Trouble::Fault(Fault::new(Kind::Protocol, None, message)));
            };
            let is_html = is_html(&answer.mime);
            let body = if is_html {
                self.html().await.map(Bytes::from)
            } else {
                let content_type = answer.headers.get("content-type");
                self.body(&answer.request, content_type).await
            };
            if self.watch.with(|state| state.loader == loader) {
                return Ok(PageContent {
                    body: body?,
                    answer,
                    url,
                    is_html,
                    is_whole,
                });
            }
            replaced = Some(Instant::now() + FOLLOW);
        }
    }
}
