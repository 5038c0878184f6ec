//! Signals to the worker that delivers webhooks.

use std::sync::Arc;

use tokio::sync::{Notify, watch};

/// The deliveries of this process. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Webhooks(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    wake: Notify,
    stop: watch::Sender<bool>,
}

impl Default for Inner {
    fn default() -> Self {
        Self {
            wake: Notify::new(),
            stop: watch::Sender::new(false),
        }
    }
}

impl Webhooks {
    /// Wakes the worker because a delivery is due.
    pub fn wake(&self) {
        self.0.wake.notify_one();
    }

    /// Takes no more deliveries; open attempts continue for a while.
    pub fn stop(&self) {
        self.0.stop.send_replace(true);
    }

    /// Waits until [`wake`](Self::wake) is called.
    pub(super) async fn woken(&self) {
        self.0.wake.notified().await;
    }

    /// Becomes true with [`stop`](Self::stop).
    pub(super) fn stops(&self) -> watch::Receiver<bool> {
        self.0.stop.subscribe()
    }
}
