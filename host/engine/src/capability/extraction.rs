//! The capability `extraction`: checks the grant for other plugins' roles, bounds what they take, and charges
//! their answers.

use std::sync::Arc;

use tokio::sync::Semaphore;

use super::failure::{CallFailure, not_granted, not_offered};
use crate::error::{CodedError, ErrorCode};
use crate::grants::{EffectivePermissions, Need};
use crate::host::Host;
use crate::host::work::HostWork;
use crate::host_tasks::HostTasks;
use crate::memory::{Charged, MemoryBudget};
use crate::meter::Meter;
use crate::page::Page;

/// Extractions of one call at the same time; further ones wait. Those under way may exceed the call's
/// budget of time together.
const MAX_AT_ONCE: usize = 8;

/// Access of one call to other plugins' roles.
pub(crate) struct ExtractionCapability {
    host: Arc<dyn Host>,
    grants: Arc<EffectivePermissions>,
    account: HostWork,
    memory: Arc<MemoryBudget>,
    meter: Arc<Meter>,
    turns: Arc<Semaphore>,
}

impl ExtractionCapability {
    pub fn new(
        host: &Arc<dyn Host>,
        grants: &Arc<EffectivePermissions>,
        account: &HostWork,
        memory: &Arc<MemoryBudget>,
        meter: &Arc<Meter>,
    ) -> Self {
        Self {
            host: Arc::clone(host),
            grants: Arc::clone(grants),
            account: account.clone(),
            memory: Arc::clone(memory),
            meter: Arc::clone(meter),
            turns: Arc::new(Semaphore::new(MAX_AT_ONCE)),
        }
    }

    /// Runs a role on a page. The answer is memory of the call from when it is there: a guest that computes
    /// may leave a thousand of them unread.
    #[crate::boxed]
    pub async fn extract(
        &self,
        role: String,
        page: Arc<Page>,
        options: String,
    ) -> Result<Charged<String>, CallFailure> {
        if !self.grants.extract.allows(&role) {
            return Err(not_granted(&self.grants, Need::Extract(&role)).into());
        }
        let (host, account) = (Arc::clone(&self.host), self.account.clone());
        let (turns, memory) = (Arc::clone(&self.turns), Arc::clone(&self.memory));
        let work = async move {
            let _turn = turns
                .acquire_owned()
                .await
                .map_err(|_| CodedError::new(ErrorCode::Cancelled, "the call is being stopped"))?;
            let extractors = host.extraction().ok_or_else(|| not_offered("extractors"))?;
            account.check()?;
            let answer = extractors.extract(&role, page, &options, &account).await?;
            let charge = memory.charge(answer.len() as u64)?;
            Ok::<_, CallFailure>(Charged::new(answer, charge))
        };
        HostTasks::current().run(&self.meter, work).await
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use async_trait::async_trait;
    use futures::FutureExt as _;

    use super::*;
    use crate::error::{Limit, StopReason};
    use crate::grants::Permissions;
    use crate::host::extraction::ExtractionHost;

    /// Answers every extraction with this many bytes.
    struct Extractors(usize);

    impl Host for Extractors {
        fn extraction(&self) -> Option<&dyn ExtractionHost> {
            Some(self)
        }
    }

    #[async_trait]
    impl ExtractionHost for Extractors {
        async fn extract(
            &self,
            _: &str,
            _: Arc<Page>,
            _: &str,
            _: &HostWork,
        ) -> Result<String, CodedError> {
            Ok("x".repeat(self.0))
        }
    }

    #[tokio::test]
    async fn answers_that_the_guest_has_not_read_are_memory_of_the_call() {
        let memory = MemoryBudget::new(100);
        let all = Permissions::all();
        let grants = Arc::new(EffectivePermissions::new(&all, &all).unwrap());
        let host: Arc<dyn Host> = Arc::new(Extractors(40));
        let time = Duration::from_secs(3_600);
        let (account, meter) = (HostWork::new(time), Arc::new(Meter::new(time, time)));
        let extraction = ExtractionCapability::new(&host, &grants, &account, &memory, &meter);
        let page = Page::from_html("https://e.org/", "");
        let ask = || extraction.extract("links".to_owned(), Arc::clone(&page), "{}".to_owned());
        // All begin; then the guest looks at nothing.
        let mut begun: Vec<_> = (0..5).map(|_| ask()).collect();
        for call in &mut begun {
            assert!(call.now_or_never().is_none());
        }
        let answers = futures::future::join_all(begun).await;
        let limit = StopReason::Limit(Limit::Memory(100));
        let (held, refused): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
        assert_eq!((held.len(), memory.peak()), (2, 80));
        for refused in refused.into_iter().filter_map(Result::err) {
            assert!(matches!(refused, CallFailure::Stopped(reason) if reason == limit));
        }
        drop(held);
        assert_eq!(ask().await.unwrap().into_inner().len(), 40);
        assert!(memory.charge(100).is_ok(), "nothing is held on");
    }
}
