//! The capability `rendering`: checks grants and budgets for rendered pages.

use std::sync::Arc;

use super::failure::{CallFailure, not_granted, not_offered};
use super::http::{check_url, collect};
use super::pages::HostPage;
use super::requests::RequestBudget;
use crate::error::{CodedError, StopReason};
use crate::grants::{EffectivePermissions, Need};
use crate::host::Host;
use crate::host::rendering::WaitFor;
use crate::host_tasks::HostTasks;
use crate::meter::Meter;

/// Access of one call to a browser.
pub(crate) struct RenderingCapability {
    host: Arc<dyn Host>,
    grants: Arc<EffectivePermissions>,
    requests: Arc<RequestBudget>,
    meter: Arc<Meter>,
}

impl RenderingCapability {
    pub fn new(
        host: &Arc<dyn Host>,
        grants: &Arc<EffectivePermissions>,
        requests: &Arc<RequestBudget>,
        meter: &Arc<Meter>,
    ) -> Self {
        Self {
            host: Arc::clone(host),
            grants: Arc::clone(grants),
            requests: Arc::clone(requests),
            meter: Arc::clone(meter),
        }
    }

    /// Renders one page.
    #[crate::boxed]
    pub async fn render(&self, url: &str, wait_for: WaitFor) -> Result<HostPage, CallFailure> {
        if !self.grants.render {
            return Err(not_granted(&self.grants, Need::Render).into());
        }
        let held = self.requests.hold(url.len())?;
        check_url(&self.grants, url)?;
        if self.host.rendering().is_none() {
            return Err(not_offered("browser").into());
        }
        self.requests.count(0)?;
        let (host, requests) = (Arc::clone(&self.host), Arc::clone(&self.requests));
        let url = url.to_owned();
        let work = async move {
            let _held = held;
            let _slot = requests.slot().await?;
            requests.bytes_left()?;
            let browser = host.rendering().ok_or_else(|| not_offered("browser"))?;
            let page = browser.render(&url, wait_for).await?;
            requests.receive(page)
        };
        HostTasks::current().run(&self.meter, work).await
    }

    /// Renders many pages, at most `concurrency` in parallel; answers are in their order.
    #[crate::boxed]
    pub async fn render_many(
        &self,
        requests: Vec<(String, WaitFor)>,
        concurrency: u32,
    ) -> Result<Vec<Result<HostPage, CodedError>>, StopReason> {
        let calls = requests
            .into_iter()
            .map(|(url, wait_for)| async move { self.render(&url, wait_for).await });
        collect(calls, self.requests.width(concurrency)).await
    }
}
