//! Waits after a load event until the document's scripts have finished.
//!
//! An application shows nothing at its `load` event: its scripts request data then, and build
//! the page from it. So every wait ends with a quiet network and document, both limited in time.

use std::time::Duration;

use orbweaver_core::render::WaitFor;
use tokio::time::{Instant, timeout_at};

use super::tab::{Tab, Trouble};

/// Maximum time for network and document to become quiet after the event.
const SETTLE: Duration = Duration::from_secs(5);
/// Maximum number of navigations followed during the wait.
const MAX_ROUNDS: usize = 10;

/// Whether the document was unchanged for a quarter of a second, or has no scripts that could
/// change it; gives up after two seconds of changes, as an animation has no end. Where a document
/// forbids scripts (`Content-Security-Policy: sandbox`), timers and observers of ours do not run, either.
const QUIET: &str = "new Promise((done) => {
  const inert = matchMedia('(scripting: none)').matches;
  if (inert || !document.scripts.length && !document.querySelector('[onload]')) { done(true); return; }
  let quiet;
  const observer = new MutationObserver(() => { clearTimeout(quiet); quiet = setTimeout(end, 250, true); });
  const last = setTimeout(end, 2000, false);
  function end(is) { observer.disconnect(); clearTimeout(quiet); clearTimeout(last); done(is); }
  observer.observe(document, {subtree: true, childList: true, characterData: true});
  quiet = setTimeout(end, 250, true);
})";

impl Tab {
    /// Waits until the main frame asks for nothing and its document does not change, at most
    /// until `deadline`. Scripts that lead to another document are followed to `point` there.
    pub(super) async fn settle(&self, point: WaitFor, deadline: Instant) -> Result<(), Trouble> {
        let deadline = deadline.min(Instant::now() + SETTLE);
        match timeout_at(deadline, self.quiet(point)).await {
            Ok(done) => done,
            // Later changes do not count as part of the load.
            Err(_) => Ok(()),
        }
    }

    async fn quiet(&self, point: WaitFor) -> Result<(), Trouble> {
        for _ in 0..MAX_ROUNDS {
            let begun = self
                .watch
                .until(|state| match state.troubled() {
                    true => Some(None),
                    false => state.is_idle().then_some(Some(state.begun)),
                })
                .await;
            let unchanged = match begun {
                // `None` also if the document was replaced meanwhile.
                Some(_) => self.evaluate(QUIET).await.unwrap_or_default(),
                None => None,
            };
            // Also reports a crash, and a navigation that the guard refuses.
            self.reach(point).await?;
            match unchanged {
                Some(true) => {
                    let still = |state: &mut super::events::State| {
                        state.is_idle() && Some(state.begun) == begun
                    };
                    if self.watch.with(still) {
                        return Ok(());
                    }
                }
                Some(false) => return Ok(()),
                None => {}
            }
        }
        Ok(())
    }
}
