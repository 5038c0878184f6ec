//! The capability `extraction`: checks the grant for other plugins' roles, and bounds what they take.

use std::sync::Arc;

use tokio::sync::Semaphore;

use super::failure::{not_granted, not_offered};
use crate::error::{CodedError, ErrorCode};
use crate::grants::{EffectivePermissions, Need};
use crate::host::Host;
use crate::host::work::HostWork;
use crate::host_tasks::HostTasks;
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
    meter: Arc<Meter>,
    turns: Arc<Semaphore>,
}

impl ExtractionCapability {
    pub fn new(
        host: &Arc<dyn Host>,
        grants: &Arc<EffectivePermissions>,
        account: &HostWork,
        meter: &Arc<Meter>,
    ) -> Self {
        Self {
            host: Arc::clone(host),
            grants: Arc::clone(grants),
            account: account.clone(),
            meter: Arc::clone(meter),
            turns: Arc::new(Semaphore::new(MAX_AT_ONCE)),
        }
    }

    /// Runs a role on a page.
    #[crate::boxed]
    pub async fn extract(
        &self,
        role: String,
        page: Arc<Page>,
        options: String,
    ) -> Result<String, CodedError> {
        if !self.grants.extract.allows(&role) {
            return Err(not_granted(&self.grants, Need::Extract(&role)));
        }
        let (host, account) = (Arc::clone(&self.host), self.account.clone());
        let turns = Arc::clone(&self.turns);
        let work = async move {
            let _turn = turns
                .acquire_owned()
                .await
                .map_err(|_| CodedError::new(ErrorCode::Cancelled, "the call is being stopped"))?;
            let extractors = host.extraction().ok_or_else(|| not_offered("extractors"))?;
            account.check()?;
            extractors.extract(&role, page, &options, &account).await
        };
        HostTasks::current().run(&self.meter, work).await
    }
}
