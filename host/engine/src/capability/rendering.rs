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
        let (url, grants) = (url.to_owned(), Arc::clone(&self.grants));
        let work = async move {
            let _held = held;
            let _slot = requests.slot().await?;
            requests.bytes_left()?;
            let browser = host.rendering().ok_or_else(|| not_offered("browser"))?;
            let page = browser.render(&url, wait_for).await?;
            let page = requests.receive(page)?;
            // A page may lead anywhere; what is not granted is not read, as it is not fetched after a redirect.
            check_url(&grants, &page.page().parts().final_url)?;
            Ok(page)
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use async_trait::async_trait;

    use super::*;
    use crate::error::ErrorCode;
    use crate::grants::Permissions;
    use crate::host::rendering::RenderingHost;
    use crate::limits::LimitsConfig;
    use crate::memory::MemoryBudget;
    use crate::page::{Page, PageParts};

    /// A browser whose pages lead to this URL.
    struct Browser(&'static str);

    impl Host for Browser {
        fn rendering(&self) -> Option<&dyn RenderingHost> {
            Some(self)
        }
    }

    #[async_trait]
    impl RenderingHost for Browser {
        async fn render(&self, url: &str, _: WaitFor) -> Result<Arc<Page>, CodedError> {
            Ok(Page::new(PageParts {
                url: url.to_owned(),
                final_url: self.0.to_owned(),
                ..PageParts::default()
            }))
        }
    }

    async fn rendered(to: &'static str) -> Result<HostPage, CallFailure> {
        let granted = Permissions {
            http: vec!["https://shop.example".to_owned()],
            render: true,
            ..Permissions::default()
        };
        let grants = Arc::new(EffectivePermissions::new(&granted, &granted).unwrap());
        let limits = LimitsConfig::default().actor.default;
        let requests = Arc::new(RequestBudget::new(&limits, MemoryBudget::new(8 << 20)));
        let time = Duration::from_secs(3_600);
        let meter = Arc::new(Meter::new(time, time));
        let host: Arc<dyn Host> = Arc::new(Browser(to));
        RenderingCapability::new(&host, &grants, &requests, &meter)
            .render("https://shop.example/out", WaitFor::Load)
            .await
    }

    #[tokio::test]
    async fn a_page_that_leads_to_a_host_that_is_not_granted_is_not_read() {
        assert!(rendered("https://shop.example/in").await.is_ok());
        let Err(CallFailure::Refused(error)) = rendered("https://other.example/").await else {
            panic!("the plugin gets a page of a host that it may not read")
        };
        assert_eq!(error.code, ErrorCode::NotGranted);
        assert!(error.message.contains("other.example"), "{}", error.message);
    }
}
