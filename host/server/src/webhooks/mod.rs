//! Webhooks: what a run that ends tells, and delivering it.
//!
//! A run and its deliveries end up in the database in one transaction ([`end_run`]), so that
//! nothing is told of a run that did not end, and a run that ended is told of whatever
//! happens to this process. Workers take what is due and try it ([`worker`]): at least once,
//! with the same `webhook-id` every time.

mod attempt;
mod body;
mod plan;
mod worker;

use std::sync::Arc;
use std::time::Duration;

use orbweaver_core::ids::ProjectId;
use orbweaver_core::webhook::RetryPolicy;
use orbweaver_store::StoreError;
use orbweaver_store::crawl::{Ending, Lease, Run};
use tokio::sync::{Notify, watch};

use crate::app::App;
use crate::config::WebhooksConfig;

pub use body::WebhookBody;
pub use worker::run as work;

/// Name of the project's secret in the store.
const SECRET: &str = "webhook";

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
    /// Tells the worker that a delivery is due, so that it need not look by itself.
    pub fn wake(&self) {
        self.0.wake.notify_one();
    }

    /// Takes no more deliveries; those under way go on for a while.
    pub fn stop(&self) {
        self.0.stop.send_replace(true);
    }
}

/// Ends a run with what its webhook is told; `false` when the lease is not ours any more.
///
/// # Errors
/// When the database fails: then the run has not ended.
pub async fn end_run(
    app: &App,
    run: &Run,
    lease: Lease,
    ending: &Ending,
) -> Result<bool, StoreError> {
    let webhook = plan::plan(&app.store, run, ending).await?;
    let ended = app
        .store
        .end_run(lease, ending, webhook.as_ref(), app.clock.now())
        .await?;
    if ended && webhook.is_some() {
        app.webhooks.wake();
    }
    Ok(ended)
}

/// The project's secret, made when it is first asked for: 32 random bytes.
///
/// # Errors
/// When the database fails, or there is no randomness to make one.
pub async fn secret(app: &App, project: ProjectId) -> anyhow::Result<Vec<u8>> {
    let mut fresh = [0; 32];
    getrandom::fill(&mut fresh)?;
    let now = app.clock.now();
    Ok(app
        .store
        .project_secret(project, SECRET, &fresh, now)
        .await?)
}

fn policy(config: &WebhooksConfig) -> RetryPolicy {
    RetryPolicy {
        delays: config
            .retry_delays
            .iter()
            .map(|seconds| Duration::from_secs(u64::from(*seconds)))
            .collect(),
        max_retry_after: Duration::from_secs(u64::from(config.max_retry_after)),
    }
}
